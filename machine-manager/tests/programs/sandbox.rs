//! Jobs in a sandbox like a container's: an ordinary user without capabilities, 64 MiB of
//! `/dev/shm`, and neither `process_vm_readv` nor `ptrace`. The sandbox is the fixture of that
//! name.

use crate::program::{fixture, names};
use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

/// The sandbox could not be built.
const CANNOT: Option<i32> = Some(77);

const ROADS: [&str; 2] = ["smartmap", "nic"];
const LAYOUTS: [&str; 4] = [
    "-n 2",
    "-n 4",
    "-n 4 --nodes 2",
    "-n 4 --nodes 2 --nic-threads coprocessor",
];

/// Runs a program in all layouts and by both transports within a node, in the sandbox. Each time it
/// must succeed without output on standard error. `check` gets its output.
fn in_all_layouts(program: &[&OsStr], check: impl Fn(&str, &str)) {
    let before = names();
    for layout in LAYOUTS {
        for road in ROADS {
            let output = Command::new(fixture("sandbox"))
                .arg(env!("CARGO_BIN_EXE_bcs"))
                .args(["run", "--timeout", "60s", "--intranode", road])
                .args(layout.split_whitespace())
                .args(program)
                .env("XDG_CONFIG_HOME", "/dev/null")
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let Output { status, .. } = output;
            let told = String::from_utf8_lossy(&output.stderr);
            let said = String::from_utf8_lossy(&output.stdout);
            if status.code() == CANNOT {
                eprintln!("skipped: {told}");
                return;
            }
            let what = format!("{layout} --intranode {road}: {status}\n{said}\n{told}");
            assert!(status.success() && told.is_empty(), "{what}");
            check(&said, &what);
        }
    }
    assert_eq!(names(), before, "nothing is left");
}

#[test]
fn the_selftest_holds_in_a_sandbox() {
    in_all_layouts(&[fixture("selftest").as_os_str()], |_, _| {});
}

/// Messages of all lengths from heaps in slots, and their rates. `bench` fails on a wrong message.
#[test]
fn messages_of_all_lengths_arrive_in_a_sandbox() {
    let words =
        "bench --ops bandwidth,exchange,allreduce --sizes 8,4K,256K,4M --row-ms 20 --samples 3";
    let words: Vec<&OsStr> = words.split_whitespace().map(OsStr::new).collect();
    in_all_layouts(&words, |said, what| {
        assert!(said.contains("bandwidth"), "{what}");
    });
}

/// NICs copy from slot to slot by themselves: the sandbox kills any process that calls
/// `process_vm_readv` or `process_vm_writev`, and no process tries `/proc/PID/mem` before.
#[test]
fn no_nic_asks_the_kernel_for_what_lies_in_slots() {
    let words = "bench --ops latency,bandwidth,exchange,bcast,reduce,allreduce,alltoall \
                 --sizes 100,1K,4K,16K,256K,1M --row-ms 5 --samples 2";
    let run = |options: &str, words: &[&OsStr]| {
        let output = Command::new(fixture("sandbox"))
            .arg("--deadly")
            .arg(env!("CARGO_BIN_EXE_bcs"))
            .args(["run", "--timeout", "60s"])
            .args(options.split_whitespace())
            .args(words)
            .env("XDG_CONFIG_HOME", "/dev/null")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status, told)
    };
    let bench: Vec<&OsStr> = words.split_whitespace().map(OsStr::new).collect();
    let pieces = fixture("pieces");
    let pieces = [pieces.as_os_str(), OsStr::new("check")];
    for threads in ["shared", "coprocessor", "dedicated"] {
        for options in ["", "--eager-limit 0"] {
            let options = format!("-n 2 --nodes 2 --nic-threads {threads} {options}");
            for words in [&bench[..], &pieces] {
                let (status, told) = run(&options, words);
                if status.code() == CANNOT {
                    eprintln!("skipped: {told}");
                    return;
                }
                assert!(status.success(), "{options} {words:?}: {status} {told}");
            }
        }
    }
    let (status, _) = run("-n 2 --nodes 2 --copy-method kernel", &bench);
    assert!(!status.success(), "the kernel is asked, and kills");
}

/// Messages of derived datatypes too, from any source, and all collectives.
#[test]
fn random_programs_find_their_answers_in_a_sandbox() {
    for name in ["traffic", "oracle"] {
        let program = fixture(name);
        let words = [program.as_os_str(), OsStr::new("7"), OsStr::new("20")];
        in_all_layouts(&words, |said, what| {
            assert!(said.starts_with("20 "), "{what}");
        });
    }
}

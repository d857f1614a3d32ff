//! Hints how a job that goes well could be improved: printed once, to readers that may want them.

use super::job::{Job, bcs, run, text};
use super::program::fixture;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::Read as _;
use std::process::Command;

/// Returns what a person sees of a job that goes well, with standard error on a terminal.
fn in_a_terminal(arguments: &str) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = rustix::fs::open(&name, flags, Mode::empty()).unwrap();
    let mut command = bcs(arguments);
    let mut job = command
        .stdout(slave.try_clone().unwrap())
        .stderr(slave)
        .spawn()
        .unwrap();
    // The command holds the other end.
    drop(command);
    let mut seen = Vec::new();
    // A terminal without a writer is an error to its reader.
    let _hung_up = File::from(master).read_to_end(&mut seen);
    assert!(job.wait().unwrap().success(), "{arguments}: {seen:?}");
    text(&seen).replace("\r\n", "\n")
}

fn hints(stderr: &str) -> Vec<&str> {
    let hints = stderr.lines();
    hints
        .filter(|line| line.starts_with("bcs: hint: "))
        .collect()
}

/// As many ranks as there are cores, so none is left for a NIC.
#[test]
fn a_driver_for_which_cores_are_short_is_said_to_whoever_listens() {
    let ranks = machine_manager::cores::usable();
    let forced = format!("run -n {ranks} --nic-threads dedicated");
    let expected = format!(
        "bcs: hint: --nic-threads dedicated: cores are short: ranks {ranks}, OS threads of NICs 7, \
         usable cores {ranks}; they take turns, which costs time, and without this option it is shared"
    );
    assert_eq!(
        hints(&in_a_terminal(&format!("{forced} true"))),
        [&expected]
    );
    for asked in ["-v", "--report-bindings"] {
        let output = run(&format!("{forced} {asked} true"), "");
        assert_eq!(hints(&text(&output.stderr)), [&expected], "{asked}");
    }
    // The reader of a pipe or a file gets only the output of ranks, and errors.
    assert_eq!(text(&run(&format!("{forced} true"), "").stderr), "");
    for nothing in ["", "--nic-threads shared"] {
        let seen = in_a_terminal(&format!("run -n {ranks} {nothing} true"));
        assert_eq!(seen, "", "nothing is forced, or nothing is better");
    }
}

const WITHOUT_SLOT: &str = "bcs: hint: the heap of rank 2 is in no slot, so others of its node take longer to copy from and to it";

/// 16 MiB are enough, and each message is half a megabyte.
#[test]
fn a_rank_without_a_slot_is_said_once_when_others_copy_much_from_it() {
    let program = fixture("ordinary_heap");
    let job = |options: &str, messages: u32| {
        let program = program.display();
        format!("run -n 3 --heap own {options} {program} {messages}")
    };
    let advised = format!(
        "{WITHOUT_SLOT}: --heap own leaves it where the program has it; a program in Rust has it in one by this line, \
         outside of its functions: bcs_mpi::slot_heap!();"
    );
    assert_eq!(hints(&in_a_terminal(&job("", 200))), [&advised]);
    let asked = run(&job("-v", 32), "");
    assert_eq!(hints(&text(&asked.stderr)), [&advised]);
    assert_eq!(text(&run(&job("", 32), "").stderr), "");
    // Little is copied; or not from memory to memory; or not from slots, as the user requested.
    for (options, messages) in [
        ("-v", 31),
        ("-v --nodes 3", 200),
        ("-v --intranode nic", 200),
        ("-v --copy-method kernel", 200),
    ] {
        let output = run(&job(options, messages), "");
        assert!(output.status.success(), "{output:?}");
        assert!(hints(&text(&output.stderr)).is_empty(), "{output:?}");
    }
}

#[test]
fn a_rank_that_was_to_have_a_slot_is_said_with_the_reason() {
    let bcs = env!("CARGO_BIN_EXE_bcs");
    let program = fixture("flood");
    for (limit, expected) in [("60000000", "RLIMIT_AS is limited"), ("unlimited", "")] {
        let line = format!(
            "ulimit -v {limit} && exec {bcs} run -v -n 2 {} 40 524288",
            program.display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &line]);
        let output = Job::spawn(command).finish();
        assert!(output.status.success(), "{output:?}");
        let stderr = text(&output.stderr);
        match hints(&stderr)[..] {
            [hint] => assert!(hint.contains(expected) && limit != "unlimited", "{stderr}"),
            [] => assert_eq!(limit, "unlimited", "{stderr}"),
            _ => panic!("more than once: {stderr}"),
        }
    }
}

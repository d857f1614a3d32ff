//! Commands that inform people about `bcs` and their machine: doctor, completions, manual pages,
//! help.

use super::job::{Job, bcs, run, text};
use std::process::Command;

const LOOKED_AT: [&str; 13] = [
    "cores",
    "NIC threads",
    "process_vm_readv",
    "memfd_create",
    "slots",
    "short EEVDF slices",
    "real-time priority",
    "timers",
    "open files",
    "locked memory",
    "/dev/shm",
    "link bandwidth",
    "waiting",
];

#[test]
fn the_doctor_has_a_line_for_everything() {
    let output = run("doctor --time-slice 100us", "");
    let stdout = text(&output.stdout);
    for (line, what) in stdout.lines().zip(LOOKED_AT) {
        let (health, rest) = line.split_at(6);
        assert!(["ok    ", "slow  ", "bad   "].contains(&health), "{line}");
        assert!(rest.starts_with(what), "{line}");
    }
    assert_eq!(stdout.lines().count(), LOOKED_AT.len(), "{stdout}");
    let bad = stdout.lines().any(|line| line.starts_with("bad"));
    assert_eq!(output.status.code(), Some(i32::from(bad)), "{output:?}");
}

#[test]
fn the_doctor_says_what_will_not_work() {
    let bcs = env!("CARGO_BIN_EXE_bcs");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -n 40; exec {bcs} doctor")]);
    let output = Job::spawn(shell).finish();
    let stdout = text(&output.stdout);
    let line = stdout.lines().find(|line| line.contains("open files"));
    assert!(
        line.unwrap()
            .starts_with("bad   open files         at most 40 (ulimit -Hn): enough for 0"),
        "{stdout}"
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).ends_with(" of 13 things will not work here\n"));
}

#[test]
fn the_doctor_says_where_nic_threads_are() {
    let cores = machine_manager::cores::allowed();
    let (first, all) = (cores[0], cores.len());
    let found = |options: &str| {
        let output = run(&format!("doctor {options}"), "");
        let stdout = text(&output.stdout);
        let line = stdout.lines().find(|line| line.contains("NIC threads"));
        line.expect(&stdout).to_owned()
    };
    let words = "for 2 ranks on a node with --nic-threads coprocessor: bcs-SS";
    assert_eq!(
        found(&format!("--nic-threads coprocessor --nic-cores {first}")),
        format!(
            "ok    NIC threads        pinned {words} on core {first}, bcs-nic-0 on core {first}"
        )
    );
    let line = found("--nic-threads coprocessor");
    let short = format!(
        "not pinned (cores are short: ranks 2, OS threads of NICs 2, usable cores {all}) {words}"
    );
    assert!(line.contains(&short) || all >= 4, "{line}");
    let refused = run("doctor --nic-cores 5000", "");
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_slice_that_no_job_can_have_is_not_tried() {
    let output = run("doctor --time-slice 1s", "");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("bcs: the time slice of 1s is out of"));
}

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&format!("completions {shell}"), "");
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("report-bindings"), "{shell}");
    }
    assert_eq!(run("completions tcsh", "").status.code(), Some(2));
    for name in ["bcsrun", "mpiexec", "mpirun"] {
        let output = run(&format!("completions bash {name}"), "");
        let script = text(&output.stdout);
        assert!(
            script.contains(&format!(" -o default {name}\n")),
            "{script}"
        );
        assert!(
            script.contains("report-bindings") && !script.contains("doctor"),
            "{name}"
        );
    }
    assert_eq!(run("completions bash mpicc", "").status.code(), Some(2));
}

#[test]
fn every_command_has_a_manual_page() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("man1");
    let output = run(&format!("man {}", place.display()), "");
    assert!(output.status.success(), "{output:?}");
    let mut synopses = Vec::new();
    for page in [
        "bcs",
        "bcs-run",
        "bcs-bench",
        "bcs-tune",
        "bcs-config",
        "bcs-doctor",
        "bcs-mds-report",
        "bcs-mds-top",
        "bcs-ps",
        "bcs-state",
        "bcs-kill",
        "bcsrun",
        "mpiexec",
        "mpirun",
    ] {
        let page = std::fs::read_to_string(place.join(format!("{page}.1"))).unwrap();
        assert!(page.contains(".TH"), "{page}");
        let name = page.split(".SH SYNOPSIS\n").nth(1).unwrap();
        let name = name.lines().next().unwrap().replace('\\', "");
        synopses.push(name);
    }
    for (page, synopsis) in [
        (0, "bcs <COMMAND>"),
        (
            1,
            "bcs run [OPTIONS] PROGRAM [ARGS]... [: [-n N] [--wdir D] [--env K=V] PROGRAM [ARGS]...]...",
        ),
        (3, "bcs tune [OPTIONS] PROGRAM [ARGS]..."),
        (6, "bcs mds report [OPTIONS] <DIR>"),
        (
            12,
            "mpiexec [OPTIONS] PROGRAM [ARGS]... [: [-n N] [--wdir D] [--env K=V] PROGRAM [ARGS]...]...",
        ),
    ] {
        assert_eq!(synopses[page], synopsis);
    }
    let refused = run("man /dev/null/x", "");
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(
        text(&refused.stderr),
        "bcs: failed to write manual pages into /dev/null/x: Not a directory (os error 20)\n"
    );
}

#[test]
fn exit_codes_are_documented_where_people_look() {
    for arguments in ["exit-codes", "help exit-codes", "exit-codes --help"] {
        let output = run(arguments, "");
        assert!(output.status.success());
        let stdout = text(&output.stdout);
        assert!(
            stdout.starts_with(machine_manager::exit_code::TABLE),
            "{stdout}"
        );
    }
}

#[test]
fn help_teaches_by_example_and_the_examples_parse() {
    let output = run("run --help", "");
    let help = text(&output.stdout);
    let examples = help.split("Examples:\n").nth(1).unwrap();
    let examples = examples.split("\n\n").next().unwrap();
    assert_eq!(examples.lines().count(), 5);
    for example in examples.lines() {
        let line = example.trim().strip_prefix("bcs ").unwrap();
        let line = line.split("  ").next().unwrap();
        // The programs that they name do not exist here. No other error is allowed.
        let empty = tempfile::tempdir().unwrap();
        std::fs::create_dir(empty.path().join("run1")).unwrap();
        let mut command = bcs(line);
        command.current_dir(empty.path());
        let output = Job::spawn(command).finish();
        let stderr = text(&output.stderr);
        assert!(
            output.status.success() || stderr.starts_with("bcs: program "),
            "{line}: {stderr}"
        );
    }
}

/// Such a program has its heap in its slot, by a shorter path than the preloaded one.
#[test]
fn nothing_is_preloaded_into_a_program_in_rust_with_the_heap() {
    use node_manager::program_file::{PreloadRefusal, suits};
    let bcs = env!("CARGO_BIN_EXE_bcs");
    assert_eq!(suits(bcs.as_ref()), Err(PreloadRefusal::HasIt));
    let ordinary = super::program::fixture("ordinary_heap");
    assert_eq!(suits(&ordinary), Ok(()));
}

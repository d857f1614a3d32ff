//! Hints: what could be better in a job that goes well, said once, to whoever may want to hear it.

use super::job::{bcs, run, text};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::Read as _;

/// What a person sees of a job that goes well, who has its standard error on a terminal.
pub(crate) fn in_a_terminal(arguments: &str) -> String {
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
    // It holds the other end.
    drop(command);
    let mut seen = Vec::new();
    // A terminal that nobody writes to any more is an error to its reader.
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

/// As many ranks as there are cores: there is none for a NIC.
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
    // Who reads a pipe or a file has what ranks write, and what goes wrong.
    assert_eq!(text(&run(&format!("{forced} true"), "").stderr), "");
    for nothing in ["", "--nic-threads shared"] {
        let seen = in_a_terminal(&format!("run -n {ranks} {nothing} true"));
        assert_eq!(seen, "", "nothing is forced, or nothing is better");
    }
}

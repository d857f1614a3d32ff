//! Ranks that read and write each other's heaps, and fork meanwhile.

use crate::program::{fixture, names};
use std::process::{Command, Output, Stdio};

fn bcs(options: &str, program: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bcs"));
    command
        .args(["run", "--timeout", "120s"])
        .args(options.split_whitespace())
        .arg(fixture("slots"))
        .args(program.split_whitespace())
        .stdin(Stdio::null());
    command
}

fn told(output: &Output) -> (String, String) {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}\n{said}\n{told}", output.status);
    (said, told)
}

#[test]
fn ranks_of_a_node_write_each_others_heaps() {
    let before = names();
    for (layout, pairs) in [
        ("-n 2", 2),
        ("-n 5", 20),
        ("-n 5 --nodes 2", 8),
        ("-n 3 --nodes 3", 0),
        ("-n 4 --nic-threads dedicated", 12),
    ] {
        let (said, told) = told(&bcs(layout, "5").output().unwrap());
        assert_eq!(said, format!("{pairs} pairs\n"), "{layout}: {told}");
        assert_eq!(told, "", "{layout}");
    }
    assert_eq!(names(), before, "nothing has a name");
}

/// A rank that a shell script starts has a heap of its own in the same slot.
#[test]
fn a_script_does_not_stand_in_the_way() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bcs"));
    let script = format!("{} 3; true", fixture("slots").display());
    let output = command
        .args(["run", "-n", "3", "sh", "-c", &script])
        .output();
    assert_eq!(told(&output.unwrap()).0, "6 pairs\n");
}

#[test]
fn who_asks_is_told_how_many_ranks_have_slots() {
    let (_, words) = told(
        &bcs("-v -n 4 --nodes 2 --nic-threads coprocessor", "1")
            .output()
            .unwrap(),
    );
    for node in [0, 1] {
        let expected = format!("node {node}: 2 of 2 ranks have their heap in a slot\n");
        assert!(words.contains(&expected), "{words}");
    }
    // A program without the heap, and one without MPI.
    let mut command = Command::new(env!("CARGO_BIN_EXE_bcs"));
    let (_, words) = told(
        &command
            .args(["run", "-v", "-n", "2", "true"])
            .output()
            .unwrap(),
    );
    assert!(
        words.contains("0 of 0 ranks have their heap in a slot"),
        "{words}"
    );
}

#[test]
fn without_slots_ranks_run_and_say_why() {
    let bcs = bcs("-v -n 3", "2");
    let line = std::iter::once(bcs.get_program()).chain(bcs.get_args());
    let line: Vec<_> = line
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let limited = format!("ulimit -v 60000000 && exec {}", line.join(" "));
    let output = Command::new("sh").args(["-c", &limited]).output().unwrap();
    let (said, words) = told(&output);
    assert_eq!(said, "0 pairs\n", "{words}");
    assert!(
        words.contains("0 of 3 ranks have their heap in a slot; rank 0 has not: RLIMIT_AS"),
        "{words}"
    );
}

/// `BCS_FORK_ROUNDS` sets the number of forks (50).
#[test]
fn a_rank_forks_while_others_write_into_its_heap() {
    let rounds = std::env::var("BCS_FORK_ROUNDS").unwrap_or_else(|_| "50".to_owned());
    for layout in ["-n 2", "-n 3 --nic-threads coprocessor"] {
        let mut command = bcs(layout, &format!("fork {rounds}"));
        let (said, words) = told(&command.output().unwrap());
        assert_eq!(said, format!("{rounds} forks\n"), "{layout}: {words}");
    }
}

/// NICs move messages between nodes from slot to slot, whatever the owners do meanwhile.
#[test]
fn a_rank_that_pulls_its_memory_away_from_a_nic_harms_nobody_else() {
    for threads in ["shared", "coprocessor", "dedicated"] {
        let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
            .args(["run", "--timeout", "120s", "-n", "4", "--nodes", "2"])
            .args(["--nic-threads", threads])
            .arg(fixture("pulled"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(told(&output).0, "nobody noticed\n", "{threads}");
    }
}

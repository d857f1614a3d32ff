//! Memory that ranks name and that does not exist, in collectives and messages, by every transport.
//! Each rank that needs it gets an error, and the job goes on. Or, if a rank accesses its own
//! memory, the kernel ends that rank. The fixture of that name checks each rank's error.

use crate::program::{fixture, names};
use std::process::{Command, Output, Stdio};

/// The sandbox could not be built.
const CANNOT: i32 = 77;
const SEGMENTATION_FAULT: i32 = 139;

/// Operations that NICs do by themselves, also with data that would be eager as a message.
const OF_NICS: [&str; 7] = [
    "bcast-in",
    "bcast-out",
    "reduce-in",
    "reduce-out",
    "allreduce-in",
    "allreduce-out",
    "reducescatter-in",
];
const EXCHANGES: [&str; 10] = [
    "scatter-in",
    "scatter-out",
    "gather-in",
    "gather-out",
    "allgather-in",
    "allgather-out",
    "alltoall-in",
    "alltoall-out",
    "exscan-in",
    "fold-in",
];
const MESSAGES: [&str; 4] = ["message-in", "message-out", "pieces-in", "pieces-out"];

/// Runs cases with these options; returns `None` if there can be no sandbox here.
fn run(sandbox: bool, options: &str, arguments: &str) -> Option<(Output, String)> {
    let bcs = env!("CARGO_BIN_EXE_bcs");
    let mut command = if sandbox {
        let mut command = Command::new(fixture("sandbox"));
        command.arg(bcs);
        command
    } else {
        Command::new(bcs)
    };
    let output = command
        .args(["run", "--timeout", "30s"])
        .args(options.split_whitespace())
        .arg(fixture("unmapped"))
        .args(arguments.split_whitespace())
        .env("XDG_CONFIG_HOME", "/dev/null")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(CANNOT) {
        eprintln!("skipped: {told}");
        return None;
    }
    let what = format!("{options} {arguments} (sandbox: {sandbox}): {told}");
    Some((output, what))
}

/// Runs all cases in one job, or a few of them; no rank may die.
fn all_are_told(sandbox: bool, options: &str, arguments: &str) {
    let Some((output, what)) = run(sandbox, options, arguments) else {
        return;
    };
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{what}"
    );
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.ends_with(" cases\n") && !said.starts_with('0'),
        "{what}"
    );
}

/// Runs one case, in which the bad rank may access its memory itself. Returns whether it has.
fn told_or_ended(sandbox: bool, options: &str, case: &str, bytes: usize, bad: usize) -> bool {
    let Some((output, what)) = run(sandbox, options, &format!("{bytes} {case} {bad}")) else {
        return false;
    };
    if output.status.code() == Some(SEGMENTATION_FAULT) {
        let named = what.contains(&format!("bcs: rank {bad} on node "));
        assert!(
            named && what.contains("was killed by signal 11 (SIGSEGV)"),
            "{what}"
        );
        return true;
    }
    assert!(output.status.success(), "{what}");
    false
}

/// With the NICs' transport no rank accesses memory that a NIC can access.
#[test]
fn memory_that_a_nic_cannot_read_or_write_is_an_error_for_all_who_need_it() {
    let before = names();
    for layout in [
        "-n 2 --nodes 2",
        "-n 4 --nodes 2",
        "-n 3 --nodes 3",
        "-n 3",
        "-n 3 --nodes 2 --fabric udp",
    ] {
        for rest in ["", "--strobe fixed", "--nic-threads dedicated"] {
            let options = format!("{layout} --intranode nic {rest}");
            all_are_told(false, &options, "32768");
        }
        for case in OF_NICS {
            let options = format!("{layout} --intranode nic");
            all_are_told(false, &options, &format!("800 {case}"));
        }
        let options = format!("{layout} --intranode nic");
        // From a payload slot.
        all_are_told(false, &options, "800 message-out");
        // In steps of several slices, and messages in chunks.
        all_are_told(false, &options, "3145728");
    }
    assert_eq!(names(), before, "nothing is left");
}

#[test]
fn memory_that_cannot_be_reached_in_a_sandbox_is_an_error_for_all_who_need_it() {
    for layout in ["-n 2 --nodes 2", "-n 4 --nodes 2"] {
        let options = format!("{layout} --intranode nic");
        all_are_told(true, &options, "32768");
    }
    // Within a node data go through the records there, and so their owners copy them.
    for case in OF_NICS.iter().chain(&EXCHANGES).chain(&MESSAGES) {
        for layout in ["-n 2", "-n 4 --nodes 2"] {
            told_or_ended(true, layout, case, 40_960, 0);
        }
    }
}

/// The rest of a failed message is not moved. Otherwise its requests would complete again in each
/// slice, in slots that others use by then.
#[test]
fn a_long_message_whose_later_part_is_not_there_ends_once() {
    for layout in ["-n 2 --nodes 2", "-n 2"] {
        let options = format!("{layout} --intranode nic");
        for case in MESSAGES {
            all_are_told(false, &options, &format!("10485760 {case}"));
        }
    }
}

/// From memory to memory within a node, and through the leaders of several nodes.
#[test]
fn memory_that_a_peer_cannot_reach_is_an_error_for_all_who_need_it() {
    let (mut ended, mut cases) = (0, 0);
    for layout in ["-n 2", "-n 3", "-n 4 --nodes 2", "-n 5 --nodes 2"] {
        for road in ["slots", "kernel", "queues"] {
            let options = format!("{layout} --copy-method {road}");
            for case in OF_NICS.iter().chain(&EXCHANGES).chain(&MESSAGES) {
                for bad in [0, 1]
                    .into_iter()
                    .filter(|&bad| bad == 0 || *case != "exscan-in")
                {
                    // Both sides of a message copy the longest ones.
                    let bytes = if case.starts_with("message") {
                        2 << 20
                    } else {
                        40_960
                    };
                    ended += u32::from(told_or_ended(false, &options, case, bytes, bad));
                    cases += 1;
                }
            }
        }
        // Here no rank has to access its own memory.
        let options = format!("{layout} --copy-method kernel");
        let near = OF_NICS
            .iter()
            .filter(|case| **case == "bcast-in" || case.starts_with("r"));
        for case in near.filter(|case| **case != "reduce-out").chain(&EXCHANGES) {
            all_are_told(false, &options, &format!("3145728 {case}"));
        }
        all_are_told(false, &options, "3145728 allreduce-in");
        // Not so long that their senders help to copy.
        for case in ["message-in", "message-out"] {
            all_are_told(false, &options, &format!("409600 {case}"));
        }
        // The sender packs small pieces, and so accesses its own memory.
        ended += u32::from(told_or_ended(false, &options, "pieces-in", 409_600, 0));
        cases += 1;
    }
    println!("{ended} of {cases} ended by a rank's own look");
}

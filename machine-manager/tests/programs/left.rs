//! Leaks of programs at MPI_Finalize are reported after the end of the job, which has gone well.

use crate::program::fixture;
use std::process::{Command, Stdio};

/// Both transports, one and two nodes, one OS thread for all NICs and one each, as on two machines.
const LAYOUTS: [&str; 5] = [
    "--nodes 1",
    "--nodes 1 --intranode nic",
    "--nodes 2",
    "--nodes 2 --nic-threads coprocessor --strobe fixed",
    "--nodes 2 --fabric udp",
];

/// Returns the report about a program, without the words before the first rank.
fn said(name: &str, layout: &str, how: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "-n", "2", "--timeout", "30s"])
        .args(layout.split(' '))
        .args(how.split_whitespace())
        .arg(fixture("left"))
        .arg(name)
        .arg(directory.path().join("over"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{name} {layout}: {said}");
    assert!(output.stdout.is_empty());
    let lines = said.lines().map(|line| line.strip_prefix("bcs: ").unwrap());
    lines.skip(1).map(|line| line.trim().to_owned()).collect()
}

/// Checks that the report has these errors of a program, and no others, in every layout.
fn is_said(name: &str, layouts: &[&str], expected: &[&str]) {
    for layout in layouts {
        // The node of a rank, out of several, does not matter here.
        let said = said(name, layout, "").into_iter();
        let said: Vec<String> = said
            .map(|line| line.replace(" on node 0", "").replace(" on node 1", ""))
            .collect();
        assert_eq!(said, expected, "{name} {layout}");
        assert!(self::said(name, layout, "--at-finalize quiet").is_empty());
    }
}

#[test]
fn messages_that_nobody_has_received() {
    let twice = "rank 1 has not received 2 messages from rank 0 with tag 7 in MPI_COMM_WORLD";
    is_said("messages", &LAYOUTS, &[twice]);
    let late = "rank 1 has not received a message from rank 0 with tag 9 in MPI_COMM_WORLD";
    is_said("late-message", &LAYOUTS, &[late]);
}

#[test]
fn receives_that_are_not_over() {
    let expected = [
        "rank 0 has a receive that is not over: from rank 1 with tag 5 in MPI_COMM_WORLD",
        "rank 0 has a receive that is not over: from any rank with tag 5 in MPI_COMM_WORLD",
    ];
    is_said("receives", &LAYOUTS, &expected);
}

#[test]
fn messages_that_were_longer_than_their_buffers() {
    let expected = "rank 1 has received a message that had no room in the buffer: from rank 0 with tag 4 \
                    in MPI_COMM_WORLD";
    is_said("truncated", &LAYOUTS, &[expected]);
}

/// If a collective consists of messages, a rank may go on without the others.
#[test]
fn collectives_that_not_all_ranks_have_called() {
    let expected = "rank 1 has called 0 collectives of MPI_COMM_WORLD, and rank 0 1";
    is_said("gather-alone", &LAYOUTS[1..], &[expected]);
    for layout in LAYOUTS {
        let said = said("barrier-alone", layout, "").join("\n");
        let begun = "has begun a barrier (collective 1 of MPI_COMM_WORLD), which is not over";
        assert!(said.contains(begun), "{layout}: {said}");
    }
}

/// One is of the NIC, and the other is made of messages.
#[test]
fn collectives_in_another_order() {
    let expected = "rank 0 and rank 1 have called different collectives of MPI_COMM_WORLD, and gone on \
                    (2 each)";
    is_said("other-order", &LAYOUTS[1..], &[expected]);
}

#[test]
fn leaked_requests_are_said_and_leaked_handles_to_who_asks() {
    for layout in LAYOUTS {
        assert_eq!(said("handles", layout, ""), [""; 0], "{layout}");
        let requests = said("requests", layout, "").join("\n");
        for rank in ["rank 0 on", "rank 1 on"] {
            assert!(requests.contains(rank), "{layout}: {requests}");
        }
        let two = "has not waited for, tested or freed 2 requests that are done";
        assert_eq!(requests.matches(two).count(), 2, "{layout}: {requests}");
        let handles = said("handles", layout, "--checked").join("\n");
        assert_eq!(
            said("handles", layout, "--at-finalize all").join("\n"),
            handles
        );
        for what in [
            "the communicator made by MPI_Comm_",
            "a datatype",
            "an operation",
            "a persistent request",
        ] {
            let line = format!("ranks 0 and 1 have each not freed {what}");
            assert_eq!(handles.matches(&line).count(), 1, "{layout}: {handles}");
        }
    }
}

/// Its messages are the library's, and its request is the program's.
#[test]
fn a_collective_of_messages_that_nobody_asked_about_is_a_request() {
    let expected = "rank 0 has not waited for, tested or freed a request that is done";
    is_said("collective", &LAYOUTS, &[expected]);
}

#[test]
fn of_a_program_that_leaves_nothing_nothing_is_said() {
    for layout in LAYOUTS {
        let said = said("tidy", layout, "--at-finalize all");
        assert_eq!(said, [""; 0], "{layout}");
    }
}

/// However many leaks a program has, the number of lines is limited.
#[test]
fn of_many_messages_some_are_named() {
    for layout in LAYOUTS {
        let said = said("many", layout, "");
        assert_eq!(said.len(), 17, "{layout}: {said:?}");
        let last = said.last().unwrap();
        assert!(
            last.starts_with("... and") && last.ends_with("lines of this kind"),
            "{last}"
        );
    }
}

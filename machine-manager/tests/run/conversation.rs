//! The messages of ranks to their node manager. The ranks here are shell scripts that write the
//! bytes of the messages themselves, so that they can also send what no library would.

use super::job::{run, text};
use bcs_core::job::handshake::PROTOCOL_VERSION;

/// Returns Hello, as postcard encodes it: variant 0, the version, and no reason why there is no
/// slot.
fn hello(version: u32) -> String {
    format!("printf '\\000\\{version:03o}\\000' >&3; ")
}

const FINALIZED: &str = "printf '\\001' >&3; ";

#[test]
fn a_rank_that_finalizes_may_leave() {
    let output = run("run -n 2", &(hello(PROTOCOL_VERSION) + FINALIZED));
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_rank_that_leaves_without_finalizing_has_failed() {
    let output = run("run -n 1", &hello(PROTOCOL_VERSION));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains(") left without calling MPI_Finalize; "),
        "{output:?}"
    );
}

#[test]
fn a_rank_may_be_started_by_a_script() {
    let bcs = env!("CARGO_BIN_EXE_bcs");
    let output = run("run -n 2", &format!("{bcs} app hello && exit 0"));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stdout).lines().count(), 2);
}

#[test]
fn a_rank_started_by_a_script_that_goes_on_is_missed() {
    let script = format!("sh -c \"{}\"; sleep 1000", hello(PROTOCOL_VERSION));
    let output = run("run -n 1", &script);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains(") left without calling MPI_Finalize; "),
        "{output:?}"
    );
}

#[test]
fn an_abort_ends_the_job_with_its_code() {
    // Variant 2, the code 7 in zigzag, a reason of 3 bytes, and no address.
    let abort = "printf '\\002\\016\\003why\\000' >&3; sleep 1000";
    let output = run("run -n 2", &(hello(PROTOCOL_VERSION) + abort));
    assert_eq!(output.status.code(), Some(7));
    assert!(
        text(&output.stderr).contains(") called MPI_Abort with code 7: why; "),
        "{output:?}"
    );
}

#[test]
fn a_rank_that_talks_rubbish_ends_the_job() {
    let output = run("run -n 1", "printf '\\377' >&3; sleep 1000");
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains(") sent its node manager a message that is none"));
}

#[test]
fn a_rank_of_another_version_is_refused_with_words() {
    let script = hello(99) + "dd bs=1000 count=1 <&3 2>/dev/null; exit 9";
    let output = run("run -n 1", &script);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("speaks version 99 of the protocol"), "{said}");
    assert_eq!(output.status.code(), Some(9));
}

#[test]
fn mpi_is_initialised_once() {
    let answers = "dd bs=1000 count=1 <&3 >/dev/null 2>&1; ";
    let hello = hello(PROTOCOL_VERSION);
    let script = format!("{hello}{answers}{hello}dd bs=1000 count=1 <&3 2>/dev/null; exit 9");
    let output = run("run -n 1", &script);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("rank 0 was received before"), "{said}");
}

/// Version 4 had no slots.
#[test]
fn a_hello_of_an_older_version_is_refused_with_words() {
    let script = "printf '\\000\\004' >&3; dd bs=1000 count=1 <&3 2>/dev/null; exit 9";
    let output = run("run -n 1", script);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("speaks version 4 of the protocol"), "{said}");
}

/// Variant 3 and a place; the answer is variant 3, and whether there may be one yet.
#[test]
fn who_asks_for_a_slot_that_is_not_there_is_told_so() {
    let ask = |place: &str| {
        format!("printf '\\003\\{place}' >&3; dd bs=1000 count=1 <&3 2>/dev/null | od -An -tu1; ")
    };
    let welcome = "dd bs=1000 count=1 <&3 >/dev/null 2>&1; ";
    let script = hello(PROTOCOL_VERSION) + welcome + &ask("000") + &ask("001") + FINALIZED;
    let output = run("run -n 1", &script);
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout);
    let lines: Vec<_> = said.lines().map(str::trim).collect();
    assert_eq!(lines, ["3   0", "3   0"]);
}

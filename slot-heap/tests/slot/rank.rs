//! A test that runs itself again, as a rank.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output};

/// Tells the test that it is the rank.
const ROLE: &str = "SLOT_HEAP_RANK";

/// The place of all these ranks.
pub(crate) const PLACE: usize = 5;

/// Returns whether this process is the rank of its test.
pub(crate) fn is_rank() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// Returns a command that runs a test again, as the rank of a place.
pub(crate) fn command(test: &str, place: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture", "--test-threads", "1"])
        .env("BCS_SLOT", place)
        .env(ROLE, "1");
    command
}

/// Runs a command, and shows its output if it fails.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{said}\n{told}", output.status);
    output
}

/// Runs `body` as a rank with a slot: in this process if it is one, else in a child.
pub(crate) fn as_rank(test: &str, body: impl FnOnce()) {
    if is_rank() {
        slot_heap::slot()
            .expect("a rank has a place")
            .expect("and a slot");
        body();
    } else {
        succeed(&mut command(test, &PLACE.to_string()));
    }
}

/// Does something in the child before it becomes the rank.
pub(crate) fn before_exec(command: &mut Command, act: fn() -> std::io::Result<()>) {
    // SAFETY: the tests only make system calls there.
    unsafe { command.pre_exec(act) };
}

/// Returns whether an address lies in this rank's slot.
pub(crate) fn in_slot<T>(address: *const T) -> bool {
    bcs_core::memory::slot::place_of(address as usize) == Some(PLACE)
}

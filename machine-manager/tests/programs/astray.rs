//! Ranks that do not call the same collective get an error that names who called what, and none
//! waits for ever.

use crate::program::fixture;
use std::process::{Command, Stdio};

#[test]
fn ranks_that_do_not_call_the_same_are_told_so() {
    let layouts = [
        "-n 2 --nodes 1",
        "-n 2 --nodes 2",
        "-n 5 --nodes 2",
        "-n 6 --nodes 3 --nic-threads coprocessor",
        "-n 5 --nodes 5 --strobe fixed --time-slice 200us",
    ];
    for layout in layouts {
        let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
            .args(["run", "--timeout", "60s"])
            .args(layout.split_whitespace())
            .arg(fixture("astray"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{layout}: {told}");
    }
}

//! Ranks that write rubbish over what they share with their NIC.
//!
//! `BCS_RUBBISH_ROUNDS` sets how often (default 8), `BCS_RUBBISH_SEED` repeats a run.

use crate::program::example;
use std::process::{Command, Stdio};

/// How an honest rank says that a byte has changed that nobody may write.
const CHANGED: i32 = 99;
/// `bcs exit-codes`: the time limit was over; the runtime had to give up.
const ENDS: [i32; 2] = [124, 125];
const LAYOUTS: [&str; 4] = [
    "-n 3 --nodes 1",
    "-n 3 --nodes 2",
    "-n 4 --nodes 2 --nic-threads dedicated",
    "-n 4 --nodes 3 --nic-threads coprocessor --strobe fixed",
];

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn bcs(layout: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bcs"));
    command
        .arg("run")
        .args(layout.split_whitespace())
        .stdin(Stdio::null());
    command
}

#[test]
fn rubbish_ends_its_own_job_and_changes_nothing_else() {
    let seed = number("BCS_RUBBISH_SEED").unwrap_or_else(|| {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        time.unwrap().as_secs() << 10
    });
    println!("BCS_RUBBISH_SEED={seed}");
    for round in 0..number("BCS_RUBBISH_ROUNDS").unwrap_or(8) {
        let layout = LAYOUTS[usize::try_from(round).unwrap() % LAYOUTS.len()];
        let number = (seed + round).to_string();
        let hostile = bcs(&format!("{layout} --timeout 1s"))
            .arg(example("rubbish"))
            .arg(&number)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Another job of this machine does not notice.
        let other = bcs("-n 3 --nodes 2 --timeout 60s")
            .arg(example("ring"))
            .output()
            .unwrap();
        let output = hostile.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let what = format!("seed {number}, {layout}: {told}");
        assert!(other.status.success(), "another job was disturbed; {what}");
        let code = output.status.code().expect("bcs run is not killed");
        assert_ne!(code, CHANGED, "{what}");
        let last = told.lines().last().unwrap_or_default();
        // A rank that fails an honest call ends the job by its own exit code.
        assert!(
            ENDS.contains(&code) || code == 1,
            "exit code {code}; {what}"
        );
        assert!(
            last.starts_with("bcs: ") && last.ends_with("was ended"),
            "{what}"
        );
        for crash in ["panicked", "signal", "node manager"] {
            assert!(!told.contains(crash), "{what}");
        }
    }
}

//! SAGE as jobs: a mesh that changes while it runs has the same contents in every layout, to the
//! bit.

use std::process::{Command, Stdio};

/// One node and several, both transports, all drivers and strobes, ranks that do not divide.
const LAYOUTS: [&str; 9] = [
    "-n 1",
    "-n 3",
    "-n 4 --nodes 2",
    "-n 4 --nodes 2 --intranode nic --nic-threads coprocessor",
    "-n 3 --nodes 3 --nic-threads dedicated --eager-limit 0",
    "-n 8 --nodes 4",
    "-n 2 --nodes 2 --strobe fixed",
    "-n 4 --nodes 2 --strobe auto",
    "-n 4 --nodes 2 --fabric udp",
];

/// Returns the results of a run: cycles, cells, totals and the digest of all cells.
fn results(layout: &str, arguments: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "--timeout", "120s"])
        .args(layout.split_whitespace())
        .arg("sage")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && told.is_empty(),
        "{layout}: {told}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().skip_while(|line| !line.contains(" cycles, "));
    let results = lines.take_while(|line| !line.starts_with("elapsed"));
    results.map(str::to_owned).collect()
}

#[test]
fn sage_computes_the_same_in_every_layout() {
    for arguments in [
        ["--deck", "sedov", "--levels", "3", "--cycles", "24"],
        ["--deck", "timing_c", "--levels", "1", "--cycles", "4"],
    ] {
        let alone = results(LAYOUTS[0], &arguments);
        assert!(
            alone.last().is_some_and(|line| line.starts_with("digest ")),
            "{alone:?}"
        );
        for layout in &LAYOUTS[1..] {
            assert_eq!(results(layout, &arguments), alone, "{layout} {arguments:?}");
        }
    }
}

#[test]
fn sage_refuses_decks_that_are_not_there() {
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "-n", "3", "sage", "--deck", "/nowhere/deck.toml"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("failed to read the deck /nowhere/deck.toml"),
        "{told}"
    );
}

//! Programs without a launcher: worlds of one.

use crate::program::example;
use std::process::{Command, Output, Stdio};

fn run(name: &str, words: &[&str]) -> Output {
    let mut command = Command::new(example(name));
    command.args(words).stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn examples_need_no_launcher() {
    let examples = ["ring", "pi", "heat", "master_worker", "sample_sort"];
    for (name, lines) in examples.map(|name| (name, 1)).into_iter().chain([
        ("selftest", 15),
        ("halo", 4),
        ("traffic", 1),
    ]) {
        let Output {
            status,
            stdout,
            stderr,
        } = run(name, &[]);
        let told = String::from_utf8_lossy(&stderr);
        assert!(
            status.success() && told.is_empty(),
            "{name}: {status}: {told}"
        );
        let said = String::from_utf8_lossy(&stdout);
        assert_eq!(said.lines().count(), lines, "{name}: {said}");
    }
}

/// What ends a job ends a world of one, which says why: nobody else would.
#[test]
fn a_world_of_one_says_why_it_ends() {
    let few = run("queues", &["to-itself", "1000"]);
    assert!(few.status.success(), "{few:?}");
    let many = run("queues", &["to-itself", "1100000"]);
    assert_eq!(many.status.code(), Some(125), "{many:?}");
    let told = String::from_utf8_lossy(&many.stderr);
    assert!(
        told.starts_with("aborted: ") && told.ends_with(": receive before more is sent\n"),
        "{told}"
    );
}

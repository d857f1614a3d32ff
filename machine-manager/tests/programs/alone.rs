//! Programs without a launcher: worlds of one.

use crate::examples::example;
use crate::program::fixture;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(program: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn programs_need_no_launcher() {
    for (program, lines) in [
        (example("ring"), 1),
        (example("pi"), 1),
        (example("heat"), 1),
        (example("master_worker"), 1),
        (example("sample_sort"), 1),
        (example("halo"), 4),
        (fixture("selftest"), 15),
        (fixture("traffic"), 1),
    ] {
        let name = program.display();
        let Output {
            status,
            stdout,
            stderr,
        } = run(&program, &[]);
        let told = String::from_utf8_lossy(&stderr);
        assert!(
            status.success() && told.is_empty(),
            "{name}: {status}: {told}"
        );
        let said = String::from_utf8_lossy(&stdout);
        assert_eq!(said.lines().count(), lines, "{name}: {said}");
    }
}

/// An error ends a world of one, too, which prints the reason itself.
#[test]
fn a_world_of_one_says_why_it_ends() {
    let queues = fixture("queues");
    let few = run(&queues, &["to-itself", "1000"]);
    assert!(few.status.success(), "{few:?}");
    let many = run(&queues, &["to-itself", "1100000"]);
    assert_eq!(many.status.code(), Some(125), "{many:?}");
    let told = String::from_utf8_lossy(&many.stderr);
    assert!(
        told.starts_with("aborted: ") && told.ends_with(": receive before more is sent\n"),
        "{told}"
    );
}

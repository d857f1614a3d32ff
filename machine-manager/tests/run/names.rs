//! Names of the binary that mean `bcs run`, and `-np`.

use super::job::{Job, bcs, text};
use std::os::unix::process::CommandExt as _;

fn called(name: &str, arguments: &str) -> std::process::Output {
    let mut command = bcs(arguments);
    command.arg0(name);
    Job::spawn(command).finish()
}

#[test]
fn the_name_may_mean_run() {
    for name in ["bcsrun", "mpiexec", "/usr/local/bin/mpirun"] {
        let output = called(name, "-np 2 --nodes 2 hello");
        assert_eq!(text(&output.stdout).lines().count(), 2, "{output:?}");
        assert!(output.status.success());
    }
}

#[test]
fn bad_input_is_explained_under_any_name() {
    let output = called("mpiexec", "-np 2");
    assert_eq!(
        text(&output.stderr),
        "bcs: no program is named: say what to run, as in `bcs run -n 4 hello`\n"
    );
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn np_after_the_program_belongs_to_it() {
    let output = called("mpiexec", "echo -np 2");
    assert_eq!(text(&output.stdout), "-np 2\n");
}

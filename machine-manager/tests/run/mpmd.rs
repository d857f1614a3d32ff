//! Several programs in one job.

use super::job::{run, text};
use super::placing::by_rank;

#[test]
fn world_ranks_follow_the_order_of_the_programs() {
    let output = run(
        "run -n 2 --nodes 2 -l --env X=first printenv X : -n 3 --env X=second printenv X : pwd",
        "",
    );
    let here = std::env::current_dir().unwrap();
    assert_eq!(
        by_rank(&output.stdout),
        [
            "[0] first".to_owned(),
            "[1] first".into(),
            "[2] second".into(),
            "[3] second".into(),
            "[4] second".into(),
            format!("[5] {}", here.display()),
        ],
        "{output:?}"
    );
    assert!(output.status.success());
}

#[test]
fn several_programs_are_one_world() {
    let output = run("run -n 2 -l hello : -np 1 hello", "");
    let expected: Vec<String> = (0..3)
        .map(|rank| format!("[{rank}] hello from rank {rank} of 3"))
        .collect();
    assert_eq!(by_rank(&output.stdout), expected);
}

#[test]
fn the_program_that_cannot_be_started_is_the_one_named() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    std::fs::write(&script, "echo hi\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let output = run(&format!("run -n 2 cat : {}", script.display()), "");
    assert_eq!(output.status.code(), Some(126));
    let stderr = text(&output.stderr);
    let expected = format!(
        "bcs: rank 2 on node 0 could not be started: {} is not in a format",
        script.display()
    );
    assert!(stderr.starts_with(&expected), "{stderr}");
}

//! The paths of the programs, and the names that they must not leave.

use std::path::PathBuf;

/// Returns the path of a program of the package `fixtures`, which cargo builds beside `bcs`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    built(name, "-p fixtures")
}

/// Returns the path of a program that is built in this way.
pub(crate) fn built(name: &str, how: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_BIN_EXE_bcs")).with_file_name(name);
    assert!(
        path.exists(),
        "{} was not built: run `cargo build {how}` or `cargo test --workspace`",
        path.display()
    );
    path
}

/// Returns the names that jobs could leave in the file system.
pub(crate) fn names() -> Vec<String> {
    let mut names = Vec::new();
    for directory in ["/dev/shm", "/tmp"] {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.contains("slot") || name.contains("bcs-") {
                names.push(format!("{directory}/{name}"));
            }
        }
    }
    names.sort();
    names
}

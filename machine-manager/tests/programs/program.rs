//! Where the programs are.

use std::path::PathBuf;

/// An example of the workspace, which cargo builds beside `bcs`.
pub(crate) fn example(name: &str) -> PathBuf {
    let bcs = PathBuf::from(env!("CARGO_BIN_EXE_bcs"));
    let path = bcs.parent().unwrap().join("examples").join(name);
    assert!(
        path.exists(),
        "{} was not built: run `cargo build --examples` or `cargo test --workspace`",
        path.display()
    );
    path
}

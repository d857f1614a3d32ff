//! Installs the products of this checkout, for tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use toolchain::{BuildArtifacts, DebugInfo, install};

fn cargo(words: &[&str]) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(words)
        .status()
        .expect("cargo runs");
    assert!(built.success(), "cargo {words:?} failed");
}

/// Returns the folder of this build's products: two folders above the test itself.
fn products() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let folder = test.parent().and_then(Path::parent);
    folder
        .expect("a test lies in a folder of a folder")
        .to_owned()
}

/// Installs the products of this checkout, in the profile of this test.
pub(crate) fn installed(prefix: &Path) {
    let products = products();
    // Builds the whole workspace, like its tests, so that dependencies have the same features.
    let mut words = vec!["build", "--workspace"];
    if products.ends_with("release") {
        words.push("--release");
    }
    cargo(&words);
    let parts = BuildArtifacts {
        command: &products.join("bcs"),
        archive: &products.join("libstandard_abi.a"),
        mpich_archive: &products.join("libmpich_abi.a"),
        heap: &products.join(toolchain::HEAP),
        debug_info: DebugInfo::Stripped,
    };
    install(parts, prefix).expect("it can be installed");
}

pub(crate) fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{}\n{out}{err}", output.status)
}

pub(crate) fn succeeded(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

//! Installs the products of this checkout, for tests.

use std::fs::{self, File};
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
///
/// To link libraries and compile the glue of Fortran takes seconds, and some twenty tests of
/// several programs want an installation. So the first one makes it, and each gets a copy.
pub(crate) fn installed(prefix: &Path) {
    let products = products();
    // Builds the whole workspace, with a test, so that dependencies have the same features as in
    // the workspace's tests. Otherwise all crates would be compiled again.
    let mut words = vec!["build", "--workspace", "--lib", "--bins"];
    words.extend(["--test", "build_systems"]);
    if products.ends_with("release") {
        words.push("--release");
    }
    cargo(&words);
    let command = products.join("bcs");
    let archive = products.join("libstandard_abi.a");
    let mpich_archive = products.join("libmpich_abi.a");
    let heap = products.join(toolchain::HEAP);
    let installer = products.join("libtoolchain.rlib");
    let made_of = [&command, &archive, &mpich_archive, &heap, &installer].map(|file| version(file));
    let parts = BuildArtifacts {
        command: &command,
        archive: &archive,
        mpich_archive: &mpich_archive,
        heap: &heap,
        debug_info: DebugInfo::Stripped,
    };
    let first = products.join("installed-for-tests");
    let stamp = products.join("installed-for-tests.stamp");
    let lock = File::create(products.join("installed-for-tests.lock")).expect("it can be made");
    lock.lock().expect("others are done at some time");
    if fs::read_to_string(&stamp).ok() != Some(made_of.concat()) {
        let _ = fs::remove_file(&stamp);
        let _ = fs::remove_dir_all(&first);
        install(parts, &first).expect("it can be installed");
        fs::write(&stamp, made_of.concat()).expect("it can be written");
    }
    fs::create_dir_all(prefix).expect("it can be made");
    let copied = Command::new("cp")
        .arg("-a")
        .arg(first.join("."))
        .arg(prefix)
        .status();
    assert!(copied.expect("cp runs").success());
}

/// Returns a line that differs for each version of a file.
fn version(file: &Path) -> String {
    let about = fs::metadata(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let written = about.modified().expect("the file system keeps times");
    format!("{} {} {written:?}\n", file.display(), about.len())
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

//! C programs built by the installed `mpicc`, one concept a file (`tests/c`): each as it comes, without a launcher, and
//! under `mpiexec` with several numbers of ranks on one and two nodes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use toolchain::{Parts, install};

const RANKS: [u32; 5] = [1, 2, 3, 5, 8];
const NODES: [u32; 2] = [1, 2];

fn cargo(words: &[&str]) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(words)
        .status()
        .expect("cargo runs");
    assert!(built.success(), "cargo {words:?} failed");
}

/// The folder of this build's products: that of the test itself, two folders up.
fn products() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let folder = test.parent().and_then(Path::parent);
    folder
        .expect("a test lies in a folder of a folder")
        .to_owned()
}

/// Installs what this checkout makes, in the profile of this test.
fn installed(prefix: &Path) {
    let products = products();
    let mut words = vec![
        "build",
        "--package",
        "mpi-abi",
        "--package",
        "machine-manager",
    ];
    if products.ends_with("release") {
        words.push("--release");
    }
    cargo(&words);
    let parts = Parts {
        command: &products.join("bcs"),
        archive: &products.join("libmpi_abi.a"),
    };
    install(parts, prefix).expect("it can be installed");
}

fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{}\n{out}{err}", output.status)
}

fn succeeded(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut sources: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    sources.sort();
    sources
}

#[test]
fn c_programs() {
    let folder = tempfile::tempdir().expect("there is room");
    let prefix = folder.path().join("installed here");
    installed(&prefix);
    let bin = prefix.join("bin");
    for source in sources() {
        let name = source.file_stem().expect("a file has a name");
        let program = folder.path().join(name);
        let mut compile = Command::new(bin.join("mpicc_abi"));
        compile.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o"]);
        succeeded(compile.arg(&program).arg(&source));
        succeeded(&mut Command::new(&program));
        for ranks in RANKS {
            for nodes in NODES.into_iter().filter(|nodes| *nodes <= ranks) {
                let mut run = Command::new(bin.join("mpiexec"));
                run.args(["-n", &ranks.to_string(), "--nodes", &nodes.to_string()]);
                succeeded(run.arg(&program));
            }
        }
    }
    wrappers_say_what_they_do(&bin);
    the_library_shows_both_names(&prefix);
}

fn wrappers_say_what_they_do(bin: &Path) {
    let shown = succeeded(Command::new(bin.join("mpicc")).args(["-show", "-O2", "-c", "x.c"]));
    assert!(
        shown.starts_with("cc -I") && shown.contains("-O2 -c x.c"),
        "{shown}"
    );
    let compiled = succeeded(Command::new(bin.join("mpicxx_abi")).arg("-compile_info"));
    assert!(
        compiled.starts_with("c++ -I") && !compiled.contains("-lmpi_abi"),
        "{compiled}"
    );
    let linked = succeeded(Command::new(bin.join("mpicc")).arg("-link_info"));
    assert!(linked.trim_end().ends_with("-lmpi_abi"), "{linked}");
}

/// Each function of the standard's list, and nothing else, and the name without the P is weak.
fn the_library_shows_both_names(prefix: &Path) {
    let library = prefix.join("lib/libmpi_abi.so.1");
    let shown = succeeded(
        Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(library),
    );
    let mut symbols: Vec<(String, String)> = shown
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            Some((words.next()?.to_owned(), words.next()?.to_owned()))
        })
        .collect();
    symbols.sort();
    let names = toolchain::standard::FUNCTIONS.lines().filter_map(|line| {
        let head = line.split_once('(')?.0;
        Some(head.rsplit_once(' ')?.1.to_owned())
    });
    let mut expected: Vec<(String, String)> = names
        .flat_map(|name| [("T".to_owned(), format!("P{name}")), ("W".to_owned(), name)])
        .collect();
    expected.sort();
    assert_eq!(symbols, expected);
}

//! Tests `libmpi.so.12`: programs that MPICH's own compiler wrapper has built run unchanged over
//! our library, and the library has MPICH's names and constants.
//!
//! MPICH comes from `cargo xtask peers`. Without it the tests that need it are skipped. They fail
//! instead if `BCS_REQUIRE_MPICH` is set.

mod installed;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use installed::{installed, said, succeeded};

const REQUIRED: &str = "BCS_REQUIRE_MPICH";

/// Numbers of ranks and nodes.
const LAYOUTS: [&str; 5] = ["-n 1", "-n 2", "-n 4", "-n 2 --nodes 2", "-n 4 --nodes 2"];

/// Programs of `tests/c` that use more than MPI.
const NOT_ALL_MPI: [&str; 1] = ["bcs"];

/// The lists of the crate `mpich-abi`.
const CONSTANTS: &str = include_str!("../../mpich-abi/lists/constants.txt");
const MORE_FUNCTIONS: &str = include_str!("../../mpich-abi/lists/functions.txt");

/// Variables that MPICH's library has, and our mark.
const VARIABLES: [&str; 10] = [
    "MPI_F08_STATUSES_IGNORE",
    "MPI_F08_STATUS_IGNORE",
    "MPI_F_STATUSES_IGNORE",
    "MPI_F_STATUS_IGNORE",
    "MPI_T_PVAR_ALL_HANDLES",
    "MPI_UNWEIGHTED",
    "MPI_WEIGHTS_EMPTY",
    "MPIR_F08_MPI_STATUSES_IGNORE_OBJ",
    "MPIR_F08_MPI_STATUS_IGNORE_OBJ",
    "bcs_mpich_abi",
];

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Returns the folder of MPICH, if it is installed.
fn peer() -> Option<PathBuf> {
    let peer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers/mpich");
    let is_there = peer.join("bin/mpicc").is_file();
    assert!(
        is_there || env::var_os(REQUIRED).is_none(),
        "MPICH is not installed (cargo xtask peers), and {REQUIRED} is set"
    );
    if !is_there {
        eprintln!("skipped: MPICH is not installed (cargo xtask peers)");
    }
    is_there.then_some(peer)
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(tests().join(folder)).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut sources: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .filter(|path| {
            !NOT_ALL_MPI
                .iter()
                .any(|name| path.ends_with(format!("{name}.c")))
        })
        .collect();
    sources.sort();
    sources
}

/// Compiles a program by MPICH's wrapper, which records the folder of MPICH's library in it.
fn compiled(peer: &Path, source: &Path, folder: &Path) -> PathBuf {
    let program = folder.join(source.file_stem().expect("a file has a name"));
    let mut compile = Command::new(peer.join("bin/mpicc"));
    compile.args(["-std=c99", "-Wall", "-Wextra", "-g", "-O1", "-o"]);
    succeeded(compile.arg(&program).arg(source));
    program
}

fn names_of(library: &Path) -> BTreeSet<String> {
    let mut nm = Command::new("nm");
    let shown = succeeded(nm.args(["-D", "--defined-only"]).arg(library));
    let names = shown.lines().filter_map(|line| line.split(' ').nth(2));
    names.map(str::to_owned).collect()
}

/// Checks that the library exports the functions of both lists under both names, the variables, and
/// nothing else; and all names of MPI that MPICH's library has.
#[test]
fn the_library_has_mpichs_names() {
    let folder = tempfile::tempdir().expect("there is room");
    installed(folder.path());
    let ours = names_of(&folder.path().join("lib/mpich/libmpi.so.12"));
    let lines = toolchain::standard::FUNCTIONS
        .lines()
        .chain(MORE_FUNCTIONS.lines());
    let functions = lines.map(|line| {
        let head = line.split('(').next().unwrap_or_default();
        head.rsplit(' ').next().unwrap_or_default()
    });
    let mut expected: BTreeSet<String> = VARIABLES.map(str::to_owned).into();
    expected.insert("MPIR_Dup_fn".to_owned());
    for name in functions {
        expected.extend([name.to_owned(), format!("P{name}")]);
    }
    assert_eq!(ours, expected);
    let Some(peer) = peer() else { return };
    let theirs = names_of(&peer.join("lib/libmpi.so.12"));
    let of_mpi = |name: &&String| name.starts_with("MPI_") || name.starts_with("PMPI_");
    let missing: Vec<&String> = theirs
        .iter()
        .filter(of_mpi)
        .filter(|name| !ours.contains(*name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Checks that the list of constants is that of MPICH's header.
#[test]
fn constants_are_those_of_mpichs_header() {
    let Some(peer) = peer() else { return };
    let folder = tempfile::tempdir().expect("there is room");
    let mut text = String::from("#include <mpi.h>\n#include <stdio.h>\nint main(void) {\n");
    for line in CONSTANTS.lines() {
        let head = &line[..line.rfind('\t').expect("a line has a value")];
        let name = line.split('\t').nth(1).expect("a line has a name");
        let _ = writeln!(
            text,
            "    printf(\"{}\\t%lld\\n\", (long long){name});",
            head.replace('\t', "\\t")
        );
    }
    text += "    return 0;\n}\n";
    let source = folder.path().join("constants.c");
    fs::write(&source, text).expect("it can be written");
    let program = folder.path().join("constants");
    let mut compile = Command::new(peer.join("bin/mpicc"));
    succeeded(compile.args(["-w", "-o"]).arg(&program).arg(&source));
    let mut run = Command::new(&program);
    let printed = succeeded(run.env("LD_LIBRARY_PATH", peer.join("lib")));
    assert!(CONSTANTS.lines().count() > 300);
    assert_eq!(printed, CONSTANTS);
}

/// Checks that programs which MPICH's wrapper has built run with our library.
#[test]
fn programs_of_mpich_run_unchanged() {
    let Some(peer) = peer() else { return };
    let folder = tempfile::tempdir().expect("there is room");
    let prefix = folder.path().join("installed here");
    installed(&prefix);
    for source in sources("c").into_iter().chain(sources("mpich")) {
        let program = compiled(&peer, &source, folder.path());
        let mut alone = Command::new(&program);
        succeeded(alone.env("LD_LIBRARY_PATH", prefix.join("lib/mpich")));
        for layout in LAYOUTS {
            let mut run = Command::new(prefix.join("bin/mpiexec"));
            succeeded(run.args(layout.split(' ')).arg(&program));
        }
    }
    places_are_in_the_program(&peer, &prefix, folder.path());
    a_program_that_insists_on_mpich_runs_with_it(&peer, &prefix, folder.path());
}

/// Checks that a report of a deadlock names the line of the program.
fn places_are_in_the_program(peer: &Path, prefix: &Path, folder: &Path) {
    let program = compiled(peer, &tests().join("wrong/deadlock.c"), folder);
    let mut run = Command::new(prefix.join("bin/mpiexec"));
    let ended = run
        .args(["-n", "2"])
        .arg(program)
        .output()
        .expect("it runs");
    let told = said(&ended);
    assert!(
        !ended.status.success() && told.contains("deadlock.c:"),
        "{told}"
    );
}

/// Checks that a program which looks for MPICH's library before ours is one job with that.
fn a_program_that_insists_on_mpich_runs_with_it(peer: &Path, prefix: &Path, folder: &Path) {
    let program = folder.join("insists");
    let mut compile = Command::new("cc");
    compile
        .arg("-I")
        .arg(peer.join("include"))
        .arg("-o")
        .arg(&program);
    compile
        .arg(tests().join("c/ring.c"))
        .arg("-L")
        .arg(peer.join("lib"))
        .arg("-lmpi");
    let path = peer.join("lib");
    compile.arg(format!("-Wl,--disable-new-dtags,-rpath,{}", path.display()));
    succeeded(&mut compile);
    let mut run = Command::new(prefix.join("bin/mpiexec"));
    let ended = run
        .args(["-n", "2"])
        .arg(&program)
        .output()
        .expect("it runs");
    let told = said(&ended);
    assert!(ended.status.success() && !told.contains("bcs:"), "{told}");
}

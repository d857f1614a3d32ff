//! Tests C programs built by the installed `mpicc`, one concept per file (`tests/c`): each without
//! a launcher, and under `mpiexec` with several numbers of ranks on one and two nodes.

mod installed;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use installed::{installed, succeeded};

const RANKS: [u32; 5] = [1, 2, 3, 5, 8];
const NODES: [u32; 2] = [1, 2];

/// How many programs are checked at once: a job waits more than it computes.
const AT_ONCE: usize = 3;

/// Other paths than the default: within a node, the NIC or queues alone; between two nodes,
/// datagrams or fixed strobes.
const ROADS: [&[&str]; 4] = [
    &["--intranode", "nic"],
    &["--copy-method", "queues"],
    &["--nodes", "2", "--fabric", "udp"],
    &["--nodes", "2", "--strobe", "fixed"],
];

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
    let sources = sources();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                    one_program(&bin, folder.path(), source);
                }
            });
        }
    });
    nothing_is_left_of_cancelled_sends(&bin, folder.path());
    long_messages_are_replaced_in_pieces(&bin, folder.path());
    wrong_arguments_are_told_on_all_ways(&bin, folder.path());
    a_program_that_does_not_say_where_its_library_is_finds_it(&prefix, folder.path());
    wrappers_say_what_they_do(&bin);
    the_library_shows_its_names_alone(&prefix);
    a_tool_sees_what_a_program_calls(&bin, folder.path());
    a_tool_reads_what_the_job_was_started_with(&bin, folder.path());
    a_rank_that_is_recorded_counts_its_calls(&bin, folder.path());
    binaries_run_with_another_library(&prefix, folder.path());
}

/// Checks one program in all layouts.
fn one_program(bin: &Path, folder: &Path, source: &Path) {
    let name = source.file_stem().expect("a file has a name");
    let program = folder.join(name);
    let mut compile = Command::new(bin.join("mpicc_abi"));
    compile.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o"]);
    succeeded(compile.arg(&program).arg(source));
    succeeded(&mut Command::new(&program));
    for ranks in RANKS {
        for nodes in NODES.into_iter().filter(|nodes| *nodes <= ranks) {
            let mut run = Command::new(bin.join("mpiexec"));
            run.args(["-n", &ranks.to_string(), "--nodes", &nodes.to_string()]);
            succeeded(run.arg(&program));
        }
    }
    // Tools see the unexpected messages that ranks hold, and not those of NICs.
    let by_nic = name != "tool";
    for road in ROADS
        .iter()
        .filter(|road| by_nic || road[0] != "--intranode")
    {
        let mut run = Command::new(bin.join("mpiexec"));
        succeeded(run.args(["-n", "4"]).args(*road).arg(&program));
    }
}

/// Checks that all ranks learn of a wrong argument of one rank in a collective, on every path.
fn wrong_arguments_are_told_on_all_ways(bin: &Path, folder: &Path) {
    for layout in [
        "-n 4 --intranode nic",
        "-n 5 --nodes 2 --intranode nic",
        "-n 5 --nodes 2 --collectives nic",
        "-n 6 --nodes 3",
        "-n 5 --nodes 2 --fabric udp",
        "-n 4 --nodes 2 --strobe fixed",
        "-n 5 --nodes 2 --copy-method queues",
    ] {
        let mut run = Command::new(bin.join("mpiexec"));
        run.args(layout.split(' ')).args(["--timeout", "120s"]);
        succeeded(run.arg(folder.join("invalid_arguments")));
    }
}

/// Some build systems link without an rpath.
fn a_program_that_does_not_say_where_its_library_is_finds_it(prefix: &Path, folder: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/ring.c");
    let program = folder.join("ring without a path");
    let mut compile = Command::new("cc");
    compile.arg("-I").arg(prefix.join("include"));
    compile.arg("-o").arg(&program).arg(source);
    compile.arg("-L").arg(prefix.join("lib")).arg("-lmpi_abi");
    succeeded(&mut compile);
    let mut run = Command::new(prefix.join("bin/mpiexec"));
    succeeded(run.args(["-n", "3"]).arg(&program));
}

/// Checks that a cancelled message is not reported as unreceived, and that no request is left.
fn nothing_is_left_of_cancelled_sends(bin: &Path, folder: &Path) {
    const MORE: [&[&str]; 4] = [
        &["--nodes", "1"],
        &["--nodes", "2"],
        &["--nodes", "2", "--checked"],
        &["--nodes", "2", "--eager-limit", "0"],
    ];
    for road in MORE.iter().chain(&ROADS) {
        let mut run = Command::new(bin.join("mpiexec"));
        let run = run
            .args(["-n", "3"])
            .args(*road)
            .arg(folder.join("cancels"));
        let ended = run.output().expect("it runs");
        let says = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success() && says.is_empty(), "{run:?}: {says}");
    }
}

/// Checks that ranks of a node do not copy a long message over one that another message replaces.
/// Their heaps are not in slots here: in slots, each rank's accesses count as the owner's.
fn long_messages_are_replaced_in_pieces(bin: &Path, folder: &Path) {
    for layout in ["-n 2", "-n 3", "-n 2 --checked"] {
        let mut run = Command::new(bin.join("mpiexec"));
        run.args(layout.split(' ')).args(["--heap", "own"]);
        succeeded(run.arg(folder.join("replacements")).arg("memory"));
    }
}

/// Checks that a preloaded library intercepts the program's calls, and not the library's own.
fn a_tool_sees_what_a_program_calls(bin: &Path, folder: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tool/count.c");
    let tool = folder.join("count.so");
    let mut compile = Command::new(bin.join("mpicc_abi"));
    compile.args(["-shared", "-fPIC", "-o"]);
    succeeded(compile.arg(&tool).arg(source));
    let mut run = Command::new(bin.join("mpiexec"));
    run.args(["-n", "2", "env"]);
    run.arg(format!("LD_PRELOAD={}", tool.display()));
    let said = succeeded(run.arg(folder.join("ring")));
    // One send to `MPI_PROC_NULL`, and four waits: one for two requests, and three rounds of
    // persistent requests.
    let counted = said.matches("counted 1 sends and 4 waits\n").count();
    assert_eq!(counted, 2, "{said}");
}

/// Checks that a setting has the value with which the job was started.
fn a_tool_reads_what_the_job_was_started_with(bin: &Path, folder: &Path) {
    for limit in ["2000", "4321"] {
        let mut run = Command::new(bin.join("mpiexec"));
        run.args(["-n", "2", "--eager-limit", limit]);
        succeeded(run.arg(folder.join("tool")).arg(limit));
    }
}

/// Checks that the recorder's variables exist if the recorder does.
fn a_rank_that_is_recorded_counts_its_calls(bin: &Path, folder: &Path) {
    let mut run = Command::new(bin.join("mpiexec"));
    run.args(["-n", "2", "--mds"]).arg(folder.join("dumps"));
    succeeded(run.arg(folder.join("tool")));
}

/// Checks that binaries of the standard ABI run with either library: those of our compiler wrapper
/// with MPICH's, and those of MPICH's with ours. The programs here use nothing that the standard
/// leaves open.
fn binaries_run_with_another_library(prefix: &Path, folder: &Path) {
    let peer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers/mpich");
    if !peer.join("bin/mpicc_abi").is_file() {
        eprintln!("skipped: MPICH is not installed (cargo xtask peers)");
        return;
    }
    for name in [
        "ring",
        "collectives",
        "operations",
        "datatypes",
        "attributes",
    ] {
        let mut theirs = Command::new(peer.join("bin/mpiexec"));
        theirs.args(["-n", "3"]).arg(folder.join(name));
        succeeded(theirs.env("LD_LIBRARY_PATH", peer.join("lib")));
        let program = folder.join(format!("{name} of MPICH"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/c/{name}.c"));
        let mut compile = Command::new(peer.join("bin/mpicc_abi"));
        succeeded(compile.arg("-o").arg(&program).arg(source));
        let mut ours = Command::new(prefix.join("bin/mpiexec"));
        ours.args(["-n", "3", "--nodes", "2"]).arg(&program);
        succeeded(&mut ours);
    }
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
    let flags = succeeded(Command::new(bin.join("mpicc")).arg("--showme:link"));
    assert_eq!(linked.trim_start_matches("cc "), flags);
    let version = succeeded(Command::new(bin.join("mpicc")).arg("--showme:version"));
    let is = format!("mpicc: BCS-MPI {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(version, is);
    let asked = |name: &str, word: &str| {
        succeeded(Command::new(bin.join(name)).arg(format!("--showme:{word}")))
    };
    assert_eq!(asked("mpicc", "libs"), "mpi_abi\n");
    assert!(flags.contains(asked("mpicc", "libdirs").trim_end()));
    // Compilers that scripts for other MPIs name.
    assert_eq!(asked("mpic++", "command"), "c++\n");
    for variable in ["MPICH_CC", "OMPI_CC", "I_MPI_CC", "BCS_CC"] {
        let mut named = Command::new(bin.join("mpicc"));
        let shown = succeeded(named.arg("-show").env(variable, "ours -m64"));
        assert!(shown.starts_with("ours -m64 -I"), "{variable}: {shown}");
    }
    let shown = succeeded(Command::new(bin.join("mpiCC")).args(["-cxx=that", "-show"]));
    assert!(shown.starts_with("that -I"), "{shown}");
    let missing = Command::new(bin.join("mpicc"))
        .args(["-cc=no-such-cc", "x.c"])
        .output();
    let text = String::from_utf8(missing.expect("it runs").stderr).expect("it is text");
    let is = "mpicc: there is no no-such-cc here: install a compiler, or name one by BCS_CC\n";
    assert_eq!(text, is);
    // With `-v` alone there is nothing to link.
    let told = Command::new(bin.join("mpicc")).arg("-v").output();
    let told = told.expect("it runs");
    let text = String::from_utf8_lossy(&told.stderr);
    assert!(text.starts_with("mpicc for BCS-MPI version "), "{text}");
    assert!(told.status.success(), "{text}");
}

/// Returns the kinds and names of symbols that `nm` lists, sorted.
fn symbols(library: &Path, option: &str) -> Vec<(String, String)> {
    let shown = succeeded(Command::new("nm").args(["-D", option]).arg(library));
    let mut symbols: Vec<(String, String)> = shown
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace().rev();
            let name = words.next()?.to_owned();
            Some((words.next()?.to_owned(), name))
        })
        .collect();
    symbols.sort();
    symbols
}

/// Checks that the library exports the standard's functions under both names, with weak names
/// without the P, the functions of `bcs.h`, and nothing else but what the library of MPICH's ABI
/// needs of it.
fn the_library_shows_its_names_alone(prefix: &Path) {
    let layer = symbols(&prefix.join("lib/mpich/libmpi.so.12"), "--undefined-only");
    let mut symbols = symbols(&prefix.join("lib/libmpi_abi.so.1"), "--defined-only");
    symbols.retain(|(_, name)| layer.iter().all(|(_, needed)| needed != name));
    let names = toolchain::standard::FUNCTIONS.lines().filter_map(|line| {
        let head = line.split_once('(')?.0;
        Some(head.rsplit_once(' ')?.1.to_owned())
    });
    let mut expected: Vec<(String, String)> = names
        .flat_map(|name| [("T".to_owned(), format!("P{name}")), ("W".to_owned(), name)])
        .chain(toolchain::bcs::functions().map(|name| ("T".to_owned(), name.to_owned())))
        .chain(
            [
                toolchain::library::OUTER_CALLER,
                toolchain::library::MAKE_OPERAND,
            ]
            .map(|name| ("T".to_owned(), name.to_owned())),
        )
        .collect();
    expected.sort();
    assert_eq!(symbols, expected);
}

//! Every option that users of other launchers type, under each of the command's names, with real
//! processes.

use super::job::{Job, bcs, text};
use machine_manager::cores::ranges;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Output;

const NAMES: [&str; 4] = ["bcs run", "bcsrun", "mpiexec", "mpirun"];

/// Calls the command by a name, in a directory, with `A=inherited` in its environment.
fn called(name: &str, words: &[&str], directory: &Path) -> Output {
    let mut command = match name {
        "bcs run" => bcs("run"),
        _ => {
            let mut command = bcs("");
            command.arg0(name);
            command
        }
    };
    command
        .args(words)
        .current_dir(directory)
        .env("A", "inherited");
    Job::spawn(command).finish()
}

/// Makes the files that the lines below name.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write(
        "mpich",
        "# this machine\nlocalhost:1\n\n127.0.0.1:2 # again\n",
    );
    write(
        "openmpi",
        "localhost slots=1\n127.0.0.1 slots=2 max_slots=4\n",
    );
    write("odd", "localhost cpus=4\n");
    write(
        "programs",
        "# two programs\n-n 1 -env B 1 printenv B\n\n-n 2 printenv A\n",
    );
    std::fs::create_dir(directory.path().join("sub dir")).unwrap();
    directory
}

/// A command line, the output of the ranks in their order, the other messages, and the exit code.
type Golden = (&'static [&'static str], &'static str, String, i32);

fn placed(nodes: &[u32]) -> String {
    let cores = ranges(&machine_manager::cores::allowed());
    let ranks = nodes.iter().enumerate();
    let lines = ranks
        .map(|(rank, node)| format!("bcs: rank {rank} on node {node} may use cores {cores}\n"));
    lines.collect()
}

fn bad(what: &str) -> String {
    format!("bcs: {what}\n")
}

#[rustfmt::skip]
fn golden() -> Vec<Golden> {
    let good = String::new;
    type Line = &'static [&'static str];
    let well = |line: Line, said| (line, said, good(), 0);
    let refused = |line: Line, what: &str| (line, "", bad(what), 2);
    let on = |line: Line, nodes: &[u32]| (line, "", placed(nodes), 0);
    vec![
        // Environment.
        well(&["-x", "B=1", "printenv", "B"], "1"),
        well(&["-x", "A", "printenv", "A"], "inherited"),
        well(&["-x", "B=1", "printenv", "B", ":", "printenv", "B"], "1 1"),
        (&["-x", "NOT_SET", "echo", "x"], "x",
         bad("-x NOT_SET exports nothing: the variable is not set; write -x NOT_SET=VALUE to set it"), 0),
        well(&["-env", "B", "1", "printenv", "B"], "1"),
        well(&["-env", "B=1", "printenv", "B"], "1"),
        well(&["-genv", "B", "1", "printenv", "B", ":", "printenv", "B"], "1 1"),
        well(&["-genv", "B=1", "-env", "B", "2", "printenv", "B", ":", "printenv", "B"], "2 1"),
        well(&["-genvall", "printenv", "A"], "inherited"),
        well(&["-envall", "printenv", "A"], "inherited"),
        well(&["-genvlist", "A,PATH", "printenv", "A"], "inherited"),
        well(&["-envlist", "A", "printenv", "A"], "inherited"),
        well(&["--env", "A", "printenv", "A"], "inherited"),
        well(&["--env", "A=1", "printenv", "A"], "1"),
        // Ranks and their places.
        well(&["-np", "2", "echo", "x"], "x x"),
        well(&["-n4", "echo", "x"], "x x x x"),
        well(&["-c", "2", "echo", "x"], "x x"),
        well(&["--np", "2", "echo", "-np", "3"], "-np 3 -np 3"),
        well(&["--ranks", "2", "echo", "x"], "x x"),
        on(&["-n", "3", "-N", "2", "--report-bindings", "true"], &[0, 0, 1]),
        on(&["-n", "3", "-ppn", "2", "--report-bindings", "true"], &[0, 0, 1]),
        on(&["-n", "3", "--npernode", "2", "--report-bindings", "true"], &[0, 0, 1]),
        on(&["-n", "3", "--map-by", "ppr:2:node", "--report-bindings", "true"], &[0, 0, 1]),
        on(&["-n", "2", "-host", "localhost", "--report-bindings", "true"], &[0, 0]),
        on(&["-n", "2", "--host", "localhost:2", "--report-bindings", "true"], &[0, 0]),
        on(&["-n", "2", "-hosts", "localhost,127.0.0.1", "--report-bindings", "true"], &[0, 1]),
        on(&["-n", "3", "-H", "localhost:1,localhost:2", "--report-bindings", "true"], &[0, 1, 1]),
        on(&["-n", "3", "-hostfile", "openmpi", "--report-bindings", "true"], &[0, 1, 1]),
        on(&["-n", "3", "--hostfile", "mpich", "--report-bindings", "true"], &[0, 1, 1]),
        on(&["-n", "2", "-machinefile", "mpich", "--report-bindings", "true"], &[0, 1]),
        on(&["-n", "2", "--machinefile", "openmpi", "--report-bindings", "true"], &[0, 1]),
        on(&["-n", "3", "-f", "mpich", "--report-bindings", "true"], &[0, 1, 1]),
        refused(&["-n", "4", "-f", "mpich", "true"],
                "4 ranks do not fit into the 3 slots of the hosts: give them more, or leave the slots out, and \
                 the hosts share the ranks"),
        refused(&["-f", "odd", "true"],
                "-f odd: line 1 has 'cpus=4': give a host in each line, as in a, a:4 or a slots=4"),
        refused(&["--hostfile", "nowhere", "true"],
                "--hostfile nowhere: it cannot be read: No such file or directory (os error 2)"),
        refused(&["--map-by", "node", "true"],
                "--map-by node: consecutive ranks share a node here, and are not dealt out to nodes in turn: \
                 leave it out, or choose how many share one with --ppn N"),
        (&["--map-by", "core", "echo", "x"], "x",
         bad("--map-by core changes nothing: consecutive ranks share a node in any case"), 0),
        well(&["--bind-to", "none", "echo", "x"], "x"),
        well(&["--bind-to", "core", "echo", "x"], "x"),
        well(&["-bind-to", "hwthread", "echo", "x"], "x"),
        refused(&["-bind-to", "socket", "true"],
                "-bind-to socket: ranks are bound to a core each or not at all, not to a socket: write --bind core \
                 or --bind none"),
        well(&["--oversubscribe", "-n", "3", "echo", "x"], "x x x"),
        well(&["--allow-run-as-root", "echo", "x"], "x"),
        // Directory and streams.
        well(&["-wdir", "sub dir", "sh", "-c", "basename \"$PWD\""], "sub dir"),
        well(&["--wd", "sub dir", "sh", "-c", "basename \"$PWD\""], "sub dir"),
        well(&["-wd", "sub dir", "sh", "-c", "basename \"$PWD\""], "sub dir"),
        well(&["echo", "x", ":", "-np", "1", "-wdir", "sub dir", "-x", "B=1", "sh", "-c", "basename \"$PWD\"; echo $B"],
             "x sub dir 1"),
        well(&["--tag-output", "echo", "x"], "[0] x"),
        well(&["-prepend-rank", "echo", "x"], "[0] x"),
        well(&["--prepend-rank", "echo", "x"], "[0] x"),
        well(&["--label", "echo", "x"], "[0] x"),
        // Time limit, and everything together.
        well(&["--timeout", "50", "echo", "x"], "x"),
        (&["-timeout", "0.2", "sleep", "1000"], "",
         bad("the time limit of 0.2 was over; the job of 1 rank was ended"), 124),
        well(&["-configfile", "programs"], "1 inherited inherited"),
        refused(&["-configfile", "nowhere"],
                "-configfile nowhere: it cannot be read: No such file or directory (os error 2)"),
        // Options that have no meaning here.
        refused(&["--mca", "btl", "tcp", "true"],
                "--mca is an option of other launchers: parameters of its components mean nothing here: leave it out, \
                 and see `bcs config`"),
        refused(&["-hostfle", "f", "true"],
                "there is no option -hostfle (did you mean -hostfile?); see `bcs run --help`"),
        refused(&["--time-slize", "1ms", "true"],
                "there is no option --time-slize (did you mean --time-slice?); see `bcs run --help`"),
        refused(&["-V"], "-V is an option of other launchers: write --version, which is spelled out here"),
        refused(&["true", ":", "-hosts", "a", "true"],
                "program 2 (after a ':'): there is no option -hosts; only -n, --wdir and --env may stand there, other \
                 options stand before the first program"),
    ]
}

/// Returns the words of all ranks, in an order that does not depend on which was first.
fn words(stdout: &[u8]) -> Vec<String> {
    let stdout = text(stdout);
    let mut words: Vec<String> = stdout.split_whitespace().map(str::to_owned).collect();
    words.sort_unstable();
    words
}

fn all_are_golden(name: &str) {
    let directory = directory();
    for (line, said, told, code) in golden() {
        let output = called(name, line, directory.path());
        let what = format!("{name} {}", line.join(" "));
        // Whether OS threads of NICs are pinned depends on the machine.
        let said_beside = text(&output.stderr);
        let said_beside = said_beside
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("bcs: OS thread"));
        assert_eq!(said_beside.collect::<String>(), told, "{what}");
        assert_eq!(words(&output.stdout), words(said.as_bytes()), "{what}");
        assert_eq!(output.status.code(), Some(code), "{what}");
    }
    let output = called(name, &["--verbose", "echo", "x"], directory.path());
    assert!(
        text(&output.stderr).contains("bcs: bcs run is process "),
        "{output:?}"
    );
    let output = called(name, &["--version"], directory.path());
    let version = format!("{name} (BCS-MPI) {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (text(&output.stdout), output.status.code()),
        (version, Some(0))
    );
    let output = called(name, &["--help"], directory.path());
    assert!(text(&output.stdout).contains("Usage: "), "{output:?}");
    assert_eq!(output.status.code(), Some(0));
    // A letter that has another meaning elsewhere gets an answer, and is no success.
    let output = called(name, &["-h"], directory.path());
    assert!(text(&output.stderr).contains("Usage: "), "{output:?}");
    assert_eq!(
        (text(&output.stdout), output.status.code()),
        (String::new(), Some(2))
    );
}

#[test]
fn bcs_run_takes_what_others_take() {
    all_are_golden("bcs run");
}

#[test]
fn bcsrun_takes_what_others_take() {
    all_are_golden("bcsrun");
}

#[test]
fn mpiexec_takes_what_others_take() {
    all_are_golden("mpiexec");
}

#[test]
fn mpirun_takes_what_others_take() {
    all_are_golden("mpirun");
}

#[test]
fn bcs_has_a_version() {
    let output = Job::spawn(bcs("--version")).finish();
    let version = format!("bcs {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (text(&output.stdout), output.status.code()),
        (version, Some(0))
    );
}

/// A sample of what `cli/foreign_options/tests.rs` does without processes.
#[test]
fn who_exits_with_0_has_run_the_program() {
    let directory = directory();
    let pieces: [&[&str]; 16] = [
        &["-hostfile", "mpich"],
        &["-host"],
        &["-hosts", "localhost"],
        &["-h"],
        &["-lv"],
        &["-np", "2"],
        &["-x", "A"],
        &["-env", "B"],
        &["--labl"],
        &["-ppn", "1"],
        &["-help"],
        &["-V"],
        &["--oversubscribe"],
        &["-hn", "2"],
        &["--map-by"],
        &["-n2"],
    ];
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(19);
    for number in 0..60 {
        let name = NAMES[number % NAMES.len()];
        let count = random.random_range(0..4);
        let mut line: Vec<&str> = Vec::new();
        for _ in 0..count {
            line.extend_from_slice(pieces.choose(&mut random).unwrap());
        }
        line.extend(["echo", "it ran", "--help"]);
        let output = called(name, &line, directory.path());
        let ran = text(&output.stdout).contains("it ran --help");
        assert_eq!(
            ran,
            output.status.code() == Some(0),
            "{name} {line:?}: {output:?}"
        );
        assert!(
            ran || output.status.code() == Some(2),
            "{name} {line:?}: {output:?}"
        );
    }
}

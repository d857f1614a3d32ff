//! Programs of another MPI under `bcs run`: a library that has only the name of one, and programs
//! that are linked with it.

use super::job::{Job, bcs, text};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compiles a source in a directory.
fn cc(directory: &Path, source: &str, arguments: &[&str]) {
    std::fs::write(directory.join("source.c"), source).unwrap();
    let mut command = Command::new("cc");
    command
        .current_dir(directory)
        .arg("source.c")
        .args(arguments);
    assert!(command.status().unwrap().success(), "{command:?}");
}

const LIBRARY: &str = "int MPI_Init(int *c, char ***v) { (void)c; (void)v; return 0; }";

const PROGRAM: &str = "#include <stdio.h>
#include <stdlib.h>
int MPI_Init(int *, char ***);
int main(int c, char **v) { MPI_Init(&c, &v); puts(\"rank 0 of 1\"); return c > 1 ? atoi(v[1]) : 0; }";

/// Like an interpreter, it is not linked with the library. It ends when its input does.
const LOADER: &str = "#include <dlfcn.h>
#include <stdio.h>
int main(int c, char **v) {
    if (c < 2 || !dlopen(v[1], RTLD_NOW)) return 3;
    puts(\"loaded\"); fflush(stdout);
    while (getchar() != EOF);
    return 0; }";

/// Makes a program of an MPI whose library has this name.
fn program(directory: &Path, library: &str) -> PathBuf {
    let soname = format!("-Wl,-soname,{library}");
    cc(
        directory,
        LIBRARY,
        &["-shared", "-fPIC", &soname, "-o", library],
    );
    let path = format!("-Wl,-rpath,{}", directory.display());
    cc(directory, PROGRAM, &[library, &path, "-o", "program"]);
    directory.join("program")
}

fn run(options: &str, words: &[&str]) -> (Option<i32>, String) {
    let mut command = bcs(options);
    command.args(words);
    let output = Job::spawn(command).finish();
    (output.status.code(), text(&output.stderr))
}

const JOBS: [&str; 3] = [
    "run -n 4",
    "run -n 4 --nodes 2",
    "run -n 2 --nodes 2 --fabric udp",
];

#[test]
fn a_job_of_another_mpi_is_told_and_does_not_end_well() {
    for library in ["libmpi.so.40", "libmpi.so.12"] {
        let directory = tempfile::tempdir().unwrap();
        let program = program(directory.path(), library);
        let program = program.to_str().unwrap();
        for job in JOBS {
            let (code, told) = run(job, &[program]);
            assert_eq!(code, Some(1), "{job}: {told}");
            assert_eq!(told.lines().count(), 1, "{told}");
            for words in ["program of another MPI", library, "mpicc of BCS-MPI"] {
                assert!(told.contains(words), "{told}");
            }
        }
        // A world of one is what the user has requested.
        let (code, told) = run("run -n 1", &[program]);
        assert_eq!(code, Some(0), "{told}");
        // The program may have found that it is alone.
        let (code, told) = run("run -n 2", &[program, "5"]);
        assert_eq!(code, Some(5), "{told}");
        let mut lines = told.lines();
        assert!(
            lines.next().unwrap().contains("program of another MPI"),
            "{told}"
        );
        assert!(
            lines.next().unwrap().contains("exited with code 5"),
            "{told}"
        );
    }
}

/// A library that an interpreter loads while it runs, and one in a program that a script starts.
#[test]
fn a_library_that_was_loaded_later_is_seen_while_the_program_runs() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    program(place, "libmpi.so.12");
    cc(place, LOADER, &["-o", "loader", "-ldl"]);
    for words in [vec![], vec!["sh", "-c", "\"$0\" \"$1\"; exit 0"]] {
        let mut command = bcs("run -n 2 --stdin 0");
        command
            .args(words)
            .arg(place.join("loader"))
            .arg(place.join("libmpi.so.12"));
        command.stdin(Stdio::piped());
        let mut job = Job::spawn(command);
        // The node manager looks at a rank before it passes its output on.
        let mut said = BufReader::new(job.child().stdout.take().unwrap());
        for _ in 0..2 {
            let mut line = String::new();
            said.read_line(&mut line).unwrap();
            assert_eq!(line, "loaded\n");
        }
        drop(job.child().stdin.take());
        let output = job.finish();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(
            told.contains("/libmpi.so.12): it has not joined the job of 2"),
            "{told}"
        );
    }
}

#[test]
fn plain_programs_say_nothing() {
    for job in JOBS {
        for program in ["hostname", "true"] {
            assert_eq!(run(job, &[program]), (Some(0), String::new()));
        }
        assert_eq!(run(job, &["sh", "-c", "exit 3"]).0, Some(3));
        assert_eq!(run(job, &["hello"]), (Some(0), String::new()));
    }
}

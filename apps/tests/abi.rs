//! Tests programs over a library with the standard ABI that this test builds from C, in a world of
//! one rank.

mod threads;

use apps::MessagePassing;
use apps::abi::{AbiError, Library, World};
use std::path::{Path, PathBuf};
use std::process::Command;

fn library(directory: &Path, major: i32) -> PathBuf {
    let path = directory.join(format!("libmpi_abi.so.{major}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/abi/alone.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"])
        .arg(format!("-DABI_MAJOR={major}"))
        .arg("-o")
        .args([&path, &source])
        .status();
    assert!(built.expect("a C compiler").success());
    path
}

#[test]
fn sweep3d_has_the_same_answers_over_a_library_as_over_threads() {
    let directory = tempfile::tempdir().unwrap();
    let library = Library::load(&library(directory.path(), 1)).unwrap();
    let world = World::init(library).unwrap();
    let deck: apps::sweep3d::Deck = "1 1 10 3 1\n10 10 10 6 1\n.05 .05 .05 -4.0\n0 0 0\n0 1 0\n"
        .parse()
        .unwrap();
    let arguments = apps::sweep3d::Sweep3dArguments {
        deck,
        comm: apps::sweep3d::Communication::default(),
    };
    let answers = |out: Vec<u8>| {
        let text = String::from_utf8(out).unwrap();
        let lines = text.lines().filter(|line| line.trim().starts_with("its"));
        lines.map(str::to_owned).collect::<Vec<String>>()
    };
    let mut out = Vec::new();
    apps::sweep3d::run(&world, &arguments, &mut out).unwrap();
    let over_threads = threads::run(1, |rank| {
        let mut out = Vec::new();
        apps::sweep3d::run(rank, &arguments, &mut out).unwrap();
        out
    });
    let found = answers(out);
    assert_eq!(found.len(), 4);
    assert_eq!(found, answers(over_threads.into_iter().next().unwrap()));
    // Requests hold their buffers, and return them.
    let into = world.irecv(vec![0.0; 2], 0, 1).unwrap();
    let sent = world.isend(vec![3.0, 4.0], 0, 1).unwrap();
    assert_eq!(world.wait(into).unwrap(), [3.0, 4.0]);
    drop(sent);
    assert_eq!(world.probe(0, 1).unwrap(), 3);
    let mut back = [0.0; 2];
    world.allgather(&[5.0, 6.0], &mut back).unwrap();
    assert_eq!(back, [5.0, 6.0]);
    world.alltoall(&[7.0, 8.0], &mut back).unwrap();
    assert_eq!(back, [7.0, 8.0]);
    let error = world.send(&[1.0], 0, 1).unwrap_err();
    assert_eq!(error.to_string(), "MPI_Send: nobody is there");
    world.finalize().unwrap();
}

/// Runs a mesh that changes, on one rank.
#[test]
fn sage_has_the_same_answers_over_a_library_as_over_threads() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::init(Library::load(&library(directory.path(), 1)).unwrap()).unwrap();
    let (_, text) = apps::sage::deck::BUILT_IN[3];
    let mut deck: apps::sage::Deck = text.parse().unwrap();
    deck.cycles = 12;
    let arguments = apps::sage::SageArguments {
        deck,
        gather: false,
        restart: None,
        checkpoint: None,
    };
    let run = |mpi: &World| apps::sage::run(mpi, &arguments, &mut std::io::sink()).unwrap();
    let over_threads = threads::run(1, |rank| {
        apps::sage::run(rank, &arguments, &mut std::io::sink()).unwrap()
    });
    assert_eq!(run(&world).digest, over_threads[0].digest);
    world.finalize().unwrap();
}

#[test]
fn what_is_no_library_of_the_abi_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let refusal = |path: &Path| match Library::load(path) {
        Err(AbiError::Library { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    assert!(refusal(Path::new("/nowhere/libmpi_abi.so.1")).contains("nowhere"));
    assert!(refusal(&library(directory.path(), 2)).contains("version 2.0 of the ABI, not 1"));
    // The C library is a library, but has no MPI.
    assert!(refusal(Path::new("libc.so.6")).contains("MPI_Abi_get_version"));
}

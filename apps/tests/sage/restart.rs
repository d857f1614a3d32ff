//! Tests checkpoints: a restarted run equals the uninterrupted run, and invalid files are refused.

use std::fs;
use std::path::Path;

use super::{built_in, threads};
use apps::sage::{Deck, SageArguments, SageError, SageOutcome, run, vtu};

fn sedov(cycles: u64) -> Deck {
    let mut deck = built_in("sedov");
    deck.mesh.levels = 3;
    deck.cycles = cycles;
    deck
}

/// Returns the outcomes of all ranks.
fn run_on(ranks: usize, arguments: &SageArguments) -> Vec<Result<SageOutcome, SageError>> {
    threads::run(ranks, |rank| run(rank, arguments, &mut std::io::sink()))
}

fn through(cycles: u64) -> SageArguments {
    SageArguments {
        deck: sedov(cycles),
        gather: true,
        restart: None,
        checkpoint: None,
    }
}

fn saved(path: &Path, cycles: u64) {
    let checkpoint = Some((path.to_owned(), 5));
    let arguments = SageArguments {
        checkpoint,
        ..through(cycles)
    };
    run_on(3, &arguments)
        .into_iter()
        .for_each(|end| drop(end.unwrap()));
}

#[test]
fn a_run_goes_on_from_a_checkpoint_as_if_it_had_never_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("at-13");
    saved(&path, 13);
    let straight = run_on(2, &through(24)).swap_remove(0).unwrap();
    for ranks in [1, 2, 4] {
        let arguments = SageArguments {
            restart: Some(path.clone()),
            ..through(24)
        };
        let outcome = run_on(ranks, &arguments).swap_remove(0).unwrap();
        assert_eq!(
            (outcome.cycles, outcome.updates),
            (24, straight.updates),
            "{ranks} ranks"
        );
        assert_eq!(outcome.digest, straight.digest, "{ranks} ranks");
        assert!(outcome.mesh == straight.mesh, "{ranks} ranks");
    }
    let names = fs::read_dir(directory.path()).unwrap();
    assert_eq!(names.count(), 1, "nothing else is left");
}

/// Returns rank 0's error for a file; the other ranks fail, too.
fn said(path: &Path, deck: Deck) -> String {
    let arguments = SageArguments {
        restart: Some(path.to_owned()),
        ..SageArguments { deck, ..through(0) }
    };
    let ends = run_on(2, &arguments).into_iter();
    let errors: Vec<String> = ends
        .map(|end| match end {
            Err(SageError::Restart(error)) => error.to_string(),
            end => panic!("{end:?}"),
        })
        .collect();
    assert!(errors[1].contains("rank 0"), "{errors:?}");
    assert!(
        errors[0].starts_with(&*path.to_string_lossy()),
        "{errors:?}"
    );
    errors[0].clone()
}

#[test]
fn files_that_are_no_checkpoints_of_the_deck_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("saved");
    saved(&path, 2);
    let bytes = fs::read(&path).unwrap();
    let other = directory.path().join("other");
    for cut in (0..300).chain((300..bytes.len()).step_by(997)) {
        fs::write(&other, &bytes[..cut.min(bytes.len() - 1)]).unwrap();
        let said = said(&other, sedov(9));
        assert!(
            said.contains("no checkpoint") || said.contains("it is cut"),
            "{cut}: {said}"
        );
    }
    let mut damaged = bytes.clone();
    let last = damaged.len() - 20;
    damaged[last] ^= 1;
    fs::write(&other, damaged).unwrap();
    assert!(said(&other, sedov(9)).contains("damaged"));
    let mut deck = sedov(9);
    deck.mesh.refine = 0.3;
    assert!(said(&path, deck).contains("of another deck"));
    assert!(said(&directory.path().join("nowhere"), sedov(9)).contains("failed to read"));
    assert!(said(Path::new("/dev/zero"), sedov(9)).contains("no regular file"));
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_an_error_of_all_ranks() {
    let checkpoint = Some((Path::new("/nowhere/at/all").to_owned(), 1));
    let arguments = SageArguments {
        checkpoint,
        ..through(3)
    };
    for end in run_on(2, &arguments) {
        let error = end.unwrap_err();
        assert!(matches!(error, SageError::Checkpoint(_)), "{error}");
    }
}

/// `vtk` from PyPI reads such a file; here the test checks the lengths of its arrays.
#[test]
fn cells_are_written_as_paraview_opens_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cells.vtu");
    let outcome = run_on(2, &through(4)).swap_remove(0).unwrap();
    vtu::write(&path, &outcome.mesh, outcome.time).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let cells = outcome.mesh.len();
    let piece = format!("NumberOfPoints=\"{}\" NumberOfCells=\"{cells}\"", 4 * cells);
    assert!(text.contains(&piece), "{piece}");
    for (name, bytes) in [
        ("density", 8),
        ("velocity", 24),
        ("offsets", 8),
        ("types", 1),
        ("share 1", 8),
    ] {
        let line = text
            .lines()
            .find(|line| line.contains(&format!("Name=\"{name}\"")));
        let (_, rest) = line.unwrap().split_once('>').unwrap();
        let (data, _) = rest.split_once('<').unwrap();
        let whole = 8 + cells * bytes;
        assert_eq!(data.len(), whole.div_ceil(3) * 4, "{name}");
    }
}

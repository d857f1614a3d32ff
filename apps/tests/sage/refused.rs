//! Decks that cannot be computed are refused, and runs that cannot go on stop, with a reason, on
//! all ranks alike.

use std::io::{self, Write};

use super::{built_in, solve, threads};
use apps::sage::{Deck, DeckError, SageArguments, SageError, deck::BUILT_IN, run};

const TUBE: &str = "
title = 'a tube'
end_time = 0.1

[mesh]
cells = [10]
size = 1.0

[[material]]
gamma = 1.4

[[region]]
density = 1.0
pressure = 1.0
";

/// Returns the error for the tube with one change.
fn said(from: &str, to: &str) -> String {
    assert!(TUBE.contains(from), "{from}");
    let deck: Result<Deck, DeckError> = TUBE.replacen(from, to, 1).parse();
    deck.expect_err(to).to_string()
}

#[test]
fn bad_decks_are_refused_with_the_key_and_the_reason() {
    TUBE.parse::<Deck>().unwrap();
    for (from, to, expected) in [
        (
            "cells = [10]",
            "cells = [10]\nwidth = 3",
            "line 7: unknown field `width`",
        ),
        ("cells = [10]", "cells = [-10]", "line 6: invalid value"),
        (
            "cells = [10]",
            "cells = [0]",
            "`mesh.cells` has 0 in a direction: there may be 1 to",
        ),
        ("cells = [10]", "cells = [524288, 524288]", "`mesh.cells`"),
        (
            "cells = [10]",
            "cells = [1, 1, 1, 1]",
            "`mesh.cells` has 4 numbers",
        ),
        (
            "cells = [10]",
            "cells = [10]\nlevels = 10",
            "`mesh.levels` is 10: there may be 0 to 9",
        ),
        (
            "size = 1.0",
            "size = -1.0",
            "`mesh.size` is -1: it must be more than 0",
        ),
        ("size = 1.0", "size = nan", "`mesh.size` is NaN"),
        (
            "size = 1.0",
            "size = 1.0\nends = []",
            "`mesh.ends` must have 1 pairs",
        ),
        (
            "size = 1.0",
            "size = 1.0\ncoarsen = 0.5",
            "`mesh.coarsen` is 0.5",
        ),
        (
            "end_time = 0.1",
            "",
            "`end_time` and `cycles` are both missing",
        ),
        (
            "end_time = 0.1",
            "end_time = 0.1\ncourant = 1.5",
            "`courant` is 1.5",
        ),
        (
            "gamma = 1.4",
            "gamma = 1.0",
            "`material[1].gamma` is 1: it must be more than 1",
        ),
        (
            "density = 1.0",
            "density = -1.0",
            "`region[1].density` is -1",
        ),
        (
            "pressure = 1.0",
            "",
            "`region[1]` must have either `pressure` or `energy`",
        ),
        (
            "pressure = 1.0",
            "pressure = 1.0\nvelocity = [1.0, 2.0]",
            "`region[1].velocity` must have 1 numbers",
        ),
        (
            "pressure = 1.0",
            "pressure = 1.0\nmaterial = 'gold'",
            "there is no such material",
        ),
        (
            "pressure = 1.0",
            "pressure = 1.0\nbox = [[0.5], [0.1]]",
            "must have its low corner first",
        ),
        (
            "[[region]]",
            "[conduction]\nimplicit = 0.2\n[[region]]",
            "`conduction.implicit` is 0.2",
        ),
    ] {
        let said = said(from, to);
        assert!(said.contains(expected), "{to}: {said}");
        assert_eq!(said.lines().count(), 1, "{to}: {said}");
    }
}

#[test]
fn materials_that_do_not_fill_the_box_are_refused() {
    let deck = TUBE.replace("density = 1.0", "density = 1.0\nbox = [[0.0], [0.7]]");
    for ranks in [1, 3] {
        let error = solve(&deck.parse().unwrap(), ranks).unwrap_err();
        let SageError::Unfilled { point } = &error else {
            panic!("{error}")
        };
        assert!(point[0] > 0.7, "{error}");
    }
}

#[test]
fn an_impossible_state_stops_the_run() {
    let deck = TUBE.replace(
        "pressure = 1.0",
        "pressure = 1.0\nvelocity = [-1e9]\nbox = [[0.0], [0.5]]",
    ) + "\n[[region]]\ndensity = 1.0\npressure = 1.0\nvelocity = [1e9]\nbox = [[0.5], [1.0]]\n";
    for ranks in [1, 2] {
        let error = solve(&deck.parse().unwrap(), ranks).unwrap_err();
        let SageError::Impossible {
            cycle,
            level,
            middle,
            ..
        } = &error
        else {
            panic!("{error}")
        };
        assert!(*cycle < 60 && *level == 0 && middle.len() == 1, "{error}");
        assert!(!error.to_string().contains("NaN"), "{error}");
    }
}

#[test]
fn temperatures_that_are_not_found_stop_the_run() {
    let deck = TUBE
        .replace("gamma = 1.4", "gamma = 1.4\nconductivity = 1e9")
        // Heat moves by a cell in an iteration.
        .replace("cells = [10]", "cells = [6000]")
        + "[[region]]\nbox = [[0.0], [0.5]]\ndensity = 1.0\npressure = 2.0\n[conduction]\nonly = true\n";
    let overflowing = deck.replace("1e9", "1e300").replace("= 2.0", "= 1e300");
    for (deck, ranks) in [(&deck, 1), (&overflowing, 2)] {
        let Err(error) = solve(&deck.parse().unwrap(), ranks) else {
            panic!("it ran on {ranks}");
        };
        assert!(
            matches!(error, SageError::NotConverged { cycle: 0, .. }),
            "{error}"
        );
    }
}

/// A pipe whose reader has gone.
struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn all_ranks_end_where_rank_0_cannot_print() {
    let arguments = SageArguments {
        deck: built_in("sod"),
        gather: false,
        restart: None,
        checkpoint: None,
    };
    for end in threads::run(3, |rank| run(rank, &arguments, &mut ClosedPipe)) {
        let error = end.unwrap_err();
        assert!(matches!(error, SageError::Report(_)), "{error}");
    }
}

#[test]
fn decks_that_come_with_the_program_are_right() {
    for (name, _) in BUILT_IN {
        let deck = built_in(name);
        assert!(
            deck.dimensions() > 0 && deck.clone().scaled(2).check().is_ok(),
            "{name}"
        );
    }
}

//! Results do not depend on the decomposition, to the last digit.

mod threads;

use apps::sweep3d::{
    Communication, Deck, FixUps, Stop, Sweep3dArguments, Sweep3dError, Sweep3dOutcome, run,
};

/// Returns a grid with remainders in all directions, a short last block, fix-ups and a mirror.
fn deck() -> Deck {
    Deck {
        npe_i: 1,
        npe_j: 1,
        mk: 4,
        mmi: 3,
        ncpu: 1,
        it_g: 11,
        jt_g: 13,
        kt: 10,
        mm: 6,
        isct: 1,
        dx: 0.7,
        dy: 0.9,
        dz: 0.8,
        stop: Stop::After(6),
        reflective: [false, true, false],
        print_flux: false,
        dsa: true,
        fixups: FixUps::Always,
    }
}

fn solve(deck: &Deck, comm: Communication) -> (Sweep3dOutcome, String) {
    let arguments = Sweep3dArguments {
        deck: deck.clone(),
        comm,
    };
    let outcomes = threads::run(deck.npe_i * deck.npe_j, |rank| {
        let mut out = Vec::new();
        let outcome = run(rank, &arguments, &mut out).unwrap();
        (outcome, String::from_utf8(out).unwrap())
    });
    outcomes.into_iter().next().unwrap()
}

#[track_caller]
fn assert_same(found: &Sweep3dOutcome, expected: &Sweep3dOutcome, case: &str) {
    // The doubles are equal, not only close.
    assert_eq!(found.iterations, expected.iterations, "{case}");
    let sums = |outcome: &Sweep3dOutcome| {
        let balance = &outcome.balance;
        let mut sums = vec![balance.external_source, balance.absorption];
        sums.extend(balance.leakage.concat());
        sums
    };
    for (found, expected) in sums(found).into_iter().zip(sums(expected)) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{case}: {found} {expected}"
        );
    }
    assert!(
        found.dsa_imbalance.unwrap() < 1e-12,
        "{case}: {:?}",
        found.dsa_imbalance
    );
}

#[test]
fn every_process_grid_gives_the_same_digits() {
    let (serial, _) = solve(&deck(), Communication::Blocking);
    assert!(
        serial
            .iterations
            .iter()
            .all(|iteration| iteration.fixups > 0),
        "{serial:?}"
    );
    for (npe_i, npe_j) in [(2, 1), (1, 2), (2, 3), (3, 2), (4, 4), (11, 1), (1, 13)] {
        for comm in [Communication::Blocking, Communication::NonBlocking] {
            let deck = Deck {
                npe_i,
                npe_j,
                ..deck()
            };
            assert_same(
                &solve(&deck, comm).0,
                &serial,
                &format!("{npe_i} x {npe_j}, {comm:?}"),
            );
        }
    }
}

#[test]
fn every_block_size_gives_the_same_digits() {
    let (expected, _) = solve(&deck(), Communication::Blocking);
    for mk in [1, 3, 10, 99] {
        for mmi in [1, 2, 3, 6] {
            let deck = Deck {
                mk,
                mmi,
                npe_i: 2,
                npe_j: 2,
                ..deck()
            };
            let (outcome, _) = solve(&deck, Communication::NonBlocking);
            assert_same(&outcome, &expected, &format!("mk {mk}, mmi {mmi}"));
            // 4 pairs of neighbours in each of 8 octants.
            let messages = 4 * 8 * (6 / mmi) * 10_usize.div_ceil(mk.min(10));
            assert_eq!(
                outcome.messages,
                6 * i64::try_from(messages).unwrap(),
                "{mk} {mmi}"
            );
        }
    }
}

/// Lines longer than the kernel's stretches, cut inside them or not.
#[test]
fn long_lines_give_the_same_digits() {
    let deck = Deck {
        it_g: 150,
        jt_g: 4,
        kt: 3,
        dx: 0.3,
        stop: Stop::After(4),
        ..deck()
    };
    let (serial, _) = solve(&deck, Communication::Blocking);
    assert!(
        serial
            .iterations
            .iter()
            .any(|iteration| iteration.fixups > 0),
        "{serial:?}"
    );
    for npe_i in [2, 3, 7] {
        let (outcome, _) = solve(
            &Deck {
                npe_i,
                ..deck.clone()
            },
            Communication::NonBlocking,
        );
        assert_same(&outcome, &serial, &format!("{npe_i} x 1"));
    }
}

#[test]
fn scattering_order_and_currents_do_not_touch_the_cut() {
    for (mm, mmi, isct) in [(3, 1, 0), (3, 3, 1), (6, 6, 0)] {
        let deck = Deck {
            mm,
            mmi,
            isct,
            ..deck()
        };
        let (serial, _) = solve(&deck, Communication::Blocking);
        let deck = Deck {
            npe_i: 3,
            npe_j: 2,
            ..deck
        };
        let (outcome, _) = solve(&deck, Communication::NonBlocking);
        assert_same(
            &outcome,
            &serial,
            &format!("mm {mm}, mmi {mmi}, isct {isct}"),
        );
        let (without, _) = solve(&Deck { dsa: false, ..deck }, Communication::NonBlocking);
        assert_eq!(without.iterations, serial.iterations);
        assert_eq!(without.dsa_imbalance, None);
    }
}

#[test]
fn fixups_start_when_the_deck_says() {
    let fixups = |fixups| {
        let (outcome, _) = solve(&Deck { fixups, ..deck() }, Communication::Blocking);
        outcome
            .iterations
            .into_iter()
            .map(|iteration| iteration.fixups > 0)
            .collect::<Vec<_>>()
    };
    assert_eq!(fixups(FixUps::Never), [false; 6]);
    assert_eq!(fixups(FixUps::Always), [true; 6]);
    assert_eq!(
        fixups(FixUps::After(4)),
        [false, false, false, false, true, true]
    );
}

#[test]
fn a_run_goes_on_until_it_has_converged() {
    let deck = Deck {
        stop: Stop::Converged(1e-6),
        npe_i: 2,
        ..deck()
    };
    let (outcome, _) = solve(&deck, Communication::Blocking);
    let (last, before) = outcome.iterations.split_last().unwrap();
    assert!(last.err <= 1e-6);
    assert!(
        before.iter().all(|iteration| iteration.err > 1e-6),
        "{before:?}"
    );
    // Born neutrons are absorbed or leak; the iteration error is the difference.
    let balance = &outcome.balance;
    assert!(
        (balance.sinks() / balance.external_source - 1.0).abs() < 1e-5,
        "{balance:?}"
    );
}

#[test]
fn a_limit_below_what_doubles_resolve_is_an_error_or_is_met_exactly() {
    let small = Deck {
        it_g: 3,
        jt_g: 3,
        kt: 3,
        stop: Stop::Converged(0.0),
        ..deck()
    };
    let arguments = Sweep3dArguments {
        deck: small,
        comm: Communication::Blocking,
    };
    let results = threads::run(1, |rank| run(rank, &arguments, &mut std::io::sink()));
    match &results[0] {
        Ok(outcome) => assert_eq!(outcome.iterations.last().unwrap().err, 0.0),
        Err(error) => assert!(matches!(
            error,
            Sweep3dError::NotConverged {
                iterations: 1000,
                ..
            }
        )),
    }
}

#[test]
fn fluxes_of_every_process_are_printed_by_rank_0() {
    let deck = Deck {
        print_flux: true,
        npe_i: 2,
        npe_j: 2,
        ..deck()
    };
    let (_, report) = solve(&deck, Communication::Blocking);
    let (_, serial) = solve(
        &Deck {
            npe_i: 1,
            npe_j: 1,
            ..deck
        },
        Communication::Blocking,
    );
    for process in 1..=4 {
        for moment in 1..=4 {
            let title = format!(" Flux moment {moment}, plane k = 5, process {process}:");
            assert!(
                report.lines().any(|line| line == title),
                "no {title:?} in\n{report}"
            );
        }
    }
    // The values are the same: a row of process 1 and the same row of process 2 together are the
    // row of the serial run.
    let row = |report: &str, process: usize| {
        let title = format!(" Flux moment 1, plane k = 5, process {process}:");
        let mut lines = report.lines().skip_while(|line| **line != title);
        let row = lines.nth(3).unwrap();
        row.split_whitespace()
            .skip(3)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!([row(&report, 1), row(&report, 2)].concat(), row(&serial, 1));
    let flat = Deck {
        kt: 4,
        print_flux: true,
        ..self::deck()
    };
    let (_, report) = solve(&flat, Communication::Blocking);
    assert!(
        report.contains(" Flux moments: the grid has no plane k = 5\n"),
        "{report}"
    );
}

/// A full disk on rank 0 must not leave the other processes waiting.
#[test]
fn all_processes_stop_if_the_report_cannot_be_written() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let deck = Deck {
        npe_i: 2,
        npe_j: 2,
        ..deck()
    };
    let arguments = Sweep3dArguments {
        deck,
        comm: Communication::NonBlocking,
    };
    for result in threads::run(4, |rank| run(rank, &arguments, &mut Full)) {
        assert!(matches!(result, Err(Sweep3dError::Report(_))), "{result:?}");
    }
}

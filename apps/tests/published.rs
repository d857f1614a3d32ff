//! The published answers of the 50-cubed problem.

mod threads;

use apps::sweep3d::{Communication, Sweep3dArguments, Sweep3dOutcome, run};

/// The published error, and fix-ups, of every iteration.
const PUBLISHED: [(&str, i64); 12] = [
    ("1.00000000000000000", 0),
    ("1.77512975262900663", 0),
    ("0.659083802218004111", 0),
    ("0.305348671948976524", 0),
    ("0.141234079272600122", 0),
    ("0.627896461395282685E-01", 0),
    ("0.266955948954897340E-01", 0),
    ("0.199563042302687288E-01", 12000),
    ("0.568793011796733545E-02", 11712),
    ("0.185412756334039897E-02", 11664),
    ("0.681074826574155846E-03", 11664),
    ("0.261752203210804436E-03", 11664),
];

/// The deck as published, for two by three processes.
const INPUT_50: &str = "2 3 10 3 16\n50 50 50 6 1\n.1 .1 .1 -12.0\n0 0 0\n0 1 -7\n";

#[track_caller]
fn assert_near(found: f64, published: f64, what: &str) {
    let error = ((found - published) / published).abs();
    assert!(
        error < 1e-9,
        "{what}: {found} instead of {published}, {error:e} off"
    );
}

fn solve(processes: usize, comm: Communication) -> (Sweep3dOutcome, String) {
    let arguments = Sweep3dArguments {
        deck: INPUT_50.parse().unwrap(),
        comm,
    };
    let mut outcomes = threads::run(processes, |rank| {
        let mut out = Vec::new();
        let outcome = run(rank, &arguments, &mut out).unwrap();
        (outcome, String::from_utf8(out).unwrap())
    });
    let (first, report) = outcomes.remove(0);
    for (outcome, report) in outcomes {
        assert_eq!(outcome, first, "every process gets the same outcome");
        assert_eq!(report, "", "only rank 0 prints");
    }
    (first, report)
}

fn check(outcome: &Sweep3dOutcome) {
    assert_eq!(outcome.iterations.len(), 12);
    for (number, (iteration, (err, fixups))) in outcome.iterations.iter().zip(PUBLISHED).enumerate()
    {
        assert_near(
            iteration.err,
            err.parse().unwrap(),
            &format!("err of iteration {}", number + 1),
        );
        assert_eq!(
            iteration.fixups,
            fixups,
            "fix-ups of iteration {}",
            number + 1
        );
    }
    let balance = &outcome.balance;
    assert_near(balance.external_source, 4.096, "external source");
    assert_near(balance.absorption, 3.343_417_464_828_52, "absorption");
    let leakages = [
        0.125_419_419_635_145,
        0.125_419_419_635_145,
        0.125_419_421_915_668,
    ];
    for (axis, ([low, high], published)) in ["I", "J", "K"]
        .into_iter()
        .zip(balance.leakage.into_iter().zip(leakages))
    {
        assert_near(low, -published, &format!("low {axis}-leakage"));
        assert_near(high, published, &format!("high {axis}-leakage"));
    }
    assert!(
        outcome.dsa_imbalance.unwrap() < 1e-12,
        "{:?}",
        outcome.dsa_imbalance
    );
}

#[test]
fn one_process_finds_the_published_answers() {
    let (outcome, report) = solve(1, Communication::Blocking);
    check(&outcome);
    assert_eq!(outcome.messages, 0);
    for line in [
        " S6P1   -  6 angles/octant,  4 moments",
        " Iteration Monitor:",
        "  its =  1  err =  1.00000000000000000   fixs =  0",
        " Balance quantities:",
        "  External Source: 4.09600000000000",
    ] {
        assert!(
            report.lines().any(|found| found == line),
            "no line {line:?} in\n{report}"
        );
    }
    let eighth = report
        .lines()
        .find(|line| line.starts_with("  its =  8"))
        .unwrap();
    assert!(
        eighth.starts_with("  its =  8  err =  0.1995630423"),
        "{eighth}"
    );
    assert!(eighth.ends_with("E-01   fixs =  12000"), "{eighth}");
    for start in [
        "  Absorption: 3.3434174648",
        "  I-leakages: -0.1254194196",
        "  J-leakages: -0.1254194196",
        "  K-leakages: -0.1254194219",
        " CPU     time was: ",
        " Elapsed time was: ",
        " CPU grind time: ",
        " Wall grind time: ",
    ] {
        assert!(
            report.lines().any(|line| line.starts_with(start)),
            "no {start:?} in\n{report}"
        );
    }
}

#[test]
fn two_by_three_processes_find_them_with_560_messages_an_iteration() {
    for comm in [Communication::Blocking, Communication::NonBlocking] {
        let (outcome, report) = solve(6, comm);
        check(&outcome);
        assert_eq!(outcome.messages, 12 * 560);
        assert!(report.contains(" Messages per iteration: 560 "), "{report}");
        assert!(report.contains(" Domain efficiency: 0.8889\n"), "{report}");
    }
}

//! The programs that the acceptance checks measure with.

mod threads;

use std::time::{Duration, Instant};

use apps::{Seconds, beat, doze, send_cost, spin};
use std::process::ExitCode;

const SHORT: Seconds = Seconds(Duration::from_millis(20));

fn assert_all(codes: Vec<ExitCode>, expected: ExitCode) {
    for code in codes {
        assert_eq!(format!("{code:?}"), format!("{expected:?}"));
    }
}

#[test]
fn spinning_and_dozing_last_as_long_as_asked() {
    let start = Instant::now();
    assert_all(
        threads::run(2, |rank| {
            spin::command(rank, &["--seconds".to_owned(), "0.02".to_owned()])
        }),
        ExitCode::SUCCESS,
    );
    assert!(start.elapsed() >= SHORT.0);
    for ranks in [1, 2, 3] {
        let start = Instant::now();
        threads::run(ranks, |rank| {
            doze::run(rank, &doze::DozeOptions { seconds: SHORT }).unwrap()
        });
        assert!(start.elapsed() >= SHORT.0);
    }
}

#[test]
fn both_exchanging_ranks_agree_on_how_often_they_did() {
    for every_us in [None, Some(100)] {
        let options = beat::BeatOptions {
            seconds: SHORT,
            asleep: false,
            every_us,
        };
        let exchanges = threads::run(3, |rank| beat::run(rank, &options).unwrap());
        assert!(exchanges[0] > Some(1), "{exchanges:?}");
        assert_eq!((exchanges[0], None), (exchanges[2], exchanges[1]));
    }
    let asleep = beat::BeatOptions {
        seconds: SHORT,
        asleep: true,
        every_us: None,
    };
    let exchanges = threads::run(2, |rank| beat::run(rank, &asleep).unwrap());
    assert_eq!(exchanges, [None, None]);
}

#[test]
fn rank_0_gets_the_mean_of_its_sends() {
    let options = send_cost::SendCostOptions {
        samples: 20,
        warmup: 2,
        slice_us: 50,
        seed: 3,
    };
    let means = threads::run(3, |rank| send_cost::run(rank, &options).unwrap());
    assert!(means[0] > Some(Duration::ZERO));
    assert_eq!(means[1..], [None, None]);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let usage = || ExitCode::from(2);
    assert_all(threads::run(1, |rank| beat::command(rank, &[])), usage());
    assert_all(
        threads::run(1, |rank| send_cost::command(rank, &[])),
        usage(),
    );
    for seconds in ["0", "-1", "nan", "1e9", "soon"] {
        let arguments = [format!("--seconds={seconds}")];
        assert_all(
            threads::run(1, |rank| doze::command(rank, &arguments)),
            usage(),
        );
    }
}

//! `hello` and `pingpong`.

mod threads;

use std::process::ExitCode;
use std::time::Duration;

use apps::pingpong::{PingPongError, PingPongOptions, run};
use apps::{MessagePassing, hello, pingpong};

#[test]
fn every_process_says_hello_and_succeeds() {
    let codes = threads::run(3, |rank| hello::command(rank, &["--where".to_owned()]));
    for code in codes {
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
    }
}

#[test]
fn rank_0_gets_the_statistics_and_others_watch() {
    for bytes in [0, 8, 4096] {
        let options = PingPongOptions {
            bytes,
            iterations: 20,
            warmup: 3,
        };
        let statistics = threads::run(3, |rank| run(rank, &options).unwrap());
        let [Some(statistics), None, None] = &statistics[..] else {
            panic!("{statistics:?}");
        };
        let quantiles = [0, 500, 990, 1000].map(|per_mille| statistics.quantile(per_mille));
        assert!(
            quantiles.is_sorted() && quantiles[0] > Duration::ZERO,
            "{quantiles:?}"
        );
        assert!((quantiles[0]..=quantiles[3]).contains(&statistics.mean()));
    }
}

#[test]
fn what_cannot_be_played_is_refused() {
    let options = PingPongOptions {
        bytes: 12,
        iterations: 1,
        warmup: 0,
    };
    for error in threads::run(2, |rank| run(rank, &options).unwrap_err()) {
        assert_eq!(
            error.to_string(),
            "--bytes is 12, not a multiple of 8: give 8 or 16"
        );
    }
    let alone = threads::run(1, |rank| run(rank, &options).unwrap_err());
    assert!(matches!(alone[0], PingPongError::Alone(1)));
    let codes = threads::run(2, |rank| {
        assert!(rank.size() == 2);
        pingpong::command(rank, &["--iterations".to_owned(), "0".to_owned()])
    });
    for code in codes {
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(2)));
    }
}

//! What a call costs whose message is there: two ranks on one thread. Not a test; run by hand.

use super::*;
use crate::rust::matching::{Source, Tag};

#[test]
#[ignore = "measures"]
fn a_message_that_is_there() {
    let machine = Machine::new(2, 1, Settings::default());
    let ranks: Vec<Universe> = (0..2)
        .map(|rank| Universe::over(machine.process(rank, None)))
        .collect();
    let worlds: Vec<_> = ranks.iter().map(|rank| rank.world()).collect();
    for len in [8_usize; 40] {
        let data = vec![1_u8; len];
        let mut into = vec![0_u8; len];
        let mut best = u64::MAX;
        for _ in 0..20 {
            let start = now_ns();
            for _ in 0..1000 {
                worlds[0].send(&data, 1, 0).unwrap();
                worlds[1]
                    .recv(&mut into, Source::Rank(0), Tag::Is(0))
                    .unwrap();
            }
            best = best.min(now_ns() - start);
        }
        println!("{len}: {} ns", best / 1000);
    }
    std::process::exit(0);
}

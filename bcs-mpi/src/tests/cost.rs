//! What a call costs whose message is there: two ranks on one thread. Not a test; run by hand.

#![expect(unsafe_code, reason = "buffers are named by address")]

use super::*;
use crate::mpi::request::waitall;
use crate::mpi::{Buffer, Datatype};
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
        let [sender, receiver] = [worlds[0].untyped(), worlds[1].untyped()];
        let mut best = u64::MAX;
        for _ in 0..20 {
            let start = now_ns();
            for _ in 0..100 {
                let address = into.as_mut_ptr();
                let into = || Buffer::new(address, len, Datatype::BYTE);
                let out = || Buffer::read_only(data.as_ptr(), len, Datatype::BYTE);
                // SAFETY: the buffers outlive the requests.
                let mut receives: Vec<_> = (0..64)
                    .map(|_| unsafe { receiver.irecv(into(), 0, 0).unwrap() })
                    .collect();
                // SAFETY: as above.
                let mut sends: Vec<_> = (0..64)
                    .map(|_| unsafe { sender.isend(out(), 1, 0).unwrap() })
                    .collect();
                waitall(&mut sends);
                waitall(&mut receives);
            }
            best = best.min(now_ns() - start);
        }
        println!("{len}: {} ns in a window", best / 6400);
    }
    std::process::exit(0);
}

//! Progress beside an operation that takes long, or that waits for room.

use super::{Machine, run};
use crate::{Source, Tag, UserOp};
use bcs_core::job::{IntranodeTransport, Settings};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

/// The longest that a test waits for a message that should come at once.
const SOON: Duration = Duration::from_secs(30);

/// A function of the program was called with the endpoint locked: other threads of the rank made no
/// progress until it returned.
#[test]
fn a_thread_exchanges_messages_while_a_function_of_its_rank_runs() {
    for (ranks, nodes) in [(2, 1), (2, 2)] {
        run(ranks, nodes, |universe| {
            let world = universe.world();
            let (small, peer) = (world.dup().unwrap(), 1 - world.rank());
            let (begun, is_begun) = channel();
            let (over, is_over) = sync_channel(1);
            let (begun, is_over) = (Mutex::new(begun), Mutex::new(is_over));
            let op = UserOp::new(move |left: u64, right: u64| {
                begun.lock().unwrap().send(()).unwrap();
                let other = is_over.lock().unwrap().recv_timeout(SOON);
                other.expect("the other thread waits for this function");
                left + right
            });
            std::thread::scope(|threads| {
                threads.spawn(move || {
                    is_begun.recv_timeout(SOON).unwrap();
                    for round in 0..20_u64 {
                        let mut came = [0];
                        let from = (Source::Rank(peer), Tag::Is(1));
                        let both = ((&[round][..], peer, 1), (&mut came[..], from.0, from.1));
                        small.sendrecv(both.0, both.1).unwrap();
                        assert_eq!(came, [round]);
                    }
                    over.send(()).unwrap();
                });
                let mut sum = [0];
                world
                    .allreduce(&[world.rank() as u64], &mut sum, &op)
                    .unwrap();
                assert_eq!(sum, [1]);
            });
        });
    }
}

/// An operation that waited for room made no progress in calls that were complete at once. In a
/// rank that only made such calls it waited for ever.
#[test]
fn what_waits_for_room_goes_on_though_all_calls_are_short() {
    const MANY: u32 = 2_000;
    for nodes in [1, 2] {
        let settings = Settings {
            intranode: IntranodeTransport::Smartmap,
            ..Settings::default()
        };
        let (posted, received) = (Barrier::new(2), AtomicBool::new(false));
        let rounds = AtomicU32::new(0);
        // Ranks 0 and 1 are on one node; the last one is with them, or on another.
        Machine::new(nodes * 2 + usize::from(nodes == 1), nodes, settings).run(|universe| {
            let world = universe.world();
            let last = world.size() - 1;
            let (near, far) = if nodes == 1 { (last, 1) } else { (1, last) };
            match world.rank() {
                0 => {
                    for tag in 0..MANY {
                        // These sends are complete at once, and exceed the capacity of any queue or
                        // ring.
                        let tag = i32::try_from(tag).unwrap();
                        world.send(&[7_u8], far, tag).unwrap();
                    }
                    posted.wait();
                    let start = Instant::now();
                    while !received.load(Ordering::Relaxed) {
                        assert!(start.elapsed() < SOON, "messages are held back for ever");
                        rounds.fetch_add(1, Ordering::Relaxed);
                        world.send(&[1_u8], near, 0).unwrap();
                        world
                            .recv(&mut [0_u8], Source::Rank(near), Tag::Is(0))
                            .unwrap();
                    }
                    world.send(&[0_u8], near, 0).unwrap();
                }
                me if me == near => loop {
                    let mut goes_on = [0_u8];
                    let from = (Source::Rank(0), Tag::Is(0));
                    world.recv(&mut goes_on, from.0, from.1).unwrap();
                    if goes_on == [0] {
                        break;
                    }
                    world.send(&[1_u8], 0, 0).unwrap();
                },
                me if me == far => {
                    posted.wait();
                    for tag in 0..MANY {
                        let tag = Tag::Is(i32::try_from(tag).unwrap());
                        world.recv(&mut [0_u8], Source::Rank(0), tag).unwrap();
                    }
                    received.store(true, Ordering::Relaxed);
                }
                _ => {}
            }
        });
    }
}

/// A receive from any source that was not matched was cancelled with one transport, but waited for
/// ever with the other.
#[test]
fn a_receive_on_two_roads_that_nobody_meets_is_cancelled() {
    run(4, 2, |universe| {
        let world = universe.world();
        for _ in 0..3 {
            let mut request = world
                .irecv_owned(vec![0_u8], Source::Any, Tag::Is(1))
                .unwrap();
            request.cancel();
            let start = Instant::now();
            while !request.test().unwrap() {
                assert!(
                    start.elapsed() < SOON,
                    "it is neither cancelled nor received"
                );
            }
            let (_, status) = request.wait().unwrap();
            assert!(status.cancelled);
        }
        world.barrier().unwrap();
    });
}

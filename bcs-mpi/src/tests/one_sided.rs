//! One-sided operations on both transports: the target computes, or sleeps, and takes no part.
#![expect(unsafe_code, reason = "memory is named by address")]

use super::{Machine, run};
use crate::Universe;
use crate::bcs::{Blocking, Request};
use crate::data::{ByteRange, DataView};
use crate::transport::one_sided::{OneSided, OneSidedKind};
use bcs_core::job::Settings;
use bcs_core::one_sided::{Update, UpdateKind};
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::RequestFailure;
use bcs_core::wait_state::WaitReason;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const LAYOUTS: [(usize, usize); 3] = [(3, 1), (3, 3), (4, 2)];

fn view<T>(data: &mut [T]) -> DataView {
    let address = data.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: each operation is waited for before its memory is used again.
    unsafe { ByteRange::new(address, size_of_val(data)) }.into()
}

fn operation(kind: OneSidedKind, target: u32, address: u64, len: usize) -> OneSided {
    OneSided {
        target,
        address,
        len: len as u64,
        kind,
        origin: DataView::EMPTY,
        result: DataView::EMPTY,
        wakes_target: false,
    }
}

fn update(kind: UpdateKind, datatype: Datatype, fetches: bool) -> OneSidedKind {
    OneSidedKind::Update(Update {
        kind,
        datatype,
        fetches,
    })
}

fn wait(universe: &Universe, request: Request) -> RequestFailure {
    let endpoint = universe.process().endpoint();
    let outcome = endpoint.bcs_test(Blocking::Yes, request);
    outcome.expect("it has waited").failure
}

fn do_it(universe: &Universe, operation: &OneSided) -> RequestFailure {
    let endpoint = universe.process().endpoint();
    let direct = endpoint.direct_access();
    match endpoint.bcs_one_sided(&direct, operation) {
        Ok(request) => wait(universe, request),
        Err(_) => RequestFailure::TargetMemory,
    }
}

/// Returns the addresses of all ranks' windows.
fn addresses(universe: &Universe, window: &[AtomicU64]) -> Vec<u64> {
    let own = [window.as_ptr().expose_provenance() as u64];
    let world = universe.world();
    let mut all = vec![0; world.size()];
    world.allgather(&own, &mut all).unwrap();
    all
}

fn window(words: usize) -> Vec<AtomicU64> {
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

fn everywhere(program: impl Fn(&Universe) + Copy + Send + Sync + 'static) {
    for (ranks, nodes) in LAYOUTS {
        run(ranks, nodes, program);
    }
}

#[test]
fn what_is_put_is_got_whatever_its_length() {
    everywhere(|universe| {
        let world = universe.world();
        let (me, size) = (world.rank(), world.size());
        let next = (me + 1) % size;
        const WORDS: usize = 40_000;
        let memory = window(WORDS);
        let bases = addresses(universe, &memory);
        let target = u32::try_from(next).unwrap();
        for words in [1, 8, 9, 1000, WORDS] {
            let mut data: Vec<u64> = (0..words).map(|at| (at * size + me) as u64).collect();
            let put = OneSided {
                origin: view(&mut data),
                ..operation(OneSidedKind::Put, target, bases[next], words * 8)
            };
            assert_eq!(do_it(universe, &put), RequestFailure::None);
            let mut back = vec![0_u64; words];
            let get = OneSided {
                result: view(&mut back),
                ..operation(OneSidedKind::Get, target, bases[next], words * 8)
            };
            assert_eq!(do_it(universe, &get), RequestFailure::None);
            assert_eq!(back, data);
            world.barrier().unwrap();
            let before = (me + size - 1) % size;
            for (at, word) in memory.iter().take(words).enumerate() {
                let expected = (at * size + before) as u64;
                assert_eq!(word.load(Ordering::Relaxed), expected);
            }
            world.barrier().unwrap();
        }
    });
}

/// Rank 1 is on the node of the target, rank 2 is not. The NIC asks for the lock that rank 1 holds,
/// and sleeps. When rank 1 gives the lock back, only rank 1 can wake it.
#[test]
fn a_nic_that_sleeps_hears_that_a_lock_is_free() {
    let settings = Settings::default();
    Machine::new(3, 2, settings).run(|universe| {
        let world = universe.world();
        let memory = window(2);
        let bases = addresses(universe, &memory);
        match world.rank() {
            1 => {
                let direct = universe.process().endpoint().direct_access();
                let tell = || world.send_one(1_u8, 2, 3).unwrap();
                #[expect(
                    clippy::disallowed_methods,
                    reason = "nothing tells that a NIC has fallen asleep"
                )]
                direct.hold_updates(0, tell, || std::thread::sleep(Duration::from_millis(50)));
            }
            2 => {
                world.recv_one::<u8>(1, 3).unwrap();
                let mut number = [1.0_f64, 2.0];
                let complex = update(UpdateKind::Reduce(Op::Sum), Datatype::DoubleComplex, false);
                let accumulate = OneSided {
                    origin: view(&mut number),
                    ..operation(complex, 0, bases[0], 16)
                };
                assert_eq!(do_it(universe, &accumulate), RequestFailure::None);
            }
            _ => {}
        }
        world.barrier().unwrap();
    });
}

#[test]
fn updates_of_all_ranks_lose_nothing_and_fetch_what_was_there() {
    everywhere(|universe| {
        let world = universe.world();
        let (me, size) = (world.rank(), world.size());
        let memory = window(4);
        let bases = addresses(universe, &memory);
        let add = |fetches| update(UpdateKind::Reduce(Op::Sum), Datatype::Int64, fetches);
        let (rounds, mut seen) = (50_u64, Vec::new());
        for _ in 0..rounds {
            let (mut one, mut old) = ([1_u64], [0_u64]);
            let fetch = OneSided {
                origin: view(&mut one),
                result: view(&mut old),
                ..operation(add(true), 0, bases[0], 8)
            };
            assert_eq!(do_it(universe, &fetch), RequestFailure::None);
            seen.push(old[0]);
            // A complex number takes the target's lock.
            let mut number = [1.0_f64, 2.0];
            let complex = update(UpdateKind::Reduce(Op::Sum), Datatype::DoubleComplex, false);
            let accumulate = OneSided {
                origin: view(&mut number),
                ..operation(complex, 0, bases[0] + 16, 16)
            };
            assert_eq!(do_it(universe, &accumulate), RequestFailure::None);
        }
        assert!(
            seen.is_sorted(),
            "updates of an origin are in order: rank {me} of {size} saw {seen:?}"
        );
        world.barrier().unwrap();
        if me == 0 {
            let all = rounds * size as u64;
            let word = |at: usize| memory[at].load(Ordering::Relaxed);
            assert_eq!(word(0), all);
            assert_eq!(f64::from_bits(word(2)), all as f64);
            assert_eq!(f64::from_bits(word(3)), 2.0 * all as f64);
        }
        let mut values = [0_u64, 77 + me as u64];
        let mut old = [0_u64];
        let swap = update(UpdateKind::CompareAndSwap, Datatype::Uint64, true);
        let swap = OneSided {
            origin: view(&mut values),
            result: view(&mut old),
            ..operation(swap, 0, bases[0] + 8, 8)
        };
        assert_eq!(do_it(universe, &swap), RequestFailure::None);
        let mut winners = [0_i64];
        let won = [i64::from(old[0] == 0)];
        world.allreduce(&won, &mut winners, Op::Sum).unwrap();
        assert_eq!(winners, [1]);
    });
}

#[test]
fn long_updates_are_done_in_order_with_short_ones() {
    everywhere(|universe| {
        let world = universe.world();
        let (me, size) = (world.rank(), world.size());
        const WORDS: usize = 20_000;
        let memory = window(WORDS);
        let bases = addresses(universe, &memory);
        let last = size - 1;
        let target = u32::try_from(last).unwrap();
        let endpoint = universe.process().endpoint();
        let direct = endpoint.direct_access();
        if me == 0 {
            let mut data: Vec<u64> = (0..WORDS as u64).collect();
            let mut minus = [u64::MAX; 1];
            let sum = update(UpdateKind::Reduce(Op::Sum), Datatype::Int64, false);
            let replace = update(UpdateKind::Replace, Datatype::Int64, false);
            let long = OneSided {
                origin: view(&mut data),
                ..operation(sum, target, bases[last], WORDS * 8)
            };
            // The last element is replaced after it was added to.
            let short = OneSided {
                origin: view(&mut minus),
                ..operation(replace, target, bases[last] + 8 * (WORDS as u64 - 1), 8)
            };
            let requests = [&long, &short, &long]
                .map(|operation| endpoint.bcs_one_sided(&direct, operation).unwrap());
            for request in requests {
                assert_eq!(wait(universe, request), RequestFailure::None);
            }
            let (mut old, mut most) = (vec![0_u64; WORDS], data.clone());
            let fetch = OneSided {
                origin: view(&mut most),
                result: view(&mut old),
                ..operation(
                    update(UpdateKind::Reduce(Op::Max), Datatype::Int64, true),
                    target,
                    bases[last],
                    WORDS * 8,
                )
            };
            assert_eq!(do_it(universe, &fetch), RequestFailure::None);
            let all = old.iter().enumerate().take(WORDS - 1);
            all.for_each(|(at, &word)| assert_eq!(word, 2 * at as u64));
            assert_eq!(old[WORDS - 1], WORDS as u64 - 2);
        }
        world.barrier().unwrap();
        if me == last {
            let words = memory.iter().map(|word| word.load(Ordering::Relaxed));
            let doubled = words.enumerate().take(WORDS - 1);
            doubled.for_each(|(at, word)| assert_eq!(word, 2 * at as u64));
        }
    });
}

#[test]
fn a_target_that_waits_for_a_word_is_woken() {
    everywhere(|universe| {
        let world = universe.world();
        let (me, size) = (world.rank(), world.size());
        let memory = window(1);
        let bases = addresses(universe, &memory);
        let endpoint = universe.process().endpoint();
        let next = (me + 1) % size;
        for round in 1..20_u64 {
            let look = || {
                let came = memory[0].load(Ordering::Acquire) >= round;
                came.then_some(())
            };
            if me > 0 {
                endpoint.wait_for_word(WaitReason::Request, look);
            }
            let mut one = [1_u64];
            let add = update(UpdateKind::Reduce(Op::Sum), Datatype::Int64, false);
            let add = OneSided {
                origin: view(&mut one),
                wakes_target: true,
                ..operation(add, u32::try_from(next).unwrap(), bases[next], 8)
            };
            assert_eq!(do_it(universe, &add), RequestFailure::None);
            if me == 0 {
                endpoint.wait_for_word(WaitReason::Request, look);
            }
        }
    });
}

#[test]
fn memory_that_the_target_does_not_have_is_an_error_at_the_origin() {
    everywhere(|universe| {
        let world = universe.world();
        let target = u32::try_from((world.rank() + 1) % world.size()).unwrap();
        if universe
            .process()
            .endpoint()
            .direct_access()
            .maps(target, 8, 8)
        {
            return; // Threads of one process: the origin itself would fault.
        }
        let mut data = [0_u64; 1000];
        for words in [1, 1000] {
            let put = OneSided {
                origin: view(&mut data[..words]),
                ..operation(OneSidedKind::Put, target, 8, words * 8)
            };
            assert_eq!(do_it(universe, &put), RequestFailure::TargetMemory);
            let get = OneSided {
                result: view(&mut data[..words]),
                ..operation(OneSidedKind::Get, target, 8, words * 8)
            };
            assert_eq!(do_it(universe, &get), RequestFailure::TargetMemory);
            let add = update(UpdateKind::Reduce(Op::Sum), Datatype::Int64, false);
            let add = OneSided {
                origin: view(&mut data[..words]),
                ..operation(add, target, 8, words * 8)
            };
            assert_eq!(do_it(universe, &add), RequestFailure::TargetMemory);
        }
        world.barrier().unwrap();
    });
}

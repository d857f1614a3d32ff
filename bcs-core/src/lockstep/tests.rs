//! A seed determines everything.

use super::*;
use crate::clock;
use crate::wake::bell::{self, Futex, KernelFutex};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

fn drive(seed: u64) -> Lockstep {
    let mut turns = ChaCha8Rng::seed_from_u64(seed);
    Lockstep::drive(move |most| turns.random_range(0..most))
}

/// Runs two threads that ring each other in turn, and count.
fn ping_pong(seed: u64) -> (u64, u64) {
    let lockstep = drive(seed);
    let words = Arc::new([const { AtomicU32::new(0) }; 2]);
    let rounds = Arc::new(AtomicU32::new(0));
    for me in 0..2_u32 {
        let (words, rounds) = (words.clone(), rounds.clone());
        let body = move || {
            for _ in 0..100 {
                while rounds.load(Ordering::Acquire) % 2 != me {
                    let deadline = None;
                    let mine = || rounds.load(Ordering::Acquire) % 2 == me;
                    bell::sleep(&words[me as usize], &KernelFutex, deadline, mine);
                }
                rounds.fetch_add(1, Ordering::AcqRel);
                bell::ring(&words[1 - me as usize], &KernelFutex, || ());
            }
        };
        lockstep.spawn("player", body).unwrap();
    }
    loop {
        while lockstep.step() {}
        let Some(next) = lockstep.next_ns() else {
            break;
        };
        lockstep.advance(next);
    }
    assert_eq!(rounds.load(Ordering::Acquire), 200);
    assert_eq!(lockstep.describe(), "");
    (lockstep.trace_hash(), lockstep.now_ns())
}

#[test]
fn a_seed_fixes_who_runs_when() {
    assert_eq!(ping_pong(7), ping_pong(7));
    assert_ne!(ping_pong(7), ping_pong(8));
}

#[test]
fn time_passes_for_threads_in_lockstep_alone() {
    let lockstep = drive(1);
    lockstep.advance(5_000_000);
    assert_eq!(clock::now_ns(), 5_000_000);
    let (said, elsewhere) = (Arc::new(Mutex::new(0)), std::thread::spawn(clock::now_ns));
    assert_ne!(elsewhere.join().unwrap(), 5_000_000);
    let hears = said.clone();
    lockstep
        .spawn("clock", move || *lock(&hears) = clock::now_ns())
        .unwrap();
    while lockstep.next_ns().is_some() {
        lockstep.advance(lockstep.next_ns().unwrap());
        assert!(lockstep.step());
    }
    assert!((5_000_000..5_100_000).contains(&*said.lock().unwrap()));
    drop(lockstep);
    assert_ne!(clock::now_ns(), 5_000_000);
}

#[test]
fn the_dead_never_run_again_and_panics_are_told() {
    let lockstep = drive(1);
    let word = Arc::new(AtomicU32::new(0));
    let sleeps = word.clone();
    let sleeper = lockstep.spawn("sleeper", move || {
        KernelFutex.wait(&sleeps, 0, None);
        sleeps.store(2, Ordering::Release);
    });
    let panics = lockstep.spawn("panics", || panic!("as it should"));
    let dies = lockstep.spawn("dies", || {
        kill_this_process();
        unreachable!("it is dead");
    });
    while lockstep.step() {}
    lockstep.kill(sleeper.unwrap());
    word.store(1, Ordering::Release);
    KernelFutex.wake(&word);
    assert!(!lockstep.step());
    assert_eq!(word.load(Ordering::Acquire), 1);
    let said = ThreadStatus::Panicked("as it should".to_owned());
    assert_eq!(lockstep.thread_status(panics.unwrap()), said);
    assert_eq!(lockstep.thread_status(dies.unwrap()), ThreadStatus::Dead);
    assert_eq!(lockstep.next_ns(), None);
}

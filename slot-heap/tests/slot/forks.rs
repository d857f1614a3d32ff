//! Forks, while other threads allocate. `BCS_FORK_ROUNDS` sets how many (50).

use crate::fallbacks::deny;
use crate::rank::{as_rank, before_exec, command, is_rank, succeed};
use crate::threads::{Block, random_len};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

fn rounds() -> u64 {
    let set = std::env::var("BCS_FORK_ROUNDS").ok();
    set.and_then(|rounds| rounds.parse().ok()).unwrap_or(50)
}

/// Forks; the child ends with what `body` returns.
fn fork(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: what the child does afterwards is what this tests.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "{}", std::io::Error::last_os_error());
    if pid == 0 {
        let code = body();
        // SAFETY: ends the child without running the exit code of the test harness.
        unsafe { libc::_exit(code) };
    }
    pid
}

fn wait(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: a child of ours, and a place for its status.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(waited, pid);
    status
}

/// Stops threads that churn, whatever happens.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn churn(seed: u64, stop: &AtomicBool) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut held: Vec<Block> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let len = random_len(&mut random).min(1 << 20);
        held.push(Block::new(len, random.random()));
        if held.len() > 50 {
            let index = random.random_range(0..held.len());
            held.swap_remove(index).check();
        }
    }
    held.iter().for_each(Block::check);
}

/// Uses the heap in a child in every way.
fn live(seed: u64, inherited: &mut [Block]) {
    assert!(
        slot_heap::slot().unwrap().is_err(),
        "its heap is nobody else's"
    );
    inherited.iter().for_each(Block::check);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..300 {
        let index = random.random_range(0..inherited.len());
        inherited[index].check();
        inherited[index] = Block::new(random_len(&mut random).min(2 << 20), random.random());
    }
    inherited.iter().for_each(Block::check);
}

#[test]
fn a_child_has_a_heap_of_its_own() {
    as_rank("forks::a_child_has_a_heap_of_its_own", || {
        let stop = AtomicBool::new(false);
        let mut blocks: Vec<_> = (0..100)
            .map(|seed| Block::new(seed as usize * 500, seed))
            .collect();
        blocks.push(Block::new(5 << 20, 9));
        std::thread::scope(|scope| {
            let stop = &stop;
            let _at_the_end = Stop(stop);
            for seed in 0..3 {
                scope.spawn(move || churn(seed, stop));
            }
            for round in 0..rounds() {
                let pid = fork(|| {
                    match round % 4 {
                        0 => {}
                        1 => live(round, &mut blocks),
                        2 => {
                            let failed = Command::new("/bin/true").status().is_err();
                            return i32::from(failed);
                        }
                        _ => {
                            let grandchild = fork(|| {
                                live(round, &mut blocks);
                                0
                            });
                            live(round + 1, &mut blocks);
                            return i32::from(wait(grandchild) != 0);
                        }
                    }
                    0
                });
                // The parent continues with the same blocks meanwhile.
                for seed in 0..20 {
                    let index = usize::from(seed) * 3;
                    blocks[index].check();
                    blocks[index] = Block::new(index * 700, seed);
                }
                assert_eq!(wait(pid), 0, "round {round}");
                blocks.iter().for_each(Block::check);
            }
        });
    });
}

/// Threads then run the gate's fence themselves.
#[test]
fn forks_need_no_barrier_of_the_kernel() {
    let mut rank = command("forks::a_child_has_a_heap_of_its_own", "5");
    before_exec(&mut rank, || deny(libc::SYS_membarrier));
    succeed(&mut rank);
}

/// Two threads that fork at the same time, and one that starts programs.
#[test]
fn forks_do_not_disturb_each_other() {
    as_rank("forks::forks_do_not_disturb_each_other", || {
        std::thread::scope(|scope| {
            for thread in 0..2_u64 {
                scope.spawn(move || {
                    let mut blocks: Vec<_> = (0..60).map(|seed| Block::new(900, seed)).collect();
                    for round in 0..rounds() / 2 {
                        let pid = fork(|| {
                            live(round * 2 + thread, &mut blocks);
                            0
                        });
                        assert_eq!(wait(pid), 0);
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..rounds() / 2 {
                    assert!(Command::new("/bin/true").status().unwrap().success());
                }
            });
        });
    });
}

#[test]
fn a_child_without_memory_for_a_copy_says_so() {
    const TEST: &str = "forks::a_child_without_memory_for_a_copy_says_so";
    if is_rank() {
        let block = Block::new(1000, 1);
        let limit = libc::rlimit {
            rlim_cur: 600 << 30,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: a valid structure.
        let set = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
        assert_eq!(set, 0);
        let pid = fork(|| 0);
        let status = wait(pid);
        assert!(
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 71,
            "{status}"
        );
        block.check();
        return;
    }
    let told = succeed(&mut command(TEST, "5")).stderr;
    let told = String::from_utf8_lossy(&told);
    assert!(
        told.contains("cannot have a copy of its parent's heap (errno 12)"),
        "{told}"
    );
}

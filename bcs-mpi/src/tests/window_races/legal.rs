//! Programs that are nearly wrong.

use super::{AccumulateOp, Fine, LockKind, Op, Program, TARGET};
use crate::mpi::window::NOCHECK;

pub(super) const PROGRAMS: &[(&str, Program)] = &[
    ("a fence between two puts", |rank| {
        rank.fence();
        if rank.origin() == Some(0) {
            rank.put(Fine, 0);
        }
        rank.fence();
        if rank.origin() == Some(1) {
            rank.put(Fine, 0);
        }
        rank.fence();
    }),
    ("puts of words side by side", |rank| {
        rank.fence();
        if let Some(origin) = rank.origin() {
            rank.put(Fine, i64::from(origin));
        }
        rank.fence();
    }),
    ("two gets", |rank| {
        rank.fence();
        rank.get(Fine, 0);
        rank.fence();
    }),
    ("equal updates", |rank| {
        rank.fence();
        rank.update(Fine, Op::Sum);
        rank.fence();
    }),
    ("an update, and a read in one step", |rank| {
        rank.lock_all();
        match rank.origin() {
            Some(0) => rank.update(Fine, Op::Max),
            Some(_) => drop(rank.fetch(Fine, 0)),
            None => {}
        }
        rank.unlock_all();
        rank.barrier();
    }),
    ("an update beside a compare-and-swap", |rank| {
        rank.lock_all();
        match rank.origin() {
            Some(0) => rank.compare_and_swap(Fine),
            Some(_) => rank.update(Fine, Op::Sum),
            None => {}
        }
        rank.unlock_all();
        rank.barrier();
    }),
    ("interleaved puts", |rank| {
        rank.fence();
        if let Some(origin) = rank.origin() {
            rank.put_strided(Fine, i64::from(origin));
        }
        rank.fence();
    }),
    ("puts in two epochs of groups", |rank| {
        rank.exposed(|origin| {
            if origin == 0 {
                rank.put(Fine, 0);
            }
        });
        rank.exposed(|origin| {
            if origin == 1 {
                rank.put(Fine, 0);
            }
        });
    }),
    ("puts under exclusive locks", |rank| {
        if rank.origin().is_some() {
            rank.lock(LockKind::Exclusive);
            rank.put(Fine, 0);
            rank.unlock();
        }
        rank.barrier();
    }),
    (
        "a get under a shared lock, a put under an exclusive one",
        |rank| {
            match rank.origin() {
                Some(0) => {
                    rank.lock(LockKind::Shared);
                    rank.get(Fine, 0);
                    rank.unlock();
                }
                Some(_) => {
                    rank.lock(LockKind::Exclusive);
                    rank.put(Fine, 0);
                    rank.unlock();
                }
                None => {}
            }
            rank.barrier();
        },
    ),
    ("a barrier between two puts", |rank| {
        rank.lock_all();
        if rank.origin() == Some(0) {
            rank.put(Fine, 0);
            rank.flush();
        }
        rank.barrier();
        if rank.origin() == Some(1) {
            rank.put(Fine, 0);
        }
        rank.unlock_all();
        rank.barrier();
    }),
    ("a message between two puts", |rank| {
        rank.lock_all();
        if rank.origin() == Some(0) {
            rank.put(Fine, 0);
            rank.flush();
        }
        rank.tell_second();
        if rank.origin() == Some(1) {
            rank.put(Fine, 0);
        }
        rank.unlock_all();
        rank.barrier();
    }),
    ("a flag that is set and polled", |rank| {
        rank.lock_all();
        if rank.me() == TARGET {
            // Nothing is at the flag's place yet.
            rank.window_word_is_zero(0);
        }
        rank.barrier();
        match rank.origin() {
            Some(0) => {
                rank.put(Fine, 5);
                rank.flush();
                rank.update(Fine, AccumulateOp::Replace);
                rank.flush();
            }
            Some(_) => {
                while rank.fetch(Fine, 0) == 0 {}
                rank.get(Fine, 5);
            }
            None => {}
        }
        rank.unlock_all();
        rank.barrier();
    }),
    ("a flush between two puts of one origin", |rank| {
        rank.lock_all();
        if rank.origin() == Some(0) {
            rank.put(Fine, 0);
            rank.flush();
            rank.put(Fine, 0);
        }
        rank.unlock_all();
        rank.barrier();
    }),
    ("updates of one origin by different operations", |rank| {
        rank.fence();
        if rank.origin() == Some(0) {
            rank.update(Fine, AccumulateOp::Replace);
            rank.update(Fine, Op::Sum);
        }
        rank.fence();
    }),
    ("two epochs of locks of one origin", |rank| {
        if rank.origin() == Some(0) {
            for _ in 0..2 {
                rank.lock(LockKind::Shared);
                rank.put(Fine, 0);
                rank.unlock();
            }
        }
        rank.barrier();
    }),
    ("an allreduce between two puts", |rank| {
        if rank.origin() == Some(0) {
            rank.lock(LockKind::Shared);
            rank.put(Fine, 0);
            rank.unlock();
        }
        rank.world
            .allreduce(super::word(), super::word(), Op::Sum)
            .unwrap();
        if rank.origin() == Some(1) {
            rank.lock(LockKind::Shared);
            rank.put(Fine, 0);
            rank.unlock();
        }
        rank.barrier();
    }),
    ("a barrier that does not block between two puts", |rank| {
        if rank.origin() == Some(0) {
            rank.lock(LockKind::Shared);
            rank.put(Fine, 0);
            rank.unlock();
        }
        rank.world.ibarrier().unwrap().wait().unwrap();
        if rank.origin() == Some(1) {
            rank.lock(LockKind::Shared);
            rank.put(Fine, 0);
            rank.unlock();
        }
        rank.barrier();
    }),
    ("a broadcast between two puts", |rank| {
        if rank.origin() == Some(0) {
            rank.lock(LockKind::Shared);
            rank.put(Fine, 0);
            rank.unlock();
        }
        rank.world.bcast(super::word(), 1).unwrap();
        if rank.origin() == Some(1) {
            rank.lock(LockKind::Shared);
            rank.put(Fine, 0);
            rank.unlock();
        }
        rank.barrier();
    }),
    ("a duplicate of the communicator between two puts", |rank| {
        if rank.origin() == Some(0) {
            rank.lock(LockKind::Shared);
            rank.put(Fine, 0);
            rank.unlock();
        }
        rank.world.dup().unwrap().free().unwrap();
        if rank.origin() == Some(1) {
            rank.lock(LockKind::Shared);
            rank.put(Fine, 0);
            rank.unlock();
        }
        rank.barrier();
    }),
    ("locks that the program knows to be free", |rank| {
        for turn in 0..2 {
            if rank.origin() == Some(turn) {
                rank.window
                    .lock(LockKind::Exclusive, TARGET, NOCHECK)
                    .unwrap();
                rank.put(Fine, 0);
                rank.unlock();
            }
            rank.barrier();
        }
    }),
    ("the same words of two windows", |rank| {
        rank.fence();
        let other = rank.window_beside();
        other.fence();
        match rank.origin() {
            Some(0) => rank.put(Fine, 0),
            Some(_) => other.put(Fine, 0),
            None => {}
        }
        other.fence();
        rank.fence();
        other.window.free().unwrap();
    }),
    (
        "a put, and a call of the target that sends another word",
        |rank| {
            let other = rank.window_beside();
            rank.fence();
            other.fence();
            match rank.origin() {
                None => other.put_from(Fine, rank, 3),
                Some(0) => rank.put(Fine, 2),
                Some(_) => rank.put(Fine, 4),
            }
            other.fence();
            rank.fence();
            other.window.free().unwrap();
        },
    ),
    (
        "a get, and a call of the target that sends the word",
        |rank| {
            let other = rank.window_beside();
            rank.fence();
            other.fence();
            match rank.origin() {
                None => other.put_from(Fine, rank, 3),
                Some(_) => rank.get(Fine, 3),
            }
            other.fence();
            rank.fence();
            other.window.free().unwrap();
        },
    ),
    ("a target that locks itself to fill its memory", |rank| {
        let other = rank.window_beside();
        other.lock_all();
        rank.lock(LockKind::Exclusive);
        match rank.origin() {
            None => other.get_into(Fine, rank, 0),
            Some(_) => rank.put(Fine, 0),
        }
        rank.unlock();
        other.unlock_all();
        rank.barrier();
        other.window.free().unwrap();
    }),
    ("memory that the target fills before a barrier", |rank| {
        let other = rank.window_beside();
        other.lock_all();
        if rank.origin().is_none() {
            other.get_into(Fine, rank, 0);
        }
        other.unlock_all();
        rank.barrier();
        rank.lock(LockKind::Exclusive);
        if rank.origin() == Some(0) {
            rank.put(Fine, 0);
        }
        rank.unlock();
        rank.barrier();
        other.window.free().unwrap();
    }),
];

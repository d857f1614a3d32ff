//! Programs with one race each.

use super::{AccumulateOp, Fine, LockKind, Op, Program, Racy};

pub(super) const PROGRAMS: &[(&str, Program)] = &[
    ("two puts in an epoch of fences", |rank| {
        rank.fence();
        match rank.origin() {
            Some(0) => rank.put(Racy, 0),
            Some(_) => rank.put(Racy, 0),
            None => {}
        }
        rank.fence();
    }),
    ("a put and a get in an epoch of fences", |rank| {
        rank.fence();
        match rank.origin() {
            Some(0) => rank.put(Racy, 1),
            Some(_) => rank.get(Racy, 1),
            None => {}
        }
        rank.fence();
    }),
    ("a put and an update", |rank| {
        rank.fence();
        match rank.origin() {
            Some(0) => rank.update(Racy, Op::Sum),
            Some(_) => rank.put(Racy, 0),
            None => {}
        }
        rank.fence();
    }),
    ("a get and an update", |rank| {
        rank.fence();
        match rank.origin() {
            Some(0) => rank.update(Racy, Op::Sum),
            Some(_) => rank.get(Racy, 0),
            None => {}
        }
        rank.fence();
    }),
    ("updates by different operations", |rank| {
        rank.fence();
        match rank.origin() {
            Some(0) => rank.update(Racy, Op::Sum),
            Some(_) => rank.update(Racy, Op::Max),
            None => {}
        }
        rank.fence();
    }),
    ("an update and a replacement", |rank| {
        rank.fence();
        match rank.origin() {
            Some(0) => rank.update(Racy, Op::Sum),
            Some(_) => rank.update(Racy, AccumulateOp::Replace),
            None => {}
        }
        rank.fence();
    }),
    ("updates of different datatypes", |rank| {
        rank.fence();
        match rank.origin() {
            Some(0) => rank.update(Racy, Op::Sum),
            Some(_) => rank.add_unsigned(Racy),
            None => {}
        }
        rank.fence();
    }),
    ("puts that have one word in common", |rank| {
        rank.fence();
        match rank.origin() {
            Some(0) => rank.put_strided(Racy, 0),
            Some(_) => rank.put_strided(Racy, 2),
            None => {}
        }
        rank.fence();
    }),
    ("a put into a gap, and one beside it", |rank| {
        rank.fence();
        match rank.origin() {
            Some(0) => rank.put_strided(Racy, 0),
            Some(_) => {
                rank.put(Fine, 1);
                rank.put(Racy, 2);
            }
            None => {}
        }
        rank.fence();
    }),
    ("two puts of one origin", |rank| {
        rank.fence();
        if rank.origin() == Some(0) {
            rank.put(Racy, 3);
            rank.put(Racy, 3);
        }
        rank.fence();
    }),
    ("a get after a put of one origin", |rank| {
        rank.fence();
        if rank.origin() == Some(1) {
            rank.put(Racy, 3);
            rank.get(Racy, 3);
        }
        rank.fence();
    }),
    ("the target puts into its own memory", |rank| {
        rank.fence();
        match rank.origin() {
            None => rank.put(Racy, 0),
            Some(0) => rank.put(Racy, 0),
            Some(_) => {}
        }
        rank.fence();
    }),
    ("two puts in an epoch of groups", |rank| {
        rank.exposed(|origin| match origin {
            0 => rank.put(Racy, 0),
            _ => rank.put(Racy, 0),
        });
    }),
    ("a put and a get in the second epoch of groups", |rank| {
        rank.exposed(|origin| {
            if origin == 0 {
                rank.put(Fine, 0);
            }
        });
        rank.exposed(|origin| match origin {
            0 => rank.put(Racy, 0),
            _ => rank.get(Racy, 0),
        });
    }),
    ("two puts under shared locks", |rank| {
        match rank.origin() {
            Some(0) => {
                rank.lock(LockKind::Shared);
                rank.put(Racy, 0);
                rank.unlock();
            }
            Some(_) => {
                rank.lock(LockKind::Shared);
                rank.put(Racy, 0);
                rank.unlock();
            }
            None => {}
        }
        rank.barrier();
    }),
    ("a put and a get under shared locks", |rank| {
        match rank.origin() {
            Some(0) => {
                rank.lock(LockKind::Shared);
                rank.get(Racy, 0);
                rank.unlock();
            }
            Some(_) => {
                rank.lock(LockKind::Shared);
                rank.put(Racy, 0);
                rank.unlock();
            }
            None => {}
        }
        rank.barrier();
    }),
    ("two puts under the lock of all", |rank| {
        rank.lock_all();
        match rank.origin() {
            Some(0) => rank.put(Racy, 0),
            Some(_) => rank.put(Racy, 0),
            None => {}
        }
        rank.unlock_all();
        rank.barrier();
    }),
    ("a flush that nobody waits for", |rank| {
        rank.lock_all();
        match rank.origin() {
            Some(0) => {
                rank.put(Racy, 0);
                rank.flush();
            }
            Some(_) => rank.get(Racy, 0),
            None => {}
        }
        rank.barrier();
        rank.unlock_all();
    }),
    ("a barrier that comes too late", |rank| {
        rank.lock_all();
        rank.barrier();
        match rank.origin() {
            Some(0) => rank.put(Racy, 0),
            Some(_) => {
                rank.put(Racy, 0);
                rank.flush();
            }
            None => {}
        }
        rank.barrier();
        rank.unlock_all();
    }),
    ("a put beside a compare-and-swap", |rank| {
        rank.lock_all();
        match rank.origin() {
            Some(0) => rank.compare_and_swap(Racy),
            Some(_) => rank.put(Racy, 0),
            None => {}
        }
        rank.unlock_all();
        rank.barrier();
    }),
    ("puts with requests", |rank| {
        rank.lock_all();
        match rank.origin() {
            Some(0) => rank.rput(Racy),
            Some(_) => rank.rput(Racy),
            None => {}
        }
        rank.unlock_all();
        rank.barrier();
    }),
    ("a race after an epoch without one", |rank| {
        rank.fence();
        if rank.origin() == Some(0) {
            rank.put(Fine, 0);
        }
        rank.fence();
        match rank.origin() {
            Some(0) => rank.put(Racy, 0),
            Some(_) => rank.update(Racy, Op::Sum),
            None => {}
        }
        rank.fence();
    }),
    (
        "a put, and a call of the target that sends the word",
        |rank| {
            let other = rank.window_beside();
            rank.fence();
            other.fence();
            match rank.origin() {
                None => other.put_from(Racy, rank, 3),
                Some(0) => rank.put(Racy, 3),
                Some(_) => {}
            }
            other.fence();
            rank.fence();
            other.window.free().unwrap();
        },
    ),
];

//! Races of windows in checked jobs: each planted one is told with both lines, and programs that
//! are nearly wrong are not accused.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

mod legal;
mod planted;

use super::Machine;
use crate::mpi::error::ErrorClass;
use crate::mpi::window::{AccumulateOp, LockKind, TargetData, Window};
use crate::mpi::{Buffer, Comm, Datatype, Info, Op, Request, Result};
use bcs_core::job::{IntranodeTransport, Settings};
use bcs_core::reduction::Datatype as Elementary;
use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::Mutex;

/// Ranks and nodes. Rank 0 is the target; ranks 1 and 2 are the origins.
const LAYOUTS: [(usize, usize); 3] = [(3, 1), (3, 2), (3, 3)];

const TARGET: i32 = 0;

/// Whether an access is one of the two of a race.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Racy,
    Fine,
}

use Access::{Fine, Racy};

/// The errors that the ranks of a program have got.
#[derive(Default)]
struct Told {
    /// The lines of the racy accesses.
    lines: Mutex<BTreeSet<u32>>,
    errors: Mutex<Vec<String>>,
}

/// A rank of a program.
struct Member<'a> {
    world: &'a Comm,
    window: Window,
    told: &'a Told,
}

type Program = fn(&Member<'_>);

/// Memory that stays.
fn words<const N: usize>() -> Buffer {
    let memory = Box::leak(Box::new([1_i64; N]));
    // SAFETY: it stays, and nothing else uses it.
    unsafe { Buffer::new(memory.as_mut_ptr(), N, Elementary::Int64) }
}

fn word() -> Buffer {
    words::<1>()
}

fn at(displacement: i64, datatype: &Datatype) -> TargetData<'_> {
    TargetData {
        displacement,
        count: 1,
        datatype,
    }
}

fn integer() -> Datatype {
    Datatype::from(Elementary::Int64)
}

/// Two words with one between them.
fn strided() -> Datatype {
    let strided = integer().vector(2, 1, 2).unwrap();
    strided.commit().unwrap();
    strided
}

impl Member<'_> {
    fn me(&self) -> i32 {
        self.world.rank()
    }

    /// Returns the number of this origin, from 0; `None` at the target.
    fn origin(&self) -> Option<i32> {
        (self.me() > TARGET).then(|| self.me() - 1)
    }

    /// Keeps what an access was told.
    #[track_caller]
    fn keep(&self, access: Access, done: Result<()>) {
        if access == Racy {
            let line = Location::caller().line();
            self.told.lines.lock().unwrap().insert(line);
        }
        if let Err(error) = done {
            assert_eq!(error.class, ErrorClass::RmaConflict, "{error}");
            self.told.errors.lock().unwrap().push(error.reason.clone());
        }
    }

    #[track_caller]
    fn put(&self, access: Access, displacement: i64) {
        let done = self
            .window
            .put(&word(), TARGET, at(displacement, &integer()));
        self.keep(access, done);
    }

    #[track_caller]
    fn get(&self, access: Access, displacement: i64) {
        let done = self
            .window
            .get(&word(), TARGET, at(displacement, &integer()));
        self.keep(access, done);
    }

    #[track_caller]
    fn put_strided(&self, access: Access, displacement: i64) {
        let (datatype, data) = (strided(), words::<2>());
        let done = self.window.put(&data, TARGET, at(displacement, &datatype));
        self.keep(access, done);
    }

    #[track_caller]
    fn update(&self, access: Access, op: impl Into<AccumulateOp>) {
        let done = self
            .window
            .accumulate(&word(), TARGET, at(0, &integer()), op);
        self.keep(access, done);
    }

    /// Adds to the same word, as another datatype.
    #[track_caller]
    fn add_unsigned(&self, access: Access) {
        let memory = Box::leak(Box::new([1_u64]));
        // SAFETY: it stays, and nothing else uses it.
        let one = unsafe { Buffer::new(memory.as_mut_ptr(), 1, Elementary::Uint64) };
        let unsigned = Datatype::from(Elementary::Uint64);
        let done = self
            .window
            .accumulate(&one, TARGET, at(0, &unsigned), Op::Sum);
        self.keep(access, done);
    }

    #[track_caller]
    fn compare_and_swap(&self, access: Access) {
        let both = (&word(), &word());
        let done = self.window.compare_and_swap(both, &word(), TARGET, 0);
        self.keep(access, done);
    }

    /// Reads a word of the target in one step.
    #[track_caller]
    fn fetch(&self, access: Access, displacement: i64) -> i64 {
        let found = Box::leak(Box::new([0_i64]));
        // SAFETY: it stays, and is read after the flush.
        let result = unsafe { Buffer::new(found.as_mut_ptr(), 1, Elementary::Int64) };
        let op = AccumulateOp::NoOp;
        let done = self
            .window
            .fetch_and_op(&word(), &result, TARGET, displacement, op);
        self.keep(access, done);
        self.flush();
        found[0]
    }

    #[track_caller]
    fn rput(&self, access: Access) {
        let posted = self.window.rput(&word(), TARGET, at(0, &integer()));
        let done = posted.and_then(|mut request: Request| request.wait().map(|_| ()));
        self.keep(access, done);
    }

    fn fence(&self) {
        self.window.fence(0).unwrap();
    }

    fn lock(&self, kind: LockKind) {
        self.window.lock(kind, TARGET, 0).unwrap();
    }

    fn unlock(&self) {
        self.window.unlock(TARGET).unwrap();
    }

    fn lock_all(&self) {
        self.window.lock_all(0).unwrap();
    }

    fn unlock_all(&self) {
        self.window.unlock_all().unwrap();
    }

    fn flush(&self) {
        self.window.flush(TARGET).unwrap();
    }

    fn barrier(&self) {
        self.world.barrier().unwrap();
    }

    /// Runs an epoch of groups: the target posts to both origins, which do this.
    fn exposed(&self, accesses: impl FnOnce(i32)) {
        let group = self.window.group();
        match self.origin() {
            None => {
                self.window
                    .post(&group.include(&[1, 2]).unwrap(), 0)
                    .unwrap();
                self.window.wait().unwrap();
            }
            Some(origin) => {
                self.window
                    .start(&group.include(&[TARGET]).unwrap(), 0)
                    .unwrap();
                accesses(origin);
                self.window.complete().unwrap();
            }
        }
    }

    /// Returns this rank of a window of the same size.
    fn window_beside(&self) -> Self {
        Self {
            world: self.world,
            window: self.world.win_allocate(64, 8, &Info::new()).unwrap(),
            told: self.told,
        }
    }

    /// Returns a word of this rank's own memory in the window.
    fn own_word(&self, displacement: u64) -> Buffer {
        let (base, ..) = self.window.own_memory();
        let address = usize::try_from(base + 8 * displacement).unwrap();
        let word = std::ptr::with_exposed_provenance_mut::<i64>(address);
        // SAFETY: the memory stays as long as the window. That others use it is the point.
        unsafe { Buffer::new(word, 1, Elementary::Int64) }
    }

    /// Puts a word of this rank's memory in another window to the last rank.
    #[track_caller]
    fn put_from(&self, access: Access, other: &Self, displacement: u64) {
        let own = other.own_word(displacement);
        let done = self.window.put(&own, 2, at(0, &integer()));
        self.keep(access, done);
    }

    /// Gets a word of the last rank into this rank's memory in another window.
    #[track_caller]
    fn get_into(&self, access: Access, other: &Self, displacement: u64) {
        let own = other.own_word(displacement);
        let done = self.window.get(&own, 2, at(0, &integer()));
        self.keep(access, done);
    }

    /// The target clears a word of its memory.
    fn window_word_is_zero(&self, displacement: u64) {
        let (base, ..) = self.window.own_memory();
        let address = usize::try_from(base + 8 * displacement).unwrap();
        let word = std::ptr::with_exposed_provenance_mut::<i64>(address);
        // SAFETY: it is in the window, and no rank accesses it yet.
        unsafe { word.write(0) };
    }

    /// Origin 0 tells origin 1 that it has come so far.
    fn tell_second(&self) {
        match self.origin() {
            Some(0) => self.world.send(word(), 2, 7).unwrap(),
            Some(_) => drop(self.world.recv(word(), 1, 7).unwrap()),
            None => {}
        }
    }
}

/// Runs programs in all layouts. Returns for each layout and program what its ranks were told.
fn run_programs(programs: &[(&str, Program)], judge: impl Fn(&str, &BTreeSet<u32>, &[String])) {
    for (ranks, nodes) in LAYOUTS {
        for intranode in [IntranodeTransport::Smartmap, IntranodeTransport::Nic] {
            let settings = Settings {
                checked: true,
                intranode,
                ..Settings::default()
            };
            let told: Vec<Told> = programs.iter().map(|_| Told::default()).collect();
            let mut machine = Machine::new(ranks, nodes, settings);
            // Descriptions of calls, which are received when they are needed.
            machine.may_leave = true;
            machine.run(|universe| {
                let world = universe.world().untyped();
                for ((_, program), told) in programs.iter().zip(&told) {
                    let window = world.win_allocate(64, 8, &Info::new()).unwrap();
                    let member = Member {
                        world,
                        window: window.clone(),
                        told,
                    };
                    program(&member);
                    window.free().unwrap();
                }
            });
            for ((name, _), told) in programs.iter().zip(told) {
                let lines = told.lines.into_inner().unwrap();
                let name = format!("{name} on {nodes} nodes, {intranode:?}");
                judge(&name, &lines, &told.errors.into_inner().unwrap());
            }
        }
    }
}

#[test]
fn each_planted_race_is_told_with_both_lines() {
    run_programs(planted::PROGRAMS, |name, lines, errors| {
        assert!(!errors.is_empty(), "{name}: nobody was told");
        for error in errors {
            let known = |line: &&u32| error.contains(&format!("planted.rs:{line} "));
            let told = lines.iter().filter(known).count();
            assert_eq!(told, lines.len(), "{name}: {lines:?}: {error}");
        }
    });
}

#[test]
fn programs_that_are_nearly_wrong_are_not_accused() {
    run_programs(legal::PROGRAMS, |name, _, errors| {
        assert!(errors.is_empty(), "{name}: {errors:?}");
    });
}

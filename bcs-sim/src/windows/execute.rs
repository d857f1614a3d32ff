//! A rank's part in a program.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

use super::oracle::{WindowModel, origin_elements};
use super::program::{
    Action, EpochKind, PlannedOperation, WORDS_BYTES, WindowOrigin, WindowProgram, WindowRound,
};
use bcs_core::reduction::{Datatype as Elementary, Op};
use bcs_mpi::mpi::window::{LockKind, TargetData, Window};
use bcs_mpi::mpi::{Buffer, Comm, Datatype, Info, Request, Result};

/// A window of this rank in use.
pub(super) struct Execution<'a> {
    world: &'a Comm,
    program: &'a WindowProgram,
    window: Window,
    me: usize,
    ranks: usize,
    /// The memory, unless the window has allocated it.
    memory: Vec<u128>,
    /// The displacement of each rank's first byte.
    bases: Vec<i64>,
}

/// The buffers of an operation, until its epoch has ended.
struct OperationBuffers {
    origin: Vec<u8>,
    result: Vec<u8>,
}

fn number(rank: usize) -> i32 {
    i32::try_from(rank).expect("few ranks")
}

fn buffer(bytes: &mut [u8], datatype: Elementary) -> Buffer {
    let count = bytes.len() / datatype.size();
    // SAFETY: the memory stays until the epoch of its operation has ended.
    unsafe { Buffer::new(bytes.as_mut_ptr(), count, datatype) }
}

impl<'a> Execution<'a> {
    pub(super) fn new(world: &'a Comm, program: &'a WindowProgram) -> Result<Self> {
        let (me, ranks) = (world.rank(), world.size());
        let (me, ranks) = (me.unsigned_abs() as usize, ranks.unsigned_abs() as usize);
        let bytes = WORDS_BYTES + program.elements(ranks) * program.datatype.size();
        let size = i64::try_from(bytes).expect("it is small");
        let mut memory = vec![0_u128; bytes.div_ceil(16)];
        let info = Info::new();
        let mut bases = vec![0_i64; ranks];
        let window = match program.memory {
            WindowOrigin::Create => {
                // SAFETY: the memory stays until the window is freed, and only operations use it.
                unsafe { world.win_create(memory.as_mut_ptr(), size, 1, &info) }?
            }
            WindowOrigin::Allocate => world.win_allocate(size, 1, &info)?,
            WindowOrigin::Dynamic => {
                let window = world.win_create_dynamic(&info)?;
                // SAFETY: as above.
                unsafe { window.attach(memory.as_mut_ptr(), size) }?;
                let mut own = [memory.as_mut_ptr().expose_provenance() as i64];
                // SAFETY: the buffers exist until the call is over, and nobody else uses them.
                let input = unsafe { Buffer::new(own.as_mut_ptr(), 1, Elementary::Int64) };
                // SAFETY: as above.
                let output = unsafe { Buffer::new(bases.as_mut_ptr(), 1, Elementary::Int64) };
                world.allgather(Some(input), output)?;
                window
            }
        };
        let execution = Self {
            world,
            program,
            window,
            me,
            ranks,
            memory,
            bases,
        };
        if program.memory == WindowOrigin::Allocate {
            // SAFETY: it is the window's own memory, and no epoch has begun.
            unsafe { execution.own_memory().write_bytes(0, bytes) };
        }
        world.barrier()?;
        Ok(execution)
    }

    fn own_memory(&self) -> *mut u8 {
        match self.program.memory {
            WindowOrigin::Allocate => {
                let (base, ..) = self.window.own_memory();
                let base = usize::try_from(base).expect("addresses have 64 bits here");
                std::ptr::with_exposed_provenance_mut(base)
            }
            _ => self.memory.as_ptr().cast_mut().cast(),
        }
    }

    /// Does this rank's part in an epoch, and compares.
    pub(super) fn run(&mut self, round: &WindowRound, model: &mut WindowModel) -> Result<()> {
        let before = model.counters.clone();
        let expected = model.advance(round, self.me);
        let mut buffers: Vec<OperationBuffers> = round.operations[self.me]
            .iter()
            .map(|operation| self.buffers(operation))
            .collect();
        let mut fetched = Vec::new();
        let mut won = [0_u64];
        self.in_epoch(round, &mut buffers, &mut fetched, &mut won)?;
        self.world.barrier()?;
        let operations = round.operations[self.me].iter().zip(&buffers);
        for ((operation, buffers), expected) in operations.zip(&expected) {
            assert!(
                buffers.result == *expected,
                "rank {}: {operation:?} returned other bytes",
                self.me
            );
        }
        self.check_counter(round, &before, &fetched)?;
        self.check_ticket(round, won)?;
        self.check_memory(round, model)?;
        self.world.barrier()
    }

    fn buffers(&self, operation: &PlannedOperation) -> OperationBuffers {
        let returns = !matches!(operation.action, Action::Put | Action::Accumulate(_));
        let bytes = operation.count * self.program.datatype.size();
        OperationBuffers {
            origin: origin_elements(self.program.datatype, operation),
            result: vec![0; if returns { bytes } else { 0 }],
        }
    }

    fn in_epoch(
        &self,
        round: &WindowRound,
        buffers: &mut [OperationBuffers],
        fetched: &mut Vec<u64>,
        won: &mut [u64; 1],
    ) -> Result<()> {
        let operations: Vec<_> = round.operations[self.me].iter().zip(buffers).collect();
        let window = &self.window;
        let epoch = match round.epoch {
            EpochKind::Mixed { all } if all >> (self.me % 64) & 1 != 0 => EpochKind::LockAll,
            EpochKind::Mixed { .. } => EpochKind::Locks { exclusive: true },
            epoch => epoch,
        };
        match epoch {
            EpochKind::Fence => {
                window.fence(0)?;
                self.operate(operations, false)?;
                self.count(round, fetched)?;
                self.take_ticket(round, won)?;
                window.fence(0)
            }
            EpochKind::Groups => {
                let all = self.world.group();
                window.post(&all, 0)?;
                window.start(&all, 0)?;
                self.operate(operations, false)?;
                self.count(round, fetched)?;
                self.take_ticket(round, won)?;
                window.complete()?;
                window.wait()
            }
            EpochKind::LockAll => {
                window.lock_all(0)?;
                self.operate(operations, true)?;
                self.count(round, fetched)?;
                self.take_ticket(round, won)?;
                window.unlock_all()
            }
            EpochKind::Locks { exclusive } => {
                let kind = if exclusive {
                    LockKind::Exclusive
                } else {
                    LockKind::Shared
                };
                let mut operations = operations;
                for target in 0..self.ranks {
                    let here = operations.extract_if(.., |(it, _)| it.target == target);
                    let here: Vec<_> = here.collect();
                    window.lock(kind, number(target), 0)?;
                    self.operate(here, true)?;
                    if round.counter.is_some_and(|(it, _)| it == target) {
                        self.count(round, fetched)?;
                    }
                    if round.ticket == Some(target) {
                        self.take_ticket(round, won)?;
                    }
                    window.unlock(number(target))?;
                }
                Ok(())
            }
            EpochKind::Mixed { .. } => unreachable!("each rank has one kind of epoch"),
        }
    }

    fn operate(
        &self,
        operations: Vec<(&PlannedOperation, &mut OperationBuffers)>,
        is_passive: bool,
    ) -> Result<()> {
        let mut requests: Vec<Request> = Vec::new();
        for (operation, buffers) in operations {
            let request = self.begin(operation, buffers, is_passive && operation.has_request)?;
            requests.extend(request);
            if is_passive && operation.flushes {
                self.window.flush(number(operation.target))?;
            }
        }
        requests
            .iter_mut()
            .try_for_each(|request| request.wait().map(|_| ()))
    }

    fn begin(
        &self,
        operation: &PlannedOperation,
        buffers: &mut OperationBuffers,
        has_request: bool,
    ) -> Result<Option<Request>> {
        let element = self.program.datatype;
        let (count, stride) = (operation.count, operation.stride);
        let elements = Datatype::from(element);
        let in_pieces = (stride > 1).then(|| -> Result<Datatype> {
            let signed = |number: usize| i64::try_from(number).expect("it is small");
            let pieces = elements.vector(signed(count), 1, signed(stride))?;
            pieces.commit()?;
            Ok(pieces)
        });
        let in_pieces = in_pieces.transpose()?;
        let bytes = WORDS_BYTES + operation.at * element.size();
        let data = TargetData {
            displacement: self.bases[operation.target] + i64::try_from(bytes).expect("it is small"),
            count: if in_pieces.is_some() { 1 } else { count },
            datatype: in_pieces.as_ref().unwrap_or(&elements),
        };
        let (window, target) = (&self.window, number(operation.target));
        let origin = buffer(&mut buffers.origin, element);
        let result = buffer(&mut buffers.result, element);
        let posted = match operation.action {
            Action::Put if has_request => Some(window.rput(&origin, target, data)?),
            Action::Get if has_request => Some(window.rget(&result, target, data)?),
            Action::Accumulate(op) if has_request => {
                Some(window.raccumulate(&origin, target, data, op)?)
            }
            Action::GetAccumulate(op) if has_request => {
                Some(window.rget_accumulate(&origin, &result, target, data, op)?)
            }
            Action::Put => window.put(&origin, target, data).map(|()| None)?,
            Action::Get => window.get(&result, target, data).map(|()| None)?,
            Action::Accumulate(op) => window
                .accumulate(&origin, target, data, op)
                .map(|()| None)?,
            Action::GetAccumulate(op) => window
                .get_accumulate(&origin, &result, target, data, op)
                .map(|()| None)?,
        };
        Ok(posted)
    }

    /// Adds to the counter. The values come back at the end of the epoch at the latest, so the
    /// memory for them must stay where it is.
    fn count(&self, round: &WindowRound, fetched: &mut Vec<u64>) -> Result<()> {
        let Some((target, times)) = round.counter else {
            return Ok(());
        };
        *fetched = vec![u64::MAX; times];
        static ONE: u64 = 1;
        // SAFETY: it is only read.
        let one = unsafe { Buffer::read_only(&raw const ONE, 1, Elementary::Uint64) };
        for value in fetched {
            // SAFETY: the memory stays until the epoch has ended.
            let result = unsafe { Buffer::new(std::ptr::from_mut(value), 1, Elementary::Uint64) };
            let at = self.bases[target];
            self.window
                .fetch_and_op(&one, &result, number(target), at, Op::Sum)?;
        }
        Ok(())
    }

    /// Tries to be the first to put its number into the ticket.
    fn take_ticket(&self, round: &WindowRound, found: &mut [u64; 1]) -> Result<()> {
        let Some(target) = round.ticket else {
            return Ok(());
        };
        let (mut none, mut own) = ([0_u64], [self.me as u64 + 1]);
        let word = |value: &mut [u64; 1]| {
            // SAFETY: the memory stays until the operation is over; an operation has read its
            // operands when the call is over.
            unsafe { Buffer::new(value.as_mut_ptr(), 1, Elementary::Uint64) }
        };
        let operands = (&word(&mut own), &word(&mut none));
        let at = self.bases[target] + 8;
        self.window
            .compare_and_swap(operands, &word(found), number(target), at)
    }

    /// Checks that all values of a counter were fetched once.
    fn check_counter(&self, round: &WindowRound, before: &[u64], fetched: &[u64]) -> Result<()> {
        let Some((target, times)) = round.counter else {
            return Ok(());
        };
        assert!(fetched.is_sorted(), "rank {}: fetched {fetched:?}", self.me);
        let mut own = fetched.to_vec();
        let mut all = vec![0_u64; times * self.ranks];
        // SAFETY: the buffers exist until the call is over, and nobody else uses them.
        let input = unsafe { Buffer::new(own.as_mut_ptr(), times, Elementary::Uint64) };
        // SAFETY: as above.
        let output = unsafe { Buffer::new(all.as_mut_ptr(), times, Elementary::Uint64) };
        self.world.allgather(Some(input), output)?;
        all.sort_unstable();
        let first = before[target];
        assert!(
            all.iter().copied().eq(first..first + all.len() as u64),
            "the counter of rank {target} gave {all:?}"
        );
        Ok(())
    }

    /// Checks that one rank has got the ticket, and that all others have found its number. The
    /// target's rank frees it again.
    fn check_ticket(&self, round: &WindowRound, found: [u64; 1]) -> Result<()> {
        let Some(target) = round.ticket else {
            return Ok(());
        };
        let mut own = [if found[0] == 0 { self.me as u64 + 1 } else { 0 }];
        let mut winner = [0_u64];
        // SAFETY: the buffers exist until the call is over, and nobody else uses them.
        let input = unsafe { Buffer::new(own.as_mut_ptr(), 1, Elementary::Uint64) };
        // SAFETY: as above.
        let output = unsafe { Buffer::new(winner.as_mut_ptr(), 1, Elementary::Uint64) };
        self.world.allreduce(input, output, Op::Sum)?;
        let expected = if own[0] == 0 { found[0] } else { own[0] };
        assert_eq!(winner[0], expected, "rank {}: the ticket", self.me);
        if target == self.me {
            // SAFETY: the ticket is the second word of this rank's memory; no epoch is open.
            let ticket = unsafe { self.own_memory().cast::<u64>().add(1) };
            // SAFETY: as above.
            let kept = unsafe { ticket.replace(0) };
            assert_eq!(kept, winner[0], "rank {}: the ticket's word", self.me);
        }
        Ok(())
    }

    fn check_memory(&self, round: &WindowRound, model: &WindowModel) -> Result<()> {
        let expected = model.of(self.me);
        let first = self.own_memory().cast_const();
        // SAFETY: counter and ticket lie before the elements.
        let first = unsafe { first.add(WORDS_BYTES) };
        // SAFETY: this rank's memory has as many bytes, and all epochs have ended.
        let own = unsafe { std::slice::from_raw_parts(first, expected.len()) };
        let wrong = own
            .iter()
            .zip(expected)
            .position(|(own, other)| own != other);
        assert_eq!(
            wrong, None,
            "rank {}: a byte differs after {:?} of a {:?} window of {}",
            self.me, round.epoch, self.program.memory, self.program.datatype
        );
        // SAFETY: the counter is the first word.
        let counter = unsafe { self.own_memory().cast::<u64>().read() };
        assert_eq!(
            counter, model.counters[self.me],
            "rank {}: the counter",
            self.me
        );
        Ok(())
    }

    pub(super) fn end(self) -> Result<()> {
        if self.program.memory == WindowOrigin::Dynamic {
            self.window.detach(self.memory.as_ptr())?;
        }
        self.window.free()
    }
}

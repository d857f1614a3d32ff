//! The timed loops, one for each operation. `apps/c/bench.c` has the same loops.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::buffers::{Buffers, doubles, doubles_mut, read, write};
use super::options::{BenchCase, BenchOperation, BufferMode};
use crate::computation::{compute_cpu, processor_time};
use crate::{BytePassing, MessageWindow};

/// Messages in flight at once. A power of two, for [`Loops::place`].
pub(super) const WINDOW: usize = 64;

/// The most memory that the messages of `fresh` take together. The messages of a window are exempt:
/// each of them has its own place in any case.
const FRESH_BYTES: usize = 16 << 20;

/// Messages of `fresh` are a multiple of this apart: a cache line.
const LINE: usize = 64;

/// How long rank 0 computes in `lag`, in CPU time.
const LAG: Duration = Duration::from_millis(10);

// The tag of the messages, and of the acknowledgement of a window.
const TAG: i32 = 1;
const ACKNOWLEDGED: i32 = 2;

/// The cost of a loop on this rank.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct LoopTime {
    /// Microseconds of one operation.
    pub(super) us: f64,
    /// The CPU time of this process, in per cent of the wall time, if it waited in `lag`.
    pub(super) cpu_percent: f64,
}

/// Returns how the messages of a case lie in each of the two buffers: all in one place, or each in
/// its own.
pub(super) fn window(case: BenchCase, ranks: usize) -> MessageWindow {
    let bytes = match case.op {
        BenchOperation::Alltoall => case.bytes.saturating_mul(ranks),
        _ => case.bytes,
    };
    let stride = match case.mode {
        BufferMode::Fresh => bytes.next_multiple_of(LINE),
        BufferMode::Untouched | BufferMode::Touched | BufferMode::Turns => 0,
    };
    let all_at_once = matches!(case.op, BenchOperation::Bandwidth | BenchOperation::Rate);
    let mut count = WINDOW;
    while !all_at_once && count > 1 && count * stride > FRESH_BYTES {
        count /= 2;
    }
    MessageWindow {
        count,
        bytes,
        stride,
    }
}

/// Returns whether the time of the slowest rank counts; otherwise that of rank 0 does.
fn all_count(op: BenchOperation) -> bool {
    !matches!(
        op,
        BenchOperation::Latency
            | BenchOperation::Bandwidth
            | BenchOperation::Rate
            | BenchOperation::Exchange
    )
}

/// Returns the time of one iteration of its loop as a multiple of the time of one operation.
pub(super) fn operations(op: BenchOperation) -> f64 {
    match op {
        BenchOperation::Latency => 2.0,
        BenchOperation::Bandwidth | BenchOperation::Rate => WINDOW as f64,
        _ => 1.0,
    }
}

/// Runs the loop of a case `iterations` times. Ranks that have no part in it return at once.
pub(super) fn run<M: BytePassing>(
    mpi: &M,
    case: BenchCase,
    buffers: &mut Buffers,
    iterations: u64,
) -> Result<LoopTime, M::Error> {
    let window = window(case, mpi.size());
    let (out, into) = buffers.both(window.extent());
    let loops = Loops {
        mpi,
        out,
        into,
        window,
        mode: case.mode,
        iterations: usize::try_from(iterations).expect("a loop ends"),
    };
    let (cpu, start) = (processor_time(), Instant::now());
    match case.op {
        BenchOperation::Latency => loops.latency(),
        BenchOperation::Bandwidth | BenchOperation::Rate => loops.windows(),
        BenchOperation::Exchange => loops.exchange(),
        BenchOperation::Sendrecv => loops.sendrecv(),
        BenchOperation::Barrier => loops.barrier(),
        BenchOperation::Bcast => loops.bcast(),
        BenchOperation::Reduce => loops.reduce(),
        BenchOperation::Allreduce => loops.allreduce(),
        BenchOperation::Alltoall => loops.alltoall(),
        BenchOperation::Lag => loops.lag(),
    }?;
    let wall_us = start.elapsed().as_secs_f64() * 1e6;
    let cpu_us = processor_time().saturating_sub(cpu).as_secs_f64() * 1e6;
    if mpi.rank() > 0 && !all_count(case.op) {
        return Ok(LoopTime::default());
    }
    let waited = case.op == BenchOperation::Lag && mpi.rank() > 0;
    Ok(LoopTime {
        us: wall_us / iterations as f64 / operations(case.op),
        cpu_percent: if waited {
            100.0 * cpu_us / wall_us
        } else {
            0.0
        },
    })
}

struct Loops<'a, M> {
    mpi: &'a M,
    out: &'a mut [u8],
    into: &'a mut [u8],
    window: MessageWindow,
    mode: BufferMode,
    iterations: usize,
}

impl<M: BytePassing> Loops<'_, M> {
    /// Returns where the message of an iteration lies: messages of `fresh` use all places in turn.
    fn place(&self, iteration: usize) -> Range<usize> {
        self.window.place(iteration & (self.window.count - 1))
    }

    /// Returns the data to send in an iteration.
    fn outgoing(&self, iteration: usize) -> &[u8] {
        &self.out[self.place(iteration)]
    }

    /// Returns the buffer to receive into in an iteration.
    fn incoming(&mut self, iteration: usize) -> &mut [u8] {
        let place = self.place(iteration);
        &mut self.into[place]
    }

    /// Returns both buffers of an iteration.
    fn both(&mut self, iteration: usize) -> (&[u8], &mut [u8]) {
        let place = self.place(iteration);
        (&self.out[place.clone()], &mut self.into[place])
    }

    /// Returns the root of an iteration.
    fn root(&self, iteration: usize) -> usize {
        match self.mode {
            BufferMode::Turns | BufferMode::Fresh => iteration % self.mpi.size(),
            BufferMode::Untouched | BufferMode::Touched => 0,
        }
    }

    fn write(&mut self, iteration: usize) {
        if self.mode == BufferMode::Touched {
            write(self.out, iteration as u64);
        }
    }

    fn read(&self) {
        if self.mode == BufferMode::Touched {
            read(self.into);
        }
    }

    fn latency(mut self) -> Result<(), M::Error> {
        let mpi = self.mpi;
        for iteration in 0..self.iterations {
            match mpi.rank() {
                0 => {
                    self.write(iteration);
                    mpi.send_bytes(self.outgoing(iteration), 1, TAG)?;
                    mpi.recv_bytes(self.incoming(iteration), 1, TAG)?;
                    self.read();
                }
                1 => {
                    mpi.recv_bytes(self.incoming(iteration), 0, TAG)?;
                    self.read();
                    self.write(iteration);
                    mpi.send_bytes(self.outgoing(iteration), 0, TAG)?;
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// The program must not touch messages in flight, so it writes and reads them once a window.
    fn windows(mut self) -> Result<(), M::Error> {
        let (mpi, window, mut acknowledged) = (self.mpi, self.window, [0; 4]);
        for iteration in 0..self.iterations {
            match mpi.rank() {
                0 => {
                    self.write(iteration);
                    mpi.send_window(self.out, window, 1, TAG)?;
                    mpi.recv_bytes(&mut acknowledged, 1, ACKNOWLEDGED)?;
                }
                1 => {
                    mpi.recv_window(self.into, window, 0, TAG)?;
                    self.read();
                    mpi.send_bytes(&acknowledged, 0, ACKNOWLEDGED)?;
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn exchange(mut self) -> Result<(), M::Error> {
        let mpi = self.mpi;
        if mpi.rank() > 1 {
            return Ok(());
        }
        for iteration in 0..self.iterations {
            self.write(iteration);
            let (out, into) = self.both(iteration);
            mpi.exchange_bytes(out, into, 1 - mpi.rank(), TAG)?;
            self.read();
        }
        Ok(())
    }

    fn sendrecv(mut self) -> Result<(), M::Error> {
        let (mpi, rank, size) = (self.mpi, self.mpi.rank(), self.mpi.size());
        let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
        for iteration in 0..self.iterations {
            self.write(iteration);
            let (out, into) = self.both(iteration);
            mpi.sendrecv_bytes((out, next), (into, previous), TAG)?;
            self.read();
        }
        Ok(())
    }

    fn barrier(self) -> Result<(), M::Error> {
        (0..self.iterations).try_for_each(|_| self.mpi.barrier())
    }

    fn bcast(mut self) -> Result<(), M::Error> {
        let mpi = self.mpi;
        for iteration in 0..self.iterations {
            let root = self.root(iteration);
            if mpi.rank() == root {
                self.write(iteration);
                let place = self.place(iteration);
                mpi.bcast_bytes(&mut self.out[place], root)?;
            } else {
                mpi.bcast_bytes(self.incoming(iteration), root)?;
                self.read();
            }
        }
        Ok(())
    }

    fn reduce(mut self) -> Result<(), M::Error> {
        let mpi = self.mpi;
        for iteration in 0..self.iterations {
            let root = self.root(iteration);
            self.write(iteration);
            let (data, result) = self.both(iteration);
            mpi.reduce_sum(doubles(data), doubles_mut(result), root)?;
            if mpi.rank() == root {
                self.read();
            }
        }
        Ok(())
    }

    fn allreduce(mut self) -> Result<(), M::Error> {
        let mpi = self.mpi;
        for iteration in 0..self.iterations {
            self.write(iteration);
            let (data, result) = self.both(iteration);
            mpi.allreduce_sum_into(doubles(data), doubles_mut(result))?;
            self.read();
        }
        Ok(())
    }

    fn alltoall(mut self) -> Result<(), M::Error> {
        let mpi = self.mpi;
        for iteration in 0..self.iterations {
            self.write(iteration);
            let (out, into) = self.both(iteration);
            mpi.alltoall_bytes(out, into)?;
            self.read();
        }
        Ok(())
    }

    fn lag(mut self) -> Result<(), M::Error> {
        let mpi = self.mpi;
        for iteration in 0..self.iterations {
            if mpi.rank() == 0 {
                compute_cpu(LAG);
            }
            let (data, result) = self.both(iteration);
            mpi.allreduce_sum_into(doubles(data), doubles_mut(result))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_lie_in_one_place_or_in_places_of_their_own() {
        let window = |op, bytes, mode| window(BenchCase { op, bytes, mode }, 3);
        for mode in [
            BufferMode::Untouched,
            BufferMode::Touched,
            BufferMode::Turns,
        ] {
            assert_eq!(window(BenchOperation::Alltoall, 100, mode).extent(), 300);
            assert_eq!(window(BenchOperation::Bandwidth, 100, mode).extent(), 100);
        }
        let fresh = |op, bytes| window(op, bytes, BufferMode::Fresh);
        assert_eq!(fresh(BenchOperation::Latency, 8).place(2), 128..136);
        assert_eq!(fresh(BenchOperation::Latency, 8).extent(), 63 * 64 + 8);
        assert_eq!(fresh(BenchOperation::Alltoall, 100).place(1), 320..620);
        // Long messages have fewer places, but those of a window have one each.
        assert_eq!(fresh(BenchOperation::Allreduce, 1 << 20).count, 16);
        assert_eq!(fresh(BenchOperation::Allreduce, 1 << 30).count, 1);
        assert_eq!(fresh(BenchOperation::Bandwidth, 4 << 20).count, WINDOW);
    }
}

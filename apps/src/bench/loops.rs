//! The loops that are timed, one for each operation. `apps/c/bench.c` has the same.

use std::time::{Duration, Instant};

use super::buffers::{Buffers, doubles, doubles_mut, read, write};
use super::options::{Case, Mode, Op};
use crate::BytePassing;
use crate::computation::{compute_cpu, processor_time};

/// Messages under way at once.
pub(super) const WINDOW: usize = 64;

/// How long rank 0 computes in `lag`, in time of its own processor.
const LAG: Duration = Duration::from_millis(10);

// Tag of the messages, and that of what says that a window of them has come.
const TAG: i32 = 1;
const ACKNOWLEDGED: i32 = 2;

/// What a loop took on this rank.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Taken {
    /// Of one operation.
    pub(super) us: f64,
    /// The processor time of this process, in per cent of the wall time, if it waited in `lag`.
    pub(super) cpu_percent: f64,
}

/// How much memory each of the two buffers of a case has.
pub(super) fn buffer_bytes(case: Case, ranks: usize) -> usize {
    match case.op {
        Op::Alltoall => case.bytes.saturating_mul(ranks),
        _ => case.bytes,
    }
}

/// Whether the slowest rank's time counts; otherwise that of rank 0.
fn all_count(op: Op) -> bool {
    !matches!(op, Op::Latency | Op::Bandwidth | Op::Rate | Op::Exchange)
}

/// How many times the time of an operation one iteration of its loop takes.
pub(super) fn operations(op: Op) -> f64 {
    match op {
        Op::Latency => 2.0,
        Op::Bandwidth | Op::Rate => WINDOW as f64,
        _ => 1.0,
    }
}

/// Goes through the loop of a case so many times. Ranks that have no part in it come back at once.
pub(super) fn run<M: BytePassing>(
    mpi: &M,
    case: Case,
    buffers: &mut Buffers,
    iterations: u64,
) -> Result<Taken, M::Error> {
    let touched = case.mode == Mode::Touched;
    let (out, into) = buffers.both(buffer_bytes(case, mpi.size()));
    let loops = Loops {
        mpi,
        out,
        into,
        touched,
        iterations,
    };
    let (cpu, start) = (processor_time(), Instant::now());
    match case.op {
        Op::Latency => loops.latency(),
        Op::Bandwidth | Op::Rate => loops.windows(),
        Op::Exchange => loops.exchange(),
        Op::Sendrecv => loops.sendrecv(),
        Op::Barrier => loops.barrier(),
        Op::Bcast => loops.bcast(),
        Op::Reduce => loops.reduce(),
        Op::Allreduce => loops.allreduce(),
        Op::Alltoall => loops.alltoall(),
        Op::Lag => loops.lag(),
    }?;
    let wall_us = start.elapsed().as_secs_f64() * 1e6;
    let cpu_us = processor_time().saturating_sub(cpu).as_secs_f64() * 1e6;
    if mpi.rank() > 0 && !all_count(case.op) {
        return Ok(Taken::default());
    }
    let waited = case.op == Op::Lag && mpi.rank() > 0;
    Ok(Taken {
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
    touched: bool,
    iterations: u64,
}

impl<M: BytePassing> Loops<'_, M> {
    fn write(&mut self, iteration: u64) {
        if self.touched {
            write(self.out, iteration);
        }
    }

    fn read(&self) {
        if self.touched {
            read(self.into);
        }
    }

    fn latency(mut self) -> Result<(), M::Error> {
        let mpi = self.mpi;
        for iteration in 0..self.iterations {
            match mpi.rank() {
                0 => {
                    self.write(iteration);
                    mpi.send_bytes(self.out, 1, TAG)?;
                    mpi.recv_bytes(self.into, 1, TAG)?;
                    self.read();
                }
                1 => {
                    mpi.recv_bytes(self.into, 0, TAG)?;
                    self.read();
                    self.write(iteration);
                    mpi.send_bytes(self.out, 0, TAG)?;
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// What is under way must not be touched, so the program writes and reads once a window.
    fn windows(mut self) -> Result<(), M::Error> {
        let (mpi, mut acknowledged) = (self.mpi, [0; 4]);
        for iteration in 0..self.iterations {
            match mpi.rank() {
                0 => {
                    self.write(iteration);
                    mpi.send_window(self.out, WINDOW, 1, TAG)?;
                    mpi.recv_bytes(&mut acknowledged, 1, ACKNOWLEDGED)?;
                }
                1 => {
                    mpi.recv_window(self.into, WINDOW, 0, TAG)?;
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
            mpi.exchange_bytes(self.out, self.into, 1 - mpi.rank(), TAG)?;
            self.read();
        }
        Ok(())
    }

    fn sendrecv(mut self) -> Result<(), M::Error> {
        let (mpi, rank, size) = (self.mpi, self.mpi.rank(), self.mpi.size());
        let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
        for iteration in 0..self.iterations {
            self.write(iteration);
            mpi.sendrecv_bytes((self.out, next), (self.into, previous), TAG)?;
            self.read();
        }
        Ok(())
    }

    fn barrier(self) -> Result<(), M::Error> {
        (0..self.iterations).try_for_each(|_| self.mpi.barrier())
    }

    fn bcast(mut self) -> Result<(), M::Error> {
        for iteration in 0..self.iterations {
            if self.mpi.rank() == 0 {
                self.write(iteration);
                self.mpi.bcast_bytes(self.out, 0)?;
            } else {
                self.mpi.bcast_bytes(self.into, 0)?;
                self.read();
            }
        }
        Ok(())
    }

    fn reduce(mut self) -> Result<(), M::Error> {
        for iteration in 0..self.iterations {
            self.write(iteration);
            let (data, result) = (doubles(self.out), doubles_mut(self.into));
            self.mpi.reduce_sum(data, result, 0)?;
            if self.mpi.rank() == 0 {
                self.read();
            }
        }
        Ok(())
    }

    fn allreduce(mut self) -> Result<(), M::Error> {
        for iteration in 0..self.iterations {
            self.write(iteration);
            let (data, result) = (doubles(self.out), doubles_mut(self.into));
            self.mpi.allreduce_sum_into(data, result)?;
            self.read();
        }
        Ok(())
    }

    fn alltoall(mut self) -> Result<(), M::Error> {
        for iteration in 0..self.iterations {
            self.write(iteration);
            self.mpi.alltoall_bytes(self.out, self.into)?;
            self.read();
        }
        Ok(())
    }

    fn lag(self) -> Result<(), M::Error> {
        for _ in 0..self.iterations {
            if self.mpi.rank() == 0 {
                compute_cpu(LAG);
            }
            let (data, result) = (doubles(self.out), doubles_mut(self.into));
            self.mpi.allreduce_sum_into(data, result)?;
        }
        Ok(())
    }
}

//! SWEEP3D: a one-group, time-independent, discrete-ordinates neutron transport problem on a
//! Cartesian grid, solved by sweeps. It is the benchmark of section 6.3 of the paper.
//!
//! A sweep follows the neutrons of an octant of directions through the grid. Processes own
//! rectangles of the I-J plane and pass wavefronts on in blocks of K-planes and angles. The
//! communication is therefore fine-grained: every block waits for a message from two neighbours.
//!
//! From the outside in: `deck` is the input, and `problem` has the physics. `decomposition` and
//! `octant` cut the work into blocks. `sweep` is an iteration of all blocks. `exchange` passes a
//! block's faces on, and `boundary` handles those at the grid's edge. `block` computes a block with
//! the coefficients of `ray` and the exceptions of `fixup`. `results` has the results of a run, and
//! `report` prints them.
//!
//! The arithmetic of a cell does not depend on the decomposition. Errors and fix-up counts are the
//! same to the last digit for every process grid, block size and kind of communication. Sums over
//! processes (the balance) differ in their last digits.

mod block;
mod boundary;
mod command;
mod currents;
mod deck;
mod decomposition;
mod estimates;
mod exchange;
mod fields;
mod fixup;
mod octant;
mod problem;
mod ray;
mod report;
mod results;
mod sweep;

use std::io::Write;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

pub use command::command;
pub use deck::{Deck, DeckError, FixUps, Stop, fitted_grid};
pub use estimates::Estimates;
pub use exchange::Communication;
pub use results::{Balance, Iteration, Sweep3dOutcome, Times};

use crate::MessagePassing;
use decomposition::Decomposition;
use exchange::BlockExchange;
use report::{PRINTED_PLANE, Sweep3dReport};
use sweep::Sweeper;

/// Iterations after which a run that waits for convergence gives up. Half of the scattering is
/// absorbed, so an error at least halves every time or two. An error that is still above its limit
/// is below the resolution of doubles, or fix-ups make it cycle.
const MOST_ITERATIONS_TO_CONVERGE: usize = 1000;

/// Tag of the messages with printed fluxes for rank 0. Tags of the sweeps are thousands.
const PRINT_TAG: i32 = 1;

/// The arguments of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep3dArguments {
    /// The problem and how to cut it.
    pub deck: Deck,
    /// How neighbours exchange messages.
    pub comm: Communication,
}

/// The reason why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Sweep3dError {
    /// The deck cannot be run by this number of processes.
    #[error(transparent)]
    Deck(#[from] DeckError),
    /// The report could not be written.
    #[error("failed to write the report: {0}")]
    Report(#[from] std::io::Error),
    /// A message was not passed.
    #[error("failed to pass messages: {0}")]
    MessagePassing(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The error never fell to the deck's limit.
    #[error(
        "failed to converge: err is {err:e} after {iterations} iterations, the deck's line 3 asks \
         for epsi = {epsi:e}: write a larger epsi"
    )]
    NotConverged {
        /// Iterations done.
        iterations: usize,
        /// Error of the last one.
        err: f64,
        /// The limit.
        epsi: f64,
    },
}

impl Sweep3dError {
    fn message_passing(error: impl std::error::Error + Send + Sync + 'static) -> Sweep3dError {
        Sweep3dError::MessagePassing(Box::new(error))
    }
}

/// Solves the problem of a deck; rank 0 prints the report to `out`.
///
/// All processes must call it with the same arguments. If `out` fails, all processes stop after the
/// iteration and return an error.
pub fn run<M: MessagePassing>(
    mpi: &M,
    arguments: &Sweep3dArguments,
    out: &mut dyn Write,
) -> Result<Sweep3dOutcome, Sweep3dError> {
    let deck = arguments.deck.fitted_to(mpi.size())?;
    let arguments = Sweep3dArguments { deck, ..*arguments };
    let mut report = Sweep3dReport::new((mpi.rank() == 0).then_some(out));
    match arguments.deck.moments() {
        1 => Solution::<M, 1>::new(mpi, &arguments).run(&mut report),
        _ => Solution::<M, 4>::new(mpi, &arguments).run(&mut report),
    }
}

/// A run on a process, for `NM` flux moments.
struct Solution<'a, M: MessagePassing, const NM: usize> {
    mpi: &'a M,
    arguments: &'a Sweep3dArguments,
    decomposition: Decomposition,
    sweeper: Sweeper<NM>,
}

impl<'a, M: MessagePassing, const NM: usize> Solution<'a, M, NM> {
    fn new(mpi: &'a M, arguments: &'a Sweep3dArguments) -> Self {
        let decomposition = Decomposition::new(&arguments.deck, mpi.rank());
        let sweeper = Sweeper::new(&arguments.deck, &decomposition);
        Solution {
            mpi,
            arguments,
            decomposition,
            sweeper,
        }
    }

    fn run(mut self, report: &mut Sweep3dReport<'_>) -> Result<Sweep3dOutcome, Sweep3dError> {
        let mpi = self.mpi;
        report.print(|out| {
            let Sweep3dArguments { deck, comm } = self.arguments;
            report::header(out, deck, *comm, self.sweeper.bytes())
        });
        mpi.barrier().map_err(Sweep3dError::message_passing)?;
        let start = ClockReading::now();
        let (iterations, messages) = self.iterate(report)?;
        let times = self.times(&start, iterations.len())?;
        let balance = self.balance()?;
        let dsa_imbalance = self.dsa_imbalance()?;
        let mut messages = [messages];
        mpi.allreduce_sum_i64(&mut messages)
            .map_err(Sweep3dError::message_passing)?;
        if self.arguments.deck.print_flux {
            self.print_fluxes(report)?;
        }
        report.print(|out| report::balance(out, &balance));
        report.print(|out| report::times(out, &times));
        match report.failure() {
            Some(failure) => Err(Sweep3dError::Report(failure)),
            None => Ok(Sweep3dOutcome {
                iterations,
                balance,
                times,
                messages: messages[0],
                dsa_imbalance,
            }),
        }
    }

    /// Iterates until the deck's stop condition. Returns the iterations and this process's
    /// messages.
    fn iterate(
        &mut self,
        report: &mut Sweep3dReport<'_>,
    ) -> Result<(Vec<Iteration>, i64), Sweep3dError> {
        let mpi = self.mpi;
        let deck = &self.arguments.deck;
        let mut exchange = BlockExchange::new(mpi, self.arguments.comm, deck, &self.decomposition);
        let mut iterations = Vec::new();
        loop {
            let number = iterations.len() + 1;
            let fixed = self
                .sweeper
                .iterate(&mut exchange, &self.decomposition, deck.fixups.on(number))
                .map_err(Sweep3dError::message_passing)?;
            let mut err = [self.sweeper.fields.largest_change()];
            mpi.allreduce_max(&mut err)
                .map_err(Sweep3dError::message_passing)?;
            let mut sums = [fixed.cast_signed(), i64::from(report.failed())];
            mpi.allreduce_sum_i64(&mut sums)
                .map_err(Sweep3dError::message_passing)?;
            let [fixups, failures] = sums;
            if failures > 0 {
                let elsewhere = || std::io::Error::other("rank 0 cannot write it");
                return Err(Sweep3dError::Report(
                    report.failure().unwrap_or_else(elsewhere),
                ));
            }
            let iteration = Iteration {
                err: err[0],
                fixups,
            };
            report.print(|out| report::iteration(out, number, &iteration));
            iterations.push(iteration);
            match deck.stop {
                Stop::After(wanted) if number < wanted => {}
                Stop::Converged(epsi) if iteration.err > epsi => {
                    if number >= MOST_ITERATIONS_TO_CONVERGE {
                        let err = iteration.err;
                        return Err(Sweep3dError::NotConverged {
                            iterations: number,
                            err,
                            epsi,
                        });
                    }
                }
                _ => return Ok((iterations, exchange.sent())),
            }
            // Discards the leakage of all iterations but the last.
            self.sweeper.boundary.take_leakage();
        }
    }

    fn times(&self, start: &ClockReading, iterations: usize) -> Result<Times, Sweep3dError> {
        let end = ClockReading::now();
        let mut times = [
            end.cpu.saturating_sub(start.cpu).as_secs_f64(),
            (end.elapsed - start.elapsed).as_secs_f64(),
        ];
        self.mpi
            .allreduce_max(&mut times)
            .map_err(Sweep3dError::message_passing)?;
        let Deck {
            it_g, jt_g, kt, mm, ..
        } = self.arguments.deck;
        #[expect(clippy::cast_precision_loss, reason = "a time needs no 53 bits")]
        let units = (iterations * it_g * jt_g * kt * mm * 8) as f64;
        let [cpu_s, elapsed_s] = times;
        Ok(Times {
            cpu_s,
            elapsed_s,
            cpu_grind_us: cpu_s * 1e6 / units,
            elapsed_grind_us: elapsed_s * 1e6 / units,
        })
    }

    fn balance(&mut self) -> Result<Balance, Sweep3dError> {
        let Deck { dx, dy, dz, .. } = self.arguments.deck;
        let volume = dx * dy * dz;
        let fields = &self.sweeper.fields;
        let [i, j, k] = self.sweeper.boundary.take_leakage();
        let mut sums = [
            fields.external_source() * volume,
            fields.absorption() * volume,
            i[0],
            i[1],
            j[0],
            j[1],
            k[0],
            k[1],
        ];
        self.mpi
            .allreduce_sum(&mut sums)
            .map_err(Sweep3dError::message_passing)?;
        let [
            external_source,
            absorption,
            i_low,
            i_high,
            j_low,
            j_high,
            k_low,
            k_high,
        ] = sums;
        Ok(Balance {
            external_source,
            absorption,
            leakage: [[i_low, i_high], [j_low, j_high], [k_low, k_high]],
        })
    }

    fn dsa_imbalance(&self) -> Result<Option<f64>, Sweep3dError> {
        let Some(currents) = &self.sweeper.currents else {
            return Ok(None);
        };
        let deck = &self.arguments.deck;
        let weights: f64 = problem::ordinates(deck.mm)
            .iter()
            .map(|ordinate| 8.0 * ordinate.weight)
            .sum();
        let cell = [deck.dx, deck.dy, deck.dz];
        let mut imbalance = [currents.largest_imbalance(&self.sweeper.fields, cell, weights)];
        self.mpi
            .allreduce_max(&mut imbalance)
            .map_err(Sweep3dError::message_passing)?;
        Ok(Some(imbalance[0]))
    }

    /// Prints a plane of every flux moment, process by process; rank 0 collects them.
    fn print_fluxes(&self, report: &mut Sweep3dReport<'_>) -> Result<(), Sweep3dError> {
        let k = PRINTED_PLANE - 1;
        if k >= self.arguments.deck.kt {
            report.print(report::no_plane);
            return Ok(());
        }
        for rank in 0..self.mpi.size() {
            let [it, jt, _] = Decomposition::new(&self.arguments.deck, rank).extent();
            for moment in 0..NM {
                let mut flux = vec![0.0; it * jt];
                if rank == self.mpi.rank() {
                    flux = self.sweeper.fields.plane(moment, k);
                }
                if rank != 0 && rank == self.mpi.rank() {
                    self.mpi
                        .send(&flux, 0, PRINT_TAG)
                        .map_err(Sweep3dError::message_passing)?;
                } else if rank != 0 && self.mpi.rank() == 0 {
                    self.mpi
                        .recv(&mut flux, rank, PRINT_TAG)
                        .map_err(Sweep3dError::message_passing)?;
                }
                let (process, moment) = (rank + 1, moment + 1);
                report.print(|out| report::plane(out, process, moment, it, &flux));
            }
        }
        Ok(())
    }
}

/// A point in CPU time and elapsed time.
struct ClockReading {
    cpu: Duration,
    elapsed: Instant,
}

impl ClockReading {
    fn now() -> ClockReading {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        ClockReading {
            cpu: Duration::try_from(cpu).unwrap_or_default(),
            elapsed: Instant::now(),
        }
    }
}

//! Measures the bare operation under a message, between two processes, on this machine at this
//! moment.
//!
//! Both processes run this program again ([`PingPongPartner`]), each pinned to a core. They share
//! one word, and the partner whose turn it is increments it. On different cores it then wakes the
//! other partner, which sleeps in a futex. On the same core the other partner calls `sched_yield`
//! until its turn, so that the result is the cost of a switch.

mod shared_word;

use std::env;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::thread::{CpuSet, futex, sched_getaffinity, sched_setaffinity, sched_yield};

use crate::process;
use crate::verdict::UnsuitableMachine;

/// How a partner waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PartnerWait {
    /// Asleep, until it is woken.
    Futex,
    /// By letting others run.
    Yield,
}

/// Returns half a futex round trip between two processes on different cores: the median of
/// `rounds`, in microseconds.
///
/// # Errors
///
/// [`UnsuitableMachine`] when this process may use one core only, and errors at the start of the
/// partners.
pub fn half_round_trip_us(rounds: u32) -> Result<f64> {
    match allowed_cores()?[..] {
        [one, other, ..] => play(PartnerWait::Futex, [one, other], rounds),
        _ => Err(UnsuitableMachine("a futex between two cores needs two cores".to_owned()).into()),
    }
}

/// Returns half a round trip between two processes on the core `core`, which both yield until their
/// turn: the median of `rounds`, in microseconds.
///
/// # Errors
///
/// Errors at the start of the partners.
pub fn half_round_trip_on_one_core_us(core: usize, rounds: u32) -> Result<f64> {
    play(PartnerWait::Yield, [core, core], rounds)
}

/// Returns the cores that this process may use.
///
/// # Errors
///
/// The kernel does not report them.
pub fn allowed_cores() -> Result<Vec<usize>> {
    let allowed = sched_getaffinity(None).context("failed to look up the cores")?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|core| allowed.is_set(*core))
        .collect())
}

/// Pins the calling OS thread to a core. Otherwise two spinning threads would now and then share
/// one of two cores, and each would wait for the end of the other's time slice.
///
/// # Errors
///
/// The kernel refuses it.
pub fn stay_on(core: usize) -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores).context("failed to pin to a core")
}

fn play(wait: PartnerWait, [one, other]: [usize; 2], rounds: u32) -> Result<f64> {
    // No CLOEXEC: the partners inherit it.
    let memory = memfd_create("bare-pingpong", MemfdFlags::empty())
        .context("failed to make the shared word")?;
    ftruncate(&memory, shared_word::LENGTH as u64).context("failed to make the shared word")?;
    let partner = |plays_first: bool, core: usize| -> Result<Command> {
        let mut command = Command::new(env::current_exe()?);
        command.arg("pingpong-partner");
        command.args(plays_first.then_some("--first"));
        command.args([
            "--wait",
            if wait == PartnerWait::Futex {
                "futex"
            } else {
                "yield"
            },
        ]);
        command.args(["--fd", &memory.as_raw_fd().to_string()]);
        command.args(["--core", &core.to_string()]);
        command.args(["--rounds", &rounds.to_string()]);
        Ok(command)
    };
    let mut second = partner(false, other)?
        .stdin(Stdio::null())
        .spawn()
        .context("failed to start a partner of the ping-pong")?;
    let first = process::run(&mut partner(true, one)?, Duration::from_secs(60));
    if !first.as_ref().is_ok_and(|first| first.status.success()) {
        second.kill()?;
    }
    second.wait()?;
    let said = first?.succeeded()?.stdout;
    said.trim()
        .parse()
        .with_context(|| format!("a partner of the ping-pong said `{said}`"))
}

/// The command line of a partner.
#[derive(Debug, Args)]
pub struct PingPongPartner {
    /// Begins, and prints the median half round trip
    #[arg(long)]
    first: bool,
    /// How to wait
    #[arg(long, value_enum)]
    wait: PartnerWait,
    /// The shared memory, inherited
    #[arg(long)]
    fd: i32,
    /// The core to stay on
    #[arg(long)]
    core: usize,
    /// Round trips
    #[arg(long)]
    rounds: u32,
}

impl PingPongPartner {
    /// Runs a partner in its own process.
    ///
    /// # Errors
    ///
    /// The core or the memory is not available.
    pub fn play(&self) -> Result<()> {
        ensure!(self.rounds > 0, "no rounds");
        stay_on(self.core)?;
        let word = shared_word::map(self.fd)?;
        // The first partner has the even numbers: before round r the word is 2 r.
        if self.first {
            let mut times = Vec::with_capacity(self.rounds as usize);
            for round in 0..self.rounds {
                let start = Instant::now();
                self.pass(word, 2 * round + 1);
                self.wait_for(word, 2 * round + 2);
                times.push(start.elapsed().as_secs_f64() * 1e6 / 2.0);
            }
            println!("{}", crate::bootstrap::median(&times));
        } else {
            for round in 0..self.rounds {
                self.wait_for(word, 2 * round + 1);
                self.pass(word, 2 * round + 2);
            }
        }
        Ok(())
    }

    fn pass(&self, word: &AtomicU32, number: u32) {
        word.store(number, Ordering::SeqCst);
        if self.wait == PartnerWait::Futex {
            // An error would mean that the word is not mapped; then no thread waits.
            let _ = futex::wake(word, futex::Flags::empty(), 1);
        }
    }

    fn wait_for(&self, word: &AtomicU32, number: u32) {
        loop {
            let found = word.load(Ordering::SeqCst);
            if found == number {
                return;
            }
            match self.wait {
                PartnerWait::Futex => {
                    // Woken, changed before, or interrupted: check the word again.
                    let _ = futex::wait(word, futex::Flags::empty(), found, None);
                }
                PartnerWait::Yield => sched_yield(),
            }
        }
    }
}

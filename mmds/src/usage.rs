//! How the operating system treats the thread that calls MPI: how long it ran, how long it was
//! ready while others had its core, and how long it slept outside of MPI.
//!
//! A rank that is late has computed for longer, has waited for its core, has waited for a file, or
//! runs on a slow core. Times of calls cannot tell these apart. The thread's account with the
//! kernel can, but reading it is a system call. So a rank reads it at most every
//! [`USAGE_EVERY_NS`], when it enters or leaves a blocking call.

use std::sync::atomic::Ordering;

use crate::histogram::TOTAL;
use crate::layout::{
    CORE_LOOP_NS, FILE_BYTES, USAGE_BLOCKED, USAGE_COMPUTATION, USAGE_CPU, USAGE_PREEMPTED,
    USAGE_PREEMPTIONS,
};
use crate::limits::USAGE_EVERY_NS;
use crate::thread_usage::{ThreadUsage, UsageReading};
use crate::{Recorder, WordMemory};

impl<M: WordMemory> Recorder<M> {
    /// Returns whether the last reading is so old that the account should be read again.
    #[inline(always)]
    #[must_use]
    pub fn is_usage_due(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.usage.at_ns) >= USAGE_EVERY_NS
    }

    /// Takes a reading at `now_ns`, at which a blocking call begins (`enters`) or returns. The time
    /// since the last reading counts as computation if a call begins, since a call that took long
    /// was read when it returned. Its CPU time is that of the thread less the time in short calls.
    ///
    /// Time off the core counts as blocked if the thread slept in it, unless the kernel took the
    /// core far more often.
    pub fn take_usage(&mut self, usage: ThreadUsage, now_ns: u64, enters: bool) {
        let last = self.usage;
        let reading = UsageReading {
            at_ns: now_ns,
            usage,
            computation_ns: self.usage_word(self.layout.computation() + TOTAL),
            overhead_ns: self.usage_word(self.layout.overhead() + TOTAL),
        };
        self.usage = reading;
        if !enters || last.usage.thread != usage.thread {
            return;
        }
        let computation_ns = reading.computation_ns.saturating_sub(last.computation_ns);
        let overhead_ns = reading.overhead_ns.saturating_sub(last.overhead_ns);
        let on_core_ns = usage.cpu_ns.saturating_sub(last.usage.cpu_ns);
        let cpu_ns = on_core_ns.saturating_sub(overhead_ns).min(computation_ns);
        let sleeps = usage.sleeps.saturating_sub(last.usage.sleeps);
        let preemptions = usage.preemptions.saturating_sub(last.usage.preemptions);
        let slept = sleeps > 0 && sleeps.saturating_mul(8) >= preemptions;
        let off_core = if slept {
            USAGE_BLOCKED
        } else {
            USAGE_PREEMPTED
        };
        for (word, more) in [
            (USAGE_COMPUTATION, computation_ns),
            (USAGE_CPU, cpu_ns),
            (off_core, computation_ns - cpu_ns),
            (USAGE_PREEMPTIONS, preemptions),
        ] {
            let sum = self.usage_word(word).saturating_add(more);
            self.memory.words()[word].store(sum, Ordering::Relaxed);
        }
    }

    /// Records what is known once, at the end: the bytes that the process has read and written by
    /// system calls, and the time that its core takes for a loop that is the same in all ranks.
    pub fn surroundings(&mut self, file_bytes: u64, core_loop_ns: u64) {
        for (word, value) in [(FILE_BYTES, file_bytes), (CORE_LOOP_NS, core_loop_ns)] {
            self.memory.words()[word].store(value, Ordering::Relaxed);
        }
    }

    fn usage_word(&self, at: usize) -> u64 {
        self.memory.words()[at].load(Ordering::Relaxed)
    }
}

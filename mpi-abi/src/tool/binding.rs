//! A performance variable in the hand of a session (MPI 5.0, 15.3.7).

use super::counting::Counting;
use super::performance::PerformanceVariable;
use super::{Outcome, Refusal};

/// A variable, and what has been counted of it by one handle.
#[derive(Debug)]
pub struct Binding {
    pub variable: &'static PerformanceVariable,
    counting: Counting,
}

impl Binding {
    /// It counts nothing until it is started.
    pub fn new(variable: &'static PerformanceVariable) -> Self {
        Self {
            variable,
            counting: Counting::default(),
        }
    }

    /// What it counts, if it does.
    fn counting(&mut self, otherwise: Refusal) -> Outcome<&mut Counting> {
        match self.variable.class.counts() {
            true => Ok(&mut self.counting),
            false => Err(otherwise),
        }
    }

    /// # Errors
    /// As [`PerformanceVariable::now`].
    pub fn read(&self) -> Outcome<u64> {
        let now = self.variable.now()?;
        Ok(match self.variable.class.counts() {
            true => self.counting.value(now),
            false => now,
        })
    }

    /// # Errors
    /// When it does not count; and as `read`.
    pub fn start(&mut self) -> Outcome {
        let now = self.variable.now();
        self.counting(Refusal::NoStartStop)?.start(now?);
        Ok(())
    }

    /// # Errors
    /// As [`start`](Self::start).
    pub fn stop(&mut self) -> Outcome {
        let now = self.variable.now();
        self.counting(Refusal::NoStartStop)?.stop(now?);
        Ok(())
    }

    /// # Errors
    /// When it does not count; and as `read`.
    pub fn write(&mut self, value: u64) -> Outcome {
        let now = self.variable.now();
        self.counting(Refusal::NoWrite)?.set(value, now?);
        Ok(())
    }

    /// Reads it and sets it to 0, and what is counted meanwhile is in one of both.
    ///
    /// # Errors
    /// When it does not count; and as `read`.
    pub fn read_and_reset(&mut self) -> Outcome<u64> {
        let now = self.variable.now();
        let counting = self.counting(Refusal::NoAtomic)?;
        let now = now?;
        let value = counting.value(now);
        counting.set(0, now);
        Ok(value)
    }
}

//! A performance variable, bound to a session (MPI 5.0, 15.3.7).

use super::counting::Counting;
use super::performance::PerformanceVariable;
use super::{Refusal, ToolOutcome};

/// A variable, and what one handle has counted of it.
#[derive(Debug)]
pub struct Binding {
    pub variable: &'static PerformanceVariable,
    counting: Counting,
}

impl Binding {
    /// Makes a binding, which counts nothing until it is started.
    pub fn new(variable: &'static PerformanceVariable) -> Self {
        Self {
            variable,
            counting: Counting::default(),
        }
    }

    /// Returns the count, if the variable counts.
    fn counting(&mut self, otherwise: Refusal) -> ToolOutcome<&mut Counting> {
        match self.variable.class.counts() {
            true => Ok(&mut self.counting),
            false => Err(otherwise),
        }
    }

    /// Returns the value.
    ///
    /// # Errors
    /// As [`PerformanceVariable::now`].
    pub fn read(&self) -> ToolOutcome<u64> {
        let now = self.variable.now()?;
        Ok(match self.variable.class.counts() {
            true => self.counting.value(now),
            false => now,
        })
    }

    /// Starts counting.
    ///
    /// # Errors
    /// If the variable does not count; and as `read`.
    pub fn start(&mut self) -> ToolOutcome {
        let now = self.variable.now();
        self.counting(Refusal::NoStartStop)?.start(now?);
        Ok(())
    }

    /// Stops counting.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn stop(&mut self) -> ToolOutcome {
        let now = self.variable.now();
        self.counting(Refusal::NoStartStop)?.stop(now?);
        Ok(())
    }

    /// Sets the value.
    ///
    /// # Errors
    /// If the variable does not count; and as `read`.
    pub fn write(&mut self, value: u64) -> ToolOutcome {
        let now = self.variable.now();
        self.counting(Refusal::NoWrite)?.set(value, now?);
        Ok(())
    }

    /// Reads the value and sets it to 0. Each event meanwhile is in one of both.
    ///
    /// # Errors
    /// If the variable does not count; and as `read`.
    pub fn read_and_reset(&mut self) -> ToolOutcome<u64> {
        let now = self.variable.now();
        let counting = self.counting(Refusal::NoAtomic)?;
        let now = now?;
        let value = counting.value(now);
        counting.set(0, now);
        Ok(value)
    }
}

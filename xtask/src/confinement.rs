//! Few cores on a machine that has more.

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::bare_pingpong::allowed_cores;
use crate::verdict::UnsuitableMachine;

/// Confines this thread, and what it starts, to some of its cores until this is dropped.
#[derive(Debug)]
pub struct CoreConfinement {
    before: CpuSet,
    cores: Vec<usize>,
}

impl CoreConfinement {
    /// Confines the thread to the first `count` cores that are allowed.
    ///
    /// # Errors
    ///
    /// [`UnsuitableMachine`] when fewer cores are allowed.
    pub fn to_cores(count: usize) -> Result<Self> {
        let mut cores = allowed_cores()?;
        if cores.len() < count {
            let why = format!("{} cores are too few: this is about {count}", cores.len());
            return Err(UnsuitableMachine(why).into());
        }
        cores.truncate(count);
        let before = sched_getaffinity(None).context("failed to look up the cores")?;
        let mut set = CpuSet::new();
        cores.iter().for_each(|core| set.set(*core));
        sched_setaffinity(None, &set).context("failed to keep to some cores")?;
        Ok(Self { before, cores })
    }

    /// Returns the cores.
    #[must_use]
    pub fn cores(&self) -> &[usize] {
        &self.cores
    }
}

impl Drop for CoreConfinement {
    fn drop(&mut self) {
        // These cores were allowed before; if they no longer are, that was the kernel's decision.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_when_it_is_dropped_and_wants_cores_that_are_there() {
        let before = allowed_cores().unwrap();
        let confined = CoreConfinement::to_cores(1).unwrap();
        assert_eq!(allowed_cores().unwrap(), before[..1]);
        assert_eq!(confined.cores(), &before[..1]);
        drop(confined);
        assert_eq!(allowed_cores().unwrap(), before);
        assert!(
            CoreConfinement::to_cores(before.len() + 1)
                .unwrap_err()
                .is::<UnsuitableMachine>()
        );
    }
}

//! The data that a rank of a checked job keeps for a window, to find races.

use super::access_log::AccessLog;
use crate::checked::{GroupGeneration, JobChecks};
use crate::mpi::Result;
use crate::mpi::buffer_claims::BufferClaims;
use bcs_core::lockstep;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The most operations whose buffers are kept. The buffers of older ones are not compared any more.
const MOST_CLAIMS: usize = 256;

/// The knowledge of a rank about the accesses to a window, in a checked job.
#[derive(Debug)]
pub(in crate::mpi::window) struct RaceDetector {
    pub(in crate::mpi::window) log: AccessLog,
    pub(in crate::mpi::window) generation: Arc<GroupGeneration>,
    /// How often this rank has waited for its operations at each target.
    pub(in crate::mpi::window) completions: Box<[AtomicU64]>,
    /// Whether it has done so since it has last released.
    pub(in crate::mpi::window) has_completed: AtomicBool,
    /// The buffers of this rank's operations that are not known to be complete, by target.
    claims: Mutex<VecDeque<(usize, Arc<BufferClaims>)>>,
}

impl RaceDetector {
    /// Begins to look at a window of these world ranks.
    pub(in crate::mpi::window) fn new(checks: &JobChecks, members: &[u32]) -> Self {
        Self {
            log: AccessLog::default(),
            generation: checks.order.follow(members),
            completions: members.iter().map(|_| AtomicU64::new(0)).collect(),
            has_completed: AtomicBool::new(false),
            claims: Mutex::default(),
        }
    }

    /// Keeps the buffers of an operation until it is known to be complete.
    pub(in crate::mpi::window) fn keep(&self, target: usize, claims: Arc<BufferClaims>) {
        let mut kept = lockstep::lock(&self.claims);
        kept.push_back((target, claims));
        if kept.len() > MOST_CLAIMS {
            kept.pop_front();
        }
    }

    /// Gives back the buffers of the complete operations at a target, or at all.
    ///
    /// # Errors
    /// When the program has written one of them that it sends from.
    pub(in crate::mpi::window) fn settle(&self, target: Option<usize>) -> Result<()> {
        let mut kept = lockstep::lock(&self.claims);
        let here = |at: usize| target.is_none_or(|target| target == at);
        let (over, open) = std::mem::take(&mut *kept)
            .into_iter()
            .partition(|&(at, _)| here(at));
        *kept = open;
        drop(kept);
        let over: VecDeque<(usize, Arc<BufferClaims>)> = over;
        let mut found = Ok(());
        for (_, claims) in &over {
            found = found.and(claims.settle());
        }
        found
    }

    /// Records that this rank's operations at a target, or at all, are complete.
    pub(in crate::mpi::window) fn complete(&self, target: Option<usize>) {
        self.has_completed.store(true, Ordering::Relaxed);
        let targets = match target {
            Some(target) => &self.completions[target..=target],
            None => &self.completions,
        };
        for count in targets {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

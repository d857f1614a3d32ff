//! Entries that tables of NIC threads still hold at the end of a job.

use crate::collective::{ReadyCollective, StepGrant};
use bcs_fabric::{Port, Variable};

/// Entries of a table that are still there when every rank has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLeak {
    /// The kind of the entries.
    pub what: &'static str,
    /// Their number.
    pub count: usize,
    /// Whether a program may leave them: it ended without receiving what was sent to it, or without
    /// waiting for what it has begun. Otherwise the runtime has forgotten to take them out.
    pub programs: bool,
}

impl TableLeak {
    /// Creates an entry for what a program may leave.
    pub(crate) fn program_leak(what: &'static str, count: usize) -> Self {
        Self {
            what,
            count,
            programs: true,
        }
    }

    /// Counts leaked collectives, given how many steps of each are done. Granted steps must be
    /// done; the program may leave others.
    pub(crate) fn collectives<'a>(
        active: impl Iterator<Item = (&'a ReadyCollective, u64)>,
        port: &dyn Port,
    ) -> Vec<Self> {
        let has_gone = |(collective, done): (&ReadyCollective, u64)| {
            let go = StepGrant::decode(port.load(Variable::Go(collective.slot)));
            let granted = go.steps_of(collective.sequence);
            granted.is_none_or(|steps| steps > done)
        };
        let (gone, waiting): (Vec<bool>, Vec<bool>) = active.map(has_gone).partition(|gone| *gone);
        vec![
            Self::program_leak("collectives", waiting.len()),
            Self::runtime_leak("collectives that have gone", gone.len()),
        ]
    }

    /// Creates an entry for what the runtime must have taken out.
    pub(crate) fn runtime_leak(what: &'static str, count: usize) -> Self {
        Self {
            what,
            count,
            programs: false,
        }
    }
}

impl std::fmt::Display for TableLeak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.count, self.what)
    }
}

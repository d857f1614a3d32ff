//! Control variables (MPI 5.0, 15.3.6): the settings of the job, from options of `bcs run`, and
//! bounds of the library.

use super::categories::Category;
use super::enumerations::Enumeration;
use super::form::Form;
use super::{Refusal, ToolOutcome};
use crate::c::*;
use crate::state;
use crate::table::Table;
use bcs_core::limits::{
    INLINE_BYTES, MAX_COPIED_BYTES, MAX_EAGER_LIMIT, MAX_ENVELOPES_PER_RANK, MAX_UNEXPECTED_BYTES,
    REQUEST_SLOTS,
};
use bcs_mpi::mpi::Process;
use std::ffi::c_int;

/// A control variable.
#[derive(Debug)]
pub struct ControlVariable {
    pub name: &'static str,
    pub about: &'static str,
    pub category: Category,
    pub form: Form,
    value: Value,
}

/// The source of a value.
#[derive(Debug)]
enum Value {
    /// The job, which is known from `MPI_Init` on.
    OfJob(fn(&Process) -> u64),
    /// A constant.
    Always(usize),
}

const fn setting(
    name: &'static str,
    about: &'static str,
    form: Form,
    value: fn(&Process) -> u64,
) -> ControlVariable {
    ControlVariable {
        name,
        about,
        category: Category::Settings,
        form,
        value: Value::OfJob(value),
    }
}

const fn bound(name: &'static str, about: &'static str, value: usize) -> ControlVariable {
    ControlVariable {
        name,
        about,
        category: Category::Bounds,
        form: Form::Number,
        value: Value::Always(value),
    }
}

macro_rules! settings {
    ($of:ident) => {
        |rank| rank.endpoint().settings().$of as u64
    };
}

/// All variables, by their indices.
pub static ALL: &[ControlVariable] = &[
    setting(
        "bcs_strobe",
        "when slices are struck (--strobe)",
        Form::One(Enumeration::Strobe),
        settings!(strobe),
    ),
    setting(
        "bcs_time_slice",
        "length of a time slice in nanoseconds; with elastic strobes the longest gap between two (--time-slice)",
        Form::Number,
        settings!(time_slice_ns),
    ),
    setting(
        "bcs_eager_limit",
        "standard sends of at most so many bytes complete when they are posted (--eager-limit)",
        Form::Number,
        settings!(eager_limit),
    ),
    setting(
        "bcs_link_bandwidth",
        "bytes per second that may enter a node (--link-bandwidth)",
        Form::Number,
        settings!(link_bandwidth),
    ),
    setting(
        "bcs_nic_threads",
        "OS threads of NICs: one for all, one each, one for each NIC thread (--nic-threads)",
        Form::One(Enumeration::NicThreads),
        settings!(driver),
    ),
    setting(
        "bcs_reduce",
        "reductions of at most this number of elements are computed in software floating point (--reduce)",
        Form::Number,
        settings!(soft_reduce_elements),
    ),
    setting(
        "bcs_intranode",
        "the transport of messages within a node (--intranode)",
        Form::One(Enumeration::Intranode),
        settings!(intranode),
    ),
    setting(
        "bcs_collectives",
        "who does collectives of several nodes (--collectives)",
        Form::One(Enumeration::Collectives),
        settings!(collectives),
    ),
    setting(
        "bcs_copy_method",
        "the fastest method that may be used to copy between the memories of two ranks (--copy-method)",
        Form::One(Enumeration::Road),
        settings!(road),
    ),
    setting(
        "bcs_folding",
        "who folds long reductions within a node (--folding)",
        Form::One(Enumeration::Folding),
        settings!(folding),
    ),
    setting(
        "bcs_mds",
        "whether this rank has a recorder (--mds)",
        Form::One(Enumeration::Switch),
        |rank| rank.has_recorder().into(),
    ),
    bound(
        "bcs_most_requests",
        "requests that a rank may have open on one transport",
        REQUEST_SLOTS,
    ),
    bound(
        "bcs_most_unexpected",
        "messages that a rank may have that nobody has received, on one transport",
        MAX_ENVELOPES_PER_RANK,
    ),
    bound(
        "bcs_most_unexpected_bytes",
        "bytes of such messages of its node that a rank keeps; beyond, their senders wait",
        MAX_UNEXPECTED_BYTES,
    ),
    bound(
        "bcs_most_copied_bytes",
        "bytes of messages that a rank copies for receivers on its node; beyond, its sends wait",
        MAX_COPIED_BYTES,
    ),
    bound(
        "bcs_most_eager_limit",
        "the largest eager limit",
        MAX_EAGER_LIMIT,
    ),
    bound(
        "bcs_inline_bytes",
        "bytes of a message between nodes that travel within its descriptor",
        INLINE_BYTES,
    ),
];

impl ControlVariable {
    pub fn scope(&self) -> c_int {
        match self.value {
            Value::OfJob(_) => MPI_T_SCOPE_READONLY,
            Value::Always(_) => MPI_T_SCOPE_CONSTANT,
        }
    }

    /// Returns the value.
    ///
    /// # Errors
    /// If the job is not known yet.
    pub fn read(&self) -> ToolOutcome<u64> {
        match self.value {
            Value::OfJob(value) => state::rank()
                .map(|rank| value(rank))
                .ok_or(Refusal::NotAccessible),
            Value::Always(value) => Ok(value as u64),
        }
    }
}

static HANDLES: Table<&ControlVariable> = Table::new(11);

/// Returns a handle for a variable.
pub fn bind(variable: &'static ControlVariable) -> MPI_T_cvar_handle {
    MPI_T_cvar_handle(HANDLES.insert(variable))
}

/// Returns the variable of a handle.
///
/// # Errors
/// If the handle is invalid.
pub fn bound_to(handle: MPI_T_cvar_handle) -> ToolOutcome<&'static ControlVariable> {
    HANDLES.get(handle.0).ok_or(Refusal::InvalidHandle)
}

/// Frees a handle, which is stale from now on.
///
/// # Errors
/// If it was stale before.
pub fn unbind(handle: MPI_T_cvar_handle) -> ToolOutcome {
    let freed = HANDLES.remove(handle.0);
    freed.map(|_| ()).ok_or(Refusal::InvalidHandle)
}

/// Frees all handles.
pub fn forget() {
    HANDLES.retain(|_| false);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_variable_each() {
        for (index, variable) in ALL.iter().enumerate() {
            let first = ALL.iter().position(|of| of.name == variable.name);
            assert_eq!(first, Some(index), "{}", variable.name);
        }
    }
}

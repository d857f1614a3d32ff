//! Names and hints of windows (MPI 5.0, 12.2.7 and 7.8).

use super::state::Window;
use crate::call_site;
use crate::mpi::comm::MAX_OBJECT_NAME;
use crate::mpi::error::{Operation, Result};
use crate::mpi::{Comm, Info};
use crate::recording::Site;
use bcs_core::lockstep;
use bcs_core::wait_state::CommunicatorLabel;

/// The hints of windows that the standard defines, with their defaults.
pub const DEFAULT_HINTS: [(&str, &str); 7] = [
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("mpi_accumulate_granularity", "0"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
    ("alloc_shared_noncontig", "false"),
];

impl Window {
    /// `MPI_Win_set_name`, for this process. A longer name is cut after the last whole character
    /// within [`MAX_OBJECT_NAME`] bytes.
    pub fn set_name(&self, name: &str) {
        let name = &name[..name.floor_char_boundary(MAX_OBJECT_NAME)];
        name.clone_into(&mut lockstep::lock(&self.0.name));
        let label = CommunicatorLabel::window(self.0.comm.0.context, name);
        self.process().endpoint().bcs_entitle(label);
    }

    /// `MPI_Win_get_info`: returns a new object with the window's hints, and the defaults of those
    /// that were not set. The library heeds `alloc_shared_noncontig` alone, and keeps the others.
    ///
    /// # Errors
    /// When the window was freed.
    pub fn info(&self) -> Result<Info> {
        self.usable(Operation::plain("MPI_Win_get_info"))?;
        let info = lockstep::lock(&self.0.info).dup();
        for (key, value) in DEFAULT_HINTS {
            if info.get(key)?.is_none() {
                info.set(key, value)?;
            }
        }
        Ok(info)
    }

    /// `MPI_Win_set_info`: sets hints.
    ///
    /// # Errors
    /// When the window was freed.
    pub fn set_info(&self, info: &Info) -> Result<()> {
        self.usable(Operation::plain("MPI_Win_set_info"))?;
        let own = lockstep::lock(&self.0.info);
        for nth in 0..info.keys() {
            let key = info.nth_key(nth)?;
            if let Some(value) = info.get(&key)? {
                own.set(&key, &value)?;
            }
        }
        Ok(())
    }
}

impl Comm {
    /// Records that this communicator is that of a window which a call has made.
    pub(super) fn is_window_of(&self, call: &str, of: &Self, site: Site) {
        let of = match of.name() {
            name if name.is_empty() => "a communicator".to_owned(),
            name => name,
        };
        let site = call_site::to_published(site);
        let label = CommunicatorLabel::window_made(self.0.context, call, &of, site);
        self.process().endpoint().bcs_entitle(label);
    }
}

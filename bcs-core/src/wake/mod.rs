//! Sleeping, waking, and sharing cores.
//!
//! | what | module |
//! |---|---|
//! | how one thread sleeps and another one wakes it | [`bell`] |
//! | the bells of a machine, and the count of awake threads | [`machine_page`] |
//! | how long a thread spins before it sleeps | [`waiting`] |
//! | a lock for data that one thread uses, and others could | [`owner_lock`] |
//! | the costs of waiting on this machine, and the thresholds that follow | [`profile`] |
//! | the cores to which ranks return that share cores | [`home_core`] |
//! | when a rank leaves a shared core for an idle one | [`core_sharing`] |
//! | what a job requests from the kernel's scheduler | [`scheduling`] |

pub mod bell;
#[cfg(not(loom))]
pub mod core_sharing;
#[cfg(not(loom))]
pub mod home_core;
#[cfg(not(loom))]
pub mod machine_page;
pub mod owner_lock;
#[cfg(not(loom))]
pub mod profile;
#[cfg(not(loom))]
pub mod scheduling;
#[cfg(not(loom))]
pub mod waiting;

#[cfg(not(loom))]
pub use machine_page::MachinePage;
#[cfg(not(loom))]
pub use profile::Profile;

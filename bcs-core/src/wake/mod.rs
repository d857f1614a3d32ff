//! Sleeping and waking, and who gets a core.
//!
//! | what | module |
//! |---|---|
//! | how one thread sleeps and another one wakes it | [`bell`] |
//! | the bells of a machine, and who there is awake | [`machine_page`] |
//! | how long to spin before one sleeps | [`waiting`] |
//! | a lock for what one thread uses, and others could | [`owner_lock`] |
//! | what waiting costs on this machine, and what follows from it | [`profile`] |
//! | where ranks belong that share cores | [`home_core`] |
//! | who leaves a shared core for an idle one | [`sharing`] |
//! | what a job asks of the kernel's scheduler | [`scheduling`] |

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

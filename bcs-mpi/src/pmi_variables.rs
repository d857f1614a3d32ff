//! The variables and the socket by which a launcher offers PMI to each process that it starts.
//!
//! They are for one process of the job. A program that a rank starts inherits them, and must not
//! take itself for that rank. So a rank that has joined its job removes the variables and lets its
//! children inherit no socket.
#![expect(
    unsafe_code,
    reason = "takes an inherited file descriptor, and changes the environment"
)]

use bcs_core::pmi::{PMI_FD, PMI_RANK, PMI_SIZE};
use rustix::io::FdFlags;
use rustix::net::{AddressFamily, SocketType, sockopt};
use std::os::fd::{BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

/// Returns the number of the socket, if the variable names a socket of that kind.
fn socket() -> Option<RawFd> {
    let number: RawFd = std::env::var(PMI_FD).ok()?.parse().ok()?;
    if number <= 2 {
        return None;
    }
    // SAFETY: the descriptor is only queried. If the number is not open, or is closed meanwhile,
    // the kernel returns an error.
    let looked_at = unsafe { BorrowedFd::borrow_raw(number) };
    let domain = sockopt::socket_domain(looked_at).ok()?;
    let kind = sockopt::socket_type(looked_at).ok()?;
    (domain == AddressFamily::UNIX && kind == SocketType::STREAM).then_some(number)
}

/// The offer of a launcher to a process.
#[derive(Debug)]
pub(crate) struct Offer {
    /// The socket to the launcher.
    pub(crate) socket: OwnedFd,
    /// The rank of the process.
    pub(crate) rank: u32,
    /// The number of processes.
    pub(crate) size: u32,
}

/// Takes the offer of a launcher that has started several processes, and hides it from programs
/// that this process starts.
pub(crate) fn take_offer() -> Option<Offer> {
    let number = |name| std::env::var(name).ok()?.trim().parse::<u32>().ok();
    let (rank, size) = (number(PMI_RANK)?, number(PMI_SIZE)?);
    if size < 2 || rank >= size {
        return None;
    }
    let socket = socket()?;
    hide_from_children();
    // SAFETY: a launcher has opened a socket of this kind for this process, which says so in its
    // environment, and this is the only code of the process that takes it: the variable is gone.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    Some(Offer { socket, rank, size })
}

/// Hides PMI from programs that this process starts.
pub(crate) fn hide_from_children() {
    if std::env::var_os(PMI_FD).is_none() {
        return;
    }
    if let Some(number) = socket() {
        // SAFETY: used for this call only. A launcher has opened it for this process, and a program
        // that replaces it by a descriptor to be inherited does so later.
        let socket = unsafe { BorrowedFd::borrow_raw(number) };
        let _marked = rustix::io::fcntl_setfd(socket, FdFlags::CLOEXEC);
    }
    for name in [PMI_FD, PMI_RANK, PMI_SIZE] {
        // SAFETY: the C library moves the pointers to later variables under its lock, and frees no
        // text. Rust's readers take a lock, too; another reader of this moment may miss a variable,
        // and reads nothing that is gone.
        unsafe { std::env::remove_var(name) };
    }
}

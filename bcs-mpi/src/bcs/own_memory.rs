//! Whether memory that a program named is there, when something has failed and the question is whose.
//!
//! The kernel says of a copy between two processes that an address is wrong, and not on which side. To look
//! at one's own would be the end of the process, so the kernel is asked to have the pages ready, which it
//! refuses where there are none. It changes nothing of what they hold. A kernel that cannot be asked (before
//! Linux 5.14, or by a sandbox's leave) counts as one that says yes.
#![expect(unsafe_code, reason = "asks the kernel about addresses")]

use super::Piece;

/// What is to be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
}

/// Whether so many bytes are there.
pub(crate) fn is_there(address: u64, len: usize, what: Use) -> bool {
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page = usize::try_from(page).expect("there are pages");
    let Ok(address) = usize::try_from(address) else {
        return false;
    };
    let start = address / page * page;
    let Some(end) = address.checked_add(len) else {
        return false;
    };
    let advice = match what {
        Use::Read => libc::MADV_POPULATE_READ,
        Use::Write => libc::MADV_POPULATE_WRITE,
    };
    let start = std::ptr::without_provenance_mut(start);
    // SAFETY: pages that are there keep what they hold.
    let answer = unsafe { libc::madvise(start, end - start.addr(), advice) };
    let no = || {
        let error = std::io::Error::last_os_error().raw_os_error();
        matches!(error, Some(libc::EFAULT | libc::ENOMEM))
    };
    len == 0 || answer == 0 || !no()
}

/// Whether others may write the first `len` bytes of a piece of this process. What is in pieces it writes itself.
pub(crate) fn takes(into: &Piece, len: usize) -> bool {
    into.layout.is_some() || is_there(into.address, len, Use::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_found_and_what_is_there_keeps_what_it_holds() {
        let mut bytes = vec![7_u8; 10_000];
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        for what in [Use::Read, Use::Write] {
            assert!(is_there(address + 1, 9_998, what));
            assert!(!is_there(4096, 1, what) && is_there(4096, 0, what));
            assert!(!is_there(u64::MAX - 1, 9, what));
        }
        assert!(bytes.iter().all(|&byte| byte == 7));
        let constant = "not for writing".as_ptr().expose_provenance() as u64;
        assert!(is_there(constant, 15, Use::Read) && !is_there(constant, 15, Use::Write));
    }
}

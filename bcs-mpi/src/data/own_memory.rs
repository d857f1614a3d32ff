//! Whether memory that a program named is there, when something has failed and the question is whose.
//!
//! The kernel says of a copy between two processes that an address is wrong, and not on which side. To look
//! at one's own would be the end of the process, so the kernel is asked to have the pages ready, which it
//! refuses where there are none. It changes nothing of what they hold. A kernel that cannot be asked (before
//! Linux 5.14, or by a sandbox's leave) counts as one that says yes.
#![expect(unsafe_code, reason = "asks the kernel about addresses")]

use super::DataView;

/// What is to be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryAccess {
    Read,
    Write,
}

/// Whether so many bytes are there.
pub(crate) fn is_mapped(address: u64, len: usize, what: MemoryAccess) -> bool {
    let Ok(address) = usize::try_from(address) else {
        return false;
    };
    match has_ready(address, len, what) {
        Ok(()) => true,
        // Of memory that may not be used so, and of a kernel that does not know the question.
        Err(libc::EINVAL) => {
            let known = 0_u8;
            has_ready((&raw const known).addr(), 1, MemoryAccess::Read).is_err()
        }
        Err(error) => !matches!(error, libc::EFAULT | libc::ENOMEM),
    }
}

/// Asks the kernel to have pages ready.
///
/// # Errors
/// Its answer.
fn has_ready(address: usize, len: usize, what: MemoryAccess) -> Result<(), i32> {
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page = usize::try_from(page).expect("there are pages");
    let start = address / page * page;
    let end = address.checked_add(len).ok_or(libc::EFAULT)?;
    let advice = match what {
        MemoryAccess::Read => libc::MADV_POPULATE_READ,
        MemoryAccess::Write => libc::MADV_POPULATE_WRITE,
    };
    let pages = std::ptr::without_provenance_mut(start);
    // SAFETY: pages that are there keep what they hold.
    if len == 0 || unsafe { libc::madvise(pages, end - start, advice) } == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(error.raw_os_error().unwrap_or(libc::EFAULT))
}

/// Whether others may write the first `len` bytes of a piece of this process. What is in pieces it writes itself.
pub(crate) fn is_writable(into: &DataView, len: usize) -> bool {
    into.layout().is_some() || is_mapped(into.address(), len, MemoryAccess::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_found_and_what_is_there_keeps_what_it_holds() {
        let mut bytes = vec![7_u8; 10_000];
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        for what in [MemoryAccess::Read, MemoryAccess::Write] {
            assert!(is_mapped(address + 1, 9_998, what));
            assert!(!is_mapped(4096, 1, what) && is_mapped(4096, 0, what));
            assert!(!is_mapped(u64::MAX - 1, 9, what));
        }
        assert!(bytes.iter().all(|&byte| byte == 7));
        let constant = "not for writing".as_ptr().expose_provenance() as u64;
        assert!(
            is_mapped(constant, 15, MemoryAccess::Read)
                && !is_mapped(constant, 15, MemoryAccess::Write)
        );
    }
}

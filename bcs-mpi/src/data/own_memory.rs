//! Whether memory that a program named is mapped. After a failure, it shows which side caused it.
//!
//! The kernel reports that an address of a copy between two processes is wrong, but not on which
//! side. A touch of the process's own unmapped memory would end it. So the process requests the
//! kernel to have the pages ready, which the kernel refuses where there are none. That does not
//! change their contents. If the kernel cannot answer (before Linux 5.14, or because of a sandbox),
//! the memory counts as mapped.
#![expect(unsafe_code, reason = "asks the kernel about addresses")]

use super::DataView;

/// The access that is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryAccess {
    Read,
    Write,
}

/// Returns whether these bytes are mapped.
pub(crate) fn is_mapped(address: u64, len: usize, what: MemoryAccess) -> bool {
    let Ok(address) = usize::try_from(address) else {
        return false;
    };
    match has_ready(address, len, what) {
        Ok(()) => true,
        // The error for memory that does not allow this access, and of a kernel that does not know
        // the request.
        Err(libc::EINVAL) => {
            let known = 0_u8;
            has_ready((&raw const known).addr(), 1, MemoryAccess::Read).is_err()
        }
        Err(error) => !matches!(error, libc::EFAULT | libc::ENOMEM),
    }
}

/// Requests the kernel to have pages ready.
///
/// # Errors
/// The kernel's error.
fn has_ready(address: usize, len: usize, what: MemoryAccess) -> Result<(), i32> {
    // SAFETY: the call returns a number and has no other effect.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page = usize::try_from(page).expect("there are pages");
    let start = address / page * page;
    let end = address.checked_add(len).ok_or(libc::EFAULT)?;
    let advice = match what {
        MemoryAccess::Read => libc::MADV_POPULATE_READ,
        MemoryAccess::Write => libc::MADV_POPULATE_WRITE,
    };
    let pages = std::ptr::without_provenance_mut(start);
    // SAFETY: mapped pages keep their contents.
    if len == 0 || unsafe { libc::madvise(pages, end - start, advice) } == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(error.raw_os_error().unwrap_or(libc::EFAULT))
}

/// Returns whether others may write the first `len` bytes of a data view of this process. If it has
/// pieces, this process writes them itself.
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

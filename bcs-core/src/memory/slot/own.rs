//! A process's own slot: made once, and never unmapped.
#![expect(
    unsafe_code,
    reason = "mmap at a fixed address, madvise, descriptors that were inherited"
)]

use super::foreign::TMPFS;
use super::preloaded_heap::{PreloadedHeap, preloaded_heap};
use super::{RemappedRanges, SLOT_BYTES, SLOT_FOLDER_VARIABLE, Slot, SlotError};
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::{Errno, FdFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};
use std::ffi::c_void;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of a slot's memfd, in `/proc/PID/maps`.
const NAME: &str = "slot";

/// The address space that a slot takes: itself, and the private copy of it that a fork makes.
const ADDRESS_SPACE: u64 = 2 * SLOT_BYTES as u64;

/// The slot that this process has made.
#[derive(Debug)]
pub struct OwnSlot {
    slot: Slot,
    fd: OwnedFd,
    has_huge_pages: bool,
}

impl OwnSlot {
    /// Makes the slot of a place and maps it, empty and left out of core dumps. It stays mapped
    /// when the value is dropped, because memory of the program may lie there. Nothing here
    /// allocates, so an allocator can call it.
    ///
    /// # Errors
    /// The reason why there is no slot. Then nothing is left.
    pub fn make(place: usize) -> Result<Self, SlotError> {
        Self::make_in(place, None)
    }

    /// Does the same with a file in a folder, if there is a folder for that.
    ///
    /// # Errors
    /// As above.
    pub fn make_in(place: usize, folder: Option<RawFd>) -> Result<Self, SlotError> {
        let slot = Slot::at_place(place).ok_or(SlotError::TooMany { place })?;
        check_limits()?;
        let in_folder = folder.and_then(file_in);
        let has_huge_pages = in_folder.is_some();
        let fd = match in_folder {
            Some(fd) => fd,
            None => make_memfd()?,
        };
        reserve(slot)?;
        let replaced = MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: this replaces the mapping that `reserve` has just made there, which is empty and
        // not used yet.
        let mapped = unsafe {
            rustix::mm::mmap(
                slot.base() as *mut c_void,
                SLOT_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                replaced,
                &fd,
                0,
            )
        };
        if let Err(errno) = mapped {
            // SAFETY: the reservation belongs to this function, and is not used.
            let _ = unsafe { rustix::mm::munmap(slot.base() as *mut c_void, SLOT_BYTES) };
            return Err(refused("mmap", errno));
        }
        // A dump would fill the holes of the file. The heap enables dumps again for the parts that
        // it commits. SAFETY: about dumps only; the range is the mapping's.
        let _ = unsafe {
            rustix::mm::madvise(
                slot.base() as *mut c_void,
                SLOT_BYTES,
                Advice::LinuxDontDump,
            )
        };
        Ok(Self {
            slot,
            fd,
            has_huge_pages,
        })
    }

    /// Returns whether its pages are huge where that is requested (`MADV_HUGEPAGE`).
    #[must_use]
    pub fn has_huge_pages(&self) -> bool {
        self.has_huge_pages
    }

    /// Returns which slot it is.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// Returns its memory, to be handed to others.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns the table of ranges where the program has other memory.
    #[must_use]
    pub fn remapped(&self) -> RemappedRanges {
        // SAFETY: it stays mapped, except for a slot that is unmapped before any other code has
        // seen it.
        unsafe { RemappedRanges::of(self.slot) }
    }

    /// Unmaps the slot.
    ///
    /// # Safety
    /// Nothing of the process may lie there.
    pub unsafe fn unmap(self) {
        // SAFETY: the caller's promise.
        let _ = unsafe { rustix::mm::munmap(self.slot.base() as *mut c_void, SLOT_BYTES) };
    }
}

fn refused(call: &'static str, errno: Errno) -> SlotError {
    let hint = match errno {
        Errno::NOMEM => " (is /proc/sys/vm/overcommit_memory 2, or the address space limited?)",
        Errno::MFILE | Errno::NFILE => " (ulimit -n)",
        Errno::PERM | Errno::NOSYS => " (does a seccomp profile forbid it?)",
        _ => "",
    };
    SlotError::Kernel { call, errno, hint }
}

fn check_limits() -> Result<(), SlotError> {
    let limits = [
        (Resource::As, "RLIMIT_AS", ADDRESS_SPACE, "ulimit -v"),
        // The copy that a fork makes is private and writable, and this limit counts such memory.
        (Resource::Data, "RLIMIT_DATA", ADDRESS_SPACE, "ulimit -d"),
        // Beyond it, ftruncate would raise SIGXFSZ.
        (
            Resource::Fsize,
            "RLIMIT_FSIZE",
            SLOT_BYTES as u64,
            "ulimit -f",
        ),
    ];
    for (resource, name, needed, command) in limits {
        if let Some(limit) = getrlimit(resource).current
            && limit < needed
        {
            return Err(SlotError::Limit {
                name,
                limit,
                needed,
                command,
            });
        }
    }
    Ok(())
}

/// Hides the folder for slots from the processes that this one starts.
pub fn hide_folder_from_children() {
    let Ok(value) = std::env::var(SLOT_FOLDER_VARIABLE) else {
        return;
    };
    if let Some(folder) = value.parse().ok().filter(|folder| *folder >= 0) {
        // SAFETY: used for this call only. If the program has closed it and opened another file,
        // that one is not inherited any more; a program that opens a descriptor to be inherited
        // does so later.
        let folder = unsafe { BorrowedFd::borrow_raw(folder) };
        let _marked = rustix::io::fcntl_setfd(folder, FdFlags::CLOEXEC);
    }
    // SAFETY: other threads may read the environment meanwhile. The variable exists, so the C
    // library exchanges one pointer, and neither moves the other variables nor frees the old text.
    unsafe { std::env::set_var(SLOT_FOLDER_VARIABLE, "") };
}

/// Returns a file without a name, as long as a slot, in a folder that this process has inherited.
/// Returns `None` if the descriptor is not a folder of a `tmpfs` any more, or if no file can be
/// made there.
#[must_use]
pub fn file_in(folder: RawFd) -> Option<OwnedFd> {
    if folder < 0 {
        return None;
    }
    // SAFETY: the descriptor is used for these calls only, which fail if it is closed.
    let folder = unsafe { BorrowedFd::borrow_raw(folder) };
    let kind = rustix::fs::fstatfs(folder).ok()?.f_type;
    if kind.cast_unsigned() != TMPFS {
        return None;
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, c".", flags, Mode::RUSR | Mode::WUSR).ok()?;
    rustix::fs::ftruncate(&file, SLOT_BYTES as u64).ok()?;
    Some(file)
}

fn make_memfd() -> Result<OwnedFd, SlotError> {
    let fd = rustix::fs::memfd_create(NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
        .map_err(|errno| refused("memfd_create", errno))?;
    rustix::fs::ftruncate(&fd, SLOT_BYTES as u64).map_err(|errno| refused("ftruncate", errno))?;
    rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)
        .map_err(|errno| refused("fcntl(F_ADD_SEALS)", errno))?;
    Ok(fd)
}

/// Reserves the addresses by a private mapping. A fork's copy will be the same, so a kernel that
/// would not grant that copy (overcommit 2) refuses here and not then.
fn reserve(slot: Slot) -> Result<(), SlotError> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
    // SAFETY: FIXED_NOREPLACE replaces nothing, so it aliases nothing.
    let mapped = unsafe {
        rustix::mm::mmap_anonymous(
            slot.base() as *mut c_void,
            SLOT_BYTES,
            ProtFlags::READ | ProtFlags::WRITE,
            flags,
        )
    };
    match mapped {
        Ok(at) if at as usize == slot.base() => Ok(()),
        Ok(at) => {
            // A kernel without FIXED_NOREPLACE takes the address for a hint. SAFETY: the mapping
            // was made here, and its address is not published.
            let _ = unsafe { rustix::mm::munmap(at, SLOT_BYTES) };
            Err(SlotError::Taken { from: slot.base() })
        }
        Err(Errno::EXIST) => Err(SlotError::Taken { from: slot.base() }),
        Err(errno) => Err(refused("mmap", errno)),
    }
}

/// The slot of this process, or the reason for having none, by this object or by the preloaded
/// heap.
#[derive(Debug)]
struct SlotOutcome {
    own: Result<OwnSlot, SlotError>,
    by: Option<&'static PreloadedHeap>,
}

static OWN: OnceLock<SlotOutcome> = OnceLock::new();
static FORKED: AtomicBool = AtomicBool::new(false);
static LIBRARYS: AtomicBool = AtomicBool::new(false);

/// Registers, once for the process, its slot or the reason for having none. Returns what is
/// registered.
pub fn register_own_slot(slot: Result<OwnSlot, SlotError>) -> Result<&'static OwnSlot, SlotError> {
    let made = OWN.get_or_init(|| SlotOutcome {
        own: slot,
        by: None,
    });
    made.own.as_ref().map_err(|refusal| *refusal)
}

/// Returns this process's slot, or the reason for having none, or `None` if no code has tried to
/// make one.
pub fn own() -> Option<Result<&'static OwnSlot, SlotError>> {
    let made = OWN.get().or_else(made_by_preloaded)?;
    let is_forked = || match made.by {
        None => FORKED.load(Ordering::Relaxed),
        Some(by) => !(by.has_slot)(),
    };
    if made.own.is_ok() && is_forked() {
        return Some(Err(SlotError::Forked));
    }
    Some(made.own.as_ref().map_err(|refusal| *refusal))
}

/// Returns the slot that the preloaded heap has made. If that has none, the reason stays unknown: a
/// caller that needs a slot makes one, and fails in the same way.
#[cold]
fn made_by_preloaded() -> Option<&'static SlotOutcome> {
    let by = preloaded_heap().filter(|by| (by.has_slot)())?;
    let slot = Slot::at_place(by.place)?;
    // SAFETY: the preloaded heap reports that it is open. The value lives in a static, so it is
    // never closed here; in a forked child, where its owner closes it, `own` does not return it.
    let fd = unsafe { OwnedFd::from_raw_fd(by.fd) };
    Some(OWN.get_or_init(|| SlotOutcome {
        own: Ok(OwnSlot {
            slot,
            fd,
            // Only the heap that has made the slot requests huge pages.
            has_huge_pages: false,
        }),
        by: Some(by),
    }))
}

/// Marks a forked child: its copy of the heap is private from now on.
pub fn mark_forked() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Marks that the allocator here belongs to a library: its slot holds the library's memory, not the
/// program's.
pub fn mark_library_slot() {
    LIBRARYS.store(true, Ordering::Relaxed);
}

/// Returns whether the slot holds only the memory of a library, and not the program's heap.
#[must_use]
pub fn is_library_slot() -> bool {
    LIBRARYS.load(Ordering::Relaxed) && OWN.get().is_some_and(|made| made.by.is_none())
}

#[cfg(test)]
mod tests {
    use super::super::{BadSlot, ForeignSlot, check};
    use super::*;

    /// Places that no other test uses, because this process has one address space.
    const FIRST: usize = 100;

    #[test]
    fn what_is_made_is_mapped_where_it_belongs_and_sealed() {
        let own = OwnSlot::make(FIRST).unwrap();
        check(own.fd()).unwrap();
        let word = own.slot().base() as *mut u64;
        // SAFETY: the first word of the slot, which only this test knows.
        unsafe { word.write(7) };
        let stat = rustix::fs::fstat(own.fd()).unwrap();
        assert_eq!(stat.st_size, 1 << 39);
        assert!(stat.st_blocks <= 8, "only what is used takes memory");
        assert!(rustix::fs::ftruncate(own.fd(), 4096).is_err());
        assert_eq!(
            OwnSlot::make(FIRST).unwrap_err(),
            SlotError::Taken { from: 101 << 39 }
        );
        let again = own.fd().try_clone_to_owned().unwrap();
        // SAFETY: nothing of this process lies there.
        unsafe { own.unmap() };
        // A peer maps the same memory at the same address.
        let foreign = ForeignSlot::map(Slot::at_place(FIRST).unwrap(), &again).unwrap();
        // SAFETY: mapped by the line above.
        assert_eq!(unsafe { word.read() }, 7);
        drop(foreign);
    }

    #[test]
    fn what_is_no_slot_is_refused() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("other", flags).unwrap();
        assert!(matches!(check(&file), Err(BadSlot::Length(0))));
        rustix::fs::ftruncate(&file, SLOT_BYTES as u64).unwrap();
        assert!(matches!(check(&file), Err(BadSlot::Seals(_))));
        let slot = make_memfd().unwrap();
        check(&slot).unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&slot));
        let read_only = std::fs::File::open(path).unwrap();
        assert!(matches!(check(&read_only), Err(BadSlot::ReadOnly)));
        let null = std::fs::File::open("/dev/null").unwrap();
        assert!(check(&null).is_err());
        assert!(check(std::io::pipe().unwrap().0).is_err());
        assert_eq!(
            OwnSlot::make(crate::limits::MAX_SLOTS).unwrap_err(),
            SlotError::TooMany { place: 160 }
        );
    }
}

//! A process's own slot: made once, and never given back.
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

/// What a slot takes of the address space: itself, and the private copy of it that a fork makes.
const ADDRESS_SPACE: u64 = 2 * SLOT_BYTES as u64;

/// The slot that this process has made.
#[derive(Debug)]
pub struct OwnSlot {
    slot: Slot,
    fd: OwnedFd,
    has_huge_pages: bool,
}

impl OwnSlot {
    /// Makes the slot of a place and maps it, empty and left out of core dumps. It stays mapped when
    /// the value is dropped: memory of the program may lie there. Nothing here allocates, so an
    /// allocator can call it.
    ///
    /// # Errors
    /// Why there is no slot. Nothing is left then.
    pub fn make(place: usize) -> Result<Self, SlotError> {
        Self::make_in(place, None)
    }

    /// The same, by a file in a folder, if there is one for that.
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
        // known to nobody.
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
            // SAFETY: the reservation is ours, and nobody uses it.
            let _ = unsafe { rustix::mm::munmap(slot.base() as *mut c_void, SLOT_BYTES) };
            return Err(refused("mmap", errno));
        }
        // A dump would fill the holes of the file. What the heap commits, it takes back in.
        // SAFETY: about dumps only; the range is the mapping's.
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

    /// Whether its pages are huge where that is asked for (`MADV_HUGEPAGE`).
    #[must_use]
    pub fn has_huge_pages(&self) -> bool {
        self.has_huge_pages
    }

    /// Which one.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// Its memory, to be handed to others.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Where the program has other memory.
    #[must_use]
    pub fn remapped(&self) -> RemappedRanges {
        // SAFETY: it is mapped for good, but for one that is unmapped before anybody has seen it.
        unsafe { RemappedRanges::of(self.slot) }
    }

    /// Gives the address space back.
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
        // The copy that a fork makes is private and writable, which is what this one counts.
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

/// In what this process starts, slots have no folder.
pub fn hide_folder_from_children() {
    let Ok(value) = std::env::var(SLOT_FOLDER_VARIABLE) else {
        return;
    };
    if let Some(folder) = value.parse().ok().filter(|folder| *folder >= 0) {
        // SAFETY: used for this call only. If the program has closed it, and opened something else, that is inherited no
        // more; who opens a descriptor to be inherited does so later.
        let folder = unsafe { BorrowedFd::borrow_raw(folder) };
        let _marked = rustix::io::fcntl_setfd(folder, FdFlags::CLOEXEC);
    }
    // SAFETY: other threads may read the environment meanwhile. The variable is there, so the C library exchanges one
    // pointer, and neither moves the others nor frees the old text.
    unsafe { std::env::set_var(SLOT_FOLDER_VARIABLE, "") };
}

/// A file without a name, as long as a slot, in a folder that this process has inherited. `None` if the descriptor is no
/// folder of a `tmpfs` any more, or takes no file.
#[must_use]
pub fn file_in(folder: RawFd) -> Option<OwnedFd> {
    if folder < 0 {
        return None;
    }
    // SAFETY: the descriptor is used for these calls only, which say so if it is closed.
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

/// Takes the addresses by a private mapping: just what a fork's copy will be, so a kernel that would
/// not grant that one (overcommit 2) refuses here and not then.
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
            // A kernel that knows FIXED_NOREPLACE not takes the address for a wish.
            // SAFETY: the mapping was made here, and nobody knows it.
            let _ = unsafe { rustix::mm::munmap(at, SLOT_BYTES) };
            Err(SlotError::Taken { from: slot.base() })
        }
        Err(Errno::EXIST) => Err(SlotError::Taken { from: slot.base() }),
        Err(errno) => Err(refused("mmap", errno)),
    }
}

/// What came of the slot: what this object made, or what the preloaded heap says that it made.
#[derive(Debug)]
struct SlotOutcome {
    own: Result<OwnSlot, SlotError>,
    by: Option<&'static PreloadedHeap>,
}

static OWN: OnceLock<SlotOutcome> = OnceLock::new();
static FORKED: AtomicBool = AtomicBool::new(false);
static LIBRARYS: AtomicBool = AtomicBool::new(false);

/// Says once for the process what came of its slot, and gives it back for good.
pub fn register_own_slot(slot: Result<OwnSlot, SlotError>) -> Result<&'static OwnSlot, SlotError> {
    let made = OWN.get_or_init(|| SlotOutcome {
        own: slot,
        by: None,
    });
    made.own.as_ref().map_err(|refusal| *refusal)
}

/// This process's slot, or why it has none; `None` if nothing has tried to make one.
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

/// The slot that the preloaded heap has made. A reason for having none stays unknown: who wants it
/// makes one, and fails in the same way.
#[cold]
fn made_by_preloaded() -> Option<&'static SlotOutcome> {
    let by = preloaded_heap().filter(|by| (by.has_slot)())?;
    let slot = Slot::at_place(by.place)?;
    // SAFETY: it is open, as it says. The value lives in a static, so it is never closed here; in a
    // forked child, where its owner closes it, nobody is given it.
    let fd = unsafe { OwnedFd::from_raw_fd(by.fd) };
    Some(OWN.get_or_init(|| SlotOutcome {
        own: Ok(OwnSlot {
            slot,
            fd,
            // It is for the heap that has made it to ask for them.
            has_huge_pages: false,
        }),
        by: Some(by),
    }))
}

/// In a forked child: its copy of the heap is its own affair from now on.
pub fn mark_forked() {
    FORKED.store(true, Ordering::Relaxed);
}

/// What allocates here is a library: a slot of its own has its memory, and not the program's.
pub fn mark_library_slot() {
    LIBRARYS.store(true, Ordering::Relaxed);
}

/// Whether the slot has the memory of a library only, and not the program's heap.
#[must_use]
pub fn is_library_slot() -> bool {
    LIBRARYS.load(Ordering::Relaxed) && OWN.get().is_some_and(|made| made.by.is_none())
}

#[cfg(test)]
mod tests {
    use super::super::{BadSlot, ForeignSlot, check};
    use super::*;

    /// Places that no other test uses: this process has one address space.
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
        // What a peer does: the same memory at the same address.
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

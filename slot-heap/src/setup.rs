//! The first allocation: makes the slot, if there is to be one, and confines mimalloc to it.
//!
//! This runs before `main`, inside an allocation. Allocations that come meanwhile, from here (the C
//! library may allocate, where this is its `malloc`) or from another thread, go to the ordinary
//! heap. So nobody waits, and nothing recurs. The address of a block decides which heap frees it.
//!
//! **One slot in a process.** Several objects may contain this crate: a preloaded heap,
//! `libmpi_abi.so`, a program. A preloaded heap makes the slot. All other objects then get their
//! blocks from the ordinary heap, which is `malloc`: the preloaded one's. So the heap that made a
//! block also frees it, because all objects have one `free`, and nothing else needs an agreement.
//! Without a preloaded heap an object that comes second finds the addresses of the slot taken, and
//! has an ordinary heap.
#![expect(unsafe_code, reason = "getenv, mimalloc, pthread_atfork")]

use crate::{committed, fork, gate, purging};
use bcs_core::memory::OwnSlot;
use bcs_core::memory::slot::preloaded_heap::preloaded_heap;
use bcs_core::memory::slot::{HEAP_BYTES, SlotError, register_own_slot};
use libmimalloc_sys as mi;
use std::ffi::{CStr, c_char, c_int};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU8, Ordering};

/// mimalloc's `mi_option_arena_reserve`, which its bindings do not name.
const ARENA_RESERVE: mi::mi_option_t = 23;

/// How far the setup has come.
static STATE: AtomicU8 = AtomicU8::new(UNTRIED);
const UNTRIED: u8 = 0;
const UNDER_WAY: u8 = 1;
const DONE: u8 = 2;

/// Sets the heap up, unless that is done or under way.
#[cold]
pub(crate) fn set_up_once() {
    std::hint::black_box(&crate::elf_note::NOTE);
    act_once(|| {
        let somebody_elses = preloaded_heap().is_some_and(|preloaded| (preloaded.has_slot)());
        if !somebody_elses {
            set_up();
        }
    });
}

unsafe extern "C" {
    /// A variable of the C library: null until the library is ready.
    static environ: *const *const c_char;
}

/// Does the same for the preloaded heap. The dynamic linker also calls it before the environment
/// exists; nothing is decided then.
#[cold]
pub(crate) fn set_up_preloaded() {
    // SAFETY: this only reads a pointer. The environment changes only once `main` runs, when the
    // heap has long been set up.
    if !unsafe { environ }.is_null() {
        act_once(set_up);
    }
}

/// Does the same, and waits until it is done. Nothing that runs meanwhile calls this.
pub(crate) fn finish_preloaded() {
    while STATE.load(Ordering::Acquire) != DONE {
        act_once(set_up);
        std::hint::spin_loop();
    }
}

fn act_once(act: impl FnOnce()) {
    if STATE.load(Ordering::Acquire) != UNTRIED {
        return;
    }
    let mine = STATE.compare_exchange(UNTRIED, UNDER_WAY, Ordering::Acquire, Ordering::Relaxed);
    if mine.is_ok() {
        act();
        STATE.store(DONE, Ordering::Release);
    }
}

/// Makes the slot that the environment asks for.
fn set_up() {
    let Some(place) = wanted_place() else {
        return;
    };
    let place = match is_checked() {
        true => Err(SlotError::Checked),
        false => place,
    };
    let made = place
        .and_then(|place| OwnSlot::make_in(place, folder()))
        .and_then(|own| match confine(&own) {
            true => Ok(own),
            false => {
                // SAFETY: mimalloc has not taken it, so nothing lies there.
                unsafe { own.unmap() };
                Err(SlotError::Allocator)
            }
        });
    if let Ok(own) = register_own_slot(made) {
        gate::install();
        fork::install();
        // From here on blocks lie in the slot.
        committed::begin(own.slot().base());
    }
}

/// Returns the value of an environment variable.
fn variable(name: &'static CStr) -> Option<&'static [u8]> {
    // SAFETY: the name is a string of C's. No thread of the program can change the environment yet.
    // If this is a library that was loaded late, no thread should.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: not null, so a string of C's in the environment.
    Some(unsafe { CStr::from_ptr(value) }.to_bytes())
}

/// Returns whether this process runs under valgrind, which preloads libraries of its own. valgrind
/// looks for leaks in all memory that a process has mapped, and reading a slot allocates its
/// memory.
fn is_checked() -> bool {
    const OF_VALGRIND: &[u8] = b"/vgpreload_";
    let preloaded = variable(c"LD_PRELOAD").unwrap_or_default();
    let mut places = preloaded.windows(OF_VALGRIND.len());
    places.any(|place| place == OF_VALGRIND)
}

/// Returns the place that the environment names; `None` if it names none.
fn wanted_place() -> Option<Result<usize, SlotError>> {
    let value = variable(c"BCS_SLOT")?;
    if value.is_empty() {
        return None;
    }
    let number = std::str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse().ok());
    Some(number.ok_or(SlotError::NoPlace))
}

/// Returns the folder that the environment names, in which slots have huge pages.
fn folder() -> Option<RawFd> {
    let value = std::str::from_utf8(variable(c"BCS_SLOT_FOLDER")?);
    value.ok()?.parse().ok()
}

/// Makes the slot mimalloc's only memory, and disables all other sources.
fn confine(own: &OwnSlot) -> bool {
    const IS_COMMITTED: bool = true;
    // mimalloc calls this is_large: memory that cannot be given back.
    const IS_PINNED: bool = false;
    const IS_ZERO: bool = true;
    const NO_NUMA_NODE: c_int = -1;
    // SAFETY: the slot is this process's alone, mapped for good, and zero.
    let taken = unsafe {
        mi::mi_manage_os_memory_ex(
            own.slot().base() as *const _,
            HEAP_BYTES,
            IS_COMMITTED,
            IS_PINNED,
            IS_ZERO,
            NO_NUMA_NODE,
            false,
            std::ptr::null_mut(),
        )
    };
    if taken {
        for (option, value) in [
            (mi::mi_option_limit_os_alloc, 1),
            (ARENA_RESERVE, 0),
            // Without this, threads would not take their first segments from such memory.
            (mi::mi_option_eager_commit_delay, 0),
            // Saves some reads of /sys.
            (mi::mi_option_use_numa_nodes, 1),
        ] {
            // SAFETY: options of this version of mimalloc.
            unsafe { mi::mi_option_set(option, value) };
        }
        purging::install();
    }
    taken
}

#[cfg(test)]
mod tests {
    use bcs_core::memory::slot::{SLOT_FOLDER_VARIABLE, SLOT_VARIABLE};

    #[test]
    fn the_variables_have_one_name() {
        assert_eq!(SLOT_VARIABLE, "BCS_SLOT");
        assert_eq!(SLOT_FOLDER_VARIABLE, "BCS_SLOT_FOLDER");
    }
}

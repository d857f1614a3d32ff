//! The gate: threads go through it into the allocator, and a fork closes it while it copies the
//! heap.
//!
//! A copy of the slot takes time. If a thread pushed a block onto a free list meanwhile, the copy
//! might contain the new head of the list and the old contents of the block. So no thread is inside
//! while the heap is copied.
//!
//! The gate costs an allocation a store, a load and a branch, and a store. Each thread has a
//! *turnstile*, a cache line of its own. The thread stores there that it is inside, and loads from
//! there whether to look closer. Only a fence would keep this store and this load in order. The
//! thread that closes the gate has the kernel run that fence on all threads instead (`membarrier`).
//!
//! | edge | from | to |
//! |---|---|---|
//! | INSIDE | a thread stores that it is inside, then loads whether to look closer | the closing thread stores that it closes (barrier), then loads who is inside |
//! | OUTSIDE | a thread leaves, and with it all that it did | the closing thread finds it gone, and copies |
//!
//! Where the kernel has no such barrier, every turnstile always tells its thread to look closer,
//! and the threads run the fence themselves: slower, not wrong.
//!
//! A thread that ends gives its turnstile back, after mimalloc has given up its heap inside the
//! gate: by the destructor of a key of ours. mimalloc has a key, too, whose destructor would do
//! that outside, before or after ours. That destructor runs for threads that have a value there, so
//! we take the value away ([`keep_at_thread_end`]). The other method to learn of a thread's end,
//! `__cxa_thread_atexit_impl`, takes the dynamic linker's lock. If a constructor in `dlopen` waited
//! for a thread that allocates for the first time, that thread would wait for the lock for ever.
//! Turnstiles are in pages that are never freed, so the turnstile of an ended thread remains valid.
//!
//! A thread may go in while it is inside: in a signal handler, or where the C library allocates for
//! us.
#![expect(
    unsafe_code,
    reason = "turnstiles live in memory outside the heap; thread exit hooks"
)]

use crate::fatal::die_with_message;
use crate::lock::{self, Lock};
use crate::thread_turnstile::{Turnstile, UNREGISTERED};
use crate::{signals, thread_turnstile};
use libmimalloc_sys as mi;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::{MembarrierCommand, membarrier};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, compiler_fence, fence};

const TURNSTILES: usize = 63;

/// A page of turnstiles, and the address of the next page.
#[repr(C)]
struct Page {
    next: AtomicPtr<Page>,
    turnstiles: [Turnstile; TURNSTILES],
}

static FIRST: Page = Page {
    next: AtomicPtr::new(std::ptr::null_mut()),
    turnstiles: [const { Turnstile::new(0) }; TURNSTILES],
};

/// Held to hand out turnstiles, and while the gate is closed.
static REGISTRY: Lock = Lock::new();
/// 1 while the gate is closed: a futex.
static CLOSED: AtomicU32 = AtomicU32::new(0);
/// The turnstile of the thread that has closed the gate; null while it is open.
static CLOSER: AtomicPtr<Turnstile> = AtomicPtr::new(std::ptr::null_mut());
/// Whether threads must fence for themselves.
static FENCED: AtomicBool = AtomicBool::new(false);

/// Permission to use the allocator. Its thread counts as inside until this is dropped.
#[derive(Debug)]
pub(crate) struct GatePass {
    mine: &'static Turnstile,
    /// Whether the thread was inside before.
    before: u32,
}

impl GatePass {
    /// Takes the block that this thread has kept, if it fits. A signal handler may come in between
    /// and take it, or keep another one.
    pub(crate) fn take_kept(&self, fits: impl FnOnce(*mut u8) -> bool) -> Option<*mut u8> {
        let kept = &self.mine.kept;
        let block = kept.load(Ordering::Relaxed);
        if block.is_null() || !fits(block) {
            return None;
        }
        let null = std::ptr::null_mut();
        let taken = kept.compare_exchange(block, null, Ordering::Relaxed, Ordering::Relaxed);
        taken.ok()
    }

    /// Keeps a block, or with null no block. Returns the block that was kept before, or null.
    pub(crate) fn keep(&self, block: *mut u8) -> *mut u8 {
        self.mine.kept.swap(block, Ordering::Relaxed)
    }

    /// Frees the block that this thread keeps.
    pub(crate) fn free_kept(&self) {
        let kept = self.keep(std::ptr::null_mut());
        // SAFETY: its owner has freed it, and nobody has got it since; null is no block.
        unsafe { mi::mi_free(kept.cast()) };
    }
}

impl Drop for GatePass {
    #[inline]
    fn drop(&mut self) {
        self.mine.inside.store(self.before, Ordering::Release); // OUTSIDE
    }
}

/// Enters the allocator.
#[inline]
pub(crate) fn enter() -> GatePass {
    let mine = thread_turnstile::get();
    let before = mine.inside.load(Ordering::Relaxed);
    mine.inside.store(1, Ordering::Relaxed);
    // INSIDE: the processor keeps the order because the closing thread has it run a barrier.
    compiler_fence(Ordering::SeqCst);
    if mine.look.load(Ordering::Relaxed) == 0 {
        GatePass { mine, before }
    } else {
        look_closer(mine, before)
    }
}

#[cold]
fn look_closer(mut mine: &'static Turnstile, mut before: u32) -> GatePass {
    let is_new = is_nobodys(mine);
    if is_new {
        mine = register();
        before = 0;
        at_thread_end(mine);
    }
    loop {
        mine.inside.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst); // INSIDE, where the kernel has no barrier.
        // A thread that was inside before does not wait: the closing thread waits for it.
        if before != 0
            || mine.look.load(Ordering::Relaxed) == 0
            || CLOSED.load(Ordering::Relaxed) == 0
        {
            let inside = GatePass { mine, before };
            if is_new {
                keep_at_thread_end();
            }
            return inside;
        }
        mine.inside.store(0, Ordering::Release); // OUTSIDE
        while CLOSED.load(Ordering::Acquire) == 1 {
            lock::wait(&CLOSED, 1);
        }
    }
}

fn is_nobodys(mine: &'static Turnstile) -> bool {
    std::ptr::eq(mine, &raw const UNREGISTERED)
}

/// The key whose destructor runs when a thread ends; [`NO_KEY`] if there is none.
static KEY: AtomicU32 = AtomicU32::new(NO_KEY);
const NO_KEY: libc::pthread_key_t = libc::pthread_key_t::MAX;

unsafe extern "C" {
    /// mimalloc's key, or [`NO_KEY`].
    static _mi_heap_default_key: libc::pthread_key_t;
}

/// Gives this thread a turnstile.
fn register() -> &'static Turnstile {
    // A signal handler that forks (`_Fork`) needs the registry, too.
    let _signals = signals::block();
    let mine = REGISTRY.with(|| {
        let mine = claim();
        let look = u32::from(FENCED.load(Ordering::Relaxed));
        mine.look.store(look, Ordering::Relaxed);
        mine
    });
    thread_turnstile::set(mine);
    mine
}

/// Has this thread give its turnstile back when it ends. The C library may allocate here.
fn at_thread_end(mine: &'static Turnstile) {
    let key = KEY.load(Ordering::Relaxed);
    if key != NO_KEY {
        // SAFETY: the key exists to the end of the process. If the call is refused, the turnstile
        // is lost, and the thread's heap with it.
        let _ = unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(mine).cast()) };
    }
}

/// Takes the cleanup at this thread's end away from mimalloc. This thread is inside the gate.
fn keep_at_thread_end() {
    // SAFETY: no precondition. The call makes this thread's heap, if it has none, and sets the
    // value.
    unsafe { mi::mi_thread_init() };
    // SAFETY: mimalloc has written it before it made any heap.
    let key = unsafe { _mi_heap_default_key };
    if key != NO_KEY && KEY.load(Ordering::Relaxed) != NO_KEY {
        // SAFETY: only the destructor of mimalloc's key uses the value.
        let _ = unsafe { libc::pthread_setspecific(key, std::ptr::null()) };
    }
}

/// Cleans up after a thread. The thread may allocate after this: then it registers again, and this
/// runs again.
unsafe extern "C" fn thread_ends(_: *mut c_void) {
    let mine = thread_turnstile::get();
    if is_nobodys(mine) {
        return;
    }
    {
        let inside = enter();
        inside.free_kept();
        // SAFETY: no precondition. The call gives up this thread's heap, if it has one.
        unsafe { mi::mi_thread_done() };
        // mimalloc has set its key to a value that is not a heap; its destructor then does nothing.
    }
    thread_turnstile::set(&UNREGISTERED);
    mine.owned.store(0, Ordering::Release);
}

/// Takes a turnstile that nobody owns. The caller holds the registry.
fn claim() -> &'static Turnstile {
    let mut page = &FIRST;
    loop {
        for turnstile in &page.turnstiles {
            if turnstile.owned.load(Ordering::Acquire) == 0 {
                turnstile.owned.store(1, Ordering::Relaxed);
                return turnstile;
            }
        }
        page = next_of(page).unwrap_or_else(|| add_page(page));
    }
}

fn next_of(page: &Page) -> Option<&'static Page> {
    let next = page.next.load(Ordering::Acquire);
    // SAFETY: null, or a page that was made below and is never unmapped.
    unsafe { next.as_ref() }
}

fn add_page(last: &Page) -> &'static Page {
    let flags = MapFlags::PRIVATE;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh mapping at an address that the kernel chooses aliases nothing.
    let made = unsafe {
        rustix::mm::mmap_anonymous(std::ptr::null_mut(), size_of::<Page>(), protection, flags)
    };
    let Ok(made) = made else {
        die_with_message("no memory to let one more thread allocate", 12);
    };
    last.next.store(made.cast(), Ordering::Release);
    // SAFETY: mapped, aligned to a page, and zeroes are a page without owners.
    unsafe { &*made.cast::<Page>() }
}

fn turnstiles() -> impl Iterator<Item = &'static Turnstile> {
    let pages = std::iter::successors(Some(&FIRST), |page| next_of(page));
    pages.flat_map(|page| &page.turnstiles)
}

/// Prepares the gate for closing: registers for the kernel's barrier. This thread's heap stays to
/// the end of the process, because code that runs at exit may still allocate.
pub(crate) fn install() {
    if membarrier(MembarrierCommand::RegisterPrivateExpedited).is_err() {
        FENCED.store(true, Ordering::Relaxed);
    }
    let mut key = NO_KEY;
    // SAFETY: the destructor is code of an object that is never unloaded while threads use it.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(thread_ends)) } == 0 {
        KEY.store(key, Ordering::Relaxed);
    }
    register();
}

/// Closes the gate and waits until all other threads are outside. This thread may still go in.
pub(crate) fn close() {
    drop(enter()); // Now this thread has a turnstile.
    REGISTRY.take();
    let mine = thread_turnstile::get();
    CLOSER.store(std::ptr::from_ref(mine).cast_mut(), Ordering::Relaxed);
    CLOSED.store(1, Ordering::SeqCst);
    for turnstile in turnstiles().filter(|turnstile| !std::ptr::eq(*turnstile, mine)) {
        turnstile.look.store(1, Ordering::SeqCst);
    }
    mine.look.store(0, Ordering::Relaxed);
    fence(Ordering::SeqCst); // INSIDE
    if !FENCED.load(Ordering::Relaxed) {
        let barrier = membarrier(MembarrierCommand::PrivateExpedited);
        assert!(barrier.is_ok(), "membarrier was registered");
    }
    for turnstile in turnstiles().filter(|turnstile| !std::ptr::eq(*turnstile, mine)) {
        // OUTSIDE. A thread is inside for microseconds, unless it has lost its core.
        let mut looks = 0_u32;
        while turnstile.inside.load(Ordering::Acquire) != 0 {
            looks += 1;
            if looks.is_multiple_of(64) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// Returns whether this thread has closed the gate.
pub(crate) fn is_closed_by_this_thread() -> bool {
    std::ptr::eq(CLOSER.load(Ordering::Relaxed), thread_turnstile::get())
}

/// Returns whether this thread is inside the allocator.
pub(crate) fn is_inside() -> bool {
    thread_turnstile::get().inside.load(Ordering::Relaxed) != 0
}

/// Returns whether the delay has passed since this last returned true for this thread's turnstile.
pub(crate) fn is_due(now: i64, delay: i64) -> bool {
    let purged = &thread_turnstile::get().purged;
    let is_due = now - purged.load(Ordering::Relaxed) >= delay;
    if is_due {
        purged.store(now, Ordering::Relaxed);
    }
    is_due
}

/// Opens the gate again.
pub(crate) fn open() {
    let look = u32::from(FENCED.load(Ordering::Relaxed));
    for turnstile in turnstiles() {
        turnstile.look.store(look, Ordering::Relaxed);
    }
    CLOSER.store(std::ptr::null_mut(), Ordering::Relaxed);
    CLOSED.store(0, Ordering::Release);
    lock::wake(&CLOSED, u32::MAX >> 1);
    REGISTRY.give_back();
}

/// Opens the gate in the child of a fork, which has none of the other threads.
pub(crate) fn open_in_child() {
    let mine = thread_turnstile::get();
    for turnstile in turnstiles().filter(|turnstile| !std::ptr::eq(*turnstile, mine)) {
        turnstile.inside.store(0, Ordering::Relaxed);
        turnstile.owned.store(0, Ordering::Relaxed);
    }
    open();
}

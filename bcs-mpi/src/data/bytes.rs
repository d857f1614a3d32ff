//! The program's memory: only this file and `words.rs` of this layer touch it.
#![expect(
    unsafe_code,
    reason = "buffers are named by address, as the NIC needs them"
)]

use super::data_view::ByteRange;
use bcs_core::layout::{Strip, copy_blocks};

impl ByteRange {
    /// Returns the bytes.
    ///
    /// # Safety
    /// An operation that is under way has to read them, and this rank does not write them while the
    /// slice lives.
    #[inline]
    pub(crate) unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.is_empty() {
            return &[]; // The address of an empty range has no meaning.
        }
        // SAFETY: the promise of a `ByteRange`, and the caller's.
        unsafe { std::slice::from_raw_parts(start(self.address()), self.len()) }
    }

    /// Returns the bytes, to be written.
    ///
    /// # Safety
    /// An operation that is under way has to write them, and this rank uses them only by this slice
    /// while it lives.
    #[inline]
    pub(crate) unsafe fn bytes_mut<'a>(self) -> &'a mut [u8] {
        if self.is_empty() {
            return &mut [];
        }
        // SAFETY: the promise of a `ByteRange`, and the caller's.
        unsafe { std::slice::from_raw_parts_mut(start(self.address()), self.len()) }
    }
}

/// Copies blocks of memory to bytes. In these, blocks begin at a `distance` from each other.
///
/// # Safety
/// The blocks are initialised and nothing writes them.
///
/// # Panics
/// If there are not as many bytes.
pub(super) unsafe fn gather(base: u64, strip: Strip, distance: usize, into: &mut [u8]) {
    assert!(reaches(strip, distance) <= into.len(), "the blocks fit");
    let (from, to) = (
        start(base.wrapping_add_signed(strip.offset)),
        into.as_mut_ptr(),
    );
    let distances = (to_isize(strip.stride), distance.cast_signed());
    // SAFETY: the caller's promise; `into` is borrowed, so no message uses it, and long enough.
    unsafe { copy_blocks(from.cast_const(), to, distances, strip) };
}

/// Copies bytes, from an offset on, to blocks of memory. In the bytes, blocks begin at a `distance`
/// from each other.
///
/// # Safety
/// The bytes are mapped. The blocks may be written and nothing else uses them. The bytes do not
/// overlap them.
///
/// # Panics
/// If there are not as many bytes.
pub(super) unsafe fn scatter(
    base: u64,
    strip: Strip,
    distance: usize,
    (bytes, at): (*const [u8], usize),
) {
    let from = first_of(bytes, at, reaches(strip, distance));
    let to = start(base.wrapping_add_signed(strip.offset));
    let distances = (distance.cast_signed(), to_isize(strip.stride));
    // SAFETY: the caller's promise; there are enough of them.
    unsafe { copy_blocks(from, to, distances, strip) };
}

/// Copies blocks of this length from places in memory to bytes, one after the other.
///
/// # Safety
/// The blocks are initialised and nothing writes them.
///
/// # Panics
/// If there are not as many bytes.
pub(super) unsafe fn gather_places(base: u64, places: &[i32], block: usize, into: &mut [u8]) {
    let into = into[..places.len() * block].as_mut_ptr();
    let ends = |place, at| {
        (
            start(base.wrapping_add_signed(place)),
            into.wrapping_add(at),
        )
    };
    // SAFETY: the caller's promise; `into` is borrowed, so no message uses it, and long enough.
    unsafe { each_place(places, block, ends) };
}

/// Copies bytes, from an offset on, to blocks of this length at places in memory.
///
/// # Safety
/// The bytes are mapped. The blocks may be written and nothing else uses them. The bytes do not
/// overlap them.
///
/// # Panics
/// If there are not as many bytes.
pub(super) unsafe fn scatter_places(
    base: u64,
    places: &[i32],
    block: usize,
    (bytes, at): (*const [u8], usize),
) {
    let from = first_of(bytes, at, places.len() * block).cast_mut();
    let ends = |place, at| {
        (
            from.wrapping_add(at),
            start(base.wrapping_add_signed(place)),
        )
    };
    // SAFETY: the caller's promise; there are enough of them.
    unsafe { each_place(places, block, ends) };
}

/// Copies blocks of memory to another place with the same layout.
///
/// # Safety
/// Both are mapped. The destination may be written and nothing else uses it. They do not overlap.
pub(super) unsafe fn copy_strip(from: u64, to: u64, strip: Strip) {
    let [from, to] = [from, to].map(|base| start(base.wrapping_add_signed(strip.offset)));
    let stride = to_isize(strip.stride);
    // SAFETY: the caller's promise.
    unsafe { copy_blocks(from.cast_const(), to, (stride, stride), strip) };
}

/// Copies blocks of this length from places in memory to the same places relative to another base.
///
/// # Safety
/// As for [`copy_strip`].
pub(super) unsafe fn copy_places(from: u64, to: u64, places: &[i32], block: usize) {
    let ends = |place, _| {
        let [from, to] = [from, to].map(|base| start(base.wrapping_add_signed(place)));
        (from, to)
    };
    // SAFETY: the caller's promise.
    unsafe { each_place(places, block, ends) };
}

/// Copies a block of this length for each place. `ends` returns the source and the destination for
/// a place and the number of bytes before it. Blocks of the usual lengths become moves of
/// registers.
///
/// # Safety
/// The sources may be read, the destinations written, and they do not overlap.
#[inline(always)]
unsafe fn each_place(
    places: &[i32],
    block: usize,
    ends: impl Fn(i64, usize) -> (*mut u8, *mut u8),
) {
    match block {
        // SAFETY: the caller's promise.
        8 => unsafe { each_block(places, 8, ends) },
        // SAFETY: as above.
        4 => unsafe { each_block(places, 4, ends) },
        // SAFETY: as above.
        _ => unsafe { each_block(places, block, ends) },
    }
}

/// # Safety
/// As for [`each_place`].
#[inline(always)]
unsafe fn each_block(places: &[i32], len: usize, ends: impl Fn(i64, usize) -> (*mut u8, *mut u8)) {
    let mut before = 0;
    for &place in places {
        let (from, to) = ends(i64::from(place), before);
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from.cast_const(), to, len) };
        before += len;
    }
}

/// Returns the address of `len` bytes, from an offset on.
///
/// # Panics
/// If there are not as many.
fn first_of(bytes: *const [u8], at: usize, len: usize) -> *const u8 {
    let enough = at <= bytes.len() && len <= bytes.len() - at;
    assert!(enough, "the blocks are there");
    bytes.cast::<u8>().wrapping_add(at)
}

/// Returns the number of bytes from the start of the first block to the end of the last one.
fn reaches(strip: Strip, distance: usize) -> usize {
    let last = to_usize(strip.count)
        .saturating_sub(1)
        .checked_mul(distance);
    let end = last.and_then(|last| last.checked_add(to_usize(strip.block)));
    end.expect("no more than all bytes")
}

/// Copies as many bytes of a buffer.
///
/// # Safety
/// They are initialised and nothing writes them.
pub(super) unsafe fn take(address: u64, into: &mut [u8]) {
    if into.is_empty() {
        return;
    }
    let from = start(address).cast_const();
    // SAFETY: the caller's promise; `into` is borrowed, so no message uses it.
    unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
}

/// Fills the start of a buffer.
///
/// # Safety
/// The bytes are mapped. As many at `address` may be written, and nothing else reads them.
pub(super) unsafe fn fill(address: u64, bytes: *const [u8]) {
    if bytes.len() == 0 {
        return;
    }
    let to = start(address);
    // SAFETY: the caller's promise; memory that nothing else reads does not overlap with the bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.cast::<u8>(), to, bytes.len()) };
}

/// Copies bytes, also between buffers that overlap.
///
/// # Safety
/// `len` bytes at `from` are initialised, those at `to` may be written, and nothing else uses them.
pub(super) unsafe fn copy(from: u64, to: u64, len: usize) {
    if len == 0 || from == to {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy(start(from).cast_const(), start(to), len) };
}

/// Returns an address of the program's memory as a pointer, for code that may use it.
pub(crate) fn start(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(to_usize(address))
}

fn to_isize(distance: i64) -> isize {
    isize::try_from(distance).expect("distances have 64 bits here")
}

fn to_usize(address: u64) -> usize {
    usize::try_from(address).expect("addresses have 64 bits here")
}

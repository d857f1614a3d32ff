//! The program's memory: the only place of this layer that touches it.
#![expect(
    unsafe_code,
    reason = "buffers are named by address, as the NIC needs them"
)]

use bcs_core::layout::{Strip, copy_blocks};

/// The bytes of a buffer.
///
/// # Safety
/// `len` bytes at `address` are initialised and nobody writes them while the slice lives.
pub(crate) unsafe fn bytes<'a>(address: u64, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[]; // The address of an empty buffer means nothing.
    }
    let start = std::ptr::with_exposed_provenance(to_usize(address));
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start, len) }
}

/// Copies blocks of memory to bytes, `distance` from the start of one to that of the next.
///
/// # Safety
/// The blocks are initialised and nobody writes them.
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
    // SAFETY: the caller's promise; `into` is borrowed, so nobody's message, and long enough.
    unsafe { copy_blocks(from.cast_const(), to, distances, strip) };
}

/// Copies bytes from a place in them on, `distance` from the start of a block to that of the next, to blocks of
/// memory.
///
/// # Safety
/// The bytes are there. The blocks may be written and nobody else uses them; the bytes are elsewhere.
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
/// The blocks are initialised and nobody writes them.
///
/// # Panics
/// If there are not as many bytes.
pub(super) unsafe fn gather_places(base: u64, places: &[i32], block: usize, into: &mut [u8]) {
    let into = &mut into[..places.len() * block];
    let at = |place: &i32| start(base.wrapping_add_signed(i64::from(*place)));
    match block {
        8 => {
            let (into, _) = into.as_chunks_mut::<8>();
            for (place, into) in places.iter().zip(into) {
                // SAFETY: the caller's promise.
                *into = unsafe { at(place).cast::<[u8; 8]>().read_unaligned() };
            }
        }
        4 => {
            let (into, _) = into.as_chunks_mut::<4>();
            for (place, into) in places.iter().zip(into) {
                // SAFETY: the caller's promise.
                *into = unsafe { at(place).cast::<[u8; 4]>().read_unaligned() };
            }
        }
        _ => {
            for (place, into) in places.iter().zip(into.chunks_exact_mut(block)) {
                // SAFETY: the caller's promise; `into` is borrowed, so nobody's message.
                unsafe {
                    std::ptr::copy_nonoverlapping(at(place).cast_const(), into.as_mut_ptr(), block);
                }
            }
        }
    }
}

/// Copies bytes from a place in them on, one block of this length after the other, to places in memory.
///
/// # Safety
/// The bytes are there. The blocks may be written and nobody else uses them; the bytes are elsewhere.
///
/// # Panics
/// If there are not as many bytes.
pub(super) unsafe fn scatter_places(
    base: u64,
    places: &[i32],
    block: usize,
    (bytes, at): (*const [u8], usize),
) {
    let from = first_of(bytes, at, places.len() * block);
    match block {
        // SAFETY: the caller's promise; there are enough of them.
        8 => unsafe { to_places(8, from, base, places) },
        // SAFETY: as above.
        4 => unsafe { to_places(4, from, base, places) },
        // SAFETY: as above.
        _ => unsafe { to_places(block, from, base, places) },
    }
}

/// # Safety
/// There is a block of this length for each place, and as [`scatter_places`].
#[inline(always)]
unsafe fn to_places(len: usize, mut from: *const u8, base: u64, places: &[i32]) {
    for place in places {
        let to = start(base.wrapping_add_signed(i64::from(*place)));
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
        from = from.wrapping_add(len);
    }
}

/// Copies blocks of memory to where others lie in the same way.
///
/// # Safety
/// Both are there. The others may be written and nobody else uses them; they do not overlap.
pub(super) unsafe fn copy_strip(from: u64, to: u64, strip: Strip) {
    let [from, to] = [from, to].map(|base| start(base.wrapping_add_signed(strip.offset)));
    let stride = to_isize(strip.stride);
    // SAFETY: the caller's promise.
    unsafe { copy_blocks(from.cast_const(), to, (stride, stride), strip) };
}

/// Copies blocks of this length from places in memory to the same places counted from elsewhere.
///
/// # Safety
/// As for [`copy_strip`].
pub(super) unsafe fn copy_places(from: u64, to: u64, places: &[i32], block: usize) {
    match block {
        // SAFETY: the caller's promise.
        8 => unsafe { between_places(8, from, to, places) },
        // SAFETY: as above.
        4 => unsafe { between_places(4, from, to, places) },
        // SAFETY: as above.
        _ => unsafe { between_places(block, from, to, places) },
    }
}

/// # Safety
/// As for [`copy_strip`].
#[inline(always)]
unsafe fn between_places(len: usize, from: u64, to: u64, places: &[i32]) {
    for place in places {
        let at = |base: u64| start(base.wrapping_add_signed(i64::from(*place)));
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(at(from).cast_const(), at(to), len) };
    }
}

/// The first of so many bytes from a place in them on.
///
/// # Panics
/// If there are not as many.
fn first_of(bytes: *const [u8], at: usize, len: usize) -> *const u8 {
    let enough = at <= bytes.len() && len <= bytes.len() - at;
    assert!(enough, "the blocks are there");
    bytes.cast::<u8>().wrapping_add(at)
}

/// Bytes from the start of the first block to the end of the last one.
fn reaches(strip: Strip, distance: usize) -> usize {
    let last = to_usize(strip.count)
        .saturating_sub(1)
        .checked_mul(distance);
    let end = last.and_then(|last| last.checked_add(to_usize(strip.block)));
    end.expect("no more than all bytes")
}

/// Fills the start of a buffer.
///
/// # Safety
/// The bytes are there; as many at `address` may be written, and nobody else looks at them.
pub(super) unsafe fn fill(address: u64, bytes: *const [u8]) {
    if bytes.len() == 0 {
        return;
    }
    let start = std::ptr::with_exposed_provenance_mut(to_usize(address));
    // SAFETY: the caller's promise; `bytes` is a copy from NIC memory, so it does not overlap.
    unsafe { std::ptr::copy_nonoverlapping(bytes.cast::<u8>(), start, bytes.len()) };
}

/// The bytes of a buffer that is being filled.
///
/// # Safety
/// `len` bytes at `address` are initialised and may be written, and nobody else uses them while
/// the slice lives.
pub(crate) unsafe fn bytes_mut<'a>(address: u64, len: usize) -> &'a mut [u8] {
    if len == 0 {
        return &mut [];
    }
    let start = std::ptr::with_exposed_provenance_mut(to_usize(address));
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(start, len) }
}

/// Copies bytes, also between buffers that overlap.
///
/// # Safety
/// `len` bytes at `from` are initialised, those at `to` may be written, and nobody else uses them.
pub(crate) unsafe fn copy(from: u64, to: u64, len: usize) {
    if len == 0 || from == to {
        return;
    }
    let source: *const u8 = std::ptr::with_exposed_provenance(to_usize(from));
    let destination = std::ptr::with_exposed_provenance_mut(to_usize(to));
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy(source, destination, len) };
}

/// An address of the program's memory as a pointer, for whoever may use it.
pub(crate) fn start(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(to_usize(address))
}

fn to_isize(distance: i64) -> isize {
    isize::try_from(distance).expect("distances have 64 bits here")
}

fn to_usize(address: u64) -> usize {
    usize::try_from(address).expect("addresses have 64 bits here")
}

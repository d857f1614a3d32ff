//! The program's memory as words, for messages that are short enough for a queue entry.
//!
//! Processors move words best. A thread that copies bytes and then reads them as words waits until
//! they have been written, which takes a tenth of the time of such a message. So short messages are
//! never copied in memory.
#![expect(
    unsafe_code,
    reason = "buffers are named by address, as the NIC needs them"
)]

use super::bytes::start;
use bcs_core::request::low;

/// The bytes of a message that fits in a queue entry.
pub(crate) type InlineWords = [u64; 4];

/// Returns the bytes of a short buffer, padded with zeros.
///
/// # Safety
/// They are initialised and nothing writes them.
#[inline(always)]
pub(super) unsafe fn take(address: u64, len: usize) -> InlineWords {
    let from = start(address).cast_const();
    // SAFETY: the caller's promise.
    let word = |at| unsafe { take_word(from.wrapping_add(at), len.saturating_sub(at)) };
    [word(0), word(8), word(16), word(24)]
}

/// Returns eight bytes, or `left` if that is less.
///
/// # Safety
/// As for [`take`].
#[inline(always)]
unsafe fn take_word(from: *const u8, left: usize) -> u64 {
    let byte = |at: usize| {
        // SAFETY: the caller's promise.
        let byte = unsafe { from.wrapping_add(at).read() };
        u64::from(byte) << (8 * at)
    };
    let half = |at: usize| {
        let half = from.wrapping_add(at).cast::<u32>();
        // SAFETY: as above.
        let half = unsafe { half.read_unaligned() };
        u64::from(half.to_le()) << (8 * at)
    };
    match left {
        0 => 0,
        1..4 => byte(0) | byte(left / 2) | byte(left - 1),
        4..8 => half(0) | half(left - 4),
        // SAFETY: as above.
        _ => unsafe { from.cast::<u64>().read_unaligned() }.to_le(),
    }
}

/// Fills the start of a buffer with `len` bytes of words.
///
/// # Safety
/// As many at `address` may be written, and nothing else reads them.
#[inline(always)]
pub(super) unsafe fn fill(address: u64, words: InlineWords, len: usize) {
    let to = start(address);
    for (at, word) in (0..).step_by(8).zip(words) {
        // SAFETY: the caller's promise.
        unsafe { fill_word(to.wrapping_add(at), word, len.saturating_sub(at)) };
    }
}

/// Writes eight bytes, or `left` if that is less.
///
/// # Safety
/// As for [`fill`].
#[inline(always)]
unsafe fn fill_word(to: *mut u8, word: u64, left: usize) {
    let byte = |at: usize| {
        let byte = (word >> (8 * at)) & u64::from(u8::MAX);
        let byte = u8::try_from(byte).expect("one of eight");
        // SAFETY: the caller's promise.
        unsafe { to.wrapping_add(at).write(byte) };
    };
    let half = |at: usize| {
        let place = to.wrapping_add(at).cast::<u32>();
        // SAFETY: as above.
        unsafe { place.write_unaligned(low(word >> (8 * at)).to_le()) };
    };
    match left {
        0 => {}
        1..4 => [0, left / 2, left - 1].into_iter().for_each(byte),
        4..8 => [0, left - 4].into_iter().for_each(half),
        // SAFETY: as above.
        _ => unsafe { to.cast::<u64>().write_unaligned(word.to_le()) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_length_come_back_and_nothing_else_is_touched() {
        let address = |bytes: *mut u8| bytes.expose_provenance() as u64;
        let mut message: Vec<u8> = (1..=40).collect();
        for (len, start) in (0..=32).flat_map(|len| (0..8).map(move |start| (len, start))) {
            // SAFETY: the bytes are there.
            let words = unsafe { take(address(message[start..].as_mut_ptr()), len) };
            let bytes = words.map(u64::to_le_bytes);
            let (taken, rest) = bytes.as_flattened().split_at(len);
            assert_eq!(taken, &message[start..start + len]);
            assert!(rest.iter().all(|&byte| byte == 0));

            let mut into = [0xff; 40];
            // SAFETY: there is room.
            unsafe { fill(address(into[start..].as_mut_ptr()), words, len) };
            assert_eq!(into[start..start + len], message[start..start + len]);
            let others = into[..start].iter().chain(&into[start + len..]);
            assert!(others.copied().all(|byte| byte == 0xff), "{len} bytes");
        }
    }
}

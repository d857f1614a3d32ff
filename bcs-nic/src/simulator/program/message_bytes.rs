//! The lengths and the bytes of messages and contributions.

/// The lengths that a program chooses from.
pub(super) const LENGTHS: [usize; 10] = [0, 1, 8, 63, 64, 65, 1000, 4096, 4097, 50_000];

/// Returns bytes that differ from place to place and from id to id.
pub(super) fn pattern(id: u64, len: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|at| (id.wrapping_mul(31) + at.wrapping_mul(7)).to_le_bytes()[0])
        .collect()
}

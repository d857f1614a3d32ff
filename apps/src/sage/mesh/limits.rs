//! Bounds of a mesh.

/// The finest possible level; coordinates count cells of this level. SAGE's own problems have up to
/// 8.
pub(crate) const LEVELS: u8 = 10;

/// Bits of a coordinate in 1, 2 and 3 dimensions: those of all directions, and five bits for the
/// level, fit into the 64 bits of a key.
pub(crate) const BITS: [u32; 4] = [0, 30, 29, 19];

/// The most cells of level 0 in a direction, in 1, 2 and 3 dimensions, that keys can represent.
pub(crate) const LARGEST_EDGE: [u32; 4] = [0, 1 << 20, 1 << 19, 1 << 9];

/// The most cells of level 0 in total: each rank goes through all of them once, to find its own.
pub(crate) const MOST_CELLS: u32 = 1 << 27;

const _: () = {
    assert!(LARGEST_EDGE[1] << LEVELS <= 1 << BITS[1]);
    assert!(LARGEST_EDGE[2] << LEVELS <= 1 << BITS[2]);
    assert!(LARGEST_EDGE[3] << LEVELS <= 1 << BITS[3]);
};

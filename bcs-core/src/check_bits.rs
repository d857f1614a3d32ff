//! The bits that a checked job (`bcs run --checked`) adds to a message beside its envelope.
//!
//! Three things carry them: the code of a send queue entry, the flags of a send descriptor, and the
//! word of a completion that tells how it failed. There are as many bits as are free in each of
//! these. So nothing grows, and a job that is not checked sends zeros that were there before. Only
//! the two ends of a message give the bits a meaning.

/// Bits that go with a message; none in a job that is not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckBits(u32);

impl CheckBits {
    /// The number of bits.
    pub const BITS: u32 = 28;
    /// No bit is set.
    pub const NONE: Self = Self(0);

    /// Keeps these bits; those above are dropped.
    #[must_use]
    #[inline]
    pub const fn new(bits: u32) -> Self {
        Self(bits & ((1 << Self::BITS) - 1))
    }

    /// Returns the bits.
    #[must_use]
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns whether no bit is set.
    #[must_use]
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

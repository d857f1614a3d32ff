//! What a checked job (`bcs run --checked`) says of a message beside its envelope.
//!
//! A mark has as many bits as are free in each of the three things that bring it: the code of an entry of a send queue,
//! the flags of a send descriptor, the word of a completion that says how it failed. So nothing grows by it,
//! and a job that is not checked sends zeros that were there before. What the bits mean is the affair of both ends.

/// Bits that go with a message; none in a job that is not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckBits(u32);

impl CheckBits {
    /// How many there are.
    pub const BITS: u32 = 28;
    /// Nothing is said.
    pub const NONE: Self = Self(0);

    /// Of these bits; those above are left out.
    #[must_use]
    #[inline]
    pub const fn new(bits: u32) -> Self {
        Self(bits & ((1 << Self::BITS) - 1))
    }

    /// The bits.
    #[must_use]
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether nothing is said.
    #[must_use]
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

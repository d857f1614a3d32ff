//! The position of a cell: its level, and its place on the space-filling curve.

use super::limits::{BITS, LEVELS};

/// A cell: the Morton code of its low corner, in cells of the finest possible level, and its level.
/// Keys are ordered along the curve; a cell comes before the cells within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key<const D: usize>(u64);

/// Bits of a key below its code.
const LEVEL_BITS: u32 = 5;

/// One of the two sides of a cell in a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Low,
    High,
}

impl Side {
    pub(crate) const BOTH: [Side; 2] = [Side::Low, Side::High];

    pub(crate) fn opposite(self) -> Side {
        match self {
            Side::Low => Side::High,
            Side::High => Side::Low,
        }
    }
}

impl<const D: usize> Key<D> {
    /// Makes the cell of a level with this low corner, in cells of the finest level.
    pub(crate) fn new(corner: [u32; D], level: u8) -> Self {
        let code = (0..D).fold(0, |code, d| code | spread::<D>(corner[d]) << d);
        Self::of_code(code, level)
    }

    /// Returns the word that represents it in messages.
    pub(crate) fn word(self) -> u64 {
        self.0
    }

    pub(crate) fn from_word(word: u64) -> Self {
        Self(word)
    }

    pub(crate) fn level(self) -> u8 {
        self.0.to_le_bytes()[0] & ((1 << LEVEL_BITS) - 1)
    }

    /// Returns its low corner, in cells of the finest level.
    pub(crate) fn corner(self) -> [u32; D] {
        let code = self.code();
        std::array::from_fn(|d| gather::<D>(code >> d))
    }

    /// Returns its edge, in cells of the finest level.
    pub(crate) fn edge(self) -> u32 {
        1 << (LEVELS - self.level())
    }

    pub(crate) fn parent(self) -> Option<Self> {
        let level = self.level().checked_sub(1)?;
        let below = Self::shift(level);
        Some(Self::of_code(self.code() >> below << below, level))
    }

    /// Returns its place on the curve, in cells of the finest level.
    #[inline]
    fn code(self) -> u64 {
        self.0 >> LEVEL_BITS
    }

    #[inline]
    fn of_code(code: u64, level: u8) -> Self {
        Self(code << LEVEL_BITS | u64::from(level))
    }

    /// Returns the number of code bits that give a place within a cell of that level.
    #[inline]
    fn shift(level: u8) -> usize {
        D * usize::from(LEVELS - level)
    }

    /// Returns a part of a cell. Numbers run along the curve: bit d is set if the part is in the
    /// high half in direction d.
    pub(crate) fn child(self, number: usize) -> Self {
        let level = self.level() + 1;
        Self::of_code(self.code() | (number as u64) << Self::shift(level), level)
    }

    /// Returns its number among the parts of its parent.
    pub(crate) fn number(self) -> usize {
        let [number, ..] = (self.code() >> Self::shift(self.level())).to_le_bytes();
        usize::from(number) & ((1 << D) - 1)
    }

    /// Returns the place of the same size beyond a side, if it is within a box of that extent (in
    /// cells of the finest level).
    pub(crate) fn beyond(self, direction: usize, side: Side, extent: [u32; D]) -> Option<Self> {
        let mut corner = self.corner();
        let edge = self.edge();
        corner[direction] = match side {
            Side::Low => corner[direction].checked_sub(edge)?,
            Side::High => corner[direction] + edge,
        };
        (corner[direction] < extent[direction]).then(|| Self::new(corner, self.level()))
    }

    /// Returns its parts that touch its side in a direction, along the curve.
    pub(crate) fn parts_at(self, direction: usize, side: Side) -> impl Iterator<Item = Self> {
        let at = usize::from(side == Side::High);
        (0..1_usize << D)
            .filter(move |number| number >> direction & 1 == at)
            .map(move |number| self.child(number))
    }
}

/// Spreads the bits of a coordinate, D apart.
fn spread<const D: usize>(x: u32) -> u64 {
    let mut x = u64::from(x) & ((1 << BITS[D]) - 1);
    match D {
        2 => {
            x = (x | x << 16) & 0x0000_FFFF_0000_FFFF;
            x = (x | x << 8) & 0x00FF_00FF_00FF_00FF;
            x = (x | x << 4) & 0x0F0F_0F0F_0F0F_0F0F;
            x = (x | x << 2) & 0x3333_3333_3333_3333;
            (x | x << 1) & 0x5555_5555_5555_5555
        }
        3 => {
            x = (x | x << 32) & 0x001F_0000_0000_FFFF;
            x = (x | x << 16) & 0x001F_0000_FF00_00FF;
            x = (x | x << 8) & 0x100F_00F0_0F00_F00F;
            x = (x | x << 4) & 0x10C3_0C30_C30C_30C3;
            (x | x << 2) & 0x1249_2492_4924_9249
        }
        _ => x,
    }
}

/// Collects every D-th bit.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a coordinate has at most 30 bits"
)]
fn gather<const D: usize>(code: u64) -> u32 {
    let mut x = code;
    match D {
        2 => {
            x &= 0x5555_5555_5555_5555;
            x = (x | x >> 1) & 0x3333_3333_3333_3333;
            x = (x | x >> 2) & 0x0F0F_0F0F_0F0F_0F0F;
            x = (x | x >> 4) & 0x00FF_00FF_00FF_00FF;
            x = (x | x >> 8) & 0x0000_FFFF_0000_FFFF;
            (x | x >> 16) as u32
        }
        3 => {
            x &= 0x1249_2492_4924_9249;
            x = (x | x >> 2) & 0x10C3_0C30_C30C_30C3;
            x = (x | x >> 4) & 0x100F_00F0_0F00_F00F;
            x = (x | x >> 8) & 0x001F_0000_FF00_00FF;
            x = (x | x >> 16) & 0x001F_0000_0000_FFFF;
            (x | x >> 32) as u32
        }
        _ => x as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<const D: usize>(corner: [u32; D], level: u8) -> Result<(), TestCaseError> {
        let edge = 1_u32 << (LEVELS - level);
        let corner = corner.map(|x| (x & ((1 << BITS[D]) - 1)) & !(edge - 1));
        let key = Key::new(corner, level);
        prop_assert_eq!(
            (key.corner(), key.level(), key.edge()),
            (corner, level, edge)
        );
        prop_assert_eq!(Key::<D>::from_word(key.word()), key);
        if level < LEVELS {
            let mut last = key;
            for number in 0..1 << D {
                let child = key.child(number);
                prop_assert_eq!((child.parent(), child.number()), (Some(key), number));
                prop_assert!(last < child, "the curve goes through them in turn");
                last = child;
            }
        }
        let extent = [1 << BITS[D]; D];
        for direction in 0..D {
            if let Some(beyond) = key.beyond(direction, Side::High, extent) {
                prop_assert_eq!(beyond.beyond(direction, Side::Low, extent), Some(key));
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn a_key_is_a_place_and_a_level(corner: [u32; 3], level in 0..=LEVELS) {
            check::<1>([corner[0]], level)?;
            check::<2>([corner[0], corner[1]], level)?;
            check::<3>(corner, level)?;
        }
    }

    #[test]
    fn parts_at_a_side_touch_it() {
        let key = Key::new([0, 0], 0);
        let parts: Vec<usize> = key.parts_at(0, Side::High).map(Key::number).collect();
        assert_eq!(parts, [1, 3]);
        let parts: Vec<usize> = key.parts_at(1, Side::Low).map(Key::number).collect();
        assert_eq!(parts, [0, 1]);
    }
}

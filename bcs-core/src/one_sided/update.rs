//! An update: its word in a descriptor, and its effect on a copy of the target's memory.

use crate::reduction::arithmetic::{ArithmeticPath, combine};
use crate::reduction::{Datatype, Op};

/// The function of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UpdateKind {
    /// `MPI_REPLACE`: the operand is stored.
    Replace,
    /// `MPI_NO_OP`: nothing is stored. There is no operand.
    NoOp,
    /// The operation is applied to the element and the operand.
    Reduce(Op),
    /// `MPI_Compare_and_swap`: the second half of the operand is stored if the element equals the
    /// first half. There is one element.
    CompareAndSwap,
}

/// An update of elements of one predefined datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Update {
    /// The function.
    pub kind: UpdateKind,
    /// The datatype of the elements.
    pub datatype: Datatype,
    /// Whether the origin gets the previous contents.
    pub fetches: bool,
}

/// The codes of `MPI_REPLACE` and `MPI_NO_OP` in the standard's ABI, among those of [`Op`].
const REPLACE: u8 = 0x3c;
const NO_OP: u8 = 0x3d;
/// A code that no operation has.
const COMPARE_AND_SWAP: u8 = 0x3f;

const FETCHES: u32 = 1 << 16;

impl UpdateKind {
    const fn code(self) -> u8 {
        match self {
            Self::Replace => REPLACE,
            Self::NoOp => NO_OP,
            Self::Reduce(op) => op as u8,
            Self::CompareAndSwap => COMPARE_AND_SWAP,
        }
    }

    /// Returns whether it is defined on this datatype.
    #[must_use]
    pub const fn allowed(self, datatype: Datatype) -> bool {
        match self {
            Self::Reduce(op) => op.allowed(datatype),
            Self::Replace | Self::NoOp | Self::CompareAndSwap => true,
        }
    }
}

impl Update {
    /// Returns it as the low 17 bits of a word: the datatype, the function, and whether it fetches.
    #[must_use]
    pub const fn encode(self) -> u32 {
        let fetches = if self.fetches { FETCHES } else { 0 };
        self.datatype as u32 | (self.kind.code() as u32) << 8 | fetches
    }

    /// Parses the low 17 bits of a word. Returns `None` if the datatype or the function is unknown,
    /// or the function is not defined on the datatype.
    #[must_use]
    pub fn parse(word: u32) -> Option<Self> {
        let [datatype, code, ..] = word.to_le_bytes();
        let datatype = Datatype::try_from(datatype).ok()?;
        let kind = match code {
            REPLACE => UpdateKind::Replace,
            NO_OP => UpdateKind::NoOp,
            COMPARE_AND_SWAP => UpdateKind::CompareAndSwap,
            code => UpdateKind::Reduce(Op::try_from(code).ok()?),
        };
        kind.allowed(datatype).then_some(Self {
            kind,
            datatype,
            fetches: word & FETCHES != 0,
        })
    }

    /// Returns the bytes of the operand of an update of `len` bytes.
    #[must_use]
    pub const fn operand_len(self, len: u64) -> u64 {
        match self.kind {
            UpdateKind::NoOp => 0,
            UpdateKind::Replace | UpdateKind::Reduce(_) => len,
            UpdateKind::CompareAndSwap => len.saturating_mul(2),
        }
    }

    /// Returns whether `len` bytes are elements that it may update: whole ones, and a single one
    /// for a compare-and-swap.
    #[must_use]
    pub const fn fits(self, len: u64) -> bool {
        let size = self.datatype.size() as u64;
        match self.kind {
            UpdateKind::CompareAndSwap => len == size,
            _ => len.is_multiple_of(size),
        }
    }

    /// Returns whether the processor updates an element at this address in one step, if its memory
    /// is mapped.
    #[must_use]
    #[inline]
    pub const fn is_atomic(self, address: u64) -> bool {
        let size = self.datatype.size() as u64;
        matches!(size, 1 | 2 | 4 | 8) && address.is_multiple_of(size)
    }

    /// Updates a copy of the target's elements. The caller holds the target's lock from before it
    /// copied them until it has written them back. `old` gets the previous contents. It is empty if
    /// the update does not [fetch](Self::fetches).
    ///
    /// # Panics
    /// If the lengths do not fit ([`fits`](Self::fits), [`operand_len`](Self::operand_len)), or the
    /// function is not [allowed](UpdateKind::allowed).
    pub fn apply_to_copy(self, contents: &mut [u8], operand: &[u8], old: &mut [u8]) {
        self.check_lengths(contents.len(), operand, old);
        if self.fetches {
            old.copy_from_slice(contents);
        }
        self.compute(contents, operand);
    }

    pub(super) fn check_lengths(self, len: usize, operand: &[u8], old: &[u8]) {
        let len = len as u64;
        assert!(self.fits(len), "{len} bytes of {}", self.datatype);
        assert_eq!(
            operand.len() as u64,
            self.operand_len(len),
            "bytes of the operand"
        );
        let fetched = if self.fetches { len } else { 0 };
        assert_eq!(old.len() as u64, fetched, "bytes for the old contents");
    }

    /// Computes the new contents from the current ones.
    pub(super) fn compute(self, contents: &mut [u8], operand: &[u8]) {
        match self.kind {
            UpdateKind::NoOp => {}
            UpdateKind::Replace => contents.copy_from_slice(operand),
            UpdateKind::CompareAndSwap => {
                let (compare, new) = operand.split_at(contents.len());
                if contents == compare {
                    contents.copy_from_slice(new);
                }
            }
            UpdateKind::Reduce(op) => {
                let path = ArithmeticPath::Host;
                combine(op, self.datatype, path, contents, operand)
                    .expect("operation and lengths were checked");
            }
        }
    }
}

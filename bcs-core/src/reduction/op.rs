//! The predefined reduction operations (MPI 5.0, 6.9.2) and the datatypes each is defined on.

use crate::coded::coded;
use crate::reduction::{Datatype, DatatypeClass};

/// A predefined reduction operation that a NIC can carry out.
///
/// All of them are associative and commutative in the standard's sense: an implementation may
/// reorder them. This one does not need to (see [`crate::reduction::arithmetic`]).
///
/// The codes are those of the handles in the standard's ABI (MPI 5.0, chapter 20). Zero, which
/// fresh memory holds, is not a code. `MPI_REPLACE` (0x3c) and `MPI_NO_OP` (0x3d) are missing,
/// because they are for one-sided accumulation only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Op {
    /// Sum; integers wrap.
    Sum = 0x21,
    /// Minimum.
    Min = 0x22,
    /// Maximum.
    Max = 0x23,
    /// Product; integers wrap.
    Prod = 0x24,
    /// Bitwise and.
    Band = 0x28,
    /// Bitwise or.
    Bor = 0x29,
    /// Bitwise exclusive or.
    Bxor = 0x2a,
    /// Logical and: nonzero is true, the result is 0 or 1.
    Land = 0x30,
    /// Logical or.
    Lor = 0x31,
    /// Logical exclusive or.
    Lxor = 0x32,
    /// Minimum and its place (6.9.4): for equal values the lowest place.
    MinLoc = 0x38,
    /// Maximum and its place: for equal values the lowest place, too.
    MaxLoc = 0x39,
}

impl Op {
    /// Returns whether this operation is defined on `datatype`, by the table of MPI 5.0, 6.9.2.
    #[must_use]
    pub const fn allowed(self, datatype: Datatype) -> bool {
        match self {
            Self::Max | Self::Min => {
                matches!(
                    datatype.class(),
                    DatatypeClass::Integer | DatatypeClass::Floating
                )
            }
            Self::Sum | Self::Prod => {
                let class = datatype.class();
                matches!(
                    class,
                    DatatypeClass::Integer | DatatypeClass::Floating | DatatypeClass::Complex
                )
            }
            Self::MinLoc | Self::MaxLoc => matches!(datatype.class(), DatatypeClass::Located),
            Self::Land | Self::Lor | Self::Lxor => {
                matches!(
                    datatype.class(),
                    DatatypeClass::Integer | DatatypeClass::Logical
                )
            }
            Self::Band | Self::Bor | Self::Bxor => {
                matches!(
                    datatype.class(),
                    DatatypeClass::Integer | DatatypeClass::Byte
                )
            }
        }
    }
}

coded! { Op, "a reduction operation":
    Sum "MPI_SUM",
    Min "MPI_MIN",
    Max "MPI_MAX",
    Prod "MPI_PROD",
    Band "MPI_BAND",
    Bor "MPI_BOR",
    Bxor "MPI_BXOR",
    Land "MPI_LAND",
    Lor "MPI_LOR",
    Lxor "MPI_LXOR",
    MinLoc "MPI_MINLOC",
    MaxLoc "MPI_MAXLOC",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip_and_nothing_else_is_an_operation() {
        let known = (0..=u8::MAX).filter(|&code| {
            Op::try_from(code).is_ok_and(|op| {
                assert_eq!(op as u8, code);
                true
            })
        });
        assert_eq!(known.count(), Op::ALL.len());
        let fresh = Op::try_from(0).unwrap_err();
        let said = "0x00 is not the code of a reduction operation";
        assert_eq!(fresh.to_string(), said);
    }

    /// The table of MPI 5.0, 6.9.2, written out: each row is an operation, each column a datatype.
    #[test]
    fn operations_are_allowed_as_in_the_standard() {
        #[rustfmt::skip]
        let columns = [
            Datatype::Int8, Datatype::Int16, Datatype::Int32, Datatype::Int64,
            Datatype::Uint8, Datatype::Uint16, Datatype::Uint32, Datatype::Uint64,
            Datatype::Float, Datatype::Double, Datatype::LongDouble,
            Datatype::Float16, Datatype::BFloat16, Datatype::Quad,
            Datatype::Bool, Datatype::Byte,
            Datatype::Logical16, Datatype::Logical32, Datatype::Logical64,
            Datatype::FloatComplex, Datatype::DoubleComplex, Datatype::LongDoubleComplex,
            Datatype::Float16Complex, Datatype::QuadComplex,
            Datatype::FloatInt, Datatype::DoubleInt, Datatype::Int64Int, Datatype::Int32Int,
            Datatype::Int16Int, Datatype::LongDoubleInt,
            Datatype::FloatFloat, Datatype::DoubleDouble,
        ];
        let table = [
            (Op::Max, "iiii uuuu fff fff - - --- ----- --------"),
            (Op::Min, "iiii uuuu fff fff - - --- ----- --------"),
            (Op::Sum, "iiii uuuu fff fff - - --- ccccc --------"),
            (Op::Prod, "iiii uuuu fff fff - - --- ccccc --------"),
            (Op::Land, "iiii uuuu --- --- l - lll ----- --------"),
            (Op::Lor, "iiii uuuu --- --- l - lll ----- --------"),
            (Op::Lxor, "iiii uuuu --- --- l - lll ----- --------"),
            (Op::Band, "iiii uuuu --- --- - b --- ----- --------"),
            (Op::Bor, "iiii uuuu --- --- - b --- ----- --------"),
            (Op::Bxor, "iiii uuuu --- --- - b --- ----- --------"),
            (Op::MinLoc, "---- ---- --- --- - - --- ----- pppppppp"),
            (Op::MaxLoc, "---- ---- --- --- - - --- ----- pppppppp"),
        ];
        assert_eq!(columns.len(), Datatype::ALL.len());
        assert_eq!(table.len(), Op::ALL.len());
        for (op, row) in table {
            let cells = row.chars().filter(|cell| *cell != ' ');
            for (datatype, cell) in columns.into_iter().zip(cells) {
                assert_eq!(op.allowed(datatype), cell != '-', "{op} on {datatype}");
            }
        }
    }
}

//! Values with their places, for `MPI_MINLOC` and `MPI_MAXLOC` (MPI 5.0, 6.9.4): C structures of
//! two members.

use super::Datatype;

/// The layout of a C structure of a value and its place. The bytes between and after them are
/// padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocationPair {
    /// The datatype of the value, which comes first.
    pub value: Datatype,
    /// The datatype of the place.
    pub place: Datatype,
}

impl LocationPair {
    const fn new(value: Datatype, place: Datatype) -> Self {
        Self { value, place }
    }

    /// Returns the offset of the place, in bytes from the start.
    #[must_use]
    pub const fn place_at(self) -> usize {
        self.value
            .computed_size()
            .next_multiple_of(self.place.align())
    }

    pub(super) const fn align(self) -> usize {
        if self.value.align() > self.place.align() {
            self.value.align()
        } else {
            self.place.align()
        }
    }

    /// Returns the bytes from one structure of an array to the next.
    #[must_use]
    pub const fn size(self) -> usize {
        (self.place_at() + self.place.computed_size()).next_multiple_of(self.align())
    }
}

impl Datatype {
    /// Returns the parts, if this is a value and its place.
    #[must_use]
    pub const fn pair(self) -> Option<LocationPair> {
        let pair = match self {
            Self::FloatInt => LocationPair::new(Self::Float, Self::Int32),
            Self::DoubleInt => LocationPair::new(Self::Double, Self::Int32),
            Self::Int64Int => LocationPair::new(Self::Int64, Self::Int32),
            Self::Int32Int => LocationPair::new(Self::Int32, Self::Int32),
            Self::Int16Int => LocationPair::new(Self::Int16, Self::Int32),
            Self::LongDoubleInt => LocationPair::new(Self::LongDouble, Self::Int32),
            Self::FloatFloat => LocationPair::new(Self::Float, Self::Float),
            Self::DoubleDouble => LocationPair::new(Self::Double, Self::Double),
            _ => return None,
        };
        Some(pair)
    }
}

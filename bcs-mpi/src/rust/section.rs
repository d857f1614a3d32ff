//! Sections of arrays: the elements of a slice that a view has.

use super::equivalence::Equivalence;
use super::shape::Shape;
use crate::mpi::error::Operation;
use crate::mpi::{Datatype, ErrorClass, Result};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// Blocks of elements at regular distances: rows, columns and parts of an array, whose elements are
/// in C's order. A section is made once, and selects elements of any slice that is long enough.
///
/// ```
/// # fn main() -> bcs_mpi::Result<()> {
/// # let universe = bcs_mpi::Universe::init()?;
/// # let world = universe.world();
/// use bcs_mpi::Section;
/// let (rows, columns) = (3, 4);
/// let mut matrix: Vec<f64> = (0..12).map(f64::from).collect();
/// let (first, last) =
///     (Section::column([rows, columns], 0)?, Section::column([rows, columns], 3)?);
/// // The last column goes around a ring, and the first one is what comes.
/// let ring = world.cart_create(&[world.size()], &[true])?.unwrap();
/// let ([mut into], [out]) = Section::disjoint([&first], [&last], &mut matrix)?;
/// ring.shift_view(0, 1, &out, &mut into, 7)?;
/// assert_eq!(matrix[..8], [3.0, 1.0, 2.0, 3.0, 7.0, 5.0, 6.0, 7.0]);
/// # universe.finalize()
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Section<T: Equivalence> {
    shape: Arc<Shape>,
    /// The type of the whole section, from its first element on.
    datatype: Datatype,
    of: PhantomData<fn() -> T>,
}

pub(super) fn refused<T>(reason: String) -> Result<T> {
    Err(Operation::plain("MPI_Type_create_subarray").error(ErrorClass::Arg, reason))
}

fn number(number: usize) -> i64 {
    i64::try_from(number).expect("it was found to be within an address space")
}

impl<T: Equivalence> Section<T> {
    fn new(shape: Shape) -> Result<Self> {
        let bytes = shape.end().and_then(|end| end.checked_mul(size_of::<T>()));
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return refused(format!("{shape:?} is more than an address space"));
        }
        let mut datatype = T::datatype();
        let mut levels = shape.outer.iter().rev();
        if let Some(&(count, stride)) = levels.next() {
            datatype = datatype.vector(number(count), number(shape.block), number(stride))?;
        }
        for &(count, stride) in levels {
            datatype = datatype.hvector(number(count), 1, number(stride * size_of::<T>()))?;
        }
        if !shape.outer.is_empty() {
            datatype.commit()?;
            // It is freed with its last view, possibly after the end of MPI.
            datatype = datatype.stays();
        }
        Ok(Self {
            shape: Arc::new(shape),
            datatype,
            of: PhantomData,
        })
    }

    /// Makes a section of `count` blocks of `block` elements each. The first begins at `first`, and
    /// each begins `stride` elements after the one before it. (`MPI_Type_vector`)
    ///
    /// # Errors
    /// When blocks overlap, or their ends are beyond an address space.
    pub fn strided(first: usize, count: usize, block: usize, stride: usize) -> Result<Self> {
        if count > 1 && stride < block {
            return refused(format!(
                "blocks of {block} elements overlap that are {stride} elements apart"
            ));
        }
        if count == 0 || block == 0 {
            return Self::new(Shape::all(0));
        }
        let outer = match count {
            1 => Vec::new(),
            _ => vec![(count, stride)],
        };
        Self::new(Shape {
            first,
            block,
            outer,
        })
    }

    /// Makes a section of the part of an array with these sizes that has a range of each dimension.
    /// (`MPI_Type_create_subarray`)
    ///
    /// # Errors
    /// When a range exceeds the array, or the array exceeds an address space.
    pub fn subarray<const N: usize>(sizes: [usize; N], part: [Range<usize>; N]) -> Result<Self> {
        let (mut first, mut block, mut distance) = (0, 1_usize, 1_usize);
        let mut outer = Vec::new();
        let mut is_empty = false;
        for (dimension, (size, range)) in sizes.into_iter().zip(&part).enumerate().rev() {
            if range.start > range.end || range.end > size {
                return refused(format!(
                    "{range:?} are no elements of {size} (dimension {dimension})"
                ));
            }
            is_empty |= range.is_empty();
            let Some(whole) = distance.checked_mul(size) else {
                return refused(format!(
                    "an array of {sizes:?} is more than an address space"
                ));
            };
            first = range.start.saturating_mul(distance).saturating_add(first);
            match range.len() {
                1 => {}
                // The dimensions so far are whole, so the block continues side by side.
                len if block == distance => block *= len,
                len => outer.insert(0, (len, distance)),
            }
            distance = whole;
        }
        if is_empty {
            return Self::new(Shape::all(0));
        }
        Self::new(Shape {
            first,
            block,
            outer,
        })
    }

    /// Makes a section of a row of a matrix of this size.
    ///
    /// # Errors
    /// When there is no such row.
    pub fn row([rows, columns]: [usize; 2], row: usize) -> Result<Self> {
        Self::subarray([rows, columns], [row..row.saturating_add(1), 0..columns])
    }

    /// Makes a section of a column of a matrix of this size.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn column([rows, columns]: [usize; 2], column: usize) -> Result<Self> {
        Self::subarray([rows, columns], [0..rows, column..column.saturating_add(1)])
    }

    /// Returns the number of its elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.len()
    }

    /// Returns whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// Returns the count and the type of it, from its first element on.
    pub(super) fn typed(&self) -> (usize, &Datatype) {
        let count = match self.shape.outer.is_empty() {
            true => self.shape.block,
            false => 1,
        };
        (count, &self.datatype)
    }

    /// Checks that a slice has all of it.
    pub(super) fn checked(&self, data: &[T]) -> Result<()> {
        let end = self.shape.end().unwrap_or(usize::MAX);
        if end > data.len() {
            return refused(format!(
                "the section ends behind element {} of a slice of {}",
                end - 1,
                data.len()
            ));
        }
        Ok(())
    }
}

//! Datatypes (MPI 5.0, chapter 5): which bytes at which distances are an element.
//!
//! | module | is |
//! |---|---|
//! | [`constructors`](Datatype::vector), [`arrays`](Datatype::subarray) | how types are made of types |
//! | [`contents`] | how a type says what it was made of |
//! | `bounds` | size, extent and bounds of a type map, without the map |
//! | `compile` | what a commit makes of a type: a [`Layout`] |
//! | `elements` | how many basic elements so many bytes are |
//! | `pack` | `MPI_Pack` and `MPI_Unpack` |
//!
//! A predefined type is a number; a derived one is a handle that is counted. Whatever uses a type
//! (another type, a request) holds it, so `MPI_Type_free` is no more than giving up a handle.
//!
//! Counts, displacements and bounds are 64 bits wide (`MPI_Count`), which includes those of the
//! older bindings. A type whose size or bounds do not fit is refused when it is made, so later
//! arithmetic on them cannot overflow.

mod arrays;
mod bounds;
mod compile;
mod constructors;
pub mod contents;
mod elements;
pub(super) mod pack;
#[cfg(test)]
mod tests;

use super::Result;
use super::comm::MAX_OBJECT_NAME;
use super::error::{ErrorClass, Operation};
use bcs_core::layout::Layout;
use bcs_core::reduction;
use bounds::Bounds;
use contents::Contents;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use contents::{Combiner, Distribution, Envelope, Order};

/// A datatype. Clones are handles of the same one.
///
/// Two are equal if they are handles of the same one. Whether types describe the same signature is
/// nowhere asked: that they fit each other is the program's affair (MPI 5.0, 3.3.1).
#[derive(Clone, Debug)]
pub struct Datatype(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Predefined(&'static reduction::Datatype),
    Derived(Arc<Derived>),
}

/// What all handles of a derived datatype share.
#[derive(Debug)]
struct Derived {
    contents: Contents,
    parts: Vec<Part>,
    bounds: Bounds,
    /// Set when it is committed.
    layout: OnceLock<Arc<Layout>>,
    name: Mutex<String>,
}

/// Blocks of a type at equal distances: what every constructor comes to.
#[derive(Clone, Debug)]
struct Part {
    /// Where the first block is.
    displacement: i64,
    /// How many blocks.
    count: u64,
    /// Bytes from one block to the next.
    stride: i64,
    /// Elements of a block, side by side.
    length: u64,
    datatype: Datatype,
}

impl PartialEq for Datatype {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kind::Predefined(one), Kind::Predefined(other)) => one == other,
            (Kind::Derived(one), Kind::Derived(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for Datatype {}

impl From<reduction::Datatype> for Datatype {
    fn from(element: reduction::Datatype) -> Self {
        Self::predefined(element)
    }
}

impl From<&Datatype> for Datatype {
    fn from(of: &Datatype) -> Self {
        of.clone()
    }
}

impl Datatype {
    /// `MPI_BYTE`.
    pub const BYTE: Self = Self::predefined(reduction::Datatype::Byte);

    /// A predefined datatype.
    #[must_use]
    pub const fn predefined(element: reduction::Datatype) -> Self {
        Self(Kind::Predefined(element.itself()))
    }

    /// The predefined datatype that this is, if it is one: only those can be reduced.
    #[must_use]
    pub fn elementary(&self) -> Option<reduction::Datatype> {
        match self.0 {
            Kind::Predefined(element) => Some(*element),
            Kind::Derived(_) => None,
        }
    }

    fn bounds(&self) -> Bounds {
        match &self.0 {
            Kind::Predefined(element) => Bounds::of(**element),
            Kind::Derived(derived) => derived.bounds,
        }
    }

    /// `MPI_Type_size`: the bytes of an element in a message. Those between the value and the place
    /// of a pair (`MPI_DOUBLE_INT`) are not among them.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.0 {
            Kind::Predefined(element) => element.data_size(),
            Kind::Derived(derived) => derived.bounds.bytes(),
        }
    }

    /// The bytes of an element of which a reduction is made: of predefined types all, the gaps of
    /// pairs included, because that is how the arithmetic takes them.
    pub(super) fn operand_size(&self) -> usize {
        match &self.0 {
            Kind::Predefined(element) => element.size(),
            Kind::Derived(derived) => derived.bounds.bytes(),
        }
    }

    /// `MPI_Type_get_extent`: the lower bound, and the bytes from one element to the next.
    #[must_use]
    pub fn extent(&self) -> (i64, i64) {
        let bounds = self.bounds();
        (bounds.lower, bounds.extent())
    }

    /// `MPI_Type_get_true_extent`: where its data begin, and the bytes from there to their end.
    #[must_use]
    pub fn true_extent(&self) -> (i64, i64) {
        let bounds = self.bounds();
        (bounds.true_lower, bounds.true_upper - bounds.true_lower)
    }

    /// `MPI_Type_commit`: makes it fit for communication. Again, it does nothing.
    ///
    /// # Errors
    /// When its data are scattered over too many places.
    pub fn commit(&self) -> Result<()> {
        let Kind::Derived(derived) = &self.0 else {
            return Ok(());
        };
        if derived.layout.get().is_none() {
            let operation = Operation::plain("MPI_Type_commit");
            let layout = derived.compile();
            let layout =
                layout.map_err(|error| operation.error(ErrorClass::NoMem, error.to_string()))?;
            derived.layout.get_or_init(|| Arc::new(layout));
        }
        Ok(())
    }

    /// Whether it was committed, as predefined types are from the beginning.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        match &self.0 {
            Kind::Predefined(_) => true,
            Kind::Derived(derived) => derived.layout.get().is_some(),
        }
    }

    /// `MPI_Type_free`: gives up this handle. Types that were made of it and communication that
    /// uses it go on.
    ///
    /// # Errors
    /// When it is predefined.
    pub fn free(self) -> Result<()> {
        match &self.0 {
            Kind::Predefined(element) => {
                let reason = format!("{element} is predefined");
                Err(Operation::plain("MPI_Type_free").error(ErrorClass::Type, reason))
            }
            Kind::Derived(_) => Ok(()),
        }
    }

    /// `MPI_Type_get_name`: empty if it has none.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.0 {
            Kind::Predefined(element) => element.name().to_owned(),
            Kind::Derived(derived) => {
                let name = derived.name.lock();
                name.unwrap_or_else(PoisonError::into_inner).clone()
            }
        }
    }

    /// `MPI_Type_set_name`. Of a longer name the first
    /// [`MAX_OBJECT_NAME`] bytes are kept, as far as they are whole
    /// characters.
    ///
    /// # Errors
    /// When it is predefined: those keep their names here.
    pub fn set_name(&self, name: &str) -> Result<()> {
        let Kind::Derived(derived) = &self.0 else {
            let reason = format!("{} is predefined and keeps its name", self.name());
            return Err(Operation::plain("MPI_Type_set_name").error(ErrorClass::Type, reason));
        };
        let end = name.floor_char_boundary(MAX_OBJECT_NAME);
        let kept = derived.name.lock();
        name[..end].clone_into(&mut kept.unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    /// The layout of a type that has one, if it may be used in communication.
    #[inline]
    pub(super) fn layout(&self, operation: Operation) -> Result<Option<&Arc<Layout>>> {
        let derived = match &self.0 {
            Kind::Predefined(element) => return Ok(compile::of_pair(**element)),
            Kind::Derived(derived) => derived,
        };
        derived.layout.get().map(Some).ok_or_else(|| {
            let name = self.name();
            let reason = format!("the datatype {name:?} was not committed (MPI_Type_commit)");
            operation.error(ErrorClass::Type, reason)
        })
    }
}

//! A datatype, and what it is made of.

use super::bounds::Bounds;
use super::combiner::Combiner;
use super::pairs;
use super::predefined::{self, PredefinedType};
use super::signature::Signature;
use crate::mpi::constants::MAX_OBJECT_NAME;
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::live_objects::LiveObject;
use bcs_core::layout::DataLayout;
use bcs_core::lockstep;
use bcs_core::reduction;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

/// A datatype. Clones are handles of the same one.
///
/// Two are equal if they are handles of the same one. Only a checked job compares the signatures of
/// types. Otherwise the program must ensure that they fit each other (MPI 5.0, 3.3.1).
#[derive(Clone, Debug)]
pub struct Datatype(pub(super) DatatypeKind);

#[derive(Clone, Debug)]
pub(super) enum DatatypeKind {
    Predefined(&'static PredefinedType),
    Derived(Arc<DerivedType>),
}

/// The state that all handles of a derived datatype share.
#[derive(Debug)]
pub(super) struct DerivedType {
    pub(super) contents: Contents,
    pub(super) parts: Vec<StridedBlocks>,
    pub(super) bounds: Bounds,
    /// Set when it is committed.
    pub(super) layout: OnceLock<Arc<DataLayout>>,
    /// Set at its first use.
    pub(super) signature: OnceLock<Option<Signature>>,
    /// The prefix signature that was computed last.
    pub(super) beginning: AtomicU64,
    pub(super) name: Mutex<String>,
    /// Set if predefined operations may combine its data.
    pub(super) operand: OnceLock<ReductionOperand>,
    pub(super) alive: LiveObject,
}

/// How predefined operations combine data of a derived type.
#[derive(Debug)]
pub(super) struct ReductionOperand {
    /// The type of all its data.
    element: reduction::Datatype,
    /// The type of the contribution, if it is another one than that of the result.
    contribution: Option<Datatype>,
}

/// Blocks of a type at equal distances: the result of every constructor.
#[derive(Clone, Debug)]
pub(super) struct StridedBlocks {
    /// Where the first block is.
    pub(super) displacement: i64,
    /// The number of blocks.
    pub(super) count: u64,
    /// Bytes from one block to the next.
    pub(super) stride: i64,
    /// Elements of a block, side by side.
    pub(super) length: u64,
    pub(super) datatype: Datatype,
}

/// `MPI_Type_get_contents`: the arguments that a type was made of, in the order that the standard
/// defines for each call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The call that made it.
    pub combiner: Combiner,
    /// Counts, lengths, and displacements in elements.
    pub integers: Vec<i64>,
    /// Displacements and bounds in bytes.
    pub addresses: Vec<i64>,
    /// Types, as new handles.
    pub datatypes: Vec<Datatype>,
}

impl PartialEq for Datatype {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (DatatypeKind::Predefined(one), DatatypeKind::Predefined(other)) => one == other,
            (DatatypeKind::Derived(one), DatatypeKind::Derived(other)) => Arc::ptr_eq(one, other),
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
    /// `MPI_PACKED`: bytes as `MPI_BYTE`, which in a checked job (`bcs run --checked`) match any
    /// types.
    pub const PACKED: Self = Self(DatatypeKind::Predefined(&predefined::PACKED));
    /// `MPI_LONG`, which has half its bytes in `external32`.
    pub const LONG: Self = Self(DatatypeKind::Predefined(&predefined::LONG));
    /// `MPI_UNSIGNED_LONG`.
    pub const UNSIGNED_LONG: Self = Self(DatatypeKind::Predefined(&predefined::UNSIGNED_LONG));
    /// `MPI_LONG_INT`: a `long` and its place.
    pub const LONG_INT: Self = Self(DatatypeKind::Predefined(&predefined::LONG_INT));
    /// `MPI_WCHAR`, which has half its bytes in `external32`.
    pub const WCHAR: Self = Self(DatatypeKind::Predefined(&predefined::WCHAR));

    /// Returns a predefined datatype.
    #[must_use]
    pub const fn predefined(element: reduction::Datatype) -> Self {
        Self(DatatypeKind::Predefined(PredefinedType::of(element)))
    }

    /// Marks this type, and the types it is made of, as never freed. They do not count as leaks.
    pub(crate) fn stays(self) -> Self {
        if let DatatypeKind::Derived(derived) = &self.0 {
            derived.alive.stays();
            for part in &derived.parts {
                let _its_own = part.datatype.clone().stays();
            }
        }
        self
    }

    /// Returns the predefined datatype that this is, if it is one. Only those can be reduced.
    #[must_use]
    pub fn elementary(&self) -> Option<reduction::Datatype> {
        match self.0 {
            DatatypeKind::Predefined(named) => Some(named.element),
            DatatypeKind::Derived(_) => None,
        }
    }

    /// Lets predefined operations combine data of this type, which all must be of one predefined
    /// type. The standard defines them on predefined types only; but a section of an array in
    /// Fortran is an operand, and has a derived type for its places (19.1.12). A reduction then
    /// reads its contribution by the second type, if there is one. Returns whether the data are so.
    pub fn make_operand(&self, element: reduction::Datatype, contribution: Option<&Self>) -> bool {
        let fits = |of: &Self| of.size() == self.size() && of.consists_of(element);
        // The gaps of pairs belong to an operand, but not to the data of a derived type.
        let has_gaps = element.size() != element.data_size();
        if has_gaps || !fits(self) || !contribution.is_none_or(fits) {
            return false;
        }
        let set = |of: &Self, contribution: Option<Self>| {
            if let DatatypeKind::Derived(derived) = &of.0 {
                let operand = ReductionOperand {
                    element,
                    contribution,
                };
                derived.operand.get_or_init(|| operand);
            }
        };
        contribution.into_iter().for_each(|of| set(of, None));
        set(self, contribution.cloned());
        true
    }

    fn consists_of(&self, element: reduction::Datatype) -> bool {
        match &self.0 {
            DatatypeKind::Predefined(named) => named.element == element,
            DatatypeKind::Derived(derived) => {
                let mut parts = derived.parts.iter();
                parts.all(|part| part.datatype.consists_of(element))
            }
        }
    }

    /// Returns the predefined datatype of the elements that a predefined operation combines.
    #[inline]
    pub(in crate::mpi) fn operand_element(&self) -> Option<reduction::Datatype> {
        match &self.0 {
            DatatypeKind::Predefined(named) => Some(named.element),
            DatatypeKind::Derived(derived) => Some(derived.operand.get()?.element),
        }
    }

    /// Returns the datatype by which a reduction reads its contribution, if it is another one.
    #[inline]
    pub(in crate::mpi) fn of_contribution(&self) -> Option<&Self> {
        match &self.0 {
            DatatypeKind::Predefined(_) => None,
            DatatypeKind::Derived(derived) => derived.operand.get()?.contribution.as_ref(),
        }
    }

    pub(super) fn bounds(&self) -> Bounds {
        match &self.0 {
            DatatypeKind::Predefined(named) => Bounds::of(named),
            DatatypeKind::Derived(derived) => derived.bounds,
        }
    }

    /// `MPI_Type_size`: returns the bytes of an element in a message. Those between the value and
    /// the place of a pair (`MPI_DOUBLE_INT`) are not included.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.0 {
            DatatypeKind::Predefined(named) => named.element.data_size(),
            DatatypeKind::Derived(derived) => derived.bounds.bytes(),
        }
    }

    /// Returns the bytes of an element in `external32`.
    pub(in crate::mpi) fn external_bytes(&self) -> u64 {
        self.bounds().external
    }

    /// Returns the bytes of an element as an operand of a reduction. They include the gaps of
    /// pairs, because the arithmetic needs them.
    pub(in crate::mpi) fn operand_size(&self) -> usize {
        match &self.0 {
            DatatypeKind::Predefined(named) => named.element.size(),
            DatatypeKind::Derived(derived) => derived.bounds.bytes(),
        }
    }

    /// `MPI_Type_get_extent`: returns the lower bound, and the bytes from one element to the next.
    #[must_use]
    pub fn extent(&self) -> (i64, i64) {
        let bounds = self.bounds();
        (bounds.lower, bounds.extent())
    }

    /// `MPI_Type_get_true_extent`: returns where its data begin, and the bytes from there to their
    /// end.
    #[must_use]
    pub fn true_extent(&self) -> (i64, i64) {
        let bounds = self.bounds();
        (bounds.true_lower, bounds.true_upper - bounds.true_lower)
    }

    /// `MPI_Type_commit`: makes the type ready for communication. A second commit does nothing.
    ///
    /// # Errors
    /// When its data consist of too many pieces.
    pub fn commit(&self) -> Result<()> {
        let DatatypeKind::Derived(derived) = &self.0 else {
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

    /// Returns whether it was committed. Predefined types are always committed.
    #[must_use]
    pub fn is_committed(&self) -> bool {
        match &self.0 {
            DatatypeKind::Predefined(_) => true,
            DatatypeKind::Derived(derived) => derived.layout.get().is_some(),
        }
    }

    /// `MPI_Type_free`: gives up this handle. Types that were made of it, and operations that use
    /// it, stay valid.
    ///
    /// # Errors
    /// When it is predefined.
    pub fn free(self) -> Result<()> {
        match &self.0 {
            DatatypeKind::Predefined(named) => {
                let reason = format!("{} is predefined", named.element);
                Err(Operation::plain("MPI_Type_free").error(ErrorClass::Type, reason))
            }
            DatatypeKind::Derived(_) => Ok(()),
        }
    }

    /// `MPI_Type_get_name`: returns the name, which may be empty.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.0 {
            DatatypeKind::Predefined(named) if named.is_packed() => "MPI_PACKED".to_owned(),
            DatatypeKind::Predefined(named) => named.element.name().to_owned(),
            DatatypeKind::Derived(derived) => lockstep::lock(&derived.name).clone(),
        }
    }

    /// `MPI_Type_set_name`. A longer name is cut after the last whole character within
    /// [`MAX_OBJECT_NAME`] bytes.
    ///
    /// # Errors
    /// When the type is predefined: this library does not rename those.
    pub fn set_name(&self, name: &str) -> Result<()> {
        let DatatypeKind::Derived(derived) = &self.0 else {
            let reason = format!("{} is predefined and keeps its name", self.name());
            return Err(Operation::plain("MPI_Type_set_name").error(ErrorClass::Type, reason));
        };
        let end = name.floor_char_boundary(MAX_OBJECT_NAME);
        name[..end].clone_into(&mut lockstep::lock(&derived.name));
        Ok(())
    }

    /// Returns the layout of a type that has one, if it may be used in communication.
    #[inline]
    pub(in crate::mpi) fn layout(&self, operation: &Operation) -> Result<Option<&Arc<DataLayout>>> {
        let derived = match &self.0 {
            DatatypeKind::Predefined(named) => return Ok(pairs::layout(named.element)),
            DatatypeKind::Derived(derived) => derived,
        };
        derived.layout.get().map(Some).ok_or_else(|| {
            let name = self.name();
            let reason = format!("the datatype {name:?} was not committed (MPI_Type_commit)");
            operation.error(ErrorClass::Type, reason)
        })
    }
}

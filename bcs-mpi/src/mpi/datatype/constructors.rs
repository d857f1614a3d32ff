//! How types are made of types (MPI 5.0, 5.1.2, 5.1.7, 5.1.10).
//!
//! Every constructor checks its arguments and turns them into a list of [`StridedBlocks`]s.

use super::bounds::{Bounds, too_large};
use super::combiner::Combiner;
use super::handle::{Contents, Datatype, DatatypeKind, DerivedType, StridedBlocks};
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::live_objects::LiveObject;
use bcs_core::wait_state::LeakedObject;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};

/// The arguments of a call, for `MPI_Type_get_contents`.
pub(super) type Arguments = (Vec<i64>, Vec<i64>, Vec<Datatype>);

fn natural(number: i64, what: &str, class: ErrorClass, operation: Operation) -> Result<u64> {
    u64::try_from(number).map_err(|_| operation.error(class, format!("{what} is {number}")))
}

fn counted(count: i64, operation: Operation) -> Result<u64> {
    natural(count, "the count", ErrorClass::Count, operation)
}

fn length(length: i64, nth: usize, operation: Operation) -> Result<u64> {
    let what = format!("the length of block {nth}");
    natural(length, &what, ErrorClass::Arg, operation)
}

fn same_number(lists: &[usize], operation: Operation) -> Result<()> {
    if lists.windows(2).any(|pair| pair[0] != pair[1]) {
        let reason = format!("the lists have different lengths: {lists:?}");
        return Err(operation.error(ErrorClass::Arg, reason));
    }
    Ok(())
}

/// Returns the length of a list, or another size of this process, as an argument.
fn integer(len: usize) -> i64 {
    i64::try_from(len).expect("no list has more elements")
}

impl Datatype {
    pub(super) fn made(
        parts: Vec<StridedBlocks>,
        bounds: Bounds,
        combiner: Combiner,
        (integers, addresses, datatypes): Arguments,
    ) -> Self {
        let contents = Contents {
            combiner,
            integers,
            addresses,
            datatypes,
        };
        Self(DatatypeKind::Derived(Arc::new(DerivedType {
            contents,
            parts,
            bounds,
            layout: OnceLock::new(),
            signature: OnceLock::new(),
            beginning: AtomicU64::default(),
            name: Mutex::default(),
            operand: OnceLock::new(),
            alive: LiveObject::new(LeakedObject::Datatype),
        })))
    }

    fn of_parts(
        parts: Vec<StridedBlocks>,
        combiner: Combiner,
        arguments: Arguments,
        operation: Operation,
    ) -> Result<Self> {
        let bounds = Bounds::of_parts(&parts, operation)?;
        Ok(Self::made(parts, bounds, combiner, arguments))
    }

    pub(super) fn once(&self) -> StridedBlocks {
        StridedBlocks {
            displacement: 0,
            count: 1,
            stride: 0,
            length: 1,
            datatype: self.clone(),
        }
    }

    /// Returns the bytes of this number of elements.
    pub(super) fn distance(&self, elements: i64, operation: Operation) -> Result<i64> {
        let bytes = elements.checked_mul(self.bounds().extent());
        bytes.ok_or_else(|| too_large(operation, "a displacement"))
    }

    /// `MPI_Type_dup`. The copy of a committed type is committed.
    ///
    /// # Errors
    /// When too many types are made of each other.
    pub fn dup(&self) -> Result<Self> {
        let operation = Operation::plain("MPI_Type_dup");
        let bounds = match &self.0 {
            // The duplicate is this type, with its markers of bounds.
            DatatypeKind::Derived(derived) => derived.bounds,
            DatatypeKind::Predefined(_) => Bounds::of_parts(&[self.once()], operation)?,
        };
        let arguments = (Vec::new(), Vec::new(), vec![self.clone()]);
        let parts = match &self.0 {
            DatatypeKind::Derived(derived) => derived.parts.clone(),
            DatatypeKind::Predefined(_) => vec![self.once()],
        };
        let copy = Self::made(parts, bounds, Combiner::Dup, arguments);
        if self.is_committed() {
            copy.commit()?;
        }
        Ok(copy)
    }

    /// `MPI_Type_contiguous`.
    ///
    /// # Errors
    /// When an argument is wrong, or the type does not fit 64 bits. This holds for all
    /// constructors.
    pub fn contiguous(&self, count: i64) -> Result<Self> {
        let operation = Operation::plain("MPI_Type_contiguous");
        let part = StridedBlocks {
            length: counted(count, operation)?,
            ..self.once()
        };
        let arguments = (vec![count], Vec::new(), vec![self.clone()]);
        Self::of_parts(vec![part], Combiner::Contiguous, arguments, operation)
    }

    /// `MPI_Type_vector`: `count` blocks of `blocklength` elements, whose starts are `stride`
    /// elements apart.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    pub fn vector(&self, count: i64, blocklength: i64, stride: i64) -> Result<Self> {
        let operation = Operation::plain("MPI_Type_vector");
        let part = StridedBlocks {
            count: counted(count, operation)?,
            length: length(blocklength, 0, operation)?,
            stride: self.distance(stride, operation)?,
            ..self.once()
        };
        let integers = vec![count, blocklength, stride];
        let arguments = (integers, Vec::new(), vec![self.clone()]);
        Self::of_parts(vec![part], Combiner::Vector, arguments, operation)
    }

    /// `MPI_Type_create_hvector`: as [`vector`](Self::vector), with a stride in bytes.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    pub fn hvector(&self, count: i64, blocklength: i64, stride: i64) -> Result<Self> {
        let operation = Operation::plain("MPI_Type_create_hvector");
        let part = StridedBlocks {
            count: counted(count, operation)?,
            length: length(blocklength, 0, operation)?,
            stride,
            ..self.once()
        };
        let arguments = (vec![count, blocklength], vec![stride], vec![self.clone()]);
        Self::of_parts(vec![part], Combiner::Hvector, arguments, operation)
    }

    /// Makes a type of blocks of this type at displacements in bytes.
    fn blocks(
        &self,
        blocks: impl ExactSizeIterator<Item = (i64, i64)>,
        operation: Operation,
    ) -> Result<Vec<StridedBlocks>> {
        let part = |(nth, (blocklength, displacement))| {
            Ok(StridedBlocks {
                displacement,
                length: length(blocklength, nth, operation)?,
                ..self.once()
            })
        };
        blocks.enumerate().map(part).collect()
    }

    fn in_bytes(&self, displacements: &[i64], operation: Operation) -> Result<Vec<i64>> {
        let bytes = |&elements: &i64| self.distance(elements, operation);
        displacements.iter().map(bytes).collect()
    }

    /// `MPI_Type_indexed`: blocks of these lengths, at displacements in elements.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    pub fn indexed(&self, blocklengths: &[i64], displacements: &[i64]) -> Result<Self> {
        let operation = Operation::plain("MPI_Type_indexed");
        same_number(&[blocklengths.len(), displacements.len()], operation)?;
        let bytes = self.in_bytes(displacements, operation)?;
        let parts = self.blocks(blocklengths.iter().copied().zip(bytes), operation)?;
        let count = [integer(blocklengths.len())];
        let integers = [&count, blocklengths, displacements].concat();
        let arguments = (integers, Vec::new(), vec![self.clone()]);
        Self::of_parts(parts, Combiner::Indexed, arguments, operation)
    }

    /// `MPI_Type_create_hindexed`: the same with displacements in bytes.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    pub fn hindexed(&self, blocklengths: &[i64], displacements: &[i64]) -> Result<Self> {
        let operation = Operation::plain("MPI_Type_create_hindexed");
        same_number(&[blocklengths.len(), displacements.len()], operation)?;
        let pairs = blocklengths.iter().copied().zip(displacements.to_vec());
        let parts = self.blocks(pairs, operation)?;
        let integers = [&[integer(blocklengths.len())], blocklengths].concat();
        let arguments = (integers, displacements.to_vec(), vec![self.clone()]);
        Self::of_parts(parts, Combiner::Hindexed, arguments, operation)
    }

    /// `MPI_Type_create_indexed_block`: blocks of one length, at displacements in elements.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    pub fn indexed_block(&self, blocklength: i64, displacements: &[i64]) -> Result<Self> {
        let operation = Operation::plain("MPI_Type_create_indexed_block");
        let bytes = self.in_bytes(displacements, operation)?;
        let pairs = bytes.into_iter().map(|at| (blocklength, at));
        let parts = self.blocks(pairs, operation)?;
        let integers = [&[integer(displacements.len()), blocklength], displacements].concat();
        let arguments = (integers, Vec::new(), vec![self.clone()]);
        Self::of_parts(parts, Combiner::IndexedBlock, arguments, operation)
    }

    /// `MPI_Type_create_hindexed_block`: the same with displacements in bytes.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    pub fn hindexed_block(&self, blocklength: i64, displacements: &[i64]) -> Result<Self> {
        let operation = Operation::plain("MPI_Type_create_hindexed_block");
        let pairs = displacements.iter().map(|&at| (blocklength, at));
        let parts = self.blocks(pairs, operation)?;
        let integers = vec![integer(displacements.len()), blocklength];
        let arguments = (integers, displacements.to_vec(), vec![self.clone()]);
        Self::of_parts(parts, Combiner::HindexedBlock, arguments, operation)
    }

    /// `MPI_Type_create_struct`: blocks with a type each, at displacements in bytes.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    pub fn structure(
        blocklengths: &[i64],
        displacements: &[i64],
        datatypes: &[Self],
    ) -> Result<Self> {
        let operation = Operation::plain("MPI_Type_create_struct");
        let count = blocklengths.len();
        same_number(&[count, displacements.len(), datatypes.len()], operation)?;
        let lists = blocklengths.iter().zip(displacements).zip(datatypes);
        let part = |(nth, ((&blocklength, &displacement), datatype)): (usize, _)| {
            let datatype: &Self = datatype;
            Ok(StridedBlocks {
                displacement,
                length: length(blocklength, nth, operation)?,
                ..datatype.once()
            })
        };
        let parts = lists.enumerate().map(part).collect::<Result<_>>()?;
        let integers = [&[integer(count)], blocklengths].concat();
        let arguments = (integers, displacements.to_vec(), datatypes.to_vec());
        Self::of_parts(parts, Combiner::Struct, arguments, operation)
    }

    /// `MPI_Type_create_resized`: the same data with other bounds.
    ///
    /// # Errors
    /// When the upper bound does not fit 64 bits.
    pub fn resized(&self, lower_bound: i64, extent: i64) -> Result<Self> {
        let operation = Operation::plain("MPI_Type_create_resized");
        let parts = vec![self.once()];
        let bounds = Bounds::of_parts(&parts, operation)?;
        let bounds = bounds.resized(lower_bound, extent, operation)?;
        let arguments = (Vec::new(), vec![lower_bound, extent], vec![self.clone()]);
        Ok(Self::made(parts, bounds, Combiner::Resized, arguments))
    }
}

//! Attribute keys, and the values attached by them (MPI 5.0, 7.7).
//!
//! A *key* defines how an attribute is copied when its object is duplicated, and what happens when
//! it is deleted. A key is for one kind of object, `O`, which its functions get.

use crate::mpi::error::{ErrorClass, Operation, Result};
use bcs_core::lockstep;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A function that returns the value, if any, that a duplicate gets
/// (`MPI_Comm_copy_attr_function`).
pub type CopyAttribute<O> = dyn Fn(&O, &Keyval<O>, usize) -> Result<Option<usize>> + Send + Sync;

/// A function that is called when a value is deleted (`MPI_Comm_delete_attr_function`).
pub type DeleteAttribute<O> = dyn Fn(&O, &Keyval<O>, usize) -> Result<()> + Send + Sync;

struct Key<O> {
    copy: Box<CopyAttribute<O>>,
    delete: Box<DeleteAttribute<O>>,
    freed: AtomicBool,
}

/// An attribute key. Clones are handles of the same one.
pub struct Keyval<O>(Arc<Key<O>>);

impl<O> Clone for Keyval<O> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<O> fmt::Debug for Keyval<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyval({:p})", Arc::as_ptr(&self.0))
    }
}

impl<O> PartialEq for Keyval<O> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<O> Keyval<O> {
    /// `MPI_Comm_create_keyval`: makes a key. Its functions are called without any lock held.
    #[must_use]
    pub fn create(
        copy: impl Fn(&O, &Self, usize) -> Result<Option<usize>> + Send + Sync + 'static,
        delete: impl Fn(&O, &Self, usize) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Key {
            copy: Box::new(copy),
            delete: Box::new(delete),
            freed: AtomicBool::new(false),
        }))
    }

    /// `MPI_COMM_NULL_COPY_FN` and `MPI_COMM_NULL_DELETE_FN`: duplicates get nothing.
    #[must_use]
    pub fn uncopied() -> Self {
        Self::create(|_, _, _| Ok(None), |_, _, _| Ok(()))
    }

    /// `MPI_COMM_DUP_FN`: duplicates get the same value.
    #[must_use]
    pub fn copied() -> Self {
        Self::create(|_, _, value| Ok(Some(value)), |_, _, _| Ok(()))
    }

    /// `MPI_Comm_free_keyval`: no more values can be attached by it. Attached values stay, and its
    /// functions copy and delete them.
    ///
    /// # Errors
    /// When it was freed before.
    pub fn free(&self) -> Result<()> {
        if self.0.freed.swap(true, Ordering::AcqRel) {
            let operation = Operation::plain("MPI_Comm_free_keyval");
            return Err(operation.error(ErrorClass::Keyval, "the key was freed"));
        }
        Ok(())
    }

    pub(in crate::mpi) fn is_freed(&self) -> bool {
        self.0.freed.load(Ordering::Acquire)
    }

    /// Returns the value that a duplicate of an object gets.
    pub(in crate::mpi) fn copy(&self, of: &O, value: usize) -> Result<Option<usize>> {
        (self.0.copy)(of, self, value)
    }

    /// Calls the function for a deleted value of an object.
    pub(in crate::mpi) fn delete(&self, of: &O, value: usize) -> Result<()> {
        (self.0.delete)(of, self, value)
    }
}

/// The values attached to an object, in the order in which they were set.
#[derive(Debug)]
pub(in crate::mpi) struct Attributes<O>(Mutex<Vec<(Keyval<O>, usize)>>);

impl<O> Attributes<O> {
    pub(in crate::mpi) fn none() -> Self {
        Self(Mutex::default())
    }

    pub(in crate::mpi) fn with<T>(
        &self,
        look: impl FnOnce(&mut Vec<(Keyval<O>, usize)>) -> T,
    ) -> T {
        look(&mut lockstep::lock(&self.0))
    }
}

//! Attribute keys, and what is attached by them (MPI 5.0, 7.7).
//!
//! A *key* says how an attribute is copied when the object that it is attached to is duplicated, and
//! what is done when it is deleted. Keys are of one kind of object, `O`, which their functions are given.

use crate::mpi::error::{ErrorClass, Operation, Result};
use bcs_core::lockstep;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Says what a duplicate gets for a value, if anything (`MPI_Comm_copy_attr_function`).
pub type CopyAttribute<O> = dyn Fn(&O, &Keyval<O>, usize) -> Result<Option<usize>> + Send + Sync;

/// Is told that a value goes (`MPI_Comm_delete_attr_function`).
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
    /// `MPI_Comm_create_keyval`. The functions are not called with any lock held.
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

    /// `MPI_Comm_free_keyval`: nothing more can be attached by it. What is attached stays, and is
    /// copied and deleted by its functions.
    ///
    /// # Errors
    /// When it was freed.
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

    /// What a duplicate of an object gets for a value.
    pub(in crate::mpi) fn copy(&self, of: &O, value: usize) -> Result<Option<usize>> {
        (self.0.copy)(of, self, value)
    }

    /// A value of an object goes.
    pub(in crate::mpi) fn delete(&self, of: &O, value: usize) -> Result<()> {
        (self.0.delete)(of, self, value)
    }
}

/// What is attached to an object, in the order in which it was set.
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

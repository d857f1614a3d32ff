//! Attributes: what a program attaches to communicators (MPI 5.0, 7.7).
//!
//! A *key* says how an attribute is copied when a communicator is duplicated, and what is done when
//! it is deleted. A value is a word, which is a pointer or an integer in C and Fortran; what it
//! stands for is the program's affair.

use super::error::{ErrorClass, Operation};
use super::{Comm, Process, Result, TAG_UB};
use bcs_core::lockstep;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Says what a duplicate gets for a value, if anything (`MPI_Comm_copy_attr_function`).
pub type CopyAttribute = dyn Fn(&Comm, &Keyval, usize) -> Result<Option<usize>> + Send + Sync;

/// Is told that a value goes (`MPI_Comm_delete_attr_function`).
pub type DeleteAttribute = dyn Fn(&Comm, &Keyval, usize) -> Result<()> + Send + Sync;

struct Key {
    copy: Box<CopyAttribute>,
    delete: Box<DeleteAttribute>,
    freed: AtomicBool,
}

/// An attribute key. Clones are handles of the same one.
#[derive(Clone)]
pub struct Keyval(Arc<Key>);

impl fmt::Debug for Keyval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyval({:p})", Arc::as_ptr(&self.0))
    }
}

impl PartialEq for Keyval {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Keyval {
    /// `MPI_Comm_create_keyval`. The functions are not called with any lock held.
    #[must_use]
    pub fn create(
        copy: impl Fn(&Comm, &Self, usize) -> Result<Option<usize>> + Send + Sync + 'static,
        delete: impl Fn(&Comm, &Self, usize) -> Result<()> + Send + Sync + 'static,
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
}

/// What is attached to a communicator, in the order in which it was set.
#[derive(Debug, Default)]
pub(super) struct Attributes(Mutex<Vec<(Keyval, usize)>>);

impl Attributes {
    fn with<T>(&self, look: impl FnOnce(&mut Vec<(Keyval, usize)>) -> T) -> T {
        look(&mut lockstep::lock(&self.0))
    }
}

/// The attributes that every communicator of the world has (MPI 5.0, 9.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predefined {
    /// `MPI_TAG_UB`.
    pub tag_ub: i32,
    /// `MPI_IO`: any rank can read and write files (`MPI_ANY_SOURCE`).
    pub io: i32,
    /// `MPI_WTIME_IS_GLOBAL`: whether the clocks of all ranks agree.
    pub wtime_is_global: bool,
    /// `MPI_UNIVERSE_SIZE`.
    pub universe_size: i32,
    /// `MPI_LASTUSEDCODE`.
    pub last_used_code: i32,
}

impl Process {
    /// The predefined attributes. (`MPI_APPNUM` is not among them: a job of several programs is one
    /// world here.)
    #[must_use]
    pub fn predefined_attributes(&self) -> Predefined {
        Predefined {
            tag_ub: TAG_UB,
            io: super::ANY_SOURCE,
            // All nodes of a job are on one machine, whose monotonic clock is one.
            wtime_is_global: true,
            universe_size: i32::try_from(self.placement().ranks()).expect("MAX_RANKS fits i32"),
            last_used_code: self.last_used_code(),
        }
    }
}

impl Comm {
    /// `MPI_Comm_set_attr`: attaches a value; what was there by this key is deleted first.
    ///
    /// # Errors
    /// When the key was freed, or the function that deletes fails: then nothing has changed.
    pub fn set_attr(&self, key: &Keyval, value: usize) -> Result<()> {
        let operation = Operation::plain("MPI_Comm_set_attr");
        self.usable(operation)?;
        if key.0.freed.load(Ordering::Acquire) {
            return Err(operation.error(ErrorClass::Keyval, "the key was freed"));
        }
        if let Some(old) = self.attr(key)? {
            (key.0.delete)(self, key, old)?;
        }
        self.0.kept.attributes.with(|attributes| {
            attributes.retain(|(known, _)| known != key);
            attributes.push((key.clone(), value));
        });
        Ok(())
    }

    /// `MPI_Comm_get_attr`.
    ///
    /// # Errors
    /// When the communicator was freed.
    pub fn attr(&self, key: &Keyval) -> Result<Option<usize>> {
        self.usable(Operation::plain("MPI_Comm_get_attr"))?;
        Ok(self.0.kept.attributes.with(|attributes| {
            let found = attributes.iter().find(|(known, _)| known == key);
            found.map(|(_, value)| *value)
        }))
    }

    /// `MPI_Comm_delete_attr`.
    ///
    /// # Errors
    /// When nothing is attached by this key, or the function that deletes fails: then it stays.
    pub fn delete_attr(&self, key: &Keyval) -> Result<()> {
        let operation = Operation::plain("MPI_Comm_delete_attr");
        let Some(value) = self.attr(key)? else {
            let reason = "nothing is attached by this key";
            return Err(operation.error(ErrorClass::Keyval, reason));
        };
        (key.0.delete)(self, key, value)?;
        let attributes = &self.0.kept.attributes;
        attributes.with(|attributes| attributes.retain(|(known, _)| known != key));
        Ok(())
    }

    /// A duplicate gets what the keys' functions say.
    pub(super) fn copy_attributes(&self, duplicate: &Self) -> Result<()> {
        for (key, value) in self.0.kept.attributes.with(|attributes| attributes.clone()) {
            if let Some(copy) = (key.0.copy)(self, &key, value)? {
                let attributes = &duplicate.0.kept.attributes;
                attributes.with(|attributes| attributes.push((key, copy)));
            }
        }
        Ok(())
    }

    /// Deletes all attributes, the last one set first (11.2.2). The first function that fails keeps
    /// its own and those set before.
    pub(super) fn delete_attributes(&self) -> Result<()> {
        let attributes = &self.0.kept.attributes;
        while let Some((key, value)) = attributes.with(|attributes| attributes.last().cloned()) {
            (key.0.delete)(self, &key, value)?;
            attributes.with(|attributes| attributes.retain(|(known, _)| *known != key));
        }
        Ok(())
    }
}

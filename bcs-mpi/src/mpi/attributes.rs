//! Attributes: what a program attaches to communicators (MPI 5.0, 7.7). A value is a word, which is
//! a pointer or an integer in C and Fortran. Only the program knows its meaning.

use super::constants::{ANY_SOURCE, TAG_UB};
use super::error::{ErrorClass, Operation, Result};
use super::objects::keyval;
use super::{Comm, Process};

/// A function that returns the value, if any, that a duplicate gets
/// (`MPI_Comm_copy_attr_function`).
pub type CopyAttribute = keyval::CopyAttribute<Comm>;

/// A function that is called when a value is deleted (`MPI_Comm_delete_attr_function`).
pub type DeleteAttribute = keyval::DeleteAttribute<Comm>;

/// An attribute key of communicators.
pub type Keyval = keyval::Keyval<Comm>;

/// The attributes that every communicator of the world has (MPI 5.0, 9.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredefinedAttributes {
    /// `MPI_TAG_UB`.
    pub tag_ub: i32,
    /// `MPI_IO`: any rank can read and write files (`MPI_ANY_SOURCE`).
    pub io: i32,
    /// `MPI_WTIME_IS_GLOBAL`: whether the clocks of all ranks agree.
    pub wtime_is_global: bool,
    /// `MPI_UNIVERSE_SIZE`: the number that the user has given, if any.
    pub universe_size: Option<i32>,
    /// `MPI_APPNUM`: the number of this rank's program among those of its job, or of the call that
    /// has spawned it. A process without a launcher has none.
    pub application: Option<i32>,
    /// `MPI_LASTUSEDCODE`.
    pub last_used_code: i32,
}

impl Process {
    /// Returns the predefined attributes.
    #[must_use]
    pub fn predefined_attributes(&self) -> PredefinedAttributes {
        let start = &self.universe.start;
        let number = |value: Option<u32>| value.and_then(|value| i32::try_from(value).ok());
        PredefinedAttributes {
            tag_ub: TAG_UB,
            io: ANY_SOURCE,
            // All nodes of a job are on one machine and share its monotonic clock.
            wtime_is_global: true,
            universe_size: number(start.universe_size),
            application: number(start.application),
            last_used_code: self.last_used_code(),
        }
    }
}

impl Comm {
    /// `MPI_Comm_set_attr`: attaches a value, after deleting the former value of this key.
    ///
    /// # Errors
    /// When the key was freed, or the function that deletes fails. Nothing has changed then.
    pub fn set_attr(&self, key: &Keyval, value: usize) -> Result<()> {
        let operation = Operation::plain("MPI_Comm_set_attr");
        self.usable(&operation)?;
        if key.is_freed() {
            return Err(operation.error(ErrorClass::Keyval, "the key was freed"));
        }
        if let Some(old) = self.attr(key)? {
            key.delete(self, old)?;
        }
        self.0.properties.attributes.with(|attributes| {
            attributes.retain(|(known, _)| known != key);
            attributes.push((key.clone(), value));
        });
        Ok(())
    }

    /// `MPI_Comm_get_attr`: returns the value of a key, if it has one.
    ///
    /// # Errors
    /// When the communicator was freed.
    pub fn attr(&self, key: &Keyval) -> Result<Option<usize>> {
        self.usable(&Operation::plain("MPI_Comm_get_attr"))?;
        Ok(self.0.properties.attributes.with(|attributes| {
            let found = attributes.iter().find(|(known, _)| known == key);
            found.map(|(_, value)| *value)
        }))
    }

    /// `MPI_Comm_delete_attr`.
    ///
    /// # Errors
    /// When no value is attached by this key, or the function that deletes fails. The value stays
    /// then.
    pub fn delete_attr(&self, key: &Keyval) -> Result<()> {
        let operation = Operation::plain("MPI_Comm_delete_attr");
        let Some(value) = self.attr(key)? else {
            let reason = "nothing is attached by this key";
            return Err(operation.error(ErrorClass::Keyval, reason));
        };
        key.delete(self, value)?;
        let attributes = &self.0.properties.attributes;
        attributes.with(|attributes| attributes.retain(|(known, _)| known != key));
        Ok(())
    }

    /// Attaches to a duplicate what the keys' functions return for it.
    pub(super) fn copy_attributes(&self, duplicate: &Self) -> Result<()> {
        for (key, value) in self
            .0
            .properties
            .attributes
            .with(|attributes| attributes.clone())
        {
            if let Some(copy) = key.copy(self, value)? {
                let attributes = &duplicate.0.properties.attributes;
                attributes.with(|attributes| attributes.push((key, copy)));
            }
        }
        Ok(())
    }

    /// Returns what a duplicate is to get, before it exists.
    pub(super) fn copied_attributes(&self) -> Result<Vec<(Keyval, usize)>> {
        let attributes = self
            .0
            .properties
            .attributes
            .with(|attributes| attributes.clone());
        let copied = attributes.into_iter().map(|(key, value)| {
            let copy = key.copy(self, value)?;
            Ok(copy.map(|copy| (key, copy)))
        });
        copied.filter_map(Result::transpose).collect()
    }

    /// Deletes all attributes, the last one set first (11.2.2). If a function fails, its attribute
    /// and those set before it stay.
    pub(super) fn delete_attributes(&self) -> Result<()> {
        let attributes = &self.0.properties.attributes;
        while let Some((key, value)) = attributes.with(|attributes| attributes.last().cloned()) {
            key.delete(self, value)?;
            attributes.with(|attributes| attributes.retain(|(known, _)| *known != key));
        }
        Ok(())
    }
}

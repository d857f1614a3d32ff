//! Attributes: what a program attaches to communicators (MPI 5.0, 7.7). A value is a word, which is a
//! pointer or an integer in C and Fortran; what it stands for is the program's affair.

use super::constants::{ANY_SOURCE, TAG_UB};
use super::error::{ErrorClass, Operation, Result};
use super::objects::keyval;
use super::{Comm, Process};

/// Says what a duplicate gets for a value, if anything (`MPI_Comm_copy_attr_function`).
pub type CopyAttribute = keyval::CopyAttribute<Comm>;

/// Is told that a value goes (`MPI_Comm_delete_attr_function`).
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
    /// `MPI_UNIVERSE_SIZE`.
    pub universe_size: i32,
    /// `MPI_LASTUSEDCODE`.
    pub last_used_code: i32,
}

impl Process {
    /// The predefined attributes. (`MPI_APPNUM` is not among them: a job of several programs is one
    /// world here.)
    #[must_use]
    pub fn predefined_attributes(&self) -> PredefinedAttributes {
        PredefinedAttributes {
            tag_ub: TAG_UB,
            io: ANY_SOURCE,
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

    /// `MPI_Comm_get_attr`.
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
    /// When nothing is attached by this key, or the function that deletes fails: then it stays.
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

    /// A duplicate gets what the keys' functions say.
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

    /// What a duplicate is to get, before there is one.
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

    /// Deletes all attributes, the last one set first (11.2.2). The first function that fails keeps
    /// its own and those set before.
    pub(super) fn delete_attributes(&self) -> Result<()> {
        let attributes = &self.0.properties.attributes;
        while let Some((key, value)) = attributes.with(|attributes| attributes.last().cloned()) {
            key.delete(self, value)?;
            attributes.with(|attributes| attributes.retain(|(known, _)| *known != key));
        }
        Ok(())
    }
}

//! The error classes and codes that a program has added.

use crate::mpi::constants::ERR_LASTCODE;
use bcs_core::lockstep;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A code of the program.
#[derive(Clone, Debug)]
pub(in crate::mpi) struct UserErrorCode {
    /// The code's class; a class has its own number here.
    pub(in crate::mpi) class: i32,
    pub(in crate::mpi) text: String,
}

/// The codes that the program has added.
#[derive(Debug)]
pub(in crate::mpi) struct UserErrorCodes {
    /// The last number given out. Each is given out once.
    pub(in crate::mpi) last: i32,
    pub(in crate::mpi) codes: BTreeMap<i32, UserErrorCode>,
}

impl UserErrorCodes {
    /// Adds a number: a new class, or a code of a class. Returns `None` if all were given out.
    pub(in crate::mpi) fn add(&mut self, class: Option<i32>) -> Option<i32> {
        self.last = self.last.checked_add(1)?;
        let own = UserErrorCode {
            class: class.unwrap_or(self.last),
            text: String::new(),
        };
        self.codes.insert(self.last, own);
        Some(self.last)
    }
}

/// The program's codes in a process.
#[derive(Debug)]
pub(in crate::mpi) struct ErrorCodes(Mutex<UserErrorCodes>);

impl Default for ErrorCodes {
    fn default() -> Self {
        Self(Mutex::new(UserErrorCodes {
            last: ERR_LASTCODE,
            codes: BTreeMap::new(),
        }))
    }
}

impl ErrorCodes {
    pub(in crate::mpi) fn with<T>(&self, look: impl FnOnce(&mut UserErrorCodes) -> T) -> T {
        look(&mut lockstep::lock(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_followed_by_none() {
        ErrorCodes::default().with(|added| {
            added.last = i32::MAX - 1;
            assert_eq!(added.add(None), Some(i32::MAX));
            assert_eq!((added.add(None), added.add(Some(1))), (None, None));
            assert_eq!((added.last, added.codes.len()), (i32::MAX, 1));
        });
    }
}

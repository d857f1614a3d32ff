//! The program's own error classes, codes and strings (MPI 5.0, 9.5).
//!
//! They are numbers above the predefined classes, given out in order, classes and codes alike. Each
//! process has its own. Processes that add the same ones in the same order get the same numbers.

use super::Process;
pub use super::constants::ERR_LASTCODE;
use super::error::{Error, ErrorClass, Operation, Result};
use super::objects::user_error_codes::{UserErrorCode, UserErrorCodes};

/// `MPI_MAX_ERROR_STRING`, without the zero at the end of a C string.
pub const MAX_ERROR_STRING: usize = 511;

impl Process {
    fn added<T>(&self, look: impl FnOnce(&mut UserErrorCodes) -> T) -> T {
        self.error_codes().with(look)
    }

    /// Returns the attribute `MPI_LASTUSEDCODE`: no larger code is in use.
    #[must_use]
    pub fn last_used_code(&self) -> i32 {
        self.added(|added| added.last)
    }

    /// `MPI_Add_error_class`: adds a class.
    ///
    /// # Errors
    /// When all numbers were given out.
    pub fn add_error_class(&self) -> Result<i32> {
        let class = self.added(|added| added.add(None));
        class.ok_or_else(|| no_number("MPI_Add_error_class"))
    }

    /// `MPI_Add_error_code`: adds a code of a class, which may be predefined.
    ///
    /// # Errors
    /// When there is no such class, or all numbers were given out.
    pub fn add_error_code(&self, class: i32) -> Result<i32> {
        self.added(|added| {
            let is_class = |own: &UserErrorCode| own.class == class;
            let known = ErrorClass::from_code(class).is_some()
                || added.codes.get(&class).is_some_and(is_class);
            if !known {
                let reason = format!("{class} is no error class");
                let operation = Operation::plain("MPI_Add_error_code");
                return Err(operation.error(ErrorClass::Arg, reason));
            }
            let code = added.add(Some(class));
            code.ok_or_else(|| no_number("MPI_Add_error_code"))
        })
    }

    /// `MPI_Add_error_string`, and with an empty text `MPI_Remove_error_string`: sets the meaning
    /// of a code that the program added. A longer text is cut after the last whole character within
    /// [`MAX_ERROR_STRING`] bytes.
    ///
    /// # Errors
    /// When the code is not one that the program added.
    pub fn add_error_string(&self, code: i32, text: &str) -> Result<()> {
        self.added(|added| {
            let Some(known) = added.codes.get_mut(&code) else {
                return Err(unknown("MPI_Add_error_string", code));
            };
            text[..text.floor_char_boundary(MAX_ERROR_STRING)].clone_into(&mut known.text);
            Ok(())
        })
    }

    /// `MPI_Remove_error_class` and `MPI_Remove_error_code`: forgets a number that was added.
    ///
    /// # Errors
    /// When it was not added, still has a string, or is a class that still has codes.
    pub fn remove_error_code(&self, code: i32) -> Result<()> {
        self.added(|added| {
            let call = "MPI_Remove_error_code";
            let mut others = added.codes.iter().filter(|&(&other, _)| other != code);
            if others.any(|(_, own)| own.class == code) {
                let reason = format!("the class {code} has codes left");
                return Err(Operation::plain(call).error(ErrorClass::Other, reason));
            }
            if added
                .codes
                .get(&code)
                .is_some_and(|own| !own.text.is_empty())
            {
                let reason = format!("{code} has a string left (MPI_Remove_error_string)");
                return Err(Operation::plain(call).error(ErrorClass::Other, reason));
            }
            let removed = added.codes.remove(&code);
            removed.map(|_| ()).ok_or_else(|| unknown(call, code))
        })
    }

    /// `MPI_Error_class`: returns the class of a code.
    ///
    /// # Errors
    /// When there is no such code.
    pub fn error_class(&self, code: i32) -> Result<i32> {
        if ErrorClass::from_code(code).is_some() {
            return Ok(code);
        }
        let class = self.added(|added| added.codes.get(&code).map(|own| own.class));
        class.ok_or_else(|| unknown("MPI_Error_class", code))
    }

    /// `MPI_Error_string`: returns the meaning of a code.
    ///
    /// # Errors
    /// When there is no such code.
    pub fn error_string(&self, code: i32) -> Result<String> {
        if let Some(class) = ErrorClass::from_code(code) {
            return Ok(format!("{class}: {}", class.text()));
        }
        let text = self.added(|added| added.codes.get(&code).map(|own| own.text.clone()));
        text.ok_or_else(|| unknown("MPI_Error_string", code))
    }
}

fn no_number(call: &'static str) -> Box<Error> {
    let reason = "all numbers of error classes and codes were given out, up to 2^31 - 1";
    Operation::plain(call).error(ErrorClass::Other, reason)
}

fn unknown(call: &'static str, code: i32) -> Box<Error> {
    let reason = format!("{code} is no error code");
    Operation::plain(call).error(ErrorClass::Arg, reason)
}

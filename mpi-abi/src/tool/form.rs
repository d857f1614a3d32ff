//! The representation of a value in the tool's memory. In this library each value is a number that
//! is not negative.

use super::ToolOutcome;
use super::enumerations::Enumeration;
use super::places::{look, put};
use crate::c::*;
use std::ffi::{c_int, c_void};

/// The representation of a value in memory, and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An `int`, whose values an enumeration names.
    One(Enumeration),
    /// An `unsigned long long`.
    Number,
    /// A `double` of seconds, converted from nanoseconds.
    Seconds,
}

impl Form {
    pub fn datatype(self) -> MPI_Datatype {
        match self {
            Self::One(_) => MPI_INT,
            Self::Number => MPI_UNSIGNED_LONG_LONG,
            Self::Seconds => MPI_DOUBLE,
        }
    }

    pub fn enumeration(self) -> MPI_T_enum {
        match self {
            Self::One(of) => of.handle(),
            Self::Number | Self::Seconds => MPI_T_ENUM_NULL,
        }
    }

    /// Writes a value to the tool's memory.
    ///
    /// # Errors
    /// If the address is invalid.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits of nanoseconds are a hundred days"
    )]
    pub fn write(self, value: u64, to: *mut c_void) -> ToolOutcome {
        match self {
            Self::One(_) => put(to.cast(), c_int::try_from(value).unwrap_or(c_int::MAX)),
            Self::Number => put(to.cast(), value),
            Self::Seconds => put(to.cast(), value as f64 * 1e-9),
        }
    }

    /// Reads a value from the tool. A negative value counts as 0.
    ///
    /// # Errors
    /// If the address is invalid.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what does not fit is the nearest that does"
    )]
    pub fn read(self, from: *const c_void) -> ToolOutcome<u64> {
        Ok(match self {
            Self::One(_) => u64::try_from(look::<c_int>(from.cast())?).unwrap_or(0),
            Self::Number => look(from.cast())?,
            Self::Seconds => (look::<f64>(from.cast())? * 1e9).round() as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_nanoseconds() {
        let mut place = 0.0_f64;
        let at = (&raw mut place).cast();
        Form::Seconds.write(1_500_000_000, at).unwrap();
        assert!((place - 1.5).abs() < 1e-12);
        assert_eq!(Form::Seconds.read(at), Ok(1_500_000_000));
        for (odd, number) in [(-1.0, 0), (f64::NAN, 0), (f64::INFINITY, u64::MAX)] {
            place = odd;
            assert_eq!(Form::Seconds.read((&raw const place).cast()), Ok(number));
        }
    }
}

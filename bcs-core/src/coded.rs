//! Enumerations that cross the memory between processes as one byte, and have names for users.

/// A byte that is not a code of the enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code:#04x} is not the code of {what}")]
pub struct UnknownCode {
    /// The name of the enumeration.
    pub what: &'static str,
    /// The byte.
    pub code: u8,
}

/// Declares the variants of an enumeration with their names, in the order of their codes, and the
/// conversion from a byte. A rank can overwrite such a byte, so it may be no valid code.
macro_rules! coded {
    ($type:ident, $what:literal: $($variant:ident $name:literal,)*) => {
        impl $type {
            /// All variants, in the order of their codes.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// Returns the name, in the standard or in a sentence.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.name())
            }
        }

        impl TryFrom<u8> for $type {
            type Error = $crate::coded::UnknownCode;

            fn try_from(code: u8) -> Result<Self, Self::Error> {
                let mut all = Self::ALL.into_iter();
                let known = all.find(|&known| known as u8 == code);
                known.ok_or($crate::coded::UnknownCode { what: $what, code })
            }
        }
    };
}

pub(crate) use coded;

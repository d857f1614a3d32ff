//! The two arithmetic paths.

#[cfg(target_arch = "x86_64")]
use super::host;
use crate::reduction::Datatype;

/// A path of arithmetic. By the law, paths differ only in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArithmeticPath {
    /// Floating point in software, as the NIC does it.
    Soft,
    /// The processor's floating-point unit if it has the type: binary32 and binary64, and complex
    /// numbers of them, on x86-64. Other types always take the soft path, and so do other
    /// processors (we cannot guard their floating-point mode).
    Host,
}

impl ArithmeticPath {
    /// Returns whether there are two paths for this type. If there is only one, both variants are
    /// the same.
    #[must_use]
    pub fn makes_a_difference(datatype: Datatype) -> bool {
        #[cfg(target_arch = "x86_64")]
        return host::has(datatype.part().unwrap_or(datatype));
        #[cfg(not(target_arch = "x86_64"))]
        return {
            _ = datatype;
            false
        };
    }
}

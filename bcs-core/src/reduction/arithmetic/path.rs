//! The two ways to compute.

#[cfg(target_arch = "x86_64")]
use super::host;
use crate::reduction::Datatype;

/// Who computes: the law is that it makes no difference but in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArithmeticPath {
    /// Floating point in software, as the NIC does it.
    Soft,
    /// The processor's floating-point unit where it has the type: binary32 and binary64, and
    /// complex numbers of them, on x86-64. Other types, and other processors (whose floating-point
    /// mode we do not know how to guard), go the soft path at any length.
    Host,
}

impl ArithmeticPath {
    /// Whether there are two ways to compute with this type: where there is one, a path is as good
    /// as the other.
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

//! A wait, split by its causes.

/// A wait, in nanoseconds by cause, in the order of [`WaitCause::ALL`](super::WaitCause::ALL).
pub type Split = [u64; 4];

/// Adds a split to a sum.
pub(super) fn add(sum: &mut Split, split: &Split) {
    for (sum, part) in sum.iter_mut().zip(split) {
        *sum = sum.saturating_add(*part);
    }
}

//! Who gives to whom.

use bcs_core::whereabouts;

/// Who gives to whom, by their places among the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Each to each other.
    All,
    /// This one to all others.
    From(usize),
    /// All others to this one.
    To(usize),
    /// Each to those after it.
    Upward,
}

impl Flow {
    pub(super) fn of(exchange: whereabouts::Exchange, root: Option<usize>) -> Self {
        use whereabouts::Exchange;
        match (exchange, root) {
            (Exchange::Scatter, Some(root)) => Self::From(root),
            (_, Some(root)) => Self::To(root),
            (Exchange::Scan | Exchange::Exscan, None) => Self::Upward,
            (_, None) => Self::All,
        }
    }

    pub(super) fn passes(self, from: usize, to: usize) -> bool {
        from != to
            && match self {
                Self::All => true,
                Self::From(root) => from == root,
                Self::To(root) => to == root,
                Self::Upward => from < to,
            }
    }
}

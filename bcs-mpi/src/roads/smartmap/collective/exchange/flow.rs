//! Who gives to whom.

use bcs_core::whereabouts;

/// Who gives to whom, by their places among the members. The root is beside the way and not in it: the optimizer
/// compares with a root also where there is none, and valgrind objects to what would lie in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) way: Way,
    /// The root's place, where there is one.
    pub(super) root: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Each to each other.
    All,
    /// The root to all others.
    FromRoot,
    /// All others to the root.
    ToRoot,
    /// Each to those after it.
    Upward,
}

impl Flow {
    pub(super) fn of(exchange: whereabouts::Exchange, root: Option<usize>) -> Self {
        use whereabouts::Exchange;
        let way = match (exchange, root) {
            (Exchange::Scatter, Some(_)) => Way::FromRoot,
            (_, Some(_)) => Way::ToRoot,
            (Exchange::Scan | Exchange::Exscan, None) => Way::Upward,
            (_, None) => Way::All,
        };
        let root = root.unwrap_or(0);
        Self { way, root }
    }

    pub(super) fn passes(self, from: usize, to: usize) -> bool {
        from != to
            && match self.way {
                Way::All => true,
                Way::FromRoot => from == self.root,
                Way::ToRoot => to == self.root,
                Way::Upward => from < to,
            }
    }
}

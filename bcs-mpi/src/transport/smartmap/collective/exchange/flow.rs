//! Which members give to which.

use bcs_core::wait_state;

/// Which members give to which, by their places. The root is beside the pattern and not in it: the
/// optimizer also compares roots where there is none, and valgrind objects to the undefined bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) pattern: ExchangePattern,
    /// The root's place, if there is one.
    pub(super) root: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExchangePattern {
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
    pub(super) fn of(exchange: wait_state::MessageCollective, root: Option<usize>) -> Self {
        use wait_state::MessageCollective;
        let way = match (exchange, root) {
            (MessageCollective::Scatter, Some(_)) => ExchangePattern::FromRoot,
            (_, Some(_)) => ExchangePattern::ToRoot,
            (MessageCollective::Scan | MessageCollective::Exscan, None) => ExchangePattern::Upward,
            (_, None) => ExchangePattern::All,
        };
        let root = root.unwrap_or(0);
        Self { pattern: way, root }
    }

    pub(super) fn passes(self, from: usize, to: usize) -> bool {
        from != to
            && match self.pattern {
                ExchangePattern::All => true,
                ExchangePattern::FromRoot => from == self.root,
                ExchangePattern::ToRoot => to == self.root,
                ExchangePattern::Upward => from < to,
            }
    }
}

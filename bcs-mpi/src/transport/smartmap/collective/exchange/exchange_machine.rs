//! The state of an exchange under way.

use super::flow::Flow;
use super::local_exchange::LocalExchange;
use super::parts::PartwiseExchange;
use crate::transport::RequestOutcome;
use crate::transport::smartmap::collective::direction::Direction;
use crate::transport::smartmap::collective::environment::CollectiveEnvironment;
use crate::transport::smartmap::collective::group::LocalGroup;
use crate::transport::smartmap::collective::machine::{CollectiveResult, failed};
use crate::transport::smartmap::collective::phase::Phase;
use bcs_core::job::NodeRanks;
use bcs_core::request::RequestFailure;
use bcs_core::wait_state::CalledCollective;

/// An exchange of this rank.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct ExchangeMachine {
    pub(super) exchange: LocalExchange,
    pub(super) flow: Flow,
    pub(super) phase: Phase,
    /// Whether its data are long, or it calls functions of the program.
    pub(super) takes_long: bool,
    /// Whether the data that this rank gives lie in its memory.
    pub(super) in_memory: bool,
    /// The direction in which it goes over the data, if they are long.
    pub(super) direction: Direction,
    /// The data that go through the records in parts.
    pub(super) parts: Option<Box<PartwiseExchange>>,
    /// Its result so far.
    pub(super) ended: CollectiveResult,
}

impl ExchangeMachine {
    /// Makes an exchange on a communicator. The root is a world rank; the one at place 0 is the
    /// `ranks`.
    #[inline]
    pub(in crate::transport::smartmap) fn new(
        exchange: LocalExchange,
        group: &LocalGroup,
        ranks: NodeRanks,
    ) -> Self {
        let CalledCollective::Messages(what, root) = exchange.called else {
            unreachable!("what the NICs do is no exchange");
        };
        let root = root.map(|root| group.member_of(root, ranks));
        let takes_long = exchange.takes_long(group.me, group.members.len());
        Self {
            takes_long,
            exchange,
            flow: Flow::of(what, root),
            phase: Phase::Posted,
            in_memory: false,
            direction: Direction::Forth,
            parts: None,
            ended: Ok(()),
        }
    }

    /// Returns whether a member gives as much as this rank expects of it.
    pub(super) fn agrees(
        &mut self,
        group: &LocalGroup,
        around: CollectiveEnvironment<'_>,
        giver: usize,
        len: u64,
        expected: usize,
    ) -> bool {
        let failure = match len.cmp(&(expected as u64)) {
            std::cmp::Ordering::Less => RequestFailure::Mismatch,
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Greater => RequestFailure::Truncated,
        };
        // The first failure is the result of the exchange.
        if self.ended.is_ok() {
            self.ended = Err(Box::new(RequestOutcome {
                failure,
                source: group.rank_of(giver, around.ranks),
                len,
                expected: Some(expected as u64),
                ..RequestOutcome::default()
            }));
        }
        false
    }

    /// Records memory that is not mapped and that this world rank named.
    pub(super) fn fetched(&mut self, fetched: Result<(), u32>) {
        if let (Err(rank), Ok(())) = (fetched, &self.ended) {
            self.ended = failed(RequestFailure::MemberMemory, rank.into());
        }
    }
}

//! The oracle: compares what a rank received on a communicator with what was sent to it.

use super::buffer::MessageBuffer;
use super::program::{CommunicatorTraffic, PlannedMessage, WildcardStyle};
use bcs_mpi::mpi::Status;
use std::collections::{HashMap, VecDeque};

/// A completed receive.
#[derive(Debug)]
pub(super) struct CompletedReceive {
    /// Its place in the order of the posts.
    pub(super) post: usize,
    pub(super) status: Status,
    pub(super) room: MessageBuffer,
}

/// Checks the receives of a rank, and returns how many messages it got.
///
/// Messages do not overtake each other (MPI 5.0, 3.5). If a receive could have taken several
/// messages from one sender, it took the first that was left when all receives posted before it had
/// theirs.
pub(super) fn check(
    rank: i32,
    exchange: &CommunicatorTraffic,
    mut receipts: Vec<CompletedReceive>,
) -> usize {
    let style = exchange.styles[usize::try_from(rank).expect("positive")];
    let by_tag = matches!(style, WildcardStyle::Exact | WildcardStyle::AnySource);
    let lane = |source: i32, tag: i32| (source, if by_tag { tag } else { 0 });
    let mut to_come: HashMap<(i32, i32), VecDeque<&PlannedMessage>> = HashMap::new();
    for message in &exchange.messages {
        if message.destination == rank {
            let lane = lane(message.source, message.tag);
            to_come.entry(lane).or_default().push_back(message);
        }
    }
    receipts.sort_by_key(|receipt| receipt.post);
    let got = receipts.len();
    for receipt in receipts {
        let status = &receipt.status;
        let queue = to_come.entry(lane(status.source, status.tag)).or_default();
        let message = queue.pop_front();
        let message = message.unwrap_or_else(|| panic!("rank {rank}: nobody sent {status:?}"));
        let right = status.tag == message.tag && status.bytes == message.len as u64;
        let post = receipt.post;
        assert!(
            right,
            "rank {rank}, post {post}: {status:?} instead of {message:?}"
        );
        let wrong = receipt.room.first_difference(&message.bytes());
        assert!(
            wrong.is_none(),
            "rank {rank}, post {post}: (place, byte, what it should be) {wrong:?} in {message:?}"
        );
        receipt.room.release();
    }
    let left: usize = to_come.values().map(VecDeque::len).sum();
    assert_eq!(left, 0, "rank {rank} did not get some messages");
    got
}

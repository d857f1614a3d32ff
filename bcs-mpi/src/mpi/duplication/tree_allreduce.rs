//! The bitwise or of all members' words, without waiting: up a tree of the members, and down again.
#![expect(unsafe_code, reason = "messages name their data by address")]

use crate::bcs::{ByteRange, OutgoingMessage, SendMode};
use crate::endpoint::succeeded;
use crate::transport::{Mux, TransportHandle};
use bcs_core::check_bits::CheckBits;
use bcs_core::request::RequestFailure;
use std::collections::VecDeque;

/// The number of a member's children. The parent of the member at place p is the one at (p - 1) /
/// 4.
const CHILDREN: usize = 4;

/// The next message to post: to or from a world rank.
#[derive(Clone, Copy, Debug)]
enum PendingPost {
    Send(u32, ByteRange),
    Receive(u32, ByteRange),
}

/// The stages of the reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Receives the words of the children.
    Gathering,
    /// Sends the words to the parent, and receives those of all members.
    Asking,
    /// Sends the words of all members to the children.
    Telling,
}

/// A member's state of the reduction.
#[derive(Debug)]
pub(super) struct TreeAllreduce {
    parent: Option<u32>,
    children: Vec<u32>,
    /// The words of this member, and then of it and its descendants.
    own: Box<[u64]>,
    /// The words of the children, one after the other.
    below: Box<[u64]>,
    /// The words of all members.
    all: Box<[u64]>,
    stage: Stage,
    to_post: VecDeque<PendingPost>,
    under_way: Vec<TransportHandle>,
}

/// Returns words as memory of messages. The owner keeps them until the messages are complete, or
/// for ever.
fn memory(words: &mut [u64]) -> ByteRange {
    let address = words.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: they are used by the messages of one stage at a time, and are kept while any is under
    // way.
    unsafe { ByteRange::new(address, size_of_val(words)) }
}

impl TreeAllreduce {
    /// Begins the reduction at the member at this place, which contributes these words.
    pub(super) fn new(words: &[u64], me: usize, members: &[u32]) -> Self {
        let parent = me.checked_sub(1).map(|below| members[below / CHILDREN]);
        let first = CHILDREN * me + 1;
        let children = members.get(first..).unwrap_or_default();
        let children = children[..children.len().min(CHILDREN)].to_vec();
        let zeros = |count| vec![0; count * words.len()].into_boxed_slice();
        let mut together = Self {
            parent,
            own: words.into(),
            below: zeros(children.len()),
            all: zeros(1),
            children,
            stage: Stage::Gathering,
            to_post: VecDeque::new(),
            under_way: Vec::new(),
        };
        let places = together.below.chunks_exact_mut(words.len()).map(memory);
        let receives = together.children.iter().zip(places);
        together.to_post = receives
            .map(|(&from, to)| PendingPost::Receive(from, to))
            .collect();
        together
    }

    /// Returns the words of all members, once they are known.
    pub(super) fn words(&self) -> &[u64] {
        &self.all
    }

    /// Returns the operations that it waits for.
    pub(super) fn awaits(&self) -> Vec<TransportHandle> {
        self.under_way.clone()
    }

    /// Advances as far as the messages allow, on this context with this tag. Returns whether the
    /// reduction is complete.
    pub(super) fn advance(
        &mut self,
        roads: &mut Mux,
        on: (u32, i32),
        posted: &mut bool,
    ) -> Result<bool, RequestFailure> {
        loop {
            if !self.post(roads, on, posted) {
                return Ok(false);
            }
            while let Some(&handle) = self.under_way.last() {
                let Some(outcome) = roads.take(handle) else {
                    return Ok(false);
                };
                self.under_way.pop();
                succeeded(&outcome)?;
            }
            if self.stage == Stage::Telling {
                return Ok(true);
            }
            self.next_stage();
        }
    }

    /// Begins the next stage when all messages of a stage have come.
    fn next_stage(&mut self) {
        match (self.stage, self.parent) {
            (Stage::Gathering, parent) => {
                let width = self.own.len();
                for said in self.below.chunks_exact(width) {
                    let words = self.own.iter_mut().zip(said);
                    words.for_each(|(word, said)| *word |= said);
                }
                let Some(parent) = parent else {
                    self.all.copy_from_slice(&self.own);
                    return self.tell();
                };
                self.to_post
                    .push_back(PendingPost::Receive(parent, memory(&mut self.all)));
                self.to_post
                    .push_back(PendingPost::Send(parent, memory(&mut self.own)));
                self.stage = Stage::Asking;
            }
            (Stage::Asking, _) => self.tell(),
            (Stage::Telling, _) => {}
        }
    }

    fn tell(&mut self) {
        let all = memory(&mut self.all);
        self.to_post.extend(
            self.children
                .iter()
                .map(|&child| PendingPost::Send(child, all)),
        );
        self.stage = Stage::Telling;
    }

    /// Posts the messages for which there are request slots. Returns whether that was all.
    fn post(&mut self, roads: &mut Mux, (context, tag): (u32, i32), posted: &mut bool) -> bool {
        while let Some(&post) = self.to_post.front() {
            let handle = match post {
                PendingPost::Receive(from, to) => {
                    roads.receive_from((from, context, tag), to.into())
                }
                PendingPost::Send(destination, data) => {
                    let message = OutgoingMessage {
                        context,
                        destination,
                        tag,
                        data: &data.into(),
                        mark: CheckBits::NONE,
                    };
                    roads.send(SendMode::Standard, &message)
                }
            };
            let Ok(handle) = handle else {
                return false;
            };
            *posted = true;
            self.to_post.pop_front();
            self.under_way.push(handle);
        }
        true
    }
}

impl Drop for TreeAllreduce {
    fn drop(&mut self) {
        if self.under_way.is_empty() {
            return;
        }
        // If it ended early, other ranks may still read and write this memory.
        for words in [&mut self.own, &mut self.below, &mut self.all] {
            std::mem::forget(std::mem::take(words));
        }
    }
}

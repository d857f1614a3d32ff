//! The bitwise or of what all members say, without waiting: up a tree of the members, and down again.
#![expect(unsafe_code, reason = "messages name their data by address")]

use crate::bcs::{ByteRange, OutgoingMessage, SendMode};
use crate::endpoint::succeeded;
use crate::transport::{Mux, TransportHandle};
use bcs_core::check_bits::CheckBits;
use bcs_core::request::RequestFailure;
use std::collections::VecDeque;

/// How many members tell one. In the tree of all members the one at place p tells the one at (p - 1) / 4.
const CHILDREN: usize = 4;

/// What is to be posted next: to or from a world rank.
#[derive(Clone, Copy, Debug)]
enum PendingPost {
    Send(u32, ByteRange),
    Receive(u32, ByteRange),
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Those below say theirs.
    Gathering,
    /// The one above says what all say.
    Asking,
    /// Those below are told.
    Telling,
}

/// What a member knows of it.
#[derive(Debug)]
pub(super) struct TreeAllreduce {
    parent: Option<u32>,
    children: Vec<u32>,
    /// What this member says, and then what it and those below say.
    own: Box<[u64]>,
    /// What those below say, one after the other.
    below: Box<[u64]>,
    /// What all say.
    all: Box<[u64]>,
    stage: Stage,
    to_post: VecDeque<PendingPost>,
    under_way: Vec<TransportHandle>,
}

/// Words as memory of messages, which whoever has them keeps until those are over, or for ever.
fn memory(words: &mut [u64]) -> ByteRange {
    let address = words.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: they are used by the messages of one stage at a time, and are kept while any is under way.
    unsafe { ByteRange::new(address, size_of_val(words)) }
}

impl TreeAllreduce {
    /// The member at this place says this.
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

    /// What all members say, once that is known.
    pub(super) fn words(&self) -> &[u64] {
        &self.all
    }

    /// What it waits for.
    pub(super) fn awaits(&self) -> Vec<TransportHandle> {
        self.under_way.clone()
    }

    /// Goes as far as messages allow, which go on this context with this tag. Whether all is over.
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

    /// All of a stage has come.
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

    /// Posts what there are request slots for. Returns whether that was all.
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
        // Whatever made it end early, others may still read and write there.
        for words in [&mut self.own, &mut self.below, &mut self.all] {
            std::mem::forget(std::mem::take(words));
        }
    }
}

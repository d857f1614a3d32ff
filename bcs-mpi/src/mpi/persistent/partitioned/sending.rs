//! The sender of a message in parts.

use super::offer::{Offer, memory, tag_of};
use crate::bcs::{Endpoint, Message, Piece, Request, SendMode, TooManyRequests};
use crate::endpoint::{Grounds, Kind, Undertaking, succeeded};
use crate::mpi::objects::context_ids::{PART_MESSAGES, PART_OFFERS};
use crate::roads::{Handle, Outcome};
use bcs_core::lockstep;
use bcs_core::mark::Mark;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

/// What a sender knows of its parts. The endpoint's lock comes before this one.
#[derive(Debug)]
pub(super) struct Sending {
    context: u32,
    to: u32,
    /// The tag of the first part.
    first: u64,
    places: Vec<Piece>,
    state: Mutex<Parts>,
}

#[derive(Debug)]
struct Parts {
    offer: Box<Offer>,
    /// By which part it is known whether it is ready in this start.
    ready: Vec<bool>,
    /// How many are not.
    awaited: usize,
    /// Those that are to be sent.
    to_send: VecDeque<usize>,
    /// Those that are, and at first the offer.
    under_way: Vec<Handle>,
    started: bool,
    failed: Option<Outcome>,
}

/// Why parts are not ready.
#[derive(Clone, Copy, Debug)]
pub(super) enum NotReady {
    /// Nothing was started.
    Inactive,
    /// This one was before.
    Before(usize),
}

impl Sending {
    pub(super) fn new((context, to): (u32, u32), first: u64, places: Vec<Piece>) -> Self {
        let len = places.first().map_or(0, Piece::len);
        let parts = Parts {
            offer: Box::new([first, places.len() as u64, len as u64]),
            ready: vec![true; places.len()],
            awaited: 0,
            to_send: VecDeque::new(),
            under_way: Vec::new(),
            started: false,
            failed: None,
        };
        Self {
            context,
            to,
            first,
            places,
            state: Mutex::new(parts),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Parts> {
        lockstep::lock(&self.state)
    }

    /// Tells the receiver what is to come.
    pub(super) fn offer(&self, endpoint: &Endpoint, tag: i32) -> Result<(), TooManyRequests> {
        let data = &memory(&mut self.lock().offer).into();
        let message = Message {
            context: self.context | PART_OFFERS,
            destination: self.to,
            tag,
            data,
            mark: Mark::NONE,
        };
        let Request(kind) = endpoint.bcs_send(SendMode::Standard, &message)?;
        if let Kind::Road(handle) = kind {
            self.lock().under_way.push(handle);
        }
        Ok(())
    }

    /// None is ready.
    pub(super) fn start(&self) {
        let mut parts = self.lock();
        parts.ready.fill(false);
        parts.started = true;
        parts.awaited = parts.ready.len();
    }

    /// These are ready, or why not.
    pub(super) fn ready(&self, which: &[usize]) -> Result<(), NotReady> {
        let mut parts = self.lock();
        if !parts.started {
            return Err(NotReady::Inactive);
        }
        for (nth, &part) in which.iter().enumerate() {
            if std::mem::replace(&mut parts.ready[part], true) {
                which[..nth]
                    .iter()
                    .for_each(|&part| parts.ready[part] = false);
                return Err(NotReady::Before(part));
            }
        }
        parts.to_send.extend(which);
        parts.awaited -= which.len();
        Ok(())
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        if !self.under_way.is_empty() {
            // The receiver may not have looked at it yet.
            std::mem::forget(std::mem::take(&mut self.offer));
        }
    }
}

/// A start of it.
#[derive(Debug)]
pub(super) struct Sends(pub(super) std::sync::Arc<Sending>);

impl Undertaking for Sends {
    fn advance(&mut self, at: &mut dyn Grounds, posted: &mut bool) -> Option<Outcome> {
        let Sending {
            context,
            to,
            first,
            places,
            ..
        } = &*self.0;
        let mut parts = self.0.lock();
        while let Some(&part) = parts.to_send.front() {
            let message = Message {
                context: context | PART_MESSAGES,
                destination: *to,
                tag: tag_of(*first, part),
                data: &places[part],
                mark: Mark::NONE,
            };
            let Ok(handle) = at.roads().send(SendMode::Standard, &message) else {
                return None;
            };
            *posted = true;
            parts.to_send.pop_front();
            parts.under_way.push(handle);
        }
        while let Some(&handle) = parts.under_way.last() {
            let outcome = at.roads().take(handle)?;
            parts.under_way.pop();
            if succeeded(&outcome).is_err() {
                parts.failed.get_or_insert(outcome);
            }
        }
        if parts.awaited > 0 {
            return None;
        }
        parts.started = false;
        Some(parts.failed.take().unwrap_or_default())
    }

    fn awaits(&self) -> Vec<Handle> {
        self.0.lock().under_way.clone()
    }
}

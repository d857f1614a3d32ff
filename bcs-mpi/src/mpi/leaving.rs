//! What a program leaves when it finalizes (MPI 5.0, 11.2.2), and where in it that was posted.

use super::census;
use super::request::{Request, Trace};
use super::{Comm, Process};
use crate::foreign;
use bcs_core::job::welcome::FromRank;
use bcs_core::lockstep;
use bcs_core::mapped_code::MappedCode;
use bcs_core::whereabouts::{Left, Object, Peer, Posted, Site, Thing, Wait};

impl Process {
    /// Calls of this process come from another language: where they are is an address, which this function knows of
    /// the call that its thread is in. Said before [`init`](Self::init).
    pub fn is_called_from(address: fn() -> u64) {
        foreign::calls_are_from(address);
    }

    /// The program ends with this request, which it got from a call at that address.
    pub fn leaves(&self, request: &Request, address: u64) {
        let mut left = lockstep::lock(&self.left);
        for trace in request.traces() {
            let posted = match trace {
                Trace::Over => {
                    left.add(Thing::Request, 1);
                    vec![Posted::Request]
                }
                Trace::Active(posted) => self.posted(posted),
            };
            for posted in posted {
                left.add_place(posted, Site::Address(address));
            }
        }
    }

    /// By what the traces of something that was posted are known.
    fn posted(&self, request: crate::bcs::Request) -> Vec<Posted> {
        let told = self.endpoint.bcs_awaits(request);
        let posted = |&wait: &Wait| match (wait, told.collective(wait)) {
            (Wait::Receive(peer), _) => Posted::Receive(peer),
            (_, Some(entered)) => Posted::Collective {
                context: entered.context,
                number: entered.number,
            },
            // A send is over by then.
            _ => Posted::Request,
        };
        told.waits.iter().map(posted).collect()
    }

    /// A message was longer than the buffer that it was received into.
    #[cold]
    pub(super) fn was_truncated(&self, message: Peer) {
        if message.is_of_program() {
            lockstep::lock(&self.left).add(Thing::Truncated(message), 1);
        }
    }

    /// What the node manager is told of what is left, of which this is in the rank's tables.
    pub(super) fn says_of_left(&self, mut left: Left) -> Vec<FromRank> {
        left.join(&lockstep::lock(&self.left));
        for object in Object::ALL {
            left.add(Thing::Object(object), census::alive(object));
        }
        for (posted, address) in self.sent_from.iter() {
            left.add_place(posted, Site::Address(address));
        }
        let mut said = Vec::new();
        // What was loaded since then has places, too.
        let is_asked = !left.is_nothing() || self.recording.is_on();
        if is_asked && foreign::address().is_some() {
            said.extend(MappedCode::own().ok().map(FromRank::Code));
        }
        if !left.is_nothing() || !left.places.is_empty() {
            said.push(FromRank::Left(left.encode()));
        }
        said
    }
}

impl Comm {
    /// A message is sent by the call that this thread is in.
    #[inline]
    pub(super) fn is_sent_from_here(&self, tag: i32) {
        if let Some(address) = foreign::address() {
            let sent_from = &self.process().sent_from;
            sent_from.note(self.0.context, tag, address);
        }
    }
}

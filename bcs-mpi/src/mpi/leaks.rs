//! The leaks of a program when it finalizes (MPI 5.0, 11.2.2), and the calls that posted them.

use super::live_objects;
use super::request::{LeakedRequest, Request};
use super::{Comm, Process};
use crate::call_site::published_address;
use crate::foreign;
use bcs_core::job::handshake::FromRank;
use bcs_core::lockstep;
use bcs_core::mapped_code::MappedCode;
use bcs_core::wait_state::{
    Leak, LeakReport, LeakedObject, MessagePeer, PostedOperation, WaitReason,
};

impl Process {
    /// Registers a function for calls from another language: it returns the address of the call
    /// that its thread is in. If that address stays in memory after the call, the [`LastCall`] of
    /// the calling thread is at `last_call_at`. Called before [`init`](Self::init).
    ///
    /// [`LastCall`]: bcs_core::mapped_code::LastCall
    pub fn is_called_from(address: fn() -> u64, last_call_at: Option<u64>) {
        foreign::calls_are_from(address, last_call_at);
    }

    /// Records that the program leaks this request, which it got from a call at that address.
    pub fn note_leaked_request(&self, request: &Request, address: u64) {
        let mut left = lockstep::lock(&self.leaks);
        for trace in request.traces() {
            let posted = match trace {
                LeakedRequest::Over => {
                    left.add(Leak::Request, 1);
                    vec![PostedOperation::Request]
                }
                LeakedRequest::Active(posted) => self.posted(posted),
            };
            for posted in posted {
                left.add_place(posted, published_address(address));
            }
        }
    }

    /// Records that the program leaks an object, which it got from a call at that address. Objects
    /// that this library counts itself get the place alone.
    pub fn note_leaked_object(&self, object: LeakedObject, address: u64) {
        let mut left = lockstep::lock(&self.leaks);
        left.add_place(PostedOperation::Object(object), published_address(address));
        match object {
            LeakedObject::Datatype | LeakedObject::Operation | LeakedObject::Persistent => {}
            LeakedObject::Group | LeakedObject::Window | LeakedObject::SingleMember => {
                left.add(Leak::Object(object), 1);
            }
        }
    }

    /// Returns the posted operations that a leaked request stands for.
    fn posted(&self, request: crate::bcs::Request) -> Vec<PostedOperation> {
        let told = self.endpoint.bcs_wait_state(request);
        let posted = |&wait: &WaitReason| match (wait, told.collective(wait)) {
            (WaitReason::Receive(peer), _) => PostedOperation::Receive(peer),
            (_, Some(entered)) => PostedOperation::Collective {
                context: entered.context,
                number: entered.number,
            },
            // A send is complete by then.
            _ => PostedOperation::Request,
        };
        told.waits.iter().map(posted).collect()
    }

    /// Records that a message was longer than the buffer that it was received into.
    #[cold]
    pub(super) fn note_truncation(&self, message: MessagePeer) {
        if message.is_of_program() {
            lockstep::lock(&self.leaks).add(Leak::Truncated(message), 1);
        }
    }

    /// Returns the reports of leaks to the node manager. The argument holds those in the rank's
    /// tables.
    pub(super) fn leak_reports(&self, mut left: LeakReport) -> Vec<FromRank> {
        left.join(&lockstep::lock(&self.leaks));
        for object in LeakedObject::ALL {
            left.add(Leak::Object(object), live_objects::alive(object));
        }
        for (posted, address) in self.sent_from.iter() {
            left.add_place(posted, published_address(address));
        }
        let mut said = Vec::new();
        // Code that was loaded since then has addresses, too.
        let is_asked = !left.is_empty() || self.recording.has_recorder();
        if is_asked && foreign::address().is_some() {
            said.extend(MappedCode::of_this_process().ok().map(FromRank::Code));
        }
        if !left.is_empty() || !left.places.is_empty() {
            said.push(FromRank::Leaks(left.encode()));
        }
        said
    }
}

impl Comm {
    /// Records that the call of this thread sends a message.
    #[inline]
    pub(super) fn is_sent_from_here(&self, tag: i32) {
        if let Some(address) = foreign::address() {
            let sent_from = &self.process().sent_from;
            sent_from.note(self.0.context, tag, address);
        }
    }
}

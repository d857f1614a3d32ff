//! Collectives as they were called: each member receives the call of the one before it.

use super::kinds::{own_words, receive};
use crate::bcs::Endpoint;
use crate::recording::Site;
use crate::transport::{Blocking, OutgoingMessage, SendMode};
use crate::{call_site, foreign};
use bcs_core::check_bits::CheckBits;
use bcs_core::fingerprint::fingerprint;
use bcs_core::lockstep;
use bcs_core::matching::Pattern;
use bcs_core::request::high as high_half;
use bcs_core::wait_state::CALL_MESSAGES;
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

/// A member's report of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnnouncedCall {
    /// The number of the name.
    pub(crate) name: u16,
    /// The kind, which stands for the name, the types and the place ([`super::MessageKinds`]).
    pub(crate) kind: u8,
    /// The operation, by its code; 0 without one.
    pub(crate) op: u8,
    /// The rank of the root in the communicator; -1 without one.
    pub(crate) root: i32,
    /// The types that all members must have; 0 if that is not known.
    pub(crate) signature: u64,
    /// Their length in bytes.
    pub(crate) bytes: u64,
}

const BYTES: usize = 24;

impl AnnouncedCall {
    pub(crate) fn new(name: &str) -> Self {
        let [low, high, ..] = fingerprint(name.bytes().map(u64::from)).to_le_bytes();
        Self {
            name: u16::from_le_bytes([low, high]),
            kind: 0,
            op: 0,
            root: -1,
            signature: 0,
            bytes: 0,
        }
    }

    /// Returns the number of the name, as a key among kinds.
    pub(crate) fn key(&self) -> u64 {
        bcs_core::fingerprint::mix64(self.name.into())
    }

    /// Returns whether two members may have made these calls in one collective.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        let what = |it: &Self| (it.name, it.op, it.root);
        let unknown = self.signature == 0 || other.signature == 0;
        what(self) == what(other) && (unknown || self.signature == other.signature)
    }

    fn encode(self) -> [u8; BYTES] {
        let head = u64::from(self.name)
            | u64::from(self.kind) << 16
            | u64::from(self.op) << 24
            | u64::from(self.root.cast_unsigned()) << 32;
        let mut bytes = [0; BYTES];
        let words = [head, self.signature, self.bytes];
        for (eight, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *eight = word.to_le_bytes();
        }
        bytes
    }

    fn decode(bytes: &[u8; BYTES]) -> Self {
        let words = bytes.as_chunks().0;
        let [head, signature, bytes] = std::array::from_fn(|at| u64::from_le_bytes(words[at]));
        let [low, high, kind, op, ..] = head.to_le_bytes();
        Self {
            name: u16::from_le_bytes([low, high]),
            kind,
            op,
            root: high_half(head).cast_signed(),
            signature,
            bytes,
        }
    }
}

/// The subject of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ReportSubject {
    /// The call that the member before this rank makes.
    Call,
    /// A block that a member gives to this rank.
    Block,
}

impl ReportSubject {
    fn tag(self) -> i32 {
        match self {
            Self::Call => 0,
            Self::Block => 1,
        }
    }
}

/// Where reports come from: a member of a communicator, by its rank in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallPredecessor {
    pub(crate) context: u32,
    pub(crate) member: u32,
    pub(crate) subject: ReportSubject,
}

/// Calls and blocks of this rank for which the report of the other member has not come, with the
/// places of the calls.
#[derive(Debug, Default)]
pub(crate) struct UncheckedCalls(Mutex<HashMap<CallPredecessor, VecDeque<(AnnouncedCall, Site)>>>);

impl UncheckedCalls {
    /// Reports to a member a call that this rank is about to make, or a block.
    pub(crate) fn tell(
        &self,
        endpoint: &Endpoint,
        (context, subject): (u32, ReportSubject),
        next: u32,
        call: AnnouncedCall,
    ) {
        let mut bytes = call.encode();
        let message = OutgoingMessage {
            context: context | CALL_MESSAGES,
            destination: next,
            tag: subject.tag(),
            data: &own_words(&mut bytes).into(),
            mark: CheckBits::NONE,
        };
        // A message this short is eager and complete at once, so it takes no request slot.
        let _complete = endpoint.bcs_send(SendMode::Standard, &message);
    }

    /// Notes a call or block of this rank, which is compared with the next report from there.
    pub(crate) fn expect(&self, from: CallPredecessor, call: AnnouncedCall, site: Site) {
        let mut calls = lockstep::lock(&self.0);
        let site = foreign::site(site);
        calls.entry(from).or_default().push_back((call, site));
    }

    /// Returns the oldest call or block for which no report had come from there, with that report.
    /// Without waiting it takes a report only if it has come.
    pub(crate) fn hear(
        &self,
        endpoint: &Endpoint,
        from: CallPredecessor,
        waits: Blocking,
    ) -> Option<(AnnouncedCall, AnnouncedCall)> {
        let (_, site) = *lockstep::lock(&self.0).get(&from)?.front()?;
        let pattern = Pattern {
            context: from.context | CALL_MESSAGES,
            source: Some(from.member),
            tag: Some(from.subject.tag()),
        };
        let is_here = || matches!(endpoint.bcs_probe(Blocking::No, pattern), Ok(Some(_)));
        if waits == Blocking::No && !is_here() {
            return None;
        }
        // This may be a later call, so the wait names that one, too.
        let _started = call_site::completes(site);
        let mut bytes = [0; BYTES];
        let at = (pattern.context, from.member, from.subject.tag());
        receive(endpoint, at, &mut bytes)?;
        let mut calls = lockstep::lock(&self.0);
        let (own, _) = calls.get_mut(&from)?.pop_front()?;
        Some((own, AnnouncedCall::decode(&bytes)))
    }

    /// Returns where a report has yet to come.
    pub(crate) fn open(&self) -> Vec<CallPredecessor> {
        let calls = lockstep::lock(&self.0);
        let open = calls.iter().filter(|(_, calls)| !calls.is_empty());
        open.map(|(&from, _)| from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_comes_back_from_its_bytes() {
        let call = AnnouncedCall {
            kind: 9,
            op: 0x21,
            root: -2,
            signature: u64::MAX - 7,
            bytes: 1 << 40,
            ..AnnouncedCall::new("MPI_Reduce")
        };
        assert_eq!(AnnouncedCall::decode(&call.encode()), call);
    }

    #[test]
    fn calls_agree_by_name_root_operation_and_types() {
        let call = AnnouncedCall {
            signature: 5,
            ..AnnouncedCall::new("MPI_Bcast")
        };
        let other = |change: fn(&mut AnnouncedCall)| {
            let mut other = call;
            change(&mut other);
            call.agrees_with(&other)
        };
        assert!(other(|it| it.kind = 7) && other(|it| it.signature = 0));
        assert!(
            !other(|it| it.root = 1) && !other(|it| it.op = 1) && !other(|it| it.signature = 6)
        );
        assert!(!call.agrees_with(&AnnouncedCall::new("MPI_Ibcast")));
    }
}

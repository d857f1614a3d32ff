//! The posts of messages by a scripted rank.

use super::{OutstandingRequest, RankView, RequestPurpose, ScriptedRank, partly_missing_buffer};
use crate::simulator::program::{ProgramMessage, ProgramPost, ScriptedProgram};
use bcs_core::check_bits::CheckBits;
use bcs_core::descriptor::{Payload, ReceiveDescriptor, ReceiveKind, SendDescriptor};
use bcs_core::layout::Location;
use bcs_core::limits::{INLINE_BYTES, PAYLOAD_SLOTS};
use bcs_core::request::RequestId;
use bcs_fabric::sim::RankStore;

/// The tag of receives without a send.
const DECOY_TAG: i32 = 77;

impl ScriptedRank {
    pub(super) fn post(
        &mut self,
        post: &ProgramPost,
        round: usize,
        world: &RankView<'_>,
        store: &mut RankStore,
    ) {
        match post {
            ProgramPost::Send(number) => {
                let message = &world.program.rounds[round].messages[*number];
                self.send(message, round, world, store);
            }
            &ProgramPost::Receive {
                source,
                tag,
                capacity,
                extract,
                pieces,
                missing: is_missing,
            } => {
                let (purpose, kind) = if extract {
                    let purpose = RequestPurpose::Extract { capacity, pieces };
                    (purpose, ReceiveKind::MatchedProbe)
                } else {
                    let nth = Some(self.receives_posted);
                    self.receives_posted += 1;
                    let into = match is_missing {
                        true => partly_missing_buffer(capacity, store),
                        false => self.place(capacity, pieces, store),
                    };
                    into.guard(store);
                    let kind = ReceiveKind::Receive {
                        into: into.location,
                        capacity: capacity as u64,
                        shared: false,
                    };
                    let missing = is_missing;
                    (RequestPurpose::Receive { nth, into, missing }, kind)
                };
                let request = self.expect(purpose, world);
                self.push_receive(request, (source, tag), round, kind);
            }
            &ProgramPost::ProbeOnce { source, tag } => {
                let request = self.expect(RequestPurpose::ProbeOnce, world);
                self.push_receive(request, (source, tag), round, ReceiveKind::ProbeOnce);
            }
            ProgramPost::Compute(_) => unreachable!("the rank computes between posts"),
            ProgramPost::Decoy => {
                let request = self.request();
                self.decoys.push((request, world.cuts));
                let kind = ReceiveKind::Receive {
                    into: Location::contiguous(0),
                    capacity: 0,
                    shared: false,
                };
                self.push_receive(request, (None, Some(DECOY_TAG)), round, kind);
            }
        }
    }

    fn send(
        &mut self,
        message: &ProgramMessage,
        round: usize,
        world: &RankView<'_>,
        store: &mut RankStore,
    ) {
        let bytes = ScriptedProgram::payload(message);
        let eager = bytes.len() <= world.settings.eager_limit;
        let (payload, owed) = if bytes.len() <= INLINE_BYTES {
            let mut inline = [0; INLINE_BYTES];
            inline[..bytes.len()].copy_from_slice(&bytes);
            (Payload::Inline(inline), !eager)
        } else if eager && self.payloads < PAYLOAD_SLOTS {
            let slot = self.payloads;
            self.payloads += 1;
            self.memory.write_payload(slot, 0, &bytes);
            let slot = u32::try_from(slot).expect("few");
            (Payload::Slot { slot, address: 0 }, true)
        } else if message.missing {
            (
                Payload::Memory(partly_missing_buffer(bytes.len(), store).location),
                true,
            )
        } else {
            let place = self.place(bytes.len(), message.pieces, store);
            place.fill(&bytes, store);
            (Payload::Memory(place.location), true)
        };
        let request = if owed {
            let missing = message.missing;
            self.expect(RequestPurpose::Send { missing }, world)
        } else {
            RequestId::default()
        };
        let send = SendDescriptor {
            request,
            needs_completion: owed,
            context: context_of(round),
            destination: message.destination,
            tag: message.tag,
            len: bytes.len() as u64,
            check_bits: CheckBits::NONE,
            payload,
            one_sided: None,
        };
        self.sends
            .push(&send.encode())
            .expect("a round fits the ring");
    }

    fn push_receive(
        &mut self,
        request: RequestId,
        (source, tag): (Option<u32>, Option<i32>),
        round: usize,
        kind: ReceiveKind,
    ) {
        let receive = ReceiveDescriptor {
            request,
            context: context_of(round),
            source,
            tag,
            kind,
        };
        self.receives
            .push(&receive.encode())
            .expect("a round fits the ring");
    }

    /// Receives an extracted message at once, because its sender may wait for that.
    pub(super) fn receive_extracted(
        &mut self,
        extracted: &OutstandingRequest,
        round: usize,
        world: &RankView<'_>,
        store: &mut RankStore,
    ) {
        let RequestPurpose::Extract { capacity, pieces } = extracted.purpose else {
            return;
        };
        let into = self.place(capacity, pieces, store);
        into.guard(store);
        let location = into.location;
        let (nth, missing) = (None, false);
        let request = self.expect(RequestPurpose::Receive { nth, into, missing }, world);
        let kind = ReceiveKind::MatchedReceive {
            message: extracted.request,
            into: location,
            capacity: capacity as u64,
        };
        self.push_receive(request, (None, None), round, kind);
        world.page.demand();
    }

    pub(super) fn cancel_decoys(&mut self, round: usize, world: &RankView<'_>) {
        for (request, posted_cut) in std::mem::take(&mut self.decoys) {
            self.outstanding.push(OutstandingRequest {
                request,
                purpose: RequestPurpose::Cancelled,
                posted_cut,
                completion: None,
            });
            let kind = ReceiveKind::Cancel(request);
            self.push_receive(RequestId::default(), (None, Some(DECOY_TAG)), round, kind);
            world.page.demand();
        }
    }
}

/// Returns the context of a round's messages. Each round has its own: a rank that is a round ahead
/// must not send to the wildcards of this one.
fn context_of(round: usize) -> u32 {
    100 + u32::try_from(round).expect("few rounds")
}

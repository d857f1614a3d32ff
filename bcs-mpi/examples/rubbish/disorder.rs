//! Descriptors each of which is valid by itself, in an order in which no library posts them: contexts are
//! used before they are open, closed while they are in use, opened twice and with other members; requests
//! are cancelled that are over or never were; the same is asked for again and again. What was posted before
//! is remembered, so that much of it almost makes sense.
//!
//! The fuzzer of the NIC threads (`bcs-nic/tests/disorder.rs`) and the hostile job (`rubbish`) post them.

use bcs_core::descriptor::{
    CollectiveDescriptor, CollectiveKind, Payload, ReceiveDescriptor, ReceiveKind, SendDescriptor,
};
use bcs_core::layout::Location;
use bcs_core::limits::INLINE_BYTES;
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::RequestId;

/// The entry of a ring.
pub(crate) enum Entry {
    Send([u64; SendDescriptor::WORDS]),
    Receive([u64; ReceiveDescriptor::WORDS]),
    Collective([u64; CollectiveDescriptor::WORDS]),
}

/// A rank that posts descriptors in disorder.
pub(crate) struct Disorder {
    state: u64,
    ranks: u32,
    /// Memory of the rank that may be read and written.
    memory: u64,
    requests: Vec<RequestId>,
    /// The next collective of each context, as far as there was none in disorder.
    sequences: [u64; CONTEXTS],
}

const CONTEXTS: usize = 6;
/// Request slots that it uses, from here on: others are for what the rank posts in good order.
const FIRST_SLOT: u32 = 1_000;
const SLOTS: u32 = 200;

impl Disorder {
    /// By this rank, of so many. `memory` is 64 KiB of its own.
    pub(crate) fn new(seed: u64, rank: u32, ranks: u32, memory: u64) -> Self {
        Self {
            state: seed ^ u64::from(rank) << 32,
            ranks,
            memory,
            requests: vec![RequestId::default()],
            sequences: [0; CONTEXTS],
        }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this.
    fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.next() % u64::from(bound)).expect("below 32 bits")
    }

    fn is(&mut self, one_in: u32) -> bool {
        self.below(one_in) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let count = u32::try_from(from.len()).expect("few");
        from[self.below(count) as usize]
    }

    /// Mostly a new request, at times one that was used before.
    fn request(&mut self) -> RequestId {
        if self.is(8) {
            return self.known_request();
        }
        let slot = FIRST_SLOT + self.below(SLOTS);
        let generation = u32::try_from(self.requests.len()).expect("not so many");
        let request = RequestId { slot, generation };
        self.requests.push(request);
        request
    }

    fn known_request(&mut self) -> RequestId {
        let recent = self.requests.len().saturating_sub(20);
        let recent = self.requests[recent..].to_vec();
        self.pick(&recent)
    }

    /// Mostly memory of the rank.
    fn address(&mut self) -> u64 {
        if self.is(8) {
            return self.pick(&[0, 16, 1 << 40]);
        }
        self.memory + u64::from(self.below(1 << 10)) * 8
    }

    fn rank(&mut self) -> u32 {
        self.below(self.ranks)
    }

    /// What is posted next.
    pub(crate) fn entry(&mut self) -> Entry {
        match self.below(8) {
            0 => Entry::Send(self.send().encode()),
            1..=3 => Entry::Receive(self.receive().encode()),
            _ => Entry::Collective(self.collective().encode()),
        }
    }

    fn send(&mut self) -> SendDescriptor {
        let long = self.is(2);
        let len = if long {
            self.pick(&[0, 65, 5_000, 40_000])
        } else {
            8
        };
        SendDescriptor {
            request: self.request(),
            owed: self.is(2),
            context: 50 + self.below(2),
            destination: self.rank(),
            tag: self.pick(&[0, 1, 2]),
            len,
            payload: if long {
                Payload::Memory(Location::at(self.address()))
            } else {
                Payload::Inline([0x11; INLINE_BYTES])
            },
        }
    }

    fn receive(&mut self) -> ReceiveDescriptor {
        let into = Location::at(self.address());
        let capacity = self.pick(&[0, 8, 5_000, 40_000]);
        let kind = match self.below(9) {
            0 => ReceiveKind::Probe,
            1 => ReceiveKind::ProbeOnce,
            2 => ReceiveKind::Extract,
            3 => ReceiveKind::ExtractOnce,
            4 => ReceiveKind::ReceiveExtracted {
                message: self.known_request(),
                into,
                capacity,
            },
            5 | 6 => ReceiveKind::Cancel(self.known_request()),
            _ => ReceiveKind::Receive {
                into,
                capacity,
                shared: self.is(4),
            },
        };
        ReceiveDescriptor {
            request: self.request(),
            context: 50 + self.below(2),
            source: if self.is(2) { None } else { Some(self.rank()) },
            tag: if self.is(2) {
                None
            } else {
                Some(self.pick(&[0, 1, 2]))
            },
            kind,
        }
    }

    fn collective(&mut self) -> CollectiveDescriptor {
        let context = self.below(u32::try_from(CONTEXTS).expect("few"));
        let sequence = &mut self.sequences[context as usize];
        let mut number = *sequence;
        *sequence += 1;
        if self.is(6) {
            number = self.pick(&[0, number + 1, number + 5, 1 << 20, 1 << 63, u64::MAX]);
        }
        let kind = match self.below(10) {
            0..=2 => return self.open(context),
            3 | 4 => {
                self.sequences[context as usize] = 0;
                CollectiveKind::CloseContext
            }
            5 | 6 => CollectiveKind::Barrier,
            7 => CollectiveKind::Broadcast { root: self.rank() },
            _ => CollectiveKind::Reduce {
                root: if self.is(2) { None } else { Some(self.rank()) },
                op: self.pick(&[Op::Sum, Op::Max, Op::Band]),
                datatype: self.pick(&[Datatype::Int32, Datatype::Double]),
            },
        };
        let bytes = self.pick(&[0, 8, 64, 72, 8_000, 40_000]);
        let inline = bytes <= INLINE_BYTES as u64 && !self.is(4);
        let for_node = self.is(4);
        let spoilt_by = (for_node && self.is(3)).then(|| self.rank());
        CollectiveDescriptor {
            request: self.request(),
            context,
            sequence: number,
            kind,
            bytes,
            input: self.address(),
            output: self.address(),
            inline: inline.then_some([0; INLINE_BYTES]),
            for_node,
            spoilt_by,
        }
    }

    fn open(&mut self, context: u32) -> CollectiveDescriptor {
        self.sequences[context as usize] = 0;
        // Few lists, so that ranks in disorder meet: all ranks from one on, upwards or downwards.
        let mut members: Vec<u32> = (0..self.ranks).collect();
        let (first, take) = (self.below(self.ranks), 1 + self.below(self.ranks));
        members.rotate_left(first as usize);
        if self.is(3) {
            members.truncate(take as usize);
        }
        if self.is(8) {
            members.push(self.rank());
        }
        let mut inline = [0; INLINE_BYTES];
        for (place, member) in inline.chunks_exact_mut(4).zip(&members) {
            place.copy_from_slice(&member.to_le_bytes());
        }
        CollectiveDescriptor {
            request: self.request(),
            context,
            sequence: 0,
            kind: CollectiveKind::OpenContext,
            bytes: members.len().min(INLINE_BYTES / 4) as u64 * 4,
            input: 0,
            output: 0,
            inline: Some(inline),
            for_node: false,
            spoilt_by: None,
        }
    }
}

//! Gets and fetches.

use super::bench::{Bench, SOURCE_BYTES, buffer_sender_port, settle};
use crate::{DestinationSpan, Event, FabricError, Port as _, SourceSpan, Ticket};
use bcs_core::descriptor::Payload;
use bcs_core::job::NodeId;
use bcs_core::layout::Location;

pub(super) fn a_fetch_fills_its_buffer<B: Bench>(bench: &mut B) {
    let address = bench.source_address();
    for node in [0, 3] {
        let mut port = buffer_sender_port(bench, node);
        let tickets: Vec<Ticket> = (1..10)
            .map(|len| port.fetch(0, address + 7, vec![0; len * 10]))
            .collect();
        for (len, ticket) in (1..10).zip(tickets).rev() {
            assert_eq!(settle(bench, &mut port, ticket), Event::Signalled);
            assert_eq!(port.take_fetched(ticket), SOURCE_BYTES[7..7 + len * 10]);
        }
    }
}

/// Several at once, short and long, the last one first. All other memory stays as it was.
pub(super) fn gets_bring_what_they_name_and_nothing_else<B: Bench>(bench: &mut B) {
    const PIECES: [(usize, usize); 5] =
        [(0, 1), (3, 500), (503, 9_000), (9_600, 10_000), (19_999, 1)];
    let mut expected = vec![0; SOURCE_BYTES.len()];
    for (offset, len) in PIECES {
        let piece = offset..offset + len;
        expected[piece.clone()].copy_from_slice(&SOURCE_BYTES[piece]);
    }
    let message = Location::contiguous(bench.source_address());
    for node in 1..5u16 {
        let mut port = buffer_sender_port(bench, node);
        let rank = u32::from(node);
        let room = bench.receive_address(NodeId(node));
        let get = |&(offset, len): &(usize, usize)| {
            let (offset, len) = (offset as u64, len as u64);
            let from = SourceSpan {
                rank: 0,
                payload: Payload::Memory(message),
                offset,
                len,
            };
            let to = DestinationSpan {
                rank,
                into: Location::contiguous(room),
                offset,
            };
            port.get(from, to)
        };
        let tickets: Vec<Ticket> = PIECES.iter().rev().map(get).collect();
        for ticket in tickets {
            assert_eq!(settle(bench, &mut port, ticket), Event::Signalled);
        }
        // The bytes as their own node sees them, and as another one does.
        for reader in [node, (node + 1) % 5] {
            let mut port = buffer_sender_port(bench, reader);
            let ticket = port.fetch(rank, room, vec![0; SOURCE_BYTES.len()]);
            assert_eq!(settle(bench, &mut port, ticket), Event::Signalled);
            let differs = |(found, expected): (&u8, &u8)| found != expected;
            let wrong = port
                .take_fetched(ticket)
                .iter()
                .zip(&expected)
                .position(differs);
            assert_eq!(wrong, None, "of rank {rank}, as node {reader} sees it");
        }
    }
}

/// Several at once: a datagram holds many short requests.
pub(super) fn a_get_of_what_is_not_there_says_so<B: Bench>(bench: &mut B) {
    let from = SourceSpan {
        rank: 0,
        payload: Payload::Memory(Location::contiguous(u64::MAX - 4096)),
        offset: 0,
        len: 50,
    };
    let to = DestinationSpan {
        rank: 0,
        into: Location::contiguous(bench.source_address()),
        offset: 0,
    };
    let mut port = buffer_sender_port(bench, 2);
    let tickets: Vec<Ticket> = (0..5).map(|_| port.get(from, to)).collect();
    for ticket in tickets {
        let told = settle(bench, &mut port, ticket);
        assert_eq!(told, Event::Failed(FabricError::SourceMemory));
    }
}

pub(super) fn a_fetch_of_what_is_not_there_gives_its_buffer_back<B: Bench>(bench: &mut B) {
    let mut port = buffer_sender_port(bench, 2);
    let ticket = port.fetch(0, u64::MAX - 4096, vec![1; 50]);
    let missing = Event::Failed(FabricError::SourceMemory);
    assert_eq!(settle(bench, &mut port, ticket), missing);
    assert_eq!(port.take_fetched(ticket).len(), 50);
}

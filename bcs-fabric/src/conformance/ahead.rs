//! Messages outside of the slice.

use super::bench::{Bench, buffer_sender_port, settle};
use crate::{Block, Event, GlobalAddress, Port as _};
use bcs_core::job::{NicThreadId, NodeId, NodeSet};

/// It applies to nodes of other machines only.
pub(super) fn what_is_sent_ahead_comes_once_in_order_and_before_later_puts<B: Bench>(
    bench: &mut B,
) {
    const ROUNDS: u64 = 20;
    for from in 0..5u16 {
        for to in buffer_sender_port(bench, from)
            .other_host_nodes()
            .iter()
            .collect::<Vec<_>>()
        {
            let at = GlobalAddress::new(Block::Descriptors, NodeId(from));
            let mut come: Vec<u64> = Vec::new();
            let mut take = |bench: &mut B| {
                let mut receiver = bench.port(to, NicThreadId::BufferReceiver);
                // The PUT is read first: by then all words that were sent before it must have come.
                let mut put = [0; 8];
                receiver.read(at, &mut put);
                let put = u64::from_le_bytes(put);
                let mut words = Vec::new();
                while let Some(node) = receiver.receive_outside_slice(&mut words) {
                    assert_eq!(node, NodeId(from));
                    come.append(&mut words);
                }
                assert!(come.len() as u64 >= put, "a PUT overtakes what went ahead");
            };
            for round in 1..=ROUNDS {
                let mut port = buffer_sender_port(bench, from);
                port.send_outside_slice(to, &[round]);
                let set = NodeSet::only(to);
                let ticket = port.xfer_and_signal(&set, at, &round.to_le_bytes(), None);
                take(bench);
                assert_eq!(settle(bench, &mut port, ticket), Event::Signalled);
            }
            bench.run_until_idle();
            take(bench);
            assert_eq!(come, (1..=ROUNDS).collect::<Vec<_>>());
        }
    }
}

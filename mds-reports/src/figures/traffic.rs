//! The traffic between ranks.

use std::collections::BTreeMap;

use mds::dump::{MessageTransport, RunDumps};

/// The messages from one rank or node to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrafficSum {
    /// Their number.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Messages from one rank to another by one transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The rank that sends.
    pub from: u32,
    /// The rank that receives.
    pub to: u32,
    /// The transport.
    pub road: MessageTransport,
    /// The messages.
    pub sent: TrafficSum,
}

/// Returns all pairs of ranks that exchanged messages, in the order of senders, receivers and
/// transports. The sender's dump has the figure; for a sender without a dump the receivers' dumps
/// have it.
#[must_use]
pub fn flows(dumps: &RunDumps) -> Vec<Flow> {
    let mut flows = Vec::new();
    for dump in &dumps.ranks {
        for peer in &dump.peers {
            let sent = TrafficSum {
                messages: peer.sent,
                bytes: peer.sent_bytes,
            };
            let received = TrafficSum {
                messages: peer.received,
                bytes: peer.received_bytes,
            };
            let mut add = |from, to, sent: TrafficSum| {
                if sent.messages > 0 {
                    let road = peer.road;
                    flows.push(Flow {
                        from,
                        to,
                        road,
                        sent,
                    });
                }
            };
            add(dump.rank, peer.rank, sent);
            if dumps.rank(peer.rank).is_none() {
                add(peer.rank, dump.rank, received);
            }
        }
    }
    flows.sort_by_key(|flow| (flow.from, flow.to, flow.road));
    flows
}

/// Returns the traffic between ranks or nodes, by the numbers that `of` gives ranks, for one
/// transport or all.
#[must_use]
pub fn matrix(
    flows: &[Flow],
    road: Option<MessageTransport>,
    of: impl Fn(u32) -> u32,
) -> BTreeMap<(u32, u32), TrafficSum> {
    let mut cells: BTreeMap<(u32, u32), TrafficSum> = BTreeMap::new();
    for flow in flows
        .iter()
        .filter(|flow| road.is_none_or(|road| road == flow.road))
    {
        let cell = cells.entry((of(flow.from), of(flow.to))).or_default();
        cell.messages = cell.messages.saturating_add(flow.sent.messages);
        cell.bytes = cell.bytes.saturating_add(flow.sent.bytes);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use mds::dump::{PeerDump, RankDump};

    #[test]
    fn a_message_is_counted_once_even_if_its_sender_left_no_dump() {
        let peer = |rank, road, sent, received| PeerDump {
            rank,
            road,
            sent,
            sent_bytes: sent * 8,
            received,
            received_bytes: received * 8,
        };
        let rank = |rank, peers| RankDump {
            rank,
            peers,
            ..RankDump::default()
        };
        let near = peer(1, MessageTransport::Smartmap, 3, 2);
        let dumps = RunDumps {
            ranks: vec![
                rank(0, vec![near, peer(9, MessageTransport::Nic, 1, 5)]),
                rank(1, vec![peer(0, MessageTransport::Smartmap, 2, 3)]),
            ],
            ..RunDumps::default()
        };
        let flows = flows(&dumps);
        let found: Vec<(u32, u32, u64)> = flows
            .iter()
            .map(|flow| (flow.from, flow.to, flow.sent.messages))
            .collect();
        assert_eq!(found, [(0, 1, 3), (0, 9, 1), (1, 0, 2), (9, 0, 5)]);
        let nodes = matrix(&flows, None, |rank| rank / 2);
        assert_eq!(
            nodes[&(0, 0)],
            TrafficSum {
                messages: 5,
                bytes: 40
            }
        );
        assert_eq!(nodes.len(), 3);
        assert_eq!(
            matrix(&flows, Some(MessageTransport::Nic), |rank| rank).len(),
            2
        );
    }
}

//! The traffic between ranks.

use std::collections::{BTreeMap, BTreeSet};

use crate::figures::{self, TrafficSum};
use mds::dump::{MessageTransport, RunDumps};

use super::fitted::fitted;
use super::tables::{table, table_of};
use crate::words::{cut, percent, size};

/// The longest side of a matrix that is written out. For more ranks the matrix shows nodes.
const MOST_MATRIX_RANKS: usize = 64;

/// The longest list.
const MOST: usize = 20;

/// Returns the name of a transport.
pub(super) fn name(road: MessageTransport) -> &'static str {
    match road {
        MessageTransport::Nic => "NIC",
        MessageTransport::Smartmap => "SMARTMAP",
    }
}

/// Lists the pairs of ranks that exchanged the most, with the transport, and the total of each
/// transport.
#[must_use]
pub fn peers(dumps: &RunDumps, terminal: Option<usize>) -> String {
    let mut flows = figures::flows(dumps);
    if flows.is_empty() {
        return String::new();
    }
    let all: f64 = flows.iter().map(|flow| flow.sent.bytes as f64).sum();
    let roads = [MessageTransport::Nic, MessageTransport::Smartmap].map(|road| {
        let of_road = flows.iter().filter(|flow| flow.road == road);
        let sum =
            |of: fn(&TrafficSum) -> u64| of_road.clone().map(|flow| of(&flow.sent) as f64).sum();
        let (messages, bytes): (f64, f64) = (sum(|sent| sent.messages), sum(|sent| sent.bytes));
        format!("{}: {messages:.0} messages, {}", name(road), size(bytes))
    });
    flows.sort_by_key(|flow| std::cmp::Reverse((flow.sent.bytes, flow.sent.messages)));
    let more = cut(&mut flows, MOST, "pairs");
    let mut rows = table(["From", "To", "Road", "Messages", "Data", "%"]);
    for flow in flows {
        rows.add_row([
            flow.from.to_string(),
            flow.to.to_string(),
            name(flow.road).to_owned(),
            flow.sent.messages.to_string(),
            size(flow.sent.bytes as f64),
            percent(flow.sent.bytes as f64, all),
        ]);
    }
    let mut text = fitted(rows, terminal);
    for line in more.into_iter().chain(roads) {
        text.push_str(&format!("\n{line}"));
    }
    text
}

/// Returns the matrix of bytes, senders down and receivers across, for one transport or all. For
/// more than 64 ranks it shows nodes.
#[must_use]
pub fn matrix(dumps: &RunDumps, transport: Option<MessageTransport>) -> String {
    let flows = figures::flows(dumps);
    let of_ranks = figures::matrix(&flows, transport, |rank| rank);
    let ranks = numbers(&of_ranks);
    let (who, numbers, cells) = match ranks.len() > MOST_MATRIX_RANKS {
        false => ("rank", ranks, of_ranks),
        true => {
            let node = |rank| dumps.rank(rank).map_or(u32::MAX, |dump| dump.node);
            let of_nodes = figures::matrix(&flows, transport, node);
            ("node", self::numbers(&of_nodes), of_nodes)
        }
    };
    if numbers.len() > MOST_MATRIX_RANKS {
        return format!(
            "{} nodes are more than fit; see the pairs in bcs mds report, or export them as csv",
            numbers.len()
        );
    }
    let corner = format!("{who} \\ to");
    let heads: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let heads = [corner.as_str()]
        .into_iter()
        .chain(heads.iter().map(String::as_str));
    let mut rows = table_of(heads.collect());
    for from in &numbers {
        let figures = numbers.iter().map(|to| cells.get(&(*from, *to)));
        let figures =
            figures.map(|cell| cell.map_or("·".to_owned(), |cell| size(cell.bytes as f64)));
        rows.add_row([from.to_string()].into_iter().chain(figures));
    }
    let transport = transport.map_or("all transports".to_owned(), |transport| {
        name(transport).to_owned()
    });
    let sum = |of: fn(&TrafficSum) -> u64| cells.values().map(of).fold(0_u64, u64::saturating_add);
    format!(
        "{}\n{} messages, {}, by {transport}",
        rows.trim_fmt(),
        sum(|cell| cell.messages),
        size(sum(|cell| cell.bytes) as f64)
    )
}

fn numbers(cells: &BTreeMap<(u32, u32), TrafficSum>) -> BTreeSet<u32> {
    cells.keys().flat_map(|(from, to)| [*from, *to]).collect()
}

//! The waits between ranks: how long each waited for which, and why.

use crate::figures::{Blame, WaitCause};

use super::fitted::fitted;
use super::tables::table;
use crate::words::cut;
use crate::words::milliseconds;

/// The longest list: the waits behind it are short.
const MOST: usize = 10;

/// Makes a row for each pair of ranks and cause, the longest waits first.
#[must_use]
pub fn who_waits(blame: &Blame, terminal: Option<usize>) -> String {
    let mut pairs = blame.pairs();
    pairs.retain(|pair| pair.cause != WaitCause::Other);
    if pairs.is_empty() {
        return String::new();
    }
    let more = cut(&mut pairs, MOST, "pairs and causes, which waited less");
    let mut rows = table(["Waiter", "Waited for", "Cause", "Waits", "Waited(ms)"]);
    for pair in pairs {
        rows.add_row([
            format!("rank {}", pair.waiter),
            format!("rank {}", pair.other),
            pair.cause.name().to_owned(),
            pair.waits.to_string(),
            milliseconds(pair.waited_ns as f64),
        ]);
    }
    let mut text = fitted(rows, terminal);
    text.extend(more.map(|more| format!("\n{more}")));
    text
}

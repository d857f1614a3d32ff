//! The waits and their causes.

use serde_json::{Value, json};

use crate::figures::{Blame, Split, WaitCause};

use super::tables::table;
use crate::words::milliseconds;
use crate::words::{cut, duration, percent};

/// The longest lists.
const MOST: usize = 20;

/// Shows all waits by cause, the ranks and call sites that caused most of the waiting, and the
/// ranks that waited most. With `rank` the last list has only that rank.
#[must_use]
pub fn blame(blame: &Blame, rank: Option<u32>) -> String {
    let total = blame.total();
    let mut text = vec![causes(&total)];
    let mut culprits: Vec<_> = blame
        .culprits
        .iter()
        .filter(|one| one.cause != WaitCause::Other)
        .collect();
    let more = cut(&mut culprits, MOST, "places");
    let mut rows = table(["To blame", "Place", "Cause", "Waits", "Waited(ms)", "%"]);
    for culprit in culprits {
        rows.add_row([
            format!("rank {}", culprit.rank),
            culprit.place.clone(),
            culprit.cause.name().to_owned(),
            culprit.waits.to_string(),
            milliseconds(culprit.waited_ns as f64),
            percent(culprit.waited_ns as f64, sum(&total)),
        ]);
    }
    text.push(rows.trim_fmt());
    text.extend(more);
    let mut sufferers: Vec<_> = blame.sufferers.iter().collect();
    sufferers.retain(|sufferer| rank.is_none_or(|rank| rank == sufferer.rank));
    sufferers.sort_by(|one, other| sum(&other.split).total_cmp(&sum(&one.split)));
    let more = cut(&mut sufferers, MOST, "ranks, which waited less");
    let mut rows = table([
        "Waited",
        "All(ms)",
        "Posted late",
        "Scheduled late",
        "Moved late",
        "Other",
        "In the last",
    ]);
    for sufferer in sufferers {
        let parts = sufferer.split.map(|ns| milliseconds(ns as f64));
        let kept_ns = sufferer.to_ns.saturating_sub(sufferer.from_ns);
        let who = [
            format!("rank {}", sufferer.rank),
            milliseconds(sum(&sufferer.split)),
        ];
        rows.add_row(
            who.into_iter()
                .chain(parts)
                .chain([duration(kept_ns as f64)]),
        );
    }
    text.push(rows.trim_fmt());
    text.extend(more);
    text.join("\n")
}

fn causes(total: &Split) -> String {
    let causes = WaitCause::ALL.iter().zip(total).map(|(cause, ns)| {
        let share = percent(*ns as f64, sum(total));
        format!(
            "{} {} ms ({share} %)",
            cause.name(),
            milliseconds(*ns as f64)
        )
    });
    let causes = causes.collect::<Vec<_>>().join(", ");
    format!(
        "Waited in blocking calls: {} ms: {causes}",
        milliseconds(sum(total))
    )
}

fn sum(split: &Split) -> f64 {
    split.iter().map(|ns| *ns as f64).sum()
}

/// Returns the same in full for programs, in nanoseconds.
#[must_use]
pub fn blame_json(blame: &Blame) -> Value {
    let split = |split: &Split| {
        let [posted, scheduled, moved, other] = split;
        json!({
            "posted_late_ns": posted,
            "scheduled_late_ns": scheduled,
            "moved_late_ns": moved,
            "other_ns": other,
        })
    };
    let culprits = blame.culprits.iter().map(|culprit| {
        json!({
            "rank": culprit.rank,
            "place": culprit.place,
            "cause": culprit.cause.name(),
            "waits": culprit.waits,
            "waited_ns": culprit.waited_ns,
        })
    });
    let sufferers = blame.sufferers.iter().map(|sufferer| {
        json!({
            "rank": sufferer.rank,
            "from_ns": sufferer.from_ns,
            "to_ns": sufferer.to_ns,
            "waited": split(&sufferer.split),
        })
    });
    json!({
        "waited": split(&blame.total()),
        "culprits": culprits.collect::<Vec<_>>(),
        "sufferers": sufferers.collect::<Vec<_>>(),
    })
}

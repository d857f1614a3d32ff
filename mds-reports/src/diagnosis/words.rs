//! The three sentences.

use crate::words::{duration, percent, size};

use super::cause::{CostlyCause, SlowCause};
use super::facts::{Facts, RankFacts};
use super::late_ranks;

/// From this share of all ranks' time on, the first sentence mentions programs beside the job.
const LEAST_PREEMPTED: f64 = 0.1;

/// Returns what share of time is in MPI, the largest cause, and what to try.
pub(super) fn sentences(
    facts: &Facts,
    largest: &CostlyCause,
    causes: &[CostlyCause],
) -> [String; 3] {
    [
        share_in_mpi(facts),
        cause(facts, largest, causes),
        advice(facts, &largest.cause),
    ]
}

fn time(ns: f64) -> String {
    duration(ns.max(0.0))
}

fn share_in_mpi(facts: &Facts) -> String {
    let mpi_ns = facts
        .ranks
        .iter()
        .fold(0_u64, |sum, rank| sum.saturating_add(rank.mpi_ns));
    let run_ns = facts.run_ns();
    if run_ns == 0 {
        return "No rank left a record of its time.".to_owned();
    }
    let mut text = format!(
        "MPI takes {} % of the time of all ranks: {} of {}",
        percent(mpi_ns as f64, run_ns as f64),
        time(mpi_ns as f64),
        time(run_ns as f64)
    );
    let ranks = facts.ranks.len();
    if facts.cores > 0 && ranks as u64 > facts.cores {
        text.push_str(&format!("; {ranks} ranks share {} cores", facts.cores));
    }
    if others_have_cores(facts) {
        let preempted_ns = facts.preempted_ns() as f64;
        text.push_str(&format!(
            "; for {} they were ready to compute while others had their cores",
            time(preempted_ns)
        ));
    }
    text + "."
}

/// Returns whether ranks were often ready to compute and had no core.
fn others_have_cores(facts: &Facts) -> bool {
    facts.preempted_ns() as f64 >= LEAST_PREEMPTED * facts.run_ns() as f64 && facts.run_ns() > 0
}

fn cause(facts: &Facts, largest: &CostlyCause, causes: &[CostlyCause]) -> String {
    let run_ns = facts.run_ns() as f64;
    let cost_ns = largest.cost_ns as f64;
    let cost = format!(
        "{} ({} % of all ranks' time)",
        time(cost_ns),
        percent(cost_ns, run_ns)
    );
    let kept = match facts.calls_dropped {
        0 => "",
        _ => ", as far as calls are kept",
    };
    let rank = |number: u32| facts.ranks.iter().find(|rank| rank.rank == number);
    let longer = |number: u32| {
        let excess_ns = rank(number).map_or(0.0, |rank| late_ranks::excess_ns(facts, rank));
        time(excess_ns)
    };
    let said = match &largest.cause {
        SlowCause::NothingWrong => return nothing(causes, run_ns),
        SlowCause::LoadImbalance { rank } => format!(
            "load imbalance of rank {rank}, which computes {} longer than the others on average: \
             ranks waited {cost} for it",
            longer(*rank)
        ),
        SlowCause::SlowCore { rank: number } => format!(
            "the slow core of rank {number}, which takes {} longer for its work{}: ranks waited \
             {cost} for it",
            longer(*number),
            rank(*number).map_or_else(String::new, core)
        ),
        SlowCause::FileInput { rank: number } => format!(
            "I/O in rank {number}, which read and wrote {} and slept for {} in it: ranks waited \
             {cost} for it",
            size(
                rank(*number)
                    .and_then(|rank| rank.usage)
                    .map_or(0.0, |usage| usage.file_bytes as f64)
            ),
            time(blocked_ns(rank(*number)))
        ),
        SlowCause::Sleep { rank: number } => format!(
            "that rank {number} slept outside of MPI for {}: ranks waited {cost} for it",
            time(blocked_ns(rank(*number)))
        ),
        SlowCause::SerialisedRoot { rank } => format!(
            "the serialised root, rank {rank}, which answers all others one after the other: they \
             waited {cost} for it"
        ),
        SlowCause::LateSender { place } => {
            format!("the late sender at {place}: receivers waited {cost} for it")
        }
        SlowCause::LateReceiver { place } => {
            format!("the late receiver at {place}: senders waited {cost} for it")
        }
        SlowCause::WaitAtCollective { primitive, place } => format!(
            "the wait at {primitive} at {place}, which ranks enter at different times: they waited \
             {cost} there"
        ),
        SlowCause::MoreRanksThanCores => format!(
            "that there are more ranks than cores ({} on {}): ranks were ready and had no core for \
             {cost}",
            facts.ranks.len(),
            facts.cores
        ),
        SlowCause::SlicesTooLong => format!(
            "that slices are too long: messages waited {cost} for the next strobe, in slices of {}",
            time(facts.slice_ns as f64)
        ),
        SlowCause::Bandwidth => {
            format!("bandwidth: ranks waited {cost} while the bytes of messages moved")
        }
        SlowCause::ManySmallMessages => format!(
            "many small messages: {} of {} on average took {cost}",
            facts.small.count,
            size(facts.small.bytes as f64 / facts.small.count.max(1) as f64)
        ),
    };
    format!("The largest cause is {said}{kept}.")
}

fn nothing(causes: &[CostlyCause], run_ns: f64) -> String {
    let largest = causes.first().map(|found| {
        let share = percent(found.cost_ns as f64, run_ns);
        format!(
            "; the largest is {} with {} ({share} %)",
            found.cause.name(),
            time(found.cost_ns as f64)
        )
    });
    format!(
        "Nothing is wrong: no cause costs a tenth of the ranks' time{}.",
        largest.unwrap_or_default()
    )
}

fn blocked_ns(rank: Option<&RankFacts>) -> f64 {
    rank.and_then(|rank| rank.usage)
        .map_or(0.0, |usage| usage.blocked_ns as f64)
}

/// Returns how long others had the core, if they had.
fn core(rank: &RankFacts) -> String {
    let preempted_ns = rank.usage.map_or(0, |usage| usage.preempted_ns);
    match preempted_ns {
        0 => String::new(),
        ns => format!(" (others had its core for {})", time(ns as f64)),
    }
}

fn advice(facts: &Facts, cause: &SlowCause) -> String {
    let text = match cause {
        SlowCause::NothingWrong if others_have_cores(facts) => {
            "Try to end other programs on these cores, or to run the job elsewhere."
        }
        SlowCause::NothingWrong => {
            "To go faster, make the computation itself faster, or use more ranks."
        }
        SlowCause::LoadImbalance { rank } => {
            return format!(
                "Try to give rank {rank} less work, or to divide the work anew while the program runs."
            );
        }
        SlowCause::SlowCore { rank } => {
            return format!(
                "Try to end other programs on the core of rank {rank}, to place the rank elsewhere, or to \
                 give it less work."
            );
        }
        SlowCause::FileInput { rank } => {
            return format!(
                "Try to let all ranks read and write, to write seldom or in larger pieces, or to write in a \
                 thread of rank {rank} while it computes."
            );
        }
        SlowCause::Sleep { rank } => {
            return format!(
                "Try to find what rank {rank} waits for between its calls: a lock, a file, another program, or \
                 a sleep."
            );
        }
        SlowCause::SerialisedRoot { rank } => {
            return format!(
                "Try a collective in place of messages to rank {rank}, several roots, or larger orders for \
                 each question."
            );
        }
        SlowCause::LateSender { .. } => {
            "Try to send as soon as the data is ready, to compute what does not need the message before \
             the receive, or to receive with MPI_Irecv."
        }
        SlowCause::LateReceiver { .. } => {
            "Try to post the receive early with MPI_Irecv, or to send with MPI_Isend."
        }
        SlowCause::WaitAtCollective { .. } => {
            "Try to leave the collective out where nothing needs it, to make the steps of ranks equally \
             long, or to use its non-blocking form."
        }
        SlowCause::MoreRanksThanCores => {
            let ranks = facts.ranks.len();
            return format!(
                "Try {} in place of {ranks}, or more hosts.",
                match facts.cores {
                    1 => "1 rank".to_owned(),
                    cores => format!("{cores} ranks"),
                }
            );
        }
        SlowCause::SlicesTooLong => {
            "Try --strobe elastic, a shorter --time-slice, or non-blocking calls."
        }
        SlowCause::Bandwidth => {
            "Try to send less, to send while ranks compute (MPI_Isend, MPI_Irecv), or to place ranks that \
             exchange much on one node."
        }
        SlowCause::ManySmallMessages => {
            "Try to send fewer and longer messages: collect what goes to one rank, or use a collective."
        }
    };
    text.to_owned()
}

/// Breaks sentences into lines of at most `width` columns, at spaces. A longer word has a line of
/// its own.
pub(super) fn wrapped(sentences: &[String], width: usize) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in sentences.iter().flat_map(|sentence| sentence.split(' ')) {
        let columns = word.chars().count();
        if column > 0 && column + 1 + columns > width {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += columns;
    }
    text
}

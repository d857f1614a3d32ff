//! The activity of a rank in equal parts of the run: the data of timelines.

use mds::dump::{CallRow, NONE, RankDump};
use mds::mmds::Primitive;

use super::{collective, is_send, primitive};

/// The classes of calls in timelines: a letter and a name.
pub const CALL_CLASSES: [(char, &str); 6] = [
    ('S', "sends"),
    ('R', "receives"),
    ('W', "waits for requests"),
    ('B', "barrier"),
    ('C', "another collective"),
    ('M', "any other call"),
];

/// The time of each class in a part, in parts; then that of computation.
pub type ActivityShares = [f64; CALL_CLASSES.len() + 1];

/// Returns the place of the call's class in [`CALL_CLASSES`].
#[must_use]
pub fn call_class(call: &CallRow) -> usize {
    use Primitive::{Barrier, Mrecv, Recv, Wait, Waitall, Waitany, Waitsome};
    match primitive(call) {
        Some(sends) if is_send(sends) => 0,
        Some(Recv | Mrecv) => 1,
        Some(Wait | Waitall | Waitany | Waitsome) => 2,
        Some(Barrier) => 3,
        _ if collective(call).is_some() => 4,
        _ => 5,
    }
}

/// Divides the time from `began_ns` on, `span_ns` long, into equal parts, and returns what a rank
/// did in each. The parts before the first call that is kept are empty if there were earlier ones.
#[must_use]
pub fn activity(
    dump: &RankDump,
    (began_ns, span_ns): (u64, u64),
    parts: usize,
) -> Vec<ActivityShares> {
    let mut shares = vec![ActivityShares::default(); parts];
    if span_ns == 0 || parts == 0 {
        return shares;
    }
    let width_ns = span_ns as f64 / parts as f64;
    let place = |ns: u64| ns.saturating_sub(began_ns).min(span_ns) as f64 / width_ns;
    let mut spread = |from_ns: u64, to_ns: u64, class: usize| {
        let (from, to) = (place(from_ns), place(to_ns));
        for (part, shares) in shares.iter_mut().enumerate().skip(whole(from)) {
            let begin = from.max(part as f64);
            if begin >= to {
                break;
            }
            shares[class] += to.min(part as f64 + 1.0) - begin;
        }
    };
    let ended_ns = dump.began_ns.saturating_add(dump.run_ns);
    let mut until_ns = match (dump.calls_dropped, dump.calls.first()) {
        (0, _) | (_, None) => dump.began_ns,
        (_, Some(first)) => first.begun_ns,
    };
    for call in &dump.calls {
        let call_ended_ns = if call.ended_ns == NONE {
            ended_ns
        } else {
            call.ended_ns
        };
        spread(until_ns, call.begun_ns, CALL_CLASSES.len());
        spread(call.begun_ns.max(until_ns), call_ended_ns, call_class(call));
        until_ns = until_ns.max(call_ended_ns);
    }
    spread(until_ns, ended_ns, CALL_CLASSES.len());
    shares
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number of a part, which is not negative and at most the number of all"
)]
fn whole(part: f64) -> usize {
    part as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_run_is_divided_among_what_the_rank_did_in_it() {
        let call = |primitive: Primitive, begun_ns, ended_ns| CallRow {
            begun_ns,
            ended_ns,
            primitive: primitive as u64,
            context: NONE,
            ..CallRow::default()
        };
        let dump = RankDump {
            began_ns: 100,
            run_ns: 400,
            calls: vec![
                call(Primitive::Recv, 150, 250),
                call(Primitive::Barrier, 400, NONE),
            ],
            ..RankDump::default()
        };
        let shares = activity(&dump, (100, 400), 4);
        let part = |class: usize, share: f64, computes: f64| {
            let mut part = ActivityShares::default();
            (part[class], part[CALL_CLASSES.len()]) = (share, computes);
            part
        };
        let expected = [
            part(1, 0.5, 0.5),
            part(1, 0.5, 0.5),
            part(0, 0.0, 1.0),
            part(3, 1.0, 0.0),
        ];
        assert_eq!(shares, expected);
        assert_eq!(activity(&dump, (100, 0), 1), [ActivityShares::default()]);
    }
}

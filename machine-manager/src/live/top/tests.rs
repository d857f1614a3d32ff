use super::super::client::JobAnswer;
use super::super::question::JobFacts;
use super::*;
use bcs_core::job::NodeId;
use mds::mmds::{Primitive, RecorderSnapshot};
use node_manager::survey::{Progress, RankSurvey, SurveyPart};
use source_lines::SourceLines;

fn rank(rank: u32, node: u16, in_mpi_ns: u64, completions: u64) -> RankSurvey {
    RankSurvey {
        rank,
        node: NodeId(node),
        pid: 100 + i32::try_from(rank).unwrap(),
        progress: Progress::Running,
        words: Vec::new(),
        code: None,
        last_call: None,
        pending: Vec::new(),
        completions,
        recorded: Some(RecorderSnapshot {
            calls: in_mpi_ns / 1_000,
            messages: in_mpi_ns / 2_000,
            run_ns: 1_000_000 + in_mpi_ns,
            in_mpi_ns,
            call: (rank == 1).then_some(Primitive::Barrier),
            place: String::new(),
        }),
    }
}

fn moment(at_ns: u64, slice: u64, ranks: Vec<RankSurvey>) -> JobSnapshot {
    let job = JobFacts {
        age_ms: 2_000,
        ..JobFacts::default()
    };
    let part = SurveyPart {
        at_ns,
        slice,
        ranks,
        is_last: true,
        ..SurveyPart::default()
    };
    let answered = JobAnswer {
        facts: job,
        parts: vec![part],
        silent: Vec::new(),
    };
    JobSnapshot::of(answered, &mut SourceLines::default())
}

#[test]
fn rates_are_those_between_two_looks() {
    let before = moment(1_000_000_000, 10, vec![rank(0, 0, 0, 5), rank(1, 1, 0, 0)]);
    let mut later = vec![rank(0, 0, 1_000_000, 105), rank(1, 1, 3_000_000, 0)];
    later[0].recorded.as_mut().unwrap().run_ns = 5_000_000;
    let now = moment(3_000_000_000, 1_010, later);
    let figures = TopFigures::between(Some(&before), &now);
    assert_eq!(figures.head[2], "500 slices/s, in 2.0 s");
    let [node, of_0, other, of_1] = &figures.lines[..] else {
        panic!("{figures:?}");
    };
    // 1 ms of 4 ms; 1,000 calls.
    assert_eq!(of_0.rates.recorded, Some([0.25, 250_000.0, 125_000.0]));
    assert_eq!(of_0.rates.completions, 50.0);
    assert_eq!(node.rates, of_0.rates, "it has no other rank");
    assert_eq!(node.does, "1 rank: 1 computing");
    assert_eq!(of_1.rates.recorded.unwrap()[0], 1.0);
    assert_eq!((other.node, of_1.rank), (1, Some((1, 101))));
    assert_eq!(of_1.does, "is in MPI_Barrier");
    let plain = figures.plain();
    assert!(plain.contains(" 25.0 "), "{plain}");
    let first = TopFigures::between(None, &now);
    assert_eq!(first.head[2], "505 slices/s, since the job began");
    assert_eq!(first.lines[1].rates.completions, 52.5);
}

/// A rank that was replaced, a clock that stood still, counters that went back: any process may
/// report these.
#[test]
fn figures_that_make_no_sense_are_figures() {
    let ranks = |ns| vec![rank(0, 0, ns, ns)];
    let (before, now) = (moment(9, 9, ranks(5_000)), moment(9, 3, ranks(1_000)));
    let figures = TopFigures::between(Some(&before), &now);
    assert_eq!(figures.lines[1].rates.completions, 0.0);
    let mut unrecorded = ranks(1);
    unrecorded[0].recorded = None;
    let figures = TopFigures::between(None, &moment(1, 1, unrecorded));
    assert_eq!(figures.lines[0].rates.recorded, None);
    assert_eq!(figures.lines[1].cells()[3..6], ["-", "-", "-"]);
}

#[test]
fn rates_have_the_digits_that_count() {
    let rates = [0.0, 9.94, 12.3, 99_999.0, 123_456.0, 2.5e9];
    let words = rates.map(rate);
    assert_eq!(words, ["0.0", "9.9", "12", "99999", "123k", "2500M"]);
}

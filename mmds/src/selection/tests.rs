//! The selection that a text parses to, and the text that a selection displays as.

use super::*;
use proptest::prelude::*;

fn refusal(text: &str) -> String {
    text.parse::<Selection>().unwrap_err().to_string()
}

fn parsed(text: &str) -> Selection {
    text.parse().unwrap()
}

#[test]
fn both_recorders_are_the_default() {
    assert_eq!(parsed("mmds,emds"), Selection::default());
    assert_eq!(Selection::default().to_string(), "mmds,emds");
    let default = Selection::default();
    assert_eq!(default.window(), SliceWindow::Last(10_000));
    assert!(default.of_rank(7).is_some() && default.of_node(7).is_some());
}

#[test]
fn what_is_not_named_is_not_recorded() {
    assert_eq!(parsed("none"), Selection::NONE);
    assert_eq!(parsed("mmds").emds, None);
    let emds = parsed("emds:7500-12500");
    assert_eq!(emds.mmds, None);
    assert_eq!(emds.window(), SliceWindow::Between(7_500, 12_500));
    assert_eq!(emds.window().rows(), 5_001);
    assert!(emds.window().has(7_500) && emds.window().has(12_500));
    assert!(!emds.window().has(7_499) && !emds.window().has(12_501));
}

#[test]
fn options_choose_ranks_primitives_metrics_and_room() {
    let text = "mmds:ranks=8+0-3+2-5:only=MPI_Recv+MPI_Send:metrics=near+sites,\
                mmds:digits=3:calls=0:messages=12,emds:nodes=2+0:rows=7";
    let selection = parsed(text);
    let mmds = selection.mmds.as_ref().unwrap();
    assert_eq!(mmds.ranks, NumberSet::Only(vec![(0, 5), (8, 8)]));
    assert!(selection.of_rank(5).is_some() && selection.of_rank(6).is_none());
    assert!(mmds.primitives.has(Primitive::Send) && !mmds.primitives.has(Primitive::Wait));
    assert!(mmds.metrics.has(Metric::Sites) && !mmds.metrics.has(Metric::Latency));
    assert_eq!(
        (mmds.digits, mmds.calls, mmds.messages),
        (3, Some(0), Some(12))
    );
    assert!(selection.of_node(2).is_some() && selection.of_node(1).is_none());
    assert_eq!(
        selection.to_string(),
        "mmds:ranks=0-5+8:only=MPI_Send+MPI_Recv:metrics=sites+near:digits=3:calls=0:\
         messages=12,emds:rows=7:nodes=0+2"
    );
}

#[test]
fn what_is_unknown_is_refused_with_what_is_known() {
    assert_eq!(
        refusal("mmds,xmds"),
        "there is no recorder \"xmds\"; there are: mmds, emds, none"
    );
    assert_eq!(
        refusal("mmds:metrics=latencies"),
        "there is no metric of ranks \"latencies\"; there are: latency, size, sites, peers, \
         communicators, calls, messages, near"
    );
    let primitive = refusal("mmds:only=MPI_Sned");
    assert!(
        primitive.contains("\"MPI_Sned\"; there are: MPI_Send, MPI_Bsend,"),
        "{primitive}"
    );
    for (text, known) in [
        ("mmds:colour=red", "ranks=, only=,"),
        ("mmds:7-9", "ranks=, only=,"),
        ("emds:digits=2", "FIRST-LAST, rows=, nodes="),
        ("emds:last", "FIRST-LAST, rows=, nodes="),
        ("", "mmds, emds, none"),
        ("none:all", "no options"),
    ] {
        assert!(
            refusal(text).ends_with(known) || refusal(text).contains(known),
            "{text}"
        );
    }
}

#[test]
fn numbers_out_of_bounds_and_contradictions_are_refused() {
    for text in [
        "mmds:digits=0",
        "mmds:digits=4",
        "mmds:calls=many",
        "mmds:calls=99999999999",
        "mmds:ranks=5-3",
        "mmds:ranks=",
        "emds:rows=0",
        "emds:9-8",
        "emds:0-99999999",
    ] {
        assert!(refusal(text).contains("is no"), "{text}: {}", refusal(text));
    }
    assert!(refusal("none,mmds").contains("leave one"));
    assert!(refusal("emds:1-2:rows=9").contains("one window"));
}

fn numbers() -> impl Strategy<Value = String> {
    let range = (0_u32..50, 0_u32..9).prop_map(|(first, more)| {
        if more == 0 {
            first.to_string()
        } else {
            format!("{first}-{}", first + more)
        }
    });
    prop::collection::vec(range, 1..5).prop_map(|ranges| ranges.join("+"))
}

proptest! {
    #[test]
    fn a_selection_is_what_it_says_of_itself(
        ranks in numbers(), nodes in numbers(), digits in 1..=3, calls in 0..9_000_u32,
        primitive in 0..Primitive::ALL.len(), metric in 0..Metric::ALL.len(),
        first in 0..1_000_u32, more in 0..1_000_u32, which in 0..8,
    ) {
        let primitive = Primitive::ALL[primitive];
        let metric = Metric::ALL[metric].name();
        let mmds = format!(
            "mmds:ranks={ranks}:digits={digits}:calls={calls}:only={primitive}:metrics={metric}"
        );
        let emds = format!("emds:nodes={nodes}:{first}-{}", first + more);
        let text = match which {
            0 => mmds,
            1 => emds,
            _ => format!("{emds},{mmds}"),
        };
        let selection = parsed(&text);
        prop_assert_eq!(parsed(&selection.to_string()), selection.clone());
        let sent = serde_json::to_string(&selection).unwrap();
        prop_assert_eq!(serde_json::from_str::<Selection>(&sent).unwrap(), selection);
    }

    #[test]
    fn any_text_is_a_selection_or_is_refused(text in "[a-z0-9,:=+-]{0,40}") {
        if let Ok(selection) = text.parse::<Selection>() {
            prop_assert_eq!(parsed(&selection.to_string()), selection);
        }
    }
}

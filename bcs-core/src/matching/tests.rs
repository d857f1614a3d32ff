//! The matcher against an oracle that searches two queues from the front, and a count of its work.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

/// MPI's rules, taken literally: two queues in order, searched from the front.
#[derive(Default)]
struct Oracle {
    unexpected: VecDeque<(MessageEnvelope, u32)>,
    posted: VecDeque<(Pattern, u32)>,
    unexpected_limit: usize,
    posted_limit: usize,
}

impl Oracle {
    fn arrive(
        &mut self,
        signature: MessageEnvelope,
        message: u32,
    ) -> Result<Option<u32>, TableFull> {
        let position = self
            .posted
            .iter()
            .position(|(pattern, _)| pattern.matches(&signature));
        if let Some(position) = position {
            return Ok(self.posted.remove(position).map(|(_, receive)| receive));
        }
        if self.unexpected.len() == self.unexpected_limit {
            return Err(TableFull::Unexpected {
                limit: self.unexpected_limit,
            });
        }
        self.unexpected.push_back((signature, message));
        Ok(None)
    }

    fn post(
        &mut self,
        pattern: Pattern,
        receive: u32,
    ) -> Result<Option<(MessageEnvelope, u32)>, TableFull> {
        if let Some(message) = self.take(pattern) {
            return Ok(Some(message));
        }
        if self.posted.len() == self.posted_limit {
            return Err(TableFull::Posted {
                limit: self.posted_limit,
            });
        }
        self.posted.push_back((pattern, receive));
        Ok(None)
    }

    fn cancel(&mut self, receive: u32) -> Option<u32> {
        let position = self
            .posted
            .iter()
            .position(|(_, posted)| *posted == receive)?;
        self.posted.remove(position).map(|(_, receive)| receive)
    }

    fn probe(&self, pattern: Pattern) -> Option<(MessageEnvelope, u32)> {
        let mut matches = self
            .unexpected
            .iter()
            .filter(|(bears, _)| pattern.matches(bears));
        matches.next().copied()
    }

    fn take(&mut self, pattern: Pattern) -> Option<(MessageEnvelope, u32)> {
        let position = self
            .unexpected
            .iter()
            .position(|(bears, _)| pattern.matches(bears))?;
        self.unexpected.remove(position)
    }

    fn take_message(&mut self, signature: MessageEnvelope, odd: bool) -> Option<u32> {
        let wanted = |message: u32| message.is_multiple_of(2) != odd;
        let position = self
            .unexpected
            .iter()
            .position(|(bears, message)| *bears == signature && wanted(*message))?;
        self.unexpected.remove(position).map(|(_, message)| message)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Arrive(MessageEnvelope),
    Post(Pattern),
    /// Cancels the receive of a number of waiting posts ago, even if it has been matched or
    /// cancelled.
    Cancel(usize),
    Probe(Pattern),
    Take(Pattern),
    /// Takes the earliest message with this signature whose number is odd, or even: not always the
    /// first one.
    TakeMessage(MessageEnvelope, bool),
}

/// Few contexts, sources and tags, so that they meet; tags of either sign.
fn signatures() -> impl Strategy<Value = MessageEnvelope> {
    (0..2_u32, 0..3_u32, -1..3_i32).prop_map(|(context, source, tag)| MessageEnvelope {
        context,
        source,
        tag,
    })
}

fn patterns() -> impl Strategy<Value = Pattern> {
    (signatures(), any::<bool>(), any::<bool>()).prop_map(|(signature, any_source, any_tag)| {
        Pattern {
            context: signature.context,
            source: (!any_source).then_some(signature.source),
            tag: (!any_tag).then_some(signature.tag),
        }
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => signatures().prop_map(Step::Arrive),
        6 => patterns().prop_map(Step::Post),
        2 => (0..40_usize).prop_map(Step::Cancel),
        2 => patterns().prop_map(Step::Probe),
        1 => patterns().prop_map(Step::Take),
        2 => (signatures(), any::<bool>()).prop_map(|(signature, odd)| Step::TakeMessage(signature, odd)),
    ];
    proptest::collection::vec(step, 0..400)
}

/// Takes one step in both, and compares the results. Messages and receives are numbered.
fn step_both(
    step: Step,
    number: u32,
    matcher: &mut Matcher<u32, u32>,
    oracle: &mut Oracle,
    handles: &mut Vec<(ReceiveHandle, u32)>,
) {
    match step {
        Step::Arrive(signature) => {
            let found = matcher
                .arrive(signature, number)
                .map(|arrival| match arrival {
                    ArrivalOutcome::Matched {
                        envelope,
                        pattern,
                        receive,
                    } => {
                        assert_eq!(envelope, number);
                        assert!(pattern.matches(&signature));
                        Some(receive)
                    }
                    ArrivalOutcome::Unexpected => None,
                });
            assert_eq!(found, oracle.arrive(signature, number));
        }
        Step::Post(pattern) => {
            let found = matcher.post(pattern, number).map(|posted| match posted {
                PostOutcome::Matched {
                    signature,
                    envelope,
                    receive,
                } => {
                    assert_eq!(receive, number);
                    Some((signature, envelope))
                }
                PostOutcome::Waiting(handle) => {
                    handles.push((handle, number));
                    None
                }
            });
            assert_eq!(found, oracle.post(pattern, number));
        }
        Step::Cancel(ago) => {
            if let Some(&(handle, receive)) = handles.iter().rev().nth(ago) {
                assert_eq!(matcher.cancel(handle), oracle.cancel(receive));
            }
        }
        Step::Probe(pattern) => {
            let found = matcher
                .probe(pattern)
                .map(|(signature, message)| (signature, *message));
            assert_eq!(found, oracle.probe(pattern));
            assert_eq!(matcher.holds_match_for(pattern), found.is_some());
        }
        Step::Take(pattern) => assert_eq!(matcher.take_unexpected(pattern), oracle.take(pattern)),
        Step::TakeMessage(signature, odd) => {
            let wanted = |message: &u32| message.is_multiple_of(2) != odd;
            let taken = matcher.take_message(signature, wanted);
            assert_eq!(taken, oracle.take_message(signature, odd));
        }
    }
}

fn assert_same_state(matcher: &Matcher<u32, u32>, oracle: &Oracle) {
    assert_eq!(matcher.unexpected_len(), oracle.unexpected.len());
    assert_eq!(matcher.posted_len(), oracle.posted.len());
    let unexpected = matcher
        .unexpected()
        .map(|(signature, message)| (signature, *message));
    assert!(
        unexpected.eq(oracle.unexpected.iter().copied()),
        "in the order of arrival"
    );
    let posted = matcher
        .posted()
        .map(|(pattern, receive)| (pattern, *receive));
    assert!(
        posted.eq(oracle.posted.iter().copied()),
        "in the order of posting"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn it_answers_as_two_queues_searched_from_the_front_would(
        steps in steps(),
        unexpected_limit in prop_oneof![Just(1000_usize), 0..10_usize],
        posted_limit in prop_oneof![Just(1000_usize), 0..10_usize],
    ) {
        let mut matcher = Matcher::new(unexpected_limit, posted_limit);
        let mut oracle = Oracle { unexpected_limit, posted_limit, ..Oracle::default() };
        let mut handles = Vec::new();
        for (number, step) in (0..).zip(steps) {
            step_both(step, number, &mut matcher, &mut oracle, &mut handles);
            assert_same_state(&matcher, &oracle);
        }
    }
}

const MANY: u32 = 1 << 17;

fn signature(source: u32, tag: u32) -> MessageEnvelope {
    MessageEnvelope {
        context: 0,
        source,
        tag: i32::try_from(tag).unwrap(),
    }
}

/// Returns every number below `MANY` once: an odd factor permutes the numbers below a power of two.
fn shuffled() -> impl Iterator<Item = u32> {
    (0..MANY).map(|number| number.wrapping_mul(0x9e37_79b1) % MANY)
}

/// Asserts that the operations passed few chains each, and that all memory is in use again.
fn assert_cheap(matcher: &Matcher<u32, u32>, operations: u32) {
    let walked = matcher.unexpected.walked() + matcher.posted.walked();
    let allowed = 6 * u64::from(operations);
    assert!(
        walked < allowed,
        "{operations} operations looked at {walked} chains"
    );
    assert_eq!((matcher.unexpected_len(), matcher.posted_len()), (0, 0));
    assert_eq!(
        matcher.unexpected.footprint().1 + matcher.posted.footprint().1,
        0,
        "chains left"
    );
}

/// Lets many messages of distinct signatures arrive, and receives them with these patterns.
fn receive_unexpected(patterns: impl Iterator<Item = (Pattern, u32)>) {
    let mut matcher = Matcher::new(MANY as usize, 0);
    for number in 0..MANY {
        assert_eq!(
            matcher.arrive(signature(number % 64, number), number),
            Ok(ArrivalOutcome::Unexpected)
        );
    }
    for (pattern, expected) in patterns {
        assert_eq!(
            matcher.probe(pattern).map(|(_, message)| *message),
            Some(expected)
        );
        let Ok(PostOutcome::Matched { envelope, .. }) = matcher.post(pattern, 0) else {
            panic!("{pattern:?} found nothing");
        };
        assert_eq!(envelope, expected);
    }
    assert_cheap(&matcher, 3 * MANY);
}

#[test]
fn many_messages_are_received_in_any_order_in_few_steps() {
    let exact = |number| (Pattern::from(signature(number % 64, number)), number);
    receive_unexpected((0..MANY).map(exact));
    receive_unexpected((0..MANY).rev().map(exact));
    receive_unexpected(shuffled().map(exact));
}

#[test]
fn many_messages_are_received_by_wildcards_in_few_steps() {
    let any_source = |number| {
        (
            Pattern {
                source: None,
                ..signature(0, number).into()
            },
            number,
        )
    };
    receive_unexpected((0..MANY).rev().map(any_source));
    receive_unexpected(shuffled().map(any_source));
    let both = |number| {
        (
            Pattern {
                context: 0,
                source: None,
                tag: None,
            },
            number,
        )
    };
    receive_unexpected((0..MANY).map(both));
    // All of the last source first, then all of the one before.
    let any_tag = |number| {
        let (source, place) = (63 - number / (MANY / 64), number % (MANY / 64));
        (
            Pattern {
                tag: None,
                ..signature(source, 0).into()
            },
            place * 64 + source,
        )
    };
    receive_unexpected((0..MANY).map(any_tag));
}

/// Posts many receives and lets messages arrive that they match, in another order.
#[test]
fn many_posted_receives_are_met_in_any_order_in_few_steps() {
    let orders: [Box<dyn Iterator<Item = u32>>; 3] = [
        Box::new(0..MANY),
        Box::new((0..MANY).rev()),
        Box::new(shuffled()),
    ];
    for order in orders {
        let mut matcher = Matcher::new(0, MANY as usize);
        for number in 0..MANY {
            // Distinct tags, so that each message has one receive, of any kind of pattern.
            let exact = Pattern::from(signature(number % 64, number));
            let pattern = match number % 2 {
                0 => exact,
                _ => Pattern {
                    source: None,
                    ..exact
                },
            };
            assert!(matches!(
                matcher.post(pattern, number),
                Ok(PostOutcome::Waiting(_))
            ));
        }
        for number in order {
            let arrival = matcher.arrive(signature(number % 64, number), number);
            let Ok(ArrivalOutcome::Matched { receive, .. }) = arrival else {
                panic!("{arrival:?}")
            };
            assert_eq!(receive, number);
        }
        assert_cheap(&matcher, 2 * MANY);
    }
}

#[test]
fn many_alike_are_taken_from_the_middle_in_few_steps() {
    let mut matcher: Matcher<u32, u32> = Matcher::new(0, MANY as usize);
    let pattern = Pattern {
        context: 0,
        source: None,
        tag: None,
    };
    let handles: Vec<ReceiveHandle> = (0..MANY)
        .map(|number| match matcher.post(pattern, number) {
            Ok(PostOutcome::Waiting(handle)) => handle,
            other => panic!("{other:?}"),
        })
        .collect();
    for number in shuffled() {
        assert_eq!(matcher.cancel(handles[number as usize]), Some(number));
    }
    assert_cheap(&matcher, 2 * MANY);
}

#[test]
fn a_message_goes_to_the_earliest_receive_whatever_its_wildcards() {
    let exact = Pattern::from(signature(1, 2));
    let any_source = Pattern {
        source: None,
        ..exact
    };
    let any_tag = Pattern { tag: None, ..exact };
    let both = Pattern {
        source: None,
        ..any_tag
    };
    let mut orders = vec![vec![]];
    for _ in 0..4 {
        let longer = |order: &Vec<Pattern>| {
            let order = order.clone();
            [exact, any_source, any_tag, both].map(|next| [order.clone(), vec![next]].concat())
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    for order in orders {
        let mut matcher = Matcher::new(0, 4);
        for (number, &pattern) in order.iter().enumerate() {
            matcher.post(pattern, number).unwrap();
        }
        for (number, &pattern) in order.iter().enumerate() {
            let arrival = matcher.arrive(signature(1, 2), ());
            assert_eq!(
                arrival,
                Ok(ArrivalOutcome::Matched {
                    envelope: (),
                    pattern,
                    receive: number
                })
            );
        }
    }
}

#[test]
fn a_stale_handle_does_not_cancel_the_receive_that_took_its_slot() {
    let mut matcher: Matcher<u32, u32> = Matcher::new(1, 1);
    let pattern = Pattern::from(signature(0, 0));
    let Ok(PostOutcome::Waiting(stale)) = matcher.post(pattern, 1) else {
        panic!()
    };
    assert!(matches!(
        matcher.arrive(signature(0, 0), 9),
        Ok(ArrivalOutcome::Matched { .. })
    ));
    let Ok(PostOutcome::Waiting(handle)) = matcher.post(pattern, 2) else {
        panic!()
    };
    assert_eq!(matcher.cancel(stale), None);
    assert_eq!(matcher.cancel(handle), Some(2));
    assert_eq!(matcher.cancel(handle), None);
}

#[test]
fn a_full_table_is_an_error_and_memory_is_touched_on_demand() {
    let mut matcher: Matcher<u32, u32> = Matcher::new(2, 1 << 20);
    for number in 0..2 {
        matcher.arrive(signature(0, number), number).unwrap();
    }
    let full = matcher.arrive(signature(0, 2), 2).unwrap_err();
    assert_eq!(full, TableFull::Unexpected { limit: 2 });
    assert_eq!(
        full.to_string(),
        "2 messages have arrived for which no receive is posted, and no more can be kept"
    );
    assert_eq!(matcher.unexpected_len(), 2);
    // A message that meets a receive at once needs no room.
    matcher.post(signature(1, 7).into(), 7).unwrap();
    assert!(matches!(
        matcher.arrive(signature(1, 7), 3),
        Ok(ArrivalOutcome::Matched { .. })
    ));
    // One receive at a time: one slot, over and over.
    for number in 10..1000 {
        matcher.post(signature(1, number).into(), number).unwrap();
        matcher.arrive(signature(1, number), number).unwrap();
    }
    assert_eq!(matcher.posted.footprint(), (1, 0));
}

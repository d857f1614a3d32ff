//! For the tests: all members of a node in one thread, which take their steps in any order.

use super::tests::Node;
use std::sync::atomic::Ordering;

/// The next action of a member.
pub(super) mod choice {
    /// It posts the next operation, and does not wait.
    pub(in super::super) const POSTS: u8 = 0;
    /// It polls, and will poll again by itself.
    pub(in super::super) const LOOKS: u8 = 1;
    /// It polls, and sleeps until it is notified if none of its operations is over.
    pub(in super::super) const SLEEPS: u8 = 2;
}

/// Members post `count` operations each, one after the other, and poll them, in the order of
/// `choices`: a member and an action. A member that has nothing under way posts in any case.
/// Actions other than those [above](choice) are handled by `other`, which also follows every step,
/// and names the members that it has woken.
///
/// A member that sleeps does nothing until its event count changes, so the test finds a member that
/// is not notified.
///
/// # Panics
/// If they never end.
pub(super) fn step_members<P>(
    node: &mut Node,
    count: usize,
    choices: impl IntoIterator<Item = (usize, u8)>,
    mut post: impl FnMut(&mut Node, usize, usize) -> P,
    mut is_over: impl FnMut(&mut Node, usize, usize, &P) -> bool,
    mut other: impl FnMut(&mut Node, usize, (usize, u8)) -> Vec<usize>,
) {
    let size = node.members.len();
    let mut posted: Vec<Vec<P>> = (0..size).map(|_| Vec::new()).collect();
    let mut over = vec![0; size];
    let mut asleep = vec![None; size];
    for (choice, what) in choices {
        let member = choice % size;
        let place = node.place(member);
        let news = node.ends[place]
            .node
            .event_count(place)
            .load(Ordering::Relaxed);
        let sleeps = asleep[member] == Some(news) && over[member] < posted[member].len();
        if !sleeps {
            asleep[member] = None;
            let next = posted[member].len();
            if next < count && (what == choice::POSTS || over[member] == next) {
                let one = post(node, member, next);
                posted[member].push(one);
            }
            match what {
                choice::LOOKS => {
                    node.ends[place].advance_collectives(false);
                    node.ends[place].do_errands(false);
                }
                choice::SLEEPS => node.ends[place].call(),
                _ => {}
            }
            let before = over[member];
            while let Some(one) = posted[member].get(over[member]) {
                if !is_over(node, member, over[member], one) {
                    break;
                }
                over[member] += 1;
            }
            if what == choice::SLEEPS && over[member] == before {
                asleep[member] = Some(news);
            }
        }
        for woken in other(node, member, (choice, what)) {
            asleep[woken] = None;
        }
        if over.iter().all(|&over| over == count) {
            return;
        }
    }
    panic!("they never end: {over:?} of {count}, asleep: {asleep:?}");
}

/// Returns choices, followed by turns of all members, in each of which they do this many
/// operations.
pub(super) fn and_in_turns(
    choices: &[(usize, u8)],
    kinds: usize,
) -> impl Iterator<Item = (usize, u8)> {
    let what = move |at: usize| 1 + u8::try_from(at % kinds).expect("few");
    let turns = (0..100_000).map(move |at| (at / kinds, what(at)));
    choices.iter().copied().chain(turns)
}

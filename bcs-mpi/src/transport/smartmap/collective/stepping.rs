//! For the tests: all members of a node in one thread, each taking its steps in whatever order.

use super::tests::Node;
use std::sync::atomic::Ordering;

/// What a member does next.
pub(super) mod choice {
    /// It posts what comes next, and does not wait.
    pub(in super::super) const POSTS: u8 = 0;
    /// It looks, and will look again by itself.
    pub(in super::super) const LOOKS: u8 = 1;
    /// It looks, and sleeps until it is told if nothing of its is over.
    pub(in super::super) const SLEEPS: u8 = 2;
}

/// Members post `count` things each, one after the other, and look at them, in the order of `choices`: of which
/// member, and what. A member that has nothing under way posts in any case. Other choices than those
/// [above](choice) are `other`'s, which also follows every step, and names the members that it has woken.
///
/// Who sleeps does nothing until its news change: so a member that nobody tells is found.
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

/// Choices, and then all members in turns, who do each of so many things.
pub(super) fn and_in_turns(
    choices: &[(usize, u8)],
    kinds: usize,
) -> impl Iterator<Item = (usize, u8)> {
    let what = move |at: usize| 1 + u8::try_from(at % kinds).expect("few");
    let turns = (0..100_000).map(move |at| (at / kinds, what(at)));
    choices.iter().copied().chain(turns)
}

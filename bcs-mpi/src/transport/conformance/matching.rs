//! Which message a receive gets (MPI 5.0, 3.5).

use super::rank::{BufferShape, WORLD};
use super::rank::{
    ConformanceRank, MessageSelector, RuleViolation, all_sent, ensure, hear, numbered, pair,
    pattern, post, post_receive, receive, send, tag_of, tell, wanted,
};
use crate::transport::{SendMode, Transport};
use bcs_core::request::RequestFailure;

/// Lengths that take different paths: in a descriptor, copied, by rendezvous, in parts.
const LENGTHS: [usize; 6] = [0, 8, 100, 3_000, 40, 70_000];

/// Messages of one pair are received in the order in which they were sent, whatever path each
/// takes.
pub(super) fn order<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    const MESSAGES: usize = 60;
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    let numbers = (0..MESSAGES).map(|number| (number, tag_of(number % 3), LENGTHS[number % 6]));
    if sends {
        let mut posted = Vec::new();
        for (number, tag, len) in numbers {
            let mode = match number % 7 {
                0 => SendMode::Synchronous,
                _ => SendMode::Standard,
            };
            let data = (numbered(number, len), BufferShape::Plain(len));
            posted.push(post(party, mode, (WORLD, peer, tag), data)?);
        }
        return all_sent(party, posted);
    }
    for (number, tag, len) in numbers {
        let any_tag = MessageSelector {
            tag: None,
            ..wanted(peer, 0)
        };
        let got = receive(party, any_tag, 70_000)?.received(party, peer)?;
        let right = got == (tag, numbered(number, len));
        ensure!(right, "message {number} of rank {peer} is not the next one");
    }
    Ok(())
}

/// A receive with a tag gets a message of that tag, and leaves others alone.
pub(super) fn tags<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    let number = |tag: i32| tag.unsigned_abs() as usize;
    if sends {
        let posted = (0..12).map(|tag| send(party, peer, tag, numbered(number(tag), 50)));
        let posted = posted.collect::<Result<_, _>>()?;
        return all_sent(party, posted);
    }
    // The even ones are posted in another order than sent; the odd ones when all have come.
    let posted = (0..6).rev().map(|half| {
        let tag = 2 * half;
        Ok((tag, receive(party, wanted(peer, tag), 50)?))
    });
    let posted: Vec<_> = posted.collect::<Result<_, RuleViolation>>()?;
    for (tag, receive) in posted {
        let got = receive.received(party, peer)?;
        ensure!(
            got == (tag, numbered(number(tag), 50)),
            "not the message of tag {tag}"
        );
    }
    for tag in [11, 1, 9, 3, 7, 5] {
        let got = receive(party, wanted(peer, tag), 50)?.received(party, peer)?;
        ensure!(
            got == (tag, numbered(number(tag), 50)),
            "not the message of tag {tag}"
        );
    }
    Ok(())
}

/// Communicators do not see each other's messages.
pub(super) fn contexts<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    const OTHER: u32 = 1_999;
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    if sends {
        let posted = [OTHER, WORLD].map(|context| {
            let data = (numbered(context as usize, 100), BufferShape::Plain(100));
            post(party, SendMode::Standard, (context, peer, 3), data)
        });
        let posted = posted.into_iter().collect::<Result<_, _>>()?;
        return all_sent(party, posted);
    }
    for context in [WORLD, OTHER] {
        let in_context = MessageSelector {
            context,
            ..wanted(peer, 3)
        };
        let got = receive(party, in_context, 100)?.received(party, peer)?;
        let right = got == (3, numbered(context as usize, 100));
        ensure!(right, "a message of another communicator than {context}");
    }
    Ok(())
}

/// A receive from any source gets each message once, those of one source in order, by either
/// transport. It leaves messages alone that belong to other receives.
pub(super) fn wildcards<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    const EACH: usize = 4;
    const AT_ONCE: usize = 5;
    let (rank, ranks) = (party.rank(), party.ranks());
    if rank > 0 {
        let from = rank as usize * EACH;
        let posted = (0..EACH).map(|number| send(party, 0, 4, numbered(from + number, 60)));
        let mut posted = posted.collect::<Result<Vec<_>, _>>()?;
        posted.push(send(party, 0, 5, numbered(from, 60))?);
        return all_sent(party, posted);
    }
    let named = (1..ranks).map(|from| receive(party, wanted(from, 5), 60));
    let named = named.collect::<Result<Vec<_>, _>>()?;
    let mut next = vec![0; ranks as usize];
    let mut left = EACH * (ranks as usize - 1);
    while left > 0 {
        let any = MessageSelector {
            from: None,
            ..wanted(0, 4)
        };
        let posted = (0..left.min(AT_ONCE)).map(|_| receive(party, any, 60));
        for receive in posted.collect::<Result<Vec<_>, _>>()? {
            let (outcome, bytes) = receive.end(party);
            let from = outcome.source.wrapping_sub(party.first()) as usize;
            ensure!(
                outcome.failure == RequestFailure::None,
                "it came to {:?}",
                outcome.failure
            );
            ensure!((1..next.len()).contains(&from), "nobody is rank {from}");
            let right = bytes == numbered(from * EACH + next[from], 60);
            ensure!(right, "not message {} of rank {from}", next[from]);
            next[from] += 1;
            left -= 1;
        }
    }
    for (from, receive) in (1..).zip(named) {
        let (_, bytes) = receive.received(party, from)?;
        let right = bytes == numbered(from as usize * EACH, 60);
        ensure!(right, "the named receive got something else of rank {from}");
    }
    Ok(())
}

/// A probe finds the message that a receive would get, and leaves it there. It does not find
/// received messages.
pub(super) fn probes<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    if sends {
        hear(party, peer, 7)?;
        let first = send(party, peer, 6, numbered(1, 100))?;
        let second = send(party, peer, 6, numbered(2, 50_000))?;
        return all_sent(party, vec![first, second]);
    }
    let pattern = pattern(party, wanted(peer, 6));
    let probe = |party: &mut P| {
        party.transport().progress();
        let found = party.transport().probe(pattern);
        found.map_err(|full| RuleViolation(format!("a probe is refused: {full}")))
    };
    ensure!(
        probe(party)?.is_none(),
        "a message is found that nobody has sent"
    );
    tell(party, peer, 7)?;
    for (number, len) in [(1, 100), (2, 50_000)] {
        for look in 0..2 {
            let found = loop {
                match probe(party)? {
                    Some(found) => break found,
                    None => party.pause(),
                }
            };
            let right =
                found.len == len as u64 && found.tag == 6 && found.source == peer + party.first();
            ensure!(right, "look {look} at message {number} finds {found:?}");
        }
        let data = (vec![0; 50_000], BufferShape::Plain(50_000));
        let got = post_receive(party, wanted(peer, 6), data)?.received(party, peer)?;
        ensure!(
            got.1 == numbered(number, len),
            "not the message that was found"
        );
    }
    ensure!(
        probe(party)?.is_none(),
        "a message is found that was received"
    );
    Ok(())
}

/// A receive that is cancelled takes no message; one that has met its message is not cancelled.
pub(super) fn cancels<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    if sends {
        hear(party, peer, 9)?;
        let posted = [(8, 1), (10, 2), (9, 3)];
        let posted = posted.map(|(tag, number)| send(party, peer, tag, numbered(number, 80)));
        let posted = posted.into_iter().collect::<Result<_, _>>()?;
        return all_sent(party, posted);
    }
    let receives = receive(party, wanted(peer, 8), 80)?;
    receives.cancel(party);
    let (outcome, _) = receives.end(party);
    let failure = outcome.failure;
    ensure!(
        failure == RequestFailure::Cancelled,
        "no message was sent, and it came to {failure:?}"
    );
    tell(party, peer, 9)?;
    // It was sent last, so the others have arrived.
    receive(party, wanted(peer, 9), 80)?.received(party, peer)?;
    let got = receive(party, wanted(peer, 8), 80)?.received(party, peer)?;
    ensure!(
        got.1 == numbered(1, 80),
        "the cancelled receive has got the message"
    );
    let receives = receive(party, wanted(peer, 10), 80)?;
    receives.cancel(party);
    let got = receives.received(party, peer)?;
    ensure!(got.1 == numbered(2, 80), "another message than was there");
    Ok(())
}

/// A cancelled send is never received, whatever its receiver does; one that is not cancelled is
/// received. Both sides get the same outcome, whether the cancel or the receive comes first.
pub(super) fn cancelled_sends<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    match sends {
        true => cancel_sends(party, peer),
        false => receive_what_is_left(party, peer),
    }
}

/// Tags: of messages that are never received, of the messages behind them, of a posted receive, and
/// of the outcome of a race with it.
const NEVER: i32 = 20;
const BEHIND: i32 = 21;
const POSTED: i32 = 22;
const ENDED: i32 = 23;

/// Returns the tag of a message that races its receive. Each has its own: the sender may be at the
/// next message while the receive of this one still waits for its cancel.
fn races(number: usize) -> i32 {
    30 + i32::try_from(number).expect("few")
}

/// Sends a message and cancels it at once. Returns the outcome.
fn cancelled<P: ConformanceRank>(
    party: &mut P,
    peer: u32,
    (tag, number): (i32, usize),
) -> Result<RequestFailure, RuleViolation> {
    let len = LENGTHS[number % LENGTHS.len()];
    let data = (numbered(number, len), BufferShape::Plain(len));
    let send = post(party, SendMode::Synchronous, (WORLD, peer, tag), data)?;
    send.cancel(party);
    Ok(send.end(party).0.failure)
}

fn cancel_sends<P: ConformanceRank>(party: &mut P, peer: u32) -> Result<(), RuleViolation> {
    for number in 0..LENGTHS.len() {
        let failure = cancelled(party, peer, (NEVER, number))?;
        ensure!(
            failure == RequestFailure::Cancelled,
            "nobody receives it, and it came to {failure:?}"
        );
    }
    tell(party, peer, BEHIND)?;
    for number in 0..2 * LENGTHS.len() {
        if number % 2 == 0 {
            hear(party, peer, POSTED)?;
        }
        let failure = cancelled(party, peer, (races(number), number))?;
        let is_known = matches!(failure, RequestFailure::None | RequestFailure::Cancelled);
        ensure!(is_known, "a send that was cancelled came to {failure:?}");
        let ended = vec![u8::from(failure == RequestFailure::Cancelled)];
        send(party, peer, ENDED, ended)?.sent(party)?;
    }
    Ok(())
}

fn receive_what_is_left<P: ConformanceRank>(party: &mut P, peer: u32) -> Result<(), RuleViolation> {
    hear(party, peer, BEHIND)?;
    let never = receive(party, wanted(peer, NEVER), 70_000)?;
    never.cancel(party);
    let (outcome, _) = never.end(party);
    ensure!(
        outcome.failure == RequestFailure::Cancelled,
        "a message that was cancelled is received"
    );
    for number in 0..2 * LENGTHS.len() {
        let receives = receive(party, wanted(peer, races(number)), 70_000)?;
        if number % 2 == 0 {
            tell(party, peer, POSTED)?;
        }
        let ended = receive(party, wanted(peer, ENDED), 1)?.received(party, peer)?;
        if ended.1 == [1] {
            receives.cancel(party);
            let (outcome, _) = receives.end(party);
            let failure = outcome.failure;
            ensure!(
                failure == RequestFailure::Cancelled,
                "message {number} was cancelled, and its receive came to {failure:?}"
            );
        } else {
            let got = receives.received(party, peer)?;
            let len = LENGTHS[number % LENGTHS.len()];
            ensure!(
                got.1 == numbered(number, len),
                "message {number} was not cancelled, and is not what is received"
            );
        }
    }
    Ok(())
}

//! When requests are done, and full tables.

use super::rank::{
    BufferShape, ConformanceRank, RuleViolation, WORLD, all_sent, ensure, hear, numbered, pair,
    post, receive, send, tag_of, tell, wanted,
};
use crate::transport::{SendMode, Transport};
use bcs_core::limits::{RECEIVE_RING_ENTRIES, SEND_RING_ENTRIES};
use bcs_core::lockstep;

/// A synchronous send is done when its receive was posted, and not before.
pub(super) fn synchronous<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    for (number, len) in [0, 20, 3_000, 100_000].into_iter().enumerate() {
        if sends {
            let data = (numbered(number, len), BufferShape::Plain(len));
            let sent = post(party, SendMode::Synchronous, (WORLD, peer, 1), data)?;
            tell(party, peer, 2)?;
            // The peer reports when all that was sent is there.
            hear(party, peer, 3)?;
            for _ in 0..50 {
                ensure!(
                    !sent.is_done(party),
                    "{len} bytes are received, and nobody asks for them"
                );
                party.pause();
            }
            tell(party, peer, 4)?;
            sent.sent(party)?;
        } else {
            hear(party, peer, 2)?;
            tell(party, peer, 3)?;
            hear(party, peer, 4)?;
            let (_, bytes) = receive(party, wanted(peer, 1), len)?.received(party, peer)?;
            ensure!(bytes == numbered(number, len), "other bytes of {len}");
        }
    }
    Ok(())
}

/// Each request gets its own outcome, in whatever order they end and are taken, and its slot is
/// used again.
pub(super) fn requests<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    const AT_ONCE: usize = 16;
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    let tag = |number: usize| tag_of(number % AT_ONCE);
    let len = |number: usize| number * 40;
    for round in 0..6 {
        let numbers: Vec<usize> = (round * AT_ONCE..(round + 1) * AT_ONCE).collect();
        if sends {
            hear(party, peer, 100)?;
            let mixed = (0..AT_ONCE).map(|at| numbers[at * 5 % AT_ONCE]);
            let posted =
                mixed.map(|number| send(party, peer, tag(number), numbered(number, len(number))));
            let posted = posted.collect::<Result<_, _>>()?;
            all_sent(party, posted)?;
            continue;
        }
        let posted = numbers.iter().map(|&number| {
            let posted = receive(party, wanted(peer, tag(number)), 4_000)?;
            Ok((number, Some(posted)))
        });
        let mut posted: Vec<_> = posted.collect::<Result<_, RuleViolation>>()?;
        tell(party, peer, 100)?;
        for at in 0..AT_ONCE {
            let (number, receives) = &mut posted[at * 11 % AT_ONCE];
            let got = match receives.take() {
                Some(receives) => receives.received(party, peer)?,
                None => {
                    return Err(RuleViolation(
                        "a request is asked for twice by the rule".into(),
                    ));
                }
            };
            let right = got == (tag(*number), numbered(*number, len(*number)));
            ensure!(right, "request {number} came to what is another one's");
        }
    }
    Ok(())
}

/// If there are more messages than any ring or queue holds, all are kept, in order, for a receiver
/// that takes the last one first.
pub(super) fn held<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    const MESSAGES: u64 = 2 * (SEND_RING_ENTRIES + RECEIVE_RING_ENTRIES);
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    let messages = usize::try_from(MESSAGES).unwrap_or(usize::MAX);
    let len = |number: usize| if number.is_multiple_of(9) { 200 } else { 10 };
    if sends {
        let posted =
            (0..messages).map(|number| send(party, peer, 1, numbered(number, len(number))));
        let mut posted = posted.collect::<Result<Vec<_>, _>>()?;
        posted.push(send(party, peer, 2, Vec::new())?);
        return all_sent(party, posted);
    }
    hear(party, peer, 2)?;
    for number in 0..messages {
        let (_, bytes) = receive(party, wanted(peer, 1), 200)?.received(party, peer)?;
        ensure!(
            bytes == numbered(number, len(number)),
            "not message {number}"
        );
    }
    Ok(())
}

/// Waits until all that was sent has arrived.
fn until_over<P: ConformanceRank>(party: &mut P) {
    while !party.transport().is_over() {
        party.transport().progress();
        party.pause();
    }
}

/// The room of requests and messages is given back: after many of them a transport has as much room
/// as before.
pub(super) fn credits<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    const ROUNDS: usize = 20;
    const AT_ONCE: usize = 40;
    let Some((peer, _)) = pair(party) else {
        return Ok(());
    };
    until_over(party);
    let room = party.transport().room();
    for round in 0..ROUNDS {
        let receives = (0..AT_ONCE).map(|_| receive(party, wanted(peer, 1), 3_000));
        let receives = receives.collect::<Result<Vec<_>, _>>()?;
        let sends = (0..AT_ONCE).map(|number| send(party, peer, 1, numbered(number, 75 * number)));
        let sends = sends.collect::<Result<Vec<_>, _>>()?;
        for (number, receive) in receives.into_iter().enumerate() {
            let (_, bytes) = receive.received(party, peer)?;
            ensure!(
                bytes == numbered(number, 75 * number),
                "not message {number} of round {round}"
            );
        }
        all_sent(party, sends)?;
    }
    until_over(party);
    let left = party.transport().room();
    ensure!(
        left == room,
        "there was room for {room} requests, and there is for {left}"
    );
    Ok(())
}

/// Each thread of a rank gets its own messages.
pub(super) fn threads<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    let (Some((peer, _)), Some(mut other)) = (pair(party), party.in_thread()) else {
        return Ok(()); // There is no peer, or the transport has its owner's lock.
    };
    let talk = |party: &mut P, thread: usize| {
        let tag = tag_of(thread);
        for number in 0..40 {
            let len = [8, 500, 40_000][number % 3];
            let receives = receive(party, wanted(peer, tag), len)?;
            let sends = send(party, peer, tag, numbered(number + thread, len))?;
            let (_, bytes) = receives.received(party, peer)?;
            let right = bytes == numbered(number + thread, len);
            ensure!(right, "message {number} of a thread went to another one");
            sends.sent(party)?;
        }
        Ok(())
    };
    lockstep::scope(|scope| {
        let thread = scope.spawn(|| talk(&mut other, 1));
        let here = talk(party, 2);
        let there = thread.join();
        here.and(there.unwrap_or_else(|_| Err(RuleViolation("a thread panicked".into()))))
    })
}

//! The bytes that arrive, and the errors if they cannot.
#![expect(unsafe_code, reason = "names memory that is not there")]

use super::rank::{
    BufferShape, ConformanceRank, RuleViolation, WORLD, ensure, hear, numbered, pair, post,
    post_receive, receive, receive_into, send, send_from, tell, wanted,
};
use crate::data::DataView;
use crate::transport::{PostedSend, SendMode};
use bcs_core::layout::{DataLayout, LayoutBuilder};
use bcs_core::request::RequestFailure;
use std::sync::Arc;

/// Around the limits of each path: in a descriptor, eager, copied through a queue, shared, in
/// parts.
const LENGTHS: [usize; 13] = [
    0,
    1,
    32,
    33,
    64,
    65,
    1_000,
    4_096,
    4_097,
    16_385,
    65_536,
    300_000,
    1 << 20,
];

/// Every byte arrives, in both modes, whether the receive or the message comes first.
pub(super) fn lengths<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    for mode in [SendMode::Standard, SendMode::Synchronous] {
        for (number, len) in LENGTHS.into_iter().enumerate() {
            for early in [false, true] {
                let all = BufferShape::Plain(len);
                if sends {
                    if early {
                        hear(party, peer, 2)?;
                    }
                    let sent = post(party, mode, (WORLD, peer, 1), (numbered(number, len), all))?;
                    if !early {
                        tell(party, peer, 2)?;
                    }
                    sent.sent(party)?;
                    continue;
                }
                if !early {
                    hear(party, peer, 2)?;
                }
                let receives = receive(party, wanted(peer, 1), len + 1)?;
                if early {
                    tell(party, peer, 2)?;
                }
                let (_, bytes) = receives.received(party, peer)?;
                ensure!(
                    bytes == numbered(number, len),
                    "other bytes of {len}, {mode:?}"
                );
            }
        }
    }
    Ok(())
}

/// A message that is too long fills its buffer and nothing else, even a buffer of no bytes. Its
/// receiver gets its full length.
pub(super) fn truncation<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    let lengths = [20, 100, 9_000, 400_000].into_iter().enumerate();
    for (number, len, fits) in lengths.flat_map(|(n, len)| [(n, len, len * 2 / 3), (n, len, 0)]) {
        if sends {
            send(party, peer, 1, numbered(number, len))?.sent(party)?;
            continue;
        }
        let data = (vec![0xee; len], BufferShape::Plain(fits));
        let (outcome, bytes) = post_receive(party, wanted(peer, 1), data)?.end(party);
        let (failure, told) = (outcome.failure, outcome.len);
        ensure!(
            failure == RequestFailure::Truncated,
            "{len} bytes in {fits} came to {failure:?}"
        );
        ensure!(told == len as u64, "{len} bytes are said to be {told}");
        let right = bytes[..fits] == numbered(number, len)[..fits];
        ensure!(right, "other bytes than the first {fits} of {len}");
        let left = bytes[fits..].iter().all(|&byte| byte == 0xee);
        ensure!(left, "it went on beyond the {fits} bytes of its buffer");
    }
    Ok(())
}

/// Returns blocks of one length at equal distances: their layout, the bytes of a message, and those
/// of memory.
fn blocks(count: usize, len: usize, distance: usize) -> (Arc<DataLayout>, usize, usize) {
    let block = LayoutBuilder::block(0, len as u64);
    let extent = i64::try_from(count * distance).unwrap_or(i64::MAX);
    let stride = i64::try_from(distance).unwrap_or(i64::MAX);
    let layout = block
        .repeat(count as u64, stride)
        .map(|all| all.finish(extent));
    let layout = layout.unwrap_or_else(|_| unreachable!("it is one run"));
    (Arc::new(layout), count * len, count * distance)
}

/// Pieces arrive each at its place, the gaps stay as they were, and a layout may be dropped when
/// its request is done.
pub(super) fn pieces<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    let shapes = [
        (7, 3, 8),
        (100, 8, 24),
        (900, 1, 2),
        (40_000, 8, 16),
        (50, 6_000, 6_100),
    ];
    for (count, len, distance) in shapes {
        // Pieces to pieces, pieces to contiguous bytes, and the reverse.
        for (there, here) in [(true, true), (true, false), (false, true)] {
            let (layout, bytes, memory) = blocks(count, len, distance);
            let whole = numbered(count, memory);
            let packed = || {
                whole
                    .chunks(distance)
                    .flat_map(|block| &block[..len])
                    .copied()
            };
            let plain = BufferShape::Plain(bytes);
            let spread = BufferShape::Pieces(layout, bytes);
            if sends {
                let data = match there {
                    true => (whole, spread),
                    false => (packed().collect(), plain),
                };
                post(party, SendMode::Standard, (WORLD, peer, 1), data)?.sent(party)?;
                continue;
            }
            let into = match here {
                true => (vec![0xee; memory], spread),
                false => (vec![0xee; bytes], plain),
            };
            let (outcome, got) = post_receive(party, wanted(peer, 1), into)?.end(party);
            let failure = outcome.failure;
            ensure!(
                failure == RequestFailure::None,
                "{count} pieces came to {failure:?}"
            );
            let right = match here {
                true => got
                    .chunks(distance)
                    .flat_map(|block| &block[..len])
                    .copied()
                    .eq(packed()),
                false => got.into_iter().eq(packed()),
            };
            ensure!(right, "other bytes of {count} pieces of {len}");
        }
    }
    gaps(party, (peer, sends))
}

/// Checks that the gaps between pieces stay as they were.
fn gaps<P: ConformanceRank>(
    party: &mut P,
    (peer, sends): (u32, bool),
) -> Result<(), RuleViolation> {
    for (count, len, distance) in [(60, 8, 24), (30_000, 8, 16)] {
        let (layout, bytes, memory) = blocks(count, len, distance);
        if sends {
            send(party, peer, 1, numbered(count, bytes))?.sent(party)?;
            continue;
        }
        let into = (vec![0xee; memory], BufferShape::Pieces(layout, bytes));
        let (_, got) = post_receive(party, wanted(peer, 1), into)?.end(party);
        let mut between = got.chunks(distance).flat_map(|block| &block[len..]);
        ensure!(
            between.all(|&byte| byte == 0xee),
            "what lies between {count} pieces was written"
        );
    }
    Ok(())
}

/// An address at which no memory is mapped.
pub(super) const NOWHERE: u64 = 4_096;

/// The length of the unmapped memory.
const MISSING: usize = 300_000;

/// Returns memory that is not mapped.
fn missing() -> DataView {
    // SAFETY: no operation can access it.
    unsafe { DataView::new(NOWHERE, MISSING, None) }
}

/// A send of unmapped memory fails, its receiver gets the error, and the next message is intact.
pub(super) fn unreadable<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    if sends {
        let missing = missing();
        let posted = send_from(party, SendMode::Synchronous, (WORLD, peer, 1), missing)?;
        let PostedSend::Request(request) = posted else {
            return Err(RuleViolation(
                "a synchronous send is complete at once".into(),
            ));
        };
        let failure = party.wait(request).failure;
        ensure!(
            failure == RequestFailure::BadAddress,
            "memory to send that is not there came to {failure:?}"
        );
        return send(party, peer, 2, numbered(2, MISSING))?.sent(party);
    }
    let (outcome, _) = receive(party, wanted(peer, 1), MISSING)?.end(party);
    let failure = outcome.failure;
    ensure!(
        failure == RequestFailure::SenderMemory,
        "its sender has no memory: {failure:?}"
    );
    let (_, bytes) = receive(party, wanted(peer, 2), MISSING)?.received(party, peer)?;
    ensure!(
        bytes == numbered(2, MISSING),
        "other bytes than sent, after a fault"
    );
    Ok(())
}

/// A receive into unmapped memory fails, and the next one gets its message.
pub(super) fn unwritable<P: ConformanceRank>(party: &mut P) -> Result<(), RuleViolation> {
    let Some((peer, sends)) = pair(party) else {
        return Ok(());
    };
    if sends {
        // The sender need not learn that its receiver has no memory for the message.
        send(party, peer, 1, numbered(1, MISSING))?.end(party);
        return send(party, peer, 2, numbered(2, MISSING))?.sent(party);
    }
    let missing = missing();
    let request = receive_into(party, wanted(peer, 1), missing)?;
    let failure = party.wait(request).failure;
    ensure!(
        failure == RequestFailure::BadAddress,
        "memory to write that is not there came to {failure:?}"
    );
    let (_, bytes) = receive(party, wanted(peer, 2), MISSING)?.received(party, peer)?;
    ensure!(
        bytes == numbered(2, MISSING),
        "other bytes than sent, after a fault"
    );
    Ok(())
}

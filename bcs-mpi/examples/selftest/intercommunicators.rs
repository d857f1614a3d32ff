//! Two groups that talk to each other: the even ranks and the odd ones.

use bcs_mpi::{Communicator, Intercommunicator, Op, Result, Root, Source, Tag, UserOp};

/// What a rank of the world gives, of any length.
fn given(rank: usize, len: usize) -> Vec<u64> {
    (0..len as u64)
        .map(|index| (rank as u64 + 1) * 1_000_003 + index * 7)
        .collect()
}

/// A step x -> ax + b in numbers modulo 2^32, after another one: associative, not commutative.
fn after(first: u64, second: u64) -> u64 {
    let parts = |step: u64| (step & 0xffff_ffff, step >> 32);
    let ((a, b), (c, d)) = (parts(first), parts(second));
    let low = |number: u64| number & 0xffff_ffff;
    low(c.wrapping_mul(a)) | low(c.wrapping_mul(b).wrapping_add(d)) << 32
}

fn folded(ranks: &[usize], len: usize, combine: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    let all = ranks.iter().map(|&rank| given(rank, len));
    let two = |left: Vec<u64>, right: Vec<u64>| {
        let pairs = left.into_iter().zip(right);
        pairs.map(|(left, right)| combine(left, right)).collect()
    };
    all.reduce(two).unwrap_or_default()
}

/// Makes pairs of groups, and has them do everything with all lengths.
pub(crate) fn pairs(world: &Communicator) -> Result<()> {
    let side = world.rank() % 2;
    if world.size() == 1 {
        return Ok(()); // There is no other group.
    }
    let local = world.split(u32::try_from(side).ok(), 0)?;
    let local = local.expect("a colour was given");
    let leader = local.size() - 1;
    let of_side = |side: usize| (0..world.size()).filter(move |rank| rank % 2 == side);
    let theirs: Vec<usize> = of_side(1 - side).collect();
    let remote_leader = *theirs.last().expect("there are two ranks at least");
    for round in 0..5 {
        let remote = (local.rank() == leader).then_some((world, remote_leader));
        let pair = local.intercomm_create(leader, remote, round)?;
        assert_eq!(
            (pair.size(), pair.remote_size()),
            (local.size(), theirs.len())
        );
        for len in [0, 1, 8, 9, 600, 40_000] {
            collectives(&pair, world.rank(), &theirs, len)?;
            messages(&pair, world.rank(), &theirs, len)?;
        }
        let merged = pair.merge(side == 0)?;
        let before = if side == 0 { theirs.len() } else { 0 };
        assert_eq!(merged.rank(), before + pair.rank());
        let mut sum = [world.rank()];
        merged.allreduce_in_place(&mut sum, Op::Sum)?;
        assert_eq!(sum[0], (0..world.size()).sum::<usize>());
    }
    Ok(())
}

fn collectives(pair: &Intercommunicator, me: usize, theirs: &[usize], len: usize) -> Result<()> {
    let own = given(me, len);
    let expected: Vec<u64> = theirs.iter().flat_map(|&rank| given(rank, len)).collect();
    let mut all = vec![0; expected.len()];
    pair.allgather(&own, &mut all)?;
    assert!(all == expected, "allgather of {len}");
    let mut result = vec![0; len];
    pair.allreduce(&own, &mut result, &UserOp::new(after))?;
    assert!(result == folded(theirs, len, after), "allreduce of {len}");
    pair.barrier()?;
    // Each rank of both groups is the root once.
    for side in [0, 1] {
        let mine = me % 2 == side;
        let ranks = if mine {
            pair.size()
        } else {
            pair.remote_size()
        };
        for root in 0..ranks {
            let role = match mine {
                true if pair.rank() == root => Root::Here,
                true => Root::Beside,
                false => Root::Remote(root),
            };
            rooted(pair, role, me, (theirs, len))?;
        }
    }
    Ok(())
}

fn rooted(
    pair: &Intercommunicator,
    role: Root,
    me: usize,
    (theirs, len): (&[usize], usize),
) -> Result<()> {
    let own = given(me, len);
    let mut data = own.clone();
    pair.bcast(&mut data, role)?;
    let mut sum = vec![0; len];
    pair.reduce(&own, &mut sum, Op::Sum, role)?;
    match role {
        Root::Here => {
            let expected = folded(theirs, len, u64::wrapping_add);
            assert!(data == own && sum == expected, "reduce of {len}");
        }
        Root::Beside => assert!(data == own && sum == vec![0; len]),
        Root::Remote(root) => {
            assert!(data == given(theirs[root], len), "bcast of {len}");
        }
    }
    Ok(())
}

/// To and from everybody of the other group.
fn messages(pair: &Intercommunicator, me: usize, theirs: &[usize], len: usize) -> Result<()> {
    let (out, mut into) = (given(me, len), vec![0; len]);
    let ranks = pair.size().max(theirs.len());
    for step in 0..ranks {
        // Rank r of one group and rank step - r of the other one, as far as there are both.
        let peer = (step + ranks - pair.rank()) % ranks;
        if peer >= theirs.len() {
            continue;
        }
        let status = pair.sendrecv((&out, peer, 6), (&mut into, Source::Rank(peer), Tag::Is(6)))?;
        assert_eq!((status.source, status.bytes), (peer, 8 * len));
        let from = theirs[peer];
        assert!(into == given(from, len), "{len} from {from}");
    }
    Ok(())
}

//! Intercommunicators: two groups drawn at random, collectives across, and one group made of both.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

use bcs_core::reduction::{Datatype, Op};
use bcs_mpi::mpi::{Buffer, Comm, PROC_NULL, ROOT, Request, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TAG: i32 = 11;

/// Makes `count` intercommunicators between two parts of the world, uses and frees each. A world of
/// one rank has no two parts.
pub(super) fn run(world: &Comm, seed: u64, count: usize) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let ranks = world.size();
    if ranks < 2 {
        return Ok(());
    }
    for _ in 0..count {
        let mut sides: Vec<bool> = (0..ranks).map(|_| random.random_bool(0.5)).collect();
        let odd = random.random_range(0..sides.len());
        sides[odd] = !sides[(odd + 1) % sides.len()];
        cross(world, &sides, &mut random)?;
    }
    Ok(())
}

/// Does everything with one intercommunicator. All ranks draw the same.
fn cross(world: &Comm, sides: &[bool], random: &mut ChaCha8Rng) -> Result<()> {
    let number = |of: i32| usize::try_from(of).expect("positive");
    let here = sides[number(world.rank())];
    let of_side = |side: bool| -> Vec<i32> {
        let numbered = (0i32..).zip(sides);
        let members = numbered.filter(|&(_, &of)| of == side);
        members.map(|(rank, _)| rank).collect()
    };
    let (mine, theirs) = (of_side(here), of_side(!here));
    let own = world.split(Some(u32::from(here)), 0)?;
    let own = own.expect("every rank has a side");
    let bridge = own.intercomm_create(0, Some(world), theirs[0], TAG)?;
    assert_eq!(
        bridge.remote_size()?,
        i32::try_from(theirs.len()).expect("few")
    );
    for _ in 0..random.random_range(1..4) {
        let blocking = random.random_bool(0.5);
        let long = random.random_bool(0.2);
        let elements = if long {
            20_000
        } else {
            random.random_range(1..40)
        };
        let from_first = random.random_bool(0.5);
        let kind = random.random_range(0..3);
        match kind {
            0 => allreduce(&bridge, (world.rank(), &theirs), elements, blocking)?,
            1 => allgather(&bridge, (world.rank(), &theirs), elements, blocking)?,
            _ => broadcast(&bridge, (&mine, here == from_first), elements, blocking)?,
        }
    }
    let merged = bridge.intercomm_merge(here)?;
    let first = if here { theirs.len() } else { 0 };
    assert_eq!(number(merged.rank()), first + number(own.rank()));
    merged.barrier()?;
    for comm in [bridge, merged, own] {
        comm.free()?;
    }
    Ok(())
}

fn buffer(data: &mut [u64], count: usize) -> Buffer {
    // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
    unsafe { Buffer::new(data.as_mut_ptr(), count, Datatype::Uint64) }
}

fn wait_for(posted: Result<Request>) -> Result<()> {
    posted.and_then(|mut request| request.wait().map(drop))
}

/// Returns the contribution of a rank.
fn contribution(rank: i32, elements: usize) -> Vec<u64> {
    let mixed =
        |at: u64| (u64::from(rank.cast_unsigned()) << 32 | at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..elements as u64).map(mixed).collect()
}

/// Reduces: each side gets the folded contributions of the other one's members.
fn allreduce(
    bridge: &Comm,
    (me, theirs): (i32, &[i32]),
    elements: usize,
    blocking: bool,
) -> Result<()> {
    let (mut mine, mut sum) = (contribution(me, elements), vec![0; elements]);
    let (input, output) = (buffer(&mut mine, elements), buffer(&mut sum, elements));
    let posted = if blocking {
        bridge
            .allreduce(input, output, Op::Bxor)
            .map(|()| Request::inactive())
    } else {
        bridge.iallreduce(input, output, Op::Bxor)
    };
    wait_for(posted)?;
    let expected = theirs
        .iter()
        .fold(vec![0; elements], |sum: Vec<u64>, &rank| {
            let given = contribution(rank, elements);
            sum.iter()
                .zip(given)
                .map(|(one, other)| one ^ other)
                .collect()
        });
    assert!(sum == expected, "rank {me}: the sum of the other side");
    Ok(())
}

/// Gathers: each side gets the contributions of all members of the other one.
fn allgather(
    bridge: &Comm,
    (me, theirs): (i32, &[i32]),
    elements: usize,
    blocking: bool,
) -> Result<()> {
    let (mut mine, mut all) = (contribution(me, elements), vec![0; theirs.len() * elements]);
    let (input, output) = (buffer(&mut mine, elements), buffer(&mut all, elements));
    let posted = if blocking {
        bridge
            .allgather(Some(input), output)
            .map(|()| Request::inactive())
    } else {
        bridge.iallgather(Some(input), output)
    };
    wait_for(posted)?;
    let expected: Vec<u64> = theirs
        .iter()
        .flat_map(|&rank| contribution(rank, elements))
        .collect();
    assert!(all == expected, "rank {me}: all of the other side");
    Ok(())
}

/// Broadcasts from the first rank of one side to all of the other.
fn broadcast(
    bridge: &Comm,
    (mine, tells): (&[i32], bool),
    elements: usize,
    blocking: bool,
) -> Result<()> {
    let is_root = tells && bridge.rank() == 0;
    let root = match (tells, is_root) {
        (true, true) => ROOT,
        (true, false) => PROC_NULL,
        (false, _) => 0,
    };
    let teller = i32::try_from(elements).expect("few");
    let mut data = if is_root {
        contribution(teller, elements)
    } else {
        vec![7; elements]
    };
    let words = buffer(&mut data, elements);
    let posted = if blocking {
        bridge.bcast(words, root).map(|()| Request::inactive())
    } else {
        bridge.ibcast(words, root)
    };
    wait_for(posted)?;
    let told = !tells || is_root;
    let expected = if told {
        contribution(teller, elements)
    } else {
        vec![7; elements]
    };
    assert!(
        data == expected,
        "what one of {mine:?}, or of the others, is told"
    );
    Ok(())
}

//! Makes communicators by all methods, uses them, and frees them.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

use bcs_core::reduction::{Datatype, Op};
use bcs_mpi::mpi::{Buffer, Comm, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The most communicators that exist at a time; the second number, where the NICs have room for
/// few, exceeds that room.
const MAX_COMMUNICATORS: [usize; 2] = [5, 40];

/// Makes `count` communicators, adds up ranks in each, and frees them in any order. Where there are
/// `few` contexts some are refused, to all members alike; then the parent is unchanged.
pub(super) fn run(world: &Comm, seed: u64, count: usize, few: bool) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut kept: Vec<Option<Comm>> = vec![];
    for number in 0..if few { MAX_COMMUNICATORS[1] } else { count } {
        let drawn = CommunicatorRecipe::draw(world, kept.len(), &mut random);
        let made = drawn.make(world, number, &kept);
        let comm = if few {
            check_same_result(world, drawn.name(world, &kept), &made)?;
            made.unwrap_or(None)
        } else {
            made?
        };
        comm.iter().try_for_each(add_up)?;
        kept.push(comm);
        let gone = random.random_range(0..kept.len());
        if kept.len() > MAX_COMMUNICATORS[usize::from(few)]
            || random.random_bool(if few { 0.1 } else { 0.4 })
        {
            let gone = kept.swap_remove(gone);
            gone.iter().try_for_each(Comm::free)?;
        }
    }
    for comm in kept.iter().flatten() {
        add_up(comm)?;
        comm.free()?;
    }
    Ok(())
}

/// The recipe for a communicator: all ranks draw the same.
struct CommunicatorRecipe {
    kind: u32,
    lots: Vec<u32>,
    from: usize,
    backwards: bool,
}

impl CommunicatorRecipe {
    fn draw(world: &Comm, kept: usize, random: &mut ChaCha8Rng) -> Self {
        Self {
            kind: random.random_range(0..4),
            lots: (0..world.size())
                .map(|_| random.random_range(0..3))
                .collect(),
            from: random.random_range(0..=kept),
            backwards: random.random_bool(0.5),
        }
    }

    fn mine(&self, world: &Comm) -> u32 {
        self.lots[usize::try_from(world.rank()).expect("positive")]
    }

    fn make(&self, world: &Comm, number: usize, kept: &[Option<Comm>]) -> Result<Option<Comm>> {
        let mine = self.mine(world);
        match self.kind {
            0 => match kept.get(self.from) {
                Some(Some(parent)) => parent.dup().map(Some),
                Some(None) => Ok(None),
                None => world.dup().map(Some),
            },
            1 => {
                let key = if self.backwards { -world.rank() } else { 0 };
                world.split((mine < 2).then_some(mine), key)
            }
            2 => world.split_by_node(true, 0),
            _ => {
                let numbered = (0i32..).zip(&self.lots);
                let members = numbered.filter(|&(_, &lot)| lot > 0).map(|(rank, _)| rank);
                let group = world.group().include(&members.collect::<Vec<_>>())?;
                let tag = i32::try_from(number).expect("few");
                if mine > 0 {
                    world.create_group(&group, tag)
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// Returns a number that the members of the new communicator share, and no other rank has, if
    /// this rank is a member.
    fn name(&self, world: &Comm, kept: &[Option<Comm>]) -> Option<u32> {
        let mine = self.mine(world);
        match self.kind {
            0 => match kept.get(self.from) {
                Some(parent) => Some(*parent.as_ref()?.members().iter().min()?),
                None => Some(0),
            },
            1 => (mine < 2).then_some(mine),
            2 => {
                let process = world.process();
                let node = process.placement().node_of(process.world_rank())?;
                Some(node.0.into())
            }
            _ => (mine > 0).then_some(0),
        }
    }
}

/// Checks that all members of a communicator get the same result of its creation.
fn check_same_result(world: &Comm, name: Option<u32>, made: &Result<Option<Comm>>) -> Result<()> {
    let mine = name.map_or(u64::MAX, |name| {
        u64::from(name) << 1 | u64::from(made.is_ok())
    });
    let mut all = vec![0_u64; usize::try_from(world.size()).expect("positive")];
    // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
    let input = unsafe { Buffer::read_only(&raw const mine, 1, Datatype::Uint64) };
    // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
    let output = unsafe { Buffer::new(all.as_mut_ptr(), 1, Datatype::Uint64) };
    world.allgather(Some(input), output)?;
    let others = all
        .iter()
        .filter(|&&other| other != u64::MAX && other >> 1 == mine >> 1);
    for &other in others {
        assert_eq!(other, mine, "members are told different things: {all:?}");
    }
    Ok(())
}

/// Sums over all ranks of a communicator.
fn add_up(comm: &Comm) -> Result<()> {
    let (mine, mut sum) = (i64::from(comm.rank()), 0_i64);
    // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
    let input = unsafe { Buffer::read_only(&raw const mine, 1, Datatype::Int64) };
    // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
    let output = unsafe { Buffer::new(&raw mut sum, 1, Datatype::Int64) };
    comm.allreduce(input, output, Op::Sum)?;
    let size = i64::from(comm.size());
    assert_eq!(sum, size * (size - 1) / 2, "the sum of {size} ranks");
    Ok(())
}

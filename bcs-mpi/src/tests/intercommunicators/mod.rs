//! Communicators of two random groups, whose ranks are anywhere in the world.

mod collectives;
mod construction;
mod draw;
mod errors;
mod messages;
mod safe;

use crate::mpi::Comm;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Two groups, as a member of one of them sees them.
struct Pair {
    comm: Comm,
    /// World ranks of both groups.
    groups: [Vec<u32>; 2],
    /// The group that this rank is in.
    side: usize,
}

impl Pair {
    fn local(&self) -> &[u32] {
        &self.groups[self.side]
    }

    fn remote(&self) -> &[u32] {
        &self.groups[1 - self.side]
    }

    fn me(&self) -> usize {
        usize::try_from(self.comm.rank()).unwrap()
    }

    /// Checks the properties of a communicator of these groups.
    fn check(&self) {
        let comm = &self.comm;
        assert!(comm.is_inter());
        assert_eq!(comm.members(), self.local());
        assert_eq!(comm.group().members(), self.local());
        assert_eq!(comm.remote_group().unwrap().members(), self.remote());
        assert_eq!(comm.remote_members(), self.remote());
        let sizes = (comm.size(), comm.remote_size().unwrap());
        assert_eq!(sizes, (rank(self.local().len()), rank(self.remote().len())));
        assert_eq!(
            self.local()[self.me()],
            comm.process().world_rank(),
            "this rank is where it says"
        );
    }
}

fn rank(place: usize) -> i32 {
    i32::try_from(place).unwrap()
}

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Draws two groups of 1 to 6 ranks each, and their leaders, the same at all ranks.
fn draw(world: &Comm, rng: &mut ChaCha8Rng) -> ([Vec<u32>; 2], [usize; 2]) {
    let mut order = world.members().to_vec();
    order.shuffle(rng);
    let first = rng.random_range(1..=6.min(order.len() - 1));
    let second = rng.random_range(1..=6.min(order.len() - first));
    let groups = [
        order[..first].to_vec(),
        order[first..first + second].to_vec(),
    ];
    let leaders = [&groups[0], &groups[1]].map(|group| rng.random_range(0..group.len()));
    (groups, leaders)
}

/// Makes an intercommunicator of random groups. Ranks in neither group get none and call nothing.
fn pair(world: &Comm, rng: &mut ChaCha8Rng, tag: i32) -> Option<Pair> {
    let (groups, leaders) = draw(world, rng);
    let me = world.process().world_rank();
    let side = groups.iter().position(|group| group.contains(&me))?;
    let own: Vec<i32> = groups[side].iter().map(|&r| rank(r as usize)).collect();
    let group = world.group().include(&own).unwrap();
    let local = world.create_group(&group, tag).unwrap().unwrap();
    let leader = leaders[side];
    let peer = (groups[side][leader] == me).then_some(world);
    let remote_leader = match peer {
        Some(_) => rank(groups[1 - side][leaders[1 - side]] as usize),
        None => 77, // Only leaders need to know.
    };
    let comm = local
        .intercomm_create(rank(leader), peer, remote_leader, tag)
        .unwrap();
    let pair = Pair { comm, groups, side };
    pair.check();
    Some(pair)
}

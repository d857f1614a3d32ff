//! Messages between two groups: source and destination are ranks of the other group.
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use super::super::run;
use super::{Pair, pair, rank, rng};
use crate::mpi::persistent::startall;
use crate::mpi::request::waitall;
use crate::mpi::{ANY_SOURCE, ANY_TAG, Buffer, PROC_NULL, Request};
use bcs_core::reduction::Datatype;
use rand::Rng;

/// Returns the message from one rank to another, of any length.
fn message(from: u32, to: u32, len: usize) -> Vec<u64> {
    let first = u64::from(from) << 32 | u64::from(to) << 16;
    (first..).take(len).collect()
}

fn buffer(data: &mut [u64]) -> Buffer {
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    unsafe { Buffer::new(data.as_mut_ptr(), data.len(), Datatype::Uint64) }
}

/// The way a rank receives.
#[derive(Clone, Copy, Debug)]
enum ReceiveMethod {
    Receive,
    Probe,
    MatchedProbe,
    Persistent,
}

/// Receives a message from any rank or from one, and returns its source.
fn receive(pair: &Pair, way: ReceiveMethod, from: i32, tag: i32, len: usize) -> (i32, Vec<u64>) {
    let comm = &pair.comm;
    let mut data = vec![0; len];
    let into = buffer(&mut data);
    let status = match way {
        ReceiveMethod::Receive => comm.recv(into, from, tag).unwrap(),
        ReceiveMethod::Probe => {
            let found = comm.probe(from, tag).unwrap();
            let status = comm.recv(into, found.source, found.tag).unwrap();
            assert_eq!(status, found);
            status
        }
        ReceiveMethod::MatchedProbe => {
            let mut message = comm.mprobe(from, tag).unwrap();
            let status = message.recv(into).unwrap();
            assert_eq!(message.status().source, status.source);
            status
        }
        ReceiveMethod::Persistent => {
            let mut request = comm.recv_init(into, from, tag).unwrap();
            request.start().unwrap();
            request.started().wait().unwrap()
        }
    };
    assert_eq!(status.bytes, len as u64 * 8);
    (status.source, data)
}

#[test]
fn ranks_are_those_of_the_other_group() {
    for (ranks, nodes) in [(7, 3), (2, 1)] {
        run(ranks, nodes, |universe| {
            let world = universe.world().untyped();
            for seed in 0..16 {
                let mut rng = rng(seed);
                let Some(pair) = pair(world, &mut rng, 9) else {
                    continue;
                };
                let ways = [
                    ReceiveMethod::Receive,
                    ReceiveMethod::Probe,
                    ReceiveMethod::MatchedProbe,
                    ReceiveMethod::Persistent,
                ];
                let way = ways[rng.random_range(0..4)];
                let len = [0, 1, 8, 9, 600, 40_000][rng.random_range(0..6)];
                let wildcards: bool = rng.random();
                let me = pair.local()[pair.me()];
                let mut out: Vec<Vec<u64>> = pair
                    .remote()
                    .iter()
                    .map(|&to| message(me, to, len))
                    .collect();
                let mut sends: Vec<Request> = Vec::new();
                let mut persistent = Vec::new();
                for (to, data) in out.iter_mut().enumerate() {
                    let tag = 100 + rank(to);
                    if (seed + to as u64).is_multiple_of(2) {
                        sends.push(pair.comm.isend(buffer(data), rank(to), tag).unwrap());
                    } else {
                        let init = pair.comm.send_init(buffer(data), rank(to), tag);
                        persistent.push(init.unwrap());
                    }
                }
                startall(&mut persistent).unwrap();
                let mut missing: Vec<i32> = (0..rank(pair.remote().len())).collect();
                while let Some(&next) = missing.last() {
                    let (from, tag) = match wildcards {
                        true => (ANY_SOURCE, ANY_TAG),
                        false => (next, 100 + pair.comm.rank()),
                    };
                    let (source, data) = receive(&pair, way, from, tag, len);
                    let place = missing.iter().position(|&rank| rank == source).unwrap();
                    missing.remove(place);
                    let source = pair.remote()[usize::try_from(source).unwrap()];
                    assert!(data == message(source, me, len), "{way:?} of {len}");
                }
                waitall(&mut sends)
                    .into_iter()
                    .for_each(|sent| _ = sent.unwrap());
                persistent
                    .iter_mut()
                    .for_each(|one| _ = one.started().wait().unwrap());
            }
        });
    }
}

/// The same ranks and tags in three communicators: an intercommunicator, its duplicate, the world.
#[test]
fn contexts_keep_messages_apart() {
    run(4, 2, |universe| {
        let world = universe.world().untyped();
        let side = world.rank() % 2;
        let local = world.split(Some(side.unsigned_abs()), 0).unwrap().unwrap();
        // The leaders are the ranks 2 and 3 of the world.
        let comm = local.intercomm_create(1, Some(world), 3 - side, 0).unwrap();
        let copy = comm.dup().unwrap();
        let me = world.rank();
        // Rank r of a group is 2r + side in the world.
        let (to, world_to) = (comm.rank(), 2 * comm.rank() + 1 - side);
        let mut data = [1, 2, 3].map(|number| [10 * number + u64::from(me.unsigned_abs())]);
        let [one, two, three] = &mut data;
        let mut sends = [
            comm.isend(buffer(one), to, 5).unwrap(),
            copy.isend(buffer(two), to, 5).unwrap(),
            world.isend(buffer(three), world_to, 5).unwrap(),
        ];
        for (number, comm, source) in [(3, world, world_to), (2, &copy, to), (1, &comm, to)] {
            let mut data = [0];
            let status = comm.recv(buffer(&mut data), ANY_SOURCE, 5).unwrap();
            assert_eq!(status.source, source);
            assert_eq!(data, [10 * number + u64::from(world_to.unsigned_abs())]);
        }
        waitall(&mut sends)
            .into_iter()
            .for_each(|sent| _ = sent.unwrap());
        // An exchange, and one with no process.
        let mut data = [u64::from(me.unsigned_abs())];
        comm.sendrecv_replace(buffer(&mut data), (to, 1), (to, 1))
            .unwrap();
        assert_eq!(data, [u64::from(world_to.unsigned_abs())]);
        let status = comm.recv(buffer(&mut data), PROC_NULL, 1).unwrap();
        assert_eq!(status.source, PROC_NULL);
    });
}

/// A receive for any message is posted while the leaders find each other. It gets the message that
/// the program sends.
#[test]
fn receives_of_the_program_do_not_see_what_leaders_say() {
    run(4, 2, |universe| {
        let world = universe.world().untyped();
        let me = u64::from(world.rank().unsigned_abs());
        let mut data = [99];
        let mut receive = world.irecv(buffer(&mut data), ANY_SOURCE, ANY_TAG).unwrap();
        let color = Some(u32::from(me >= 2));
        let local = world.split(color, 0).unwrap().unwrap();
        let other = if me >= 2 { 0 } else { 2 };
        let comm = local.intercomm_create(0, Some(world), other, 6).unwrap();
        comm.barrier().unwrap();
        let to = world.rank() ^ 1;
        world.send(buffer(&mut [me]), to, 6).unwrap();
        assert_eq!(receive.wait().unwrap().source, to);
        assert_eq!(data, [u64::from(to.unsigned_abs())]);
    });
}

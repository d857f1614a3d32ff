//! Numbers that wrap around. Each test begins just before the numbers start again.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::{Machine, run};
use crate::mpi::request::waitall;
use crate::mpi::{ANY_SOURCE, Buffer, Comm, Op, Persistent};
use bcs_core::job::{IntranodeTransport, Settings};
use bcs_core::reduction::Datatype as Elementary;
use std::sync::{Arc, Mutex};

const LAYOUTS: [(usize, usize); 3] = [(2, 1), (2, 2), (3, 2)];

fn buffer(data: &mut [i32]) -> Buffer {
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    unsafe { Buffer::new(data.as_mut_ptr(), data.len(), Elementary::INT) }
}

/// A communicator received a message of another one: both had the same number, after 2^28 of them.
#[test]
fn a_communicator_of_one_rank_never_has_the_number_of_another_one() {
    run(2, 2, |universe| {
        let process = universe.process();
        let itself = process.itself();
        let first = itself.dup().unwrap();
        process.numbers_are_left(3);
        let me = process.world_rank();
        let alone = || process.world().split(Some(me), 0).unwrap().unwrap();
        let made: Arc<Mutex<Option<Comm>>> = Arc::default();
        let then = {
            let made = made.clone();
            move |comm| *made.lock().unwrap() = Some(comm)
        };
        itself.idup(then).unwrap().wait().unwrap();
        let begun = made.lock().unwrap().take().unwrap();
        let group = process.itself().group();
        let of_group = process.world().create_group(&group, 0).unwrap().unwrap();
        let others = [
            itself.dup().unwrap(),
            begun,
            alone(),
            of_group,
            process.world().create(&group).unwrap().unwrap(),
            itself.dup().unwrap().dup().unwrap(),
        ];
        for (nth, comm) in (0..).zip(&others) {
            let (mut out, mut into) = ([1_000 + nth], [0]);
            let mut sent = comm.isend(buffer(&mut out), 0, 7).unwrap();
            comm.probe(0, 7).unwrap();
            let all = others.iter().chain([&first, &itself]);
            for other in all.filter(|&other| other != comm) {
                assert_eq!(other.iprobe(0, 7).unwrap(), None, "{nth}");
            }
            comm.recv(buffer(&mut into), 0, 7).unwrap();
            assert_eq!(into, [1_000 + nth]);
            sent.wait().unwrap();
        }
    });
}

/// Two partitioned messages, between the same ranks and on the same communicator.
struct Pair {
    request: Persistent,
    data: Box<[i32; 4]>,
}

impl Pair {
    /// Makes the pair. A rank with an even number sends to the other one, else it receives.
    fn new(world: &Comm, tag: i32, first: i32) -> Self {
        let (me, sends) = (world.rank(), world.rank() % 2 == 0);
        let other = if sends { me + 1 } else { me - 1 };
        let mut data = Box::new([0, 1, 2, 3].map(|at| if sends { first + at } else { -1 }));
        let request = match sends {
            true => world.psend_init(4, &buffer(&mut data[..1]), other, tag),
            false => world.precv_init(4, &buffer(&mut data[..1]), other, tag),
        };
        let request = request.unwrap();
        Self { request, data }
    }

    fn start(&mut self) {
        self.request.start().unwrap();
    }

    fn ready(&self) {
        let parts = self.request.partitioned().unwrap();
        parts.ready(&[3, 1, 0, 2]).unwrap();
    }

    fn end(&mut self, first: i32) {
        self.request.started().wait().unwrap();
        assert_eq!(*self.data, [0, 1, 2, 3].map(|at| first + at));
    }
}

/// Two partitioned messages were mixed after 2^31 parts of others: their parts had the same tags.
#[test]
fn parts_of_two_messages_never_have_the_same_tags() {
    for (ranks, nodes) in LAYOUTS {
        run(ranks, nodes, |universe| {
            let world = universe.world().untyped();
            let me = world.rank();
            if me == world.size() - 1 && me % 2 == 0 {
                (0..8).for_each(|_| world.barrier().unwrap());
                return; // the peer has ended
            }
            let sends = me % 2 == 0;
            let mut old = Pair::new(world, 1, 100);
            universe.process().numbers_are_left(2);
            // The remaining tags are too few for these.
            let mut young = Pair::new(world, 2, 200);
            let mut third = Pair::new(world, 1, 300);
            for round in 0..2 {
                // Receiver and sender start in opposite orders.
                if !sends {
                    old.start();
                    young.start();
                    third.start();
                }
                world.barrier().unwrap();
                if sends {
                    third.start();
                    young.start();
                    young.ready();
                    third.ready();
                    old.start();
                    old.ready();
                }
                world.barrier().unwrap();
                old.end(100);
                third.end(300);
                young.end(200);
                if !sends {
                    for pair in [&mut old, &mut young, &mut third] {
                        *pair.data = [-1; 4];
                    }
                }
                if round == 0 {
                    // From now on its tags belong to another message.
                    drop(std::mem::replace(&mut young, Pair::new(world, 5, 200)));
                }
                world.barrier().unwrap();
                world.barrier().unwrap();
            }
        });
    }
}

/// A message that is never started, and many of them: they use up neither tags nor other resources.
#[test]
fn messages_in_parts_come_and_go_when_all_tags_were_used() {
    run(2, 2, |universe| {
        let world = universe.world().untyped();
        universe.process().numbers_are_left(0);
        for round in 0..50 {
            let never = Pair::new(world, 3, 0);
            let mut pair = Pair::new(world, 4, 10 * round);
            pair.start();
            if world.rank() == 0 {
                pair.ready();
            }
            pair.end(10 * round);
            drop(never);
        }
    });
}

/// Members that duplicate without waiting tell their duplications apart by a number, of which a tag
/// has 31 bits.
#[test]
fn duplications_go_on_when_their_numbers_come_round() {
    for (ranks, nodes) in LAYOUTS {
        run(ranks, nodes, |universe| {
            let world = universe.world().untyped();
            for before in [u32::MAX - 1, i32::MAX.cast_unsigned() - 1] {
                world.was_duplicated(before);
                let made: Arc<Mutex<Vec<Comm>>> = Arc::default();
                let begin = |_| {
                    let made = made.clone();
                    world
                        .idup(move |comm| made.lock().unwrap().push(comm))
                        .unwrap()
                };
                let mut requests: Vec<_> = (0..4).map(begin).collect();
                let over = waitall(&mut requests);
                assert!(over.into_iter().all(|outcome| outcome.is_ok()));
                let made = std::mem::take(&mut *made.lock().unwrap());
                assert_eq!(made.len(), 4);
                made.iter().for_each(|comm| comm.barrier().unwrap());
            }
        });
    }
}

/// Messages of all lengths, over all paths, in request slots whose generations wrap around.
#[test]
fn messages_come_right_in_slots_that_were_used_two_to_the_32_times() {
    for (ranks, nodes) in LAYOUTS {
        run(ranks, nodes, |universe| {
            let world = universe.world().untyped();
            let (me, ranks) = (world.rank(), world.size());
            let (to, from) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
            // The slots hold what the first uses have left.
            for times in [0, u32::MAX - 3, u32::MAX - 3] {
                let endpoint = universe.process().endpoint();
                endpoint.lock().mux.slots_were_used(4, times);
                for round in 0..8 {
                    for len in [0, 2, 16, 200, 500, 3_000, 600_000] {
                        let value = |rank: i32| 1_000 * rank + round + len;
                        let mut out = vec![value(me); len.cast_unsigned() as usize];
                        let mut into = vec![-1; out.len()];
                        let source = if round % 2 == 0 { from } else { ANY_SOURCE };
                        let mut receive = world.irecv(buffer(&mut into), source, 5).unwrap();
                        match round % 4 {
                            0 => world.issend(buffer(&mut out), to, 5).unwrap().wait(),
                            1 => world.isend(buffer(&mut out), to, 5).unwrap().wait(),
                            _ => world
                                .send(buffer(&mut out), to, 5)
                                .map(|()| crate::mpi::Status::EMPTY),
                        }
                        .unwrap();
                        let status = receive.wait().unwrap();
                        assert_eq!(status.source, from);
                        assert!(
                            into.iter().all(|word| *word == value(from)),
                            "{round} {len}"
                        );
                        world.barrier().unwrap();
                    }
                }
            }
        });
    }
}

/// Collectives are known by their numbers on a communicator: as tags of their messages, in the wait
/// state of a rank, and as counts of arrivals.
#[test]
fn collectives_go_on_when_their_numbers_come_round() {
    for (ranks, nodes) in LAYOUTS {
        run(ranks, nodes, |universe| {
            let world = universe.world().untyped();
            let (me, ranks) = (world.rank(), world.size());
            for before in [u32::MAX - 5, i32::MAX.cast_unsigned() - 5] {
                world.barrier().unwrap();
                let mut state = universe.process().endpoint().lock();
                let known = state.contexts.get_mut(0).unwrap();
                (known.schedules, known.entered) = (before, before);
                drop(state);
                world.barrier().unwrap();
                for round in 0..6 {
                    let mut out: Vec<i32> =
                        (0..ranks).map(|to| 100 * me + 10 * to + round).collect();
                    let mut into = vec![-1; out.len()];
                    let [out, all] = [&mut out, &mut into].map(|words| buffer(&mut words[..1]));
                    world.alltoall(Some(out), all).unwrap();
                    let right = (0..)
                        .zip(&into)
                        .all(|(from, it)| *it == 100 * from + 10 * me + round);
                    assert!(right, "{into:?}");
                    let (mut one, mut sum) = ([me], [-1]);
                    world
                        .allreduce(buffer(&mut one), buffer(&mut sum), Op::Sum)
                        .unwrap();
                    assert_eq!(sum, [(0..ranks).sum::<i32>()]);
                }
            }
        });
    }
}

/// A communicator got the id of a freed one while a receive on that one still waited.
#[test]
fn an_id_is_not_used_again_while_a_freed_request_needs_it() {
    for (nodes, intranode) in [
        (1, IntranodeTransport::Smartmap),
        (1, IntranodeTransport::Nic),
        (2, IntranodeTransport::Smartmap),
    ] {
        let settings = Settings {
            intranode,
            ..Settings::default()
        };
        let mut machine = Machine::new(2, nodes, settings);
        machine.may_leave = true;
        machine.run(|universe| {
            let world = universe.world().untyped();
            let old = world.dup().unwrap();
            let mut into = Box::new([0]);
            if world.rank() == 0 {
                drop(old.irecv(buffer(&mut into[..]), ANY_SOURCE, 3).unwrap());
            }
            let before = old.context_id();
            old.free().unwrap();
            drop(old);
            for _ in 0..3 {
                let new = world.dup().unwrap();
                assert_ne!(new.context_id(), before);
                new.barrier().unwrap();
                let mut out = [7];
                if world.rank() == 1 {
                    new.send(buffer(&mut out), 0, 3).unwrap();
                } else {
                    new.recv(buffer(&mut out), 1, 3).unwrap();
                }
            }
            assert_eq!(*into, [0]);
            std::mem::forget(into);
        });
    }
}

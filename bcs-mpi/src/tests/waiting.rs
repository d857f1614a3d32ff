//! Waits and tests for several requests of a scope.

use super::run;
use crate::{
    Communicator, Op, Pending, Result, test_all, test_any, test_some, wait_all, wait_any, wait_some,
};

const LEN: usize = 40;

/// Rank 0 sends a message to rank 1 for each of these tags.
fn with_sender(body: impl Fn(&Communicator) -> Result<()> + Sync) {
    run(2, 2, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            // It sends each when the receiver requests it.
            loop {
                let (tag, _) = world.recv_one::<i32>(1, 99).unwrap();
                if tag < 0 {
                    return;
                }
                world.send(&[tag; LEN], 1, tag).unwrap();
            }
        }
        body(world).unwrap();
        world.send_one(-1, 0, 99).unwrap();
    });
}

/// Polls until there is an answer.
fn until<A>(mut ask: impl FnMut() -> Result<Option<A>>) -> A {
    loop {
        if let Some(answer) = ask().unwrap() {
            return answer;
        }
    }
}

#[test]
fn all_are_waited_for_whatever_was_seen_before() {
    with_sender(|world| {
        let mut data = [[0; LEN]; 3];
        let [one, two, three] = &mut data;
        crate::scope(|scope| {
            let mut first = world.irecv(scope, one, 0, 1)?;
            world.send_one(1, 0, 99)?;
            until(|| first.test().map(|done| done.then_some(())));
            let requests = vec![
                first,
                world.irecv(scope, two, 0, 2)?,
                world.irecv(scope, three, 0, 3)?,
            ];
            world.send_one(3, 0, 99)?;
            world.send_one(2, 0, 99)?;
            for (tag, (slice, status)) in (1..).zip(wait_all(requests)?) {
                assert_eq!((&*slice, status.tag), (&[tag; LEN][..], tag));
            }
            Ok(())
        })
    });
}

#[test]
fn whichever_is_first_leaves_the_list() {
    with_sender(|world| {
        let mut data = [[0; LEN]; 3];
        crate::scope(|scope| {
            let mut requests = Vec::new();
            for (tag, slice) in (1..).zip(&mut data) {
                requests.push(world.irecv(scope, slice, 0, tag)?);
            }
            assert!(test_any(&mut requests)?.is_none());
            world.send_one(2, 0, 99)?;
            let (index, (slice, _)) = wait_any(&mut requests)?.unwrap();
            assert_eq!((index, &*slice), (1, &[2; LEN][..]));
            world.send_one(3, 0, 99)?;
            let (index, (slice, _)) = until(|| test_any(&mut requests));
            assert_eq!((index, &*slice), (1, &[3; LEN][..]));
            world.send_one(1, 0, 99)?;
            assert_eq!(wait_any(&mut requests)?.unwrap().0, 0);
            assert!(wait_any(&mut requests)?.is_none());
            Ok(())
        })
    });
}

#[test]
fn all_that_are_done_leave_the_list() {
    with_sender(|world| {
        let mut data = [[0; LEN]; 4];
        crate::scope(|scope| {
            let mut requests = Vec::new();
            for (tag, slice) in (1..).zip(&mut data) {
                requests.push(world.irecv(scope, slice, 0, tag)?);
            }
            assert!(test_some(&mut requests).is_empty());
            assert!(test_all(&mut requests)?.is_none());
            world.send_one(3, 0, 99)?;
            // A test of its own completes one request.
            until(|| requests[2].test().map(|done| done.then_some(())));
            let done = wait_some(&mut requests);
            let [(2, Ok((slice, _)))] = &done[..] else {
                panic!("{done:?}");
            };
            assert_eq!(&**slice, [3; LEN]);
            world.send_one(4, 0, 99)?;
            let mut found = wait_some(&mut requests);
            assert_eq!(found.remove(0).0, 2);
            world.send_one(1, 0, 99)?;
            world.send_one(2, 0, 99)?;
            let all = until(|| test_all(&mut requests));
            let tags: Vec<i32> = all.iter().map(|(_, status)| status.tag).collect();
            assert_eq!((tags, requests.len()), (vec![1, 2], 0));
            assert!(wait_some(&mut requests).is_empty());
            Ok(())
        })
    });
}

#[test]
fn one_that_fails_is_said_and_the_others_are_done() {
    with_sender(|world| {
        let (mut short, mut long) = ([0; 1], [0; LEN]);
        crate::scope(|scope| {
            let requests = vec![
                world.irecv(scope, &mut short, 0, 1)?,
                world.irecv(scope, &mut long, 0, 2)?,
            ];
            world.send_one(1, 0, 99)?;
            world.send_one(2, 0, 99)?;
            let error = wait_all(requests).unwrap_err();
            assert_eq!(error.class, crate::ErrorClass::Truncate);
            Ok(())
        })?;
        assert_eq!(long, [2; LEN]);
        Ok(())
    });
}

#[test]
fn sends_collectives_and_owned_requests_are_waited_for_alike() {
    fn done<R: Pending>(requests: Vec<R>) -> usize {
        wait_all(requests).unwrap().len()
    }
    run(3, 2, |universe| {
        let world = universe.world();
        let next = (world.rank() + 1) % 3;
        let (out, mut sums) = ([world.rank(); LEN], [[0; 1]; 2]);
        crate::scope(|scope| {
            let sends = (0..5).map(|tag| world.isend(scope, &out, next, tag));
            let sends = sends.collect::<Result<Vec<_>>>()?;
            let owned =
                (0..5).map(|tag| world.irecv_owned(vec![9_usize; LEN], crate::Source::Any, tag));
            assert_eq!(done(owned.collect::<Result<Vec<_>>>()?), 5);
            assert_eq!(done(sends), 5);
            let [one, two] = &mut sums;
            let collectives = vec![
                world.iallreduce(scope, &out[..1], one, Op::Sum)?,
                world.iallreduce(scope, &out[..1], two, Op::Max)?,
            ];
            let all = wait_all(collectives)?;
            assert_eq!((all[0][0], all[1][0]), (3, 2));
            Ok(())
        })
        .unwrap();
    });
}

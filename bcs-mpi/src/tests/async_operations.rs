//! Async operations: duplications, partitioned messages, flushes, and generalized requests.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::run;
use crate::Universe;
use crate::mpi::request::waitall;
use crate::mpi::{Buffer, Comm, ErrorClass, ErrorHandler, Info, Op};
use bcs_core::reduction::Datatype as Elementary;
use std::sync::{Arc, Mutex};

const LAYOUTS: [(usize, usize); 3] = [(3, 1), (3, 3), (5, 2)];

fn buffer(data: &mut [i32]) -> Buffer {
    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
    unsafe { Buffer::new(data.as_mut_ptr(), data.len(), Elementary::INT) }
}

fn everywhere(program: impl Fn(&Universe) + Copy + Send + Sync + 'static) {
    for (ranks, nodes) in LAYOUTS {
        run(ranks, nodes, program);
    }
}

#[test]
fn duplications_overlap_and_go_on_while_their_ranks_wait_for_something_else() {
    everywhere(|universe| {
        let world = universe.world().untyped();
        let (me, last) = (world.rank(), world.size() - 1);
        let half = world
            .split(Some(u32::from(me % 2 == 1)), 0)
            .unwrap()
            .unwrap();
        let made: Arc<Mutex<Vec<(usize, Comm)>>> = Arc::default();
        let then = |nth: usize| {
            let made = made.clone();
            move |comm| made.lock().unwrap().push((nth, comm))
        };
        let info = Info::new();
        info.set("key", "value").unwrap();
        let mut requests = vec![
            half.idup(then(0)).unwrap(),
            world.idup_with_info(&info, then(1)).unwrap(),
            world.ibarrier().unwrap(),
            world.idup(then(2)).unwrap(),
        ];
        // The last rank waits for a message of the first, which is sent when its duplications are
        // complete.
        let mut word = [me];
        if me == last {
            world.recv(buffer(&mut word), 0, 3).unwrap();
        }
        let over = waitall(&mut requests);
        assert!(over.into_iter().all(|outcome| outcome.is_ok()));
        if me == 0 {
            world.send(buffer(&mut word), last, 3).unwrap();
        }
        let made = std::mem::take(&mut *made.lock().unwrap());
        assert_eq!(made.len(), 3);
        for (nth, comm) in made {
            let like = if nth == 0 { &half } else { world };
            assert_eq!(comm.members(), like.members());
            assert_eq!(comm.info().get("key").unwrap().is_some(), nth == 1);
            comm.barrier().unwrap();
            comm.free().unwrap();
        }
    });
}

#[test]
fn parts_arrive_as_they_are_ready() {
    everywhere(|universe| {
        let world = universe.world().untyped();
        let (me, ranks) = (world.rank(), world.size());
        let (to, from) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
        let mut out: Vec<i32> = (0..12).map(|nth| 100 * me + nth).collect();
        let mut into = [-1; 12];
        let mut send = world.psend_init(4, &buffer(&mut out[..3]), to, 2).unwrap();
        let mut receive = world
            .precv_init(3, &buffer(&mut into[..4]), from, 2)
            .unwrap();
        let (sent, received) = (send.partitioned().unwrap(), receive.partitioned().unwrap());
        for _ in 0..3 {
            assert_eq!(sent.ready(&[0]).unwrap_err().class, ErrorClass::Request);
            world.barrier().unwrap();
            receive.start().unwrap();
            assert!(!received.arrived(0).unwrap(), "nobody has sent anything");
            world.barrier().unwrap();
            send.start().unwrap();
            let freed = send.may_be_freed();
            assert_eq!(freed.unwrap_err().class, ErrorClass::Request);
            sent.ready(&[3, 2]).unwrap();
            assert_eq!(sent.ready(&[1, 2]).unwrap_err().class, ErrorClass::Arg);
            while !received.arrived(2).unwrap() {}
            assert!(!received.arrived(0).unwrap(), "its parts were not ready");
            world.barrier().unwrap();
            sent.ready(&[1, 0]).unwrap();
            let status = receive.started().wait().unwrap();
            assert_eq!((status.source, status.tag, status.bytes), (from, 2, 48));
            send.started().wait().unwrap();
            send.may_be_freed().unwrap();
            assert!(
                into.iter()
                    .zip(0..)
                    .all(|(word, nth)| *word == 100 * from + nth)
            );
        }
        assert!(received.arrived(0).unwrap());
        assert_eq!(received.arrived(3).unwrap_err().class, ErrorClass::Arg);
    });
}

#[test]
fn ranks_without_a_communicator_make_one() {
    everywhere(|universe| {
        let process = universe.world().untyped().process().clone();
        let world = process.world();
        let (group, info) = (world.group(), Info::new());
        let made = process.create_from_group(&group, b"all", &info, ErrorHandler::Return);
        let made = made.unwrap();
        made.barrier().unwrap();
        assert_eq!(made.members(), world.members());
        // Splits into the odd and the even ranks.
        let me = world.rank();
        let part =
            |odd: i32| -> Vec<i32> { (0..world.size()).filter(|rank| rank % 2 == odd).collect() };
        let [own, other] = [me % 2, 1 - me % 2].map(|odd| group.include(&part(odd)).unwrap());
        let (local, remote) = ((&own, 0), (&other, 0));
        let between = process.intercomm_create_from_groups(
            local,
            remote,
            b"both",
            &info,
            ErrorHandler::Return,
        );
        let between = between.unwrap();
        assert_eq!(between.remote_size().unwrap(), other.size());
        between.barrier().unwrap();
        let absent = process.create_from_group(&other, b"absent", &info, ErrorHandler::Return);
        assert_eq!(absent.unwrap_err().class, ErrorClass::Group);
    });
}

#[test]
fn a_flush_goes_on_by_itself_and_a_communicators_buffer_goes_first() {
    everywhere(|universe| {
        let world = universe.world().untyped();
        let process = world.process();
        let (me, ranks) = (world.rank(), world.size());
        let (to, from) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
        let comm = world.dup().unwrap();
        let mut out = vec![me; 50_000];
        process.buffer().attach(4).unwrap();
        let full = comm.bsend(buffer(&mut out), to, 0).unwrap_err();
        assert_eq!(full.class, ErrorClass::Buffer);
        comm.buffer().attach(200_000).unwrap();
        comm.bsend(buffer(&mut out), to, 0).unwrap();
        let mut flushed = comm.buffer().iflush(process);
        let mut into = vec![-1; 50_000];
        comm.recv(buffer(&mut into), from, 0).unwrap();
        assert_eq!(into, vec![from; 50_000]);
        flushed.wait().unwrap();
        assert_eq!(comm.buffer().detach().unwrap(), 200_000);
        assert_eq!(process.buffer().detach().unwrap(), 4);
    });
}

#[test]
fn what_the_program_does_itself_is_over_when_any_thread_says_so() {
    run(2, 1, |universe| {
        let process = universe.world().untyped().process();
        let (completion, mut request) = process.external();
        assert_eq!(request.test().unwrap(), None);
        std::thread::scope(|scope| {
            scope.spawn(|| completion.complete());
            request.wait().unwrap();
        });
        assert!(!request.is_active());
    });
}

/// A rank that has used all request slots, of which there are few here, and has then got them back,
/// goes on.
#[test]
fn undertakings_begin_where_no_request_slot_is_left() {
    let one = |universe: &Universe| {
        let world = universe.world().untyped();
        let (me, ranks) = (world.rank(), world.size());
        let (to, from) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
        let mut out: Vec<i32> = (0..12).map(|nth| 100 * me + nth).collect();
        let mut into = [-1; 12];
        let mut send = world.psend_init(4, &buffer(&mut out[..3]), to, 2).unwrap();
        let mut receive = world
            .precv_init(3, &buffer(&mut into[..4]), from, 2)
            .unwrap();
        // Its later rounds find no free slot, either.
        let endpoint = universe.process().endpoint();
        endpoint.lock().mux.limit_requests(2_000);
        let (mut one, mut sum) = ([me], [0]);
        let scanned = world.iscan(Some(buffer(&mut one)), buffer(&mut sum), Op::Sum);
        let mut scanned = scanned.unwrap();
        let mut word = [0];
        let mut full = Vec::new();
        while let Ok(request) = world.irecv(buffer(&mut word), from, 9) {
            full.push(request);
        }
        assert!(full.len() > 1_000, "{} are few", full.len());
        let made: Arc<Mutex<Option<Comm>>> = Arc::default();
        let then = made.clone();
        let mut duplicated = world
            .idup(move |comm| *then.lock().unwrap() = Some(comm))
            .unwrap();
        receive.start().unwrap();
        send.start().unwrap();
        send.partitioned().unwrap().ready(&[0, 1, 2, 3]).unwrap();
        full.iter().for_each(crate::mpi::Request::cancel);
        assert!(waitall(&mut full).into_iter().all(|over| over.is_ok()));
        scanned.wait().unwrap();
        assert_eq!(sum[0], (0..=me).sum::<i32>());
        duplicated.wait().unwrap();
        receive.started().wait().unwrap();
        send.started().wait().unwrap();
        assert!(
            into.iter()
                .zip(0..)
                .all(|(word, nth)| *word == 100 * from + nth)
        );
        let made = made.lock().unwrap().take().unwrap();
        made.barrier().unwrap();
    };
    for (ranks, nodes) in [(2, 1), (2, 2), (8, 3)] {
        run(ranks, nodes, one);
    }
}

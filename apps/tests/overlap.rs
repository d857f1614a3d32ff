//! Non-blocking communication overlaps: receives are posted a block ahead, and sends complete
//! while later blocks are computed.

mod threads;

use std::cell::{Cell, RefCell};

use apps::MessagePassing;
use apps::sweep3d::{Communication, Deck, Stop, Sweep3dArguments, run};

/// The operations of a process in order, with numbers that identify its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Blocking,
    PostReceive(usize),
    PostSend(usize),
    Wait(usize),
}

/// Records the point-to-point operations of a rank.
struct Recorder<'a> {
    rank: &'a threads::Rank,
    events: RefCell<Vec<Event>>,
    next: Cell<usize>,
}

impl Recorder<'_> {
    fn number(&self) -> usize {
        self.next.replace(self.next.get() + 1)
    }

    fn record(&self, event: Event) {
        self.events.borrow_mut().push(event);
    }
}

impl MessagePassing for Recorder<'_> {
    type Error = threads::Failure;
    type Request = (usize, threads::Request);

    fn rank(&self) -> usize {
        self.rank.rank()
    }
    fn size(&self) -> usize {
        self.rank.size()
    }
    fn send(&self, data: &[f64], destination: usize, tag: i32) -> Result<(), Self::Error> {
        self.record(Event::Blocking);
        self.rank.send(data, destination, tag)
    }
    fn recv(&self, data: &mut [f64], source: usize, tag: i32) -> Result<(), Self::Error> {
        self.record(Event::Blocking);
        self.rank.recv(data, source, tag)
    }
    fn isend(&self, data: Vec<f64>, to: usize, tag: i32) -> Result<Self::Request, Self::Error> {
        let number = self.number();
        self.record(Event::PostSend(number));
        Ok((number, self.rank.isend(data, to, tag)?))
    }
    fn irecv(&self, data: Vec<f64>, from: usize, tag: i32) -> Result<Self::Request, Self::Error> {
        let number = self.number();
        self.record(Event::PostReceive(number));
        Ok((number, self.rank.irecv(data, from, tag)?))
    }
    fn wait(&self, (number, request): Self::Request) -> Result<Vec<f64>, Self::Error> {
        self.record(Event::Wait(number));
        self.rank.wait(request)
    }
    fn barrier(&self) -> Result<(), Self::Error> {
        self.rank.barrier()
    }
    fn bcast(&self, data: &mut [f64], root: usize) -> Result<(), Self::Error> {
        self.rank.bcast(data, root)
    }
    fn allreduce_max(&self, data: &mut [f64]) -> Result<(), Self::Error> {
        self.rank.allreduce_max(data)
    }
    fn allreduce_sum(&self, data: &mut [f64]) -> Result<(), Self::Error> {
        self.rank.allreduce_sum(data)
    }
    fn allreduce_sum_i64(&self, data: &mut [i64]) -> Result<(), Self::Error> {
        self.rank.allreduce_sum_i64(data)
    }
    fn probe(&self, source: usize, tag: i32) -> Result<usize, Self::Error> {
        self.rank.probe(source, tag)
    }
    fn allgather(&self, data: &[f64], result: &mut [f64]) -> Result<(), Self::Error> {
        self.rank.allgather(data, result)
    }
    fn alltoall(&self, data: &[f64], result: &mut [f64]) -> Result<(), Self::Error> {
        self.rank.alltoall(data, result)
    }
}

/// Runs an iteration on a line of three processes and returns the events of the middle one.
fn middle(comm: Communication) -> Vec<Event> {
    let deck = Deck {
        npe_i: 3,
        npe_j: 1,
        mk: 2,
        mmi: 6,
        it_g: 9,
        jt_g: 4,
        kt: 6,
        stop: Stop::After(1),
        ..Deck::published_50_cubed(1)
    };
    let arguments = Sweep3dArguments { deck, comm };
    let mut events = threads::run(3, |rank| {
        let recorder = Recorder {
            rank,
            events: RefCell::default(),
            next: Cell::default(),
        };
        run(&recorder, &arguments, &mut std::io::sink()).unwrap();
        recorder.events.into_inner()
    });
    events.swap_remove(1)
}

#[test]
fn nonblocking_runs_post_receives_a_block_ahead_and_keep_two_sends_under_way() {
    let events = middle(Communication::NonBlocking);
    assert!(!events.contains(&Event::Blocking), "{events:?}");
    let position = |wanted| events.iter().position(|&event| event == wanted).unwrap();
    let receives: Vec<usize> = events
        .iter()
        .filter_map(|event| {
            if let Event::PostReceive(n) = event {
                Some(*n)
            } else {
                None
            }
        })
        .collect();
    let sends: Vec<usize> = events
        .iter()
        .filter_map(|event| {
            if let Event::PostSend(n) = event {
                Some(*n)
            } else {
                None
            }
        })
        .collect();
    // 8 octants of 3 blocks.
    assert_eq!((receives.len(), sends.len()), (24, 24));
    for block in 0..23 {
        // A block is computed between the wait for its inflow and the send of its outflow.
        let computed =
            position(Event::Wait(receives[block]))..position(Event::PostSend(sends[block]));
        let next = position(Event::PostReceive(receives[block + 1]));
        assert!(computed.contains(&next), "block {block}: {events:?}");
    }
    for block in 0..22 {
        let next = position(Event::PostSend(sends[block + 1]));
        assert!(
            position(Event::Wait(sends[block])) > next,
            "send {block}: {events:?}"
        );
    }
}

#[test]
fn blocking_runs_do_not_post_anything() {
    let events = middle(Communication::Blocking);
    assert_eq!(events, [Event::Blocking; 48]);
}

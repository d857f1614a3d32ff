//! Tests the loops of `bench` over threads, whose sends never buffer.

mod threads;

use std::cell::RefCell;
use std::collections::HashSet;
use std::process::ExitCode;

use apps::bench::{self, BenchOperation, BenchOptions, BenchRow, BufferMode, ByteSize};
use apps::{BytePassing, MessagePassing, MessageWindow};
use threads::Rank;

thread_local! {
    /// The broadcasts of bytes of this rank: the root, and the address of the data.
    static BROADCASTS: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
    /// The addresses of the messages of its windows.
    static MESSAGES: RefCell<HashSet<usize>> = RefCell::new(HashSet::new());
}

type Failure = <Rank as MessagePassing>::Error;

fn doubles(data: &[u8]) -> Vec<f64> {
    data.iter().map(|byte| f64::from(*byte)).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "they were sent as bytes"
)]
fn receive(rank: &Rank, data: &mut [u8], message: &[f64]) {
    assert_eq!(message.len(), data.len(), "rank {}", rank.rank());
    for (byte, double) in data.iter_mut().zip(message) {
        *byte = *double as u8;
    }
}

impl BytePassing for Rank {
    fn send_bytes(&self, data: &[u8], to: usize, tag: i32) -> Result<(), Failure> {
        self.send(&doubles(data), to, tag)
    }

    fn recv_bytes(&self, data: &mut [u8], from: usize, tag: i32) -> Result<(), Failure> {
        let mut message = doubles(data);
        self.recv(&mut message, from, tag)?;
        receive(self, data, &message);
        Ok(())
    }

    fn sendrecv_bytes(
        &self,
        (out, to): (&[u8], usize),
        (into, from): (&mut [u8], usize),
        tag: i32,
    ) -> Result<(), Failure> {
        let send = self.isend(doubles(out), to, tag)?;
        self.recv_bytes(into, from, tag)?;
        self.wait(send).map(drop)
    }

    fn exchange_bytes(
        &self,
        out: &[u8],
        into: &mut [u8],
        peer: usize,
        tag: i32,
    ) -> Result<(), Failure> {
        self.sendrecv_bytes((out, peer), (into, peer), tag)
    }

    fn send_window(
        &self,
        data: &[u8],
        window: MessageWindow,
        to: usize,
        tag: i32,
    ) -> Result<(), Failure> {
        (0..window.count).try_for_each(|message| {
            let data = &data[window.place(message)];
            MESSAGES.with_borrow_mut(|all| all.insert(data.as_ptr().addr()));
            self.send_bytes(data, to, tag)
        })
    }

    fn recv_window(
        &self,
        data: &mut [u8],
        window: MessageWindow,
        from: usize,
        tag: i32,
    ) -> Result<(), Failure> {
        (0..window.count).try_for_each(|message| {
            let data = &mut data[window.place(message)];
            MESSAGES.with_borrow_mut(|all| all.insert(data.as_ptr().addr()));
            self.recv_bytes(data, from, tag)
        })
    }

    fn bcast_bytes(&self, data: &mut [u8], root: usize) -> Result<(), Failure> {
        BROADCASTS.with_borrow_mut(|all| all.push((root, data.as_ptr().addr())));
        let mut message = doubles(data);
        self.bcast(&mut message, root)?;
        receive(self, data, &message);
        Ok(())
    }

    fn reduce_sum(&self, data: &[f64], result: &mut [f64], _root: usize) -> Result<(), Failure> {
        self.allreduce_sum_into(data, result)
    }

    fn allreduce_sum_into(&self, data: &[f64], result: &mut [f64]) -> Result<(), Failure> {
        result.copy_from_slice(data);
        self.allreduce_sum(result)
    }

    fn alltoall_bytes(&self, data: &[u8], result: &mut [u8]) -> Result<(), Failure> {
        let block = data.len() / self.size();
        let blocks = data.chunks(block).enumerate();
        let sends: Vec<_> = blocks
            .map(|(to, block)| self.isend(doubles(block), to, 9))
            .collect::<Result<_, _>>()?;
        for (from, block) in result.chunks_mut(block).enumerate() {
            self.recv_bytes(block, from, 9)?;
        }
        sends
            .into_iter()
            .try_for_each(|send| self.wait(send).map(drop))
    }
}

/// Every operation that has no fixed duration.
const OPS: [BenchOperation; 10] = [
    BenchOperation::Latency,
    BenchOperation::Bandwidth,
    BenchOperation::Rate,
    BenchOperation::Exchange,
    BenchOperation::Sendrecv,
    BenchOperation::Barrier,
    BenchOperation::Bcast,
    BenchOperation::Reduce,
    BenchOperation::Allreduce,
    BenchOperation::Alltoall,
];

#[test]
fn every_loop_ends_on_every_rank_and_gives_rank_0_its_rows() {
    for ranks in [2, 3] {
        let options = BenchOptions {
            ops: OPS.to_vec(),
            sizes: [0, 8, 5000].map(ByteSize).to_vec(),
            mode: vec![
                BufferMode::Untouched,
                BufferMode::Touched,
                BufferMode::Turns,
                BufferMode::Fresh,
            ],
            row_ms: 1,
            samples: 2,
        };
        let rows = threads::run(ranks, |rank| {
            let mut rows = Vec::new();
            bench::run(rank, &options, |row| rows.push(row)).unwrap();
            rows
        });
        let cases: Vec<_> = rows[0].iter().map(BenchRow::case).collect();
        assert_eq!(cases, options.cases());
        assert!(rows[1..].iter().all(Vec::is_empty));
        for row in &rows[0] {
            assert!(
                row.us > 0.0 && row.q1 <= row.us && row.us <= row.q3,
                "{row:?}"
            );
            assert_eq!((row.ranks, row.cpu_percent), (ranks, None));
        }
    }
}

#[test]
fn fresh_messages_have_places_of_their_own_and_roots_take_turns() {
    let ranks = 3;
    for mode in [BufferMode::Untouched, BufferMode::Turns, BufferMode::Fresh] {
        let options = BenchOptions {
            ops: vec![BenchOperation::Bcast, BenchOperation::Bandwidth],
            sizes: vec![ByteSize(100)],
            mode: vec![mode],
            row_ms: 1,
            samples: 1,
        };
        let seen = threads::run(ranks, |rank| {
            bench::run(rank, &options, |_| {}).unwrap();
            (BROADCASTS.take(), MESSAGES.take().len())
        });
        let (turns, fresh) = (mode != BufferMode::Untouched, mode == BufferMode::Fresh);
        for (rank, (broadcasts, messages)) in seen.iter().enumerate() {
            let root = |turn: usize| if turns { turn % ranks } else { 0 };
            // The first loops have one iteration, two and more, and each begins with root 0 again.
            let roots: Vec<usize> = broadcasts.iter().map(|one| one.0).collect();
            let first = [0, 0, 1].map(root);
            assert!(roots.starts_with(&first), "{mode} {roots:?}");
            let places: HashSet<_> = broadcasts.iter().map(|one| one.1).collect();
            let most = if turns { 2 } else { 1 };
            assert_eq!(
                places.len() > most,
                fresh,
                "rank {rank}, {mode}: {places:?}"
            );
            let of_a_window = if fresh { 64 } else { 1 };
            let expected = if rank < 2 { of_a_window } else { 0 };
            assert_eq!(*messages, expected, "rank {rank}, {mode}");
        }
    }
}

#[test]
fn a_laggard_is_waited_for() {
    let options = BenchOptions {
        ops: vec![BenchOperation::Lag],
        sizes: Vec::new(),
        mode: vec![BufferMode::Untouched],
        row_ms: 10,
        samples: 1,
    };
    let rows = threads::run(2, |rank| {
        let mut rows = Vec::new();
        bench::run(rank, &options, |row| rows.push(row)).unwrap();
        rows
    });
    assert!(rows[0][0].us >= 10_000.0, "{rows:?}");
    assert!(rows[0][0].cpu_percent.is_some());
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let codes = |ranks, line: &str| {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        threads::run(ranks, |rank| bench::command(rank, &arguments))
    };
    for (ranks, line) in [
        (1, ""),
        (2, "--ops reduce --sizes 3"),
        (2, "--sizes 8k"),
        (2, "--samples 0"),
    ] {
        for code in codes(ranks, line) {
            assert_eq!(code, ExitCode::from(2), "{line}");
        }
    }
}

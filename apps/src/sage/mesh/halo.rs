//! The ghosts of a rank (cells of other ranks that it reads), and the exchange of their values.
//!
//! The owner of a cell finds the ranks that need it: those that own a place next to it. An alltoall
//! of counts then announces the cells, and messages with probed lengths bring their keys. In all
//! later exchanges the lengths are known.

use std::ops::Range;

use super::key::{Key, Side};
use super::partition::Partition;
use crate::MessagePassing;

/// Tag of the messages with keys.
const KEYS: i32 = 1;

/// A value that travels as a fixed number of doubles.
pub(crate) trait FixedDoubles: Sized {
    /// The number of doubles.
    const WORDS: usize;
    /// Appends the doubles of this value.
    fn put(&self, words: &mut Vec<f64>);
    /// Makes a value from its doubles.
    fn take(words: &[f64]) -> Self;
}

/// Values of local cells that travel as a fixed number of doubles each.
pub(crate) trait CellValues {
    /// The number of doubles of a cell.
    const WORDS: usize;
    /// Appends the doubles of a cell.
    fn put(&self, cell: usize, words: &mut Vec<f64>);
    /// Sets a cell from its doubles.
    fn take(&mut self, cell: usize, words: &[f64]);
}

impl<T: FixedDoubles> CellValues for [T] {
    const WORDS: usize = T::WORDS;

    fn put(&self, cell: usize, words: &mut Vec<f64>) {
        self[cell].put(words);
    }

    fn take(&mut self, cell: usize, words: &[f64]) {
        self[cell] = T::take(words);
    }
}

/// A rank with which values are exchanged.
#[derive(Debug)]
struct HaloPeer {
    rank: usize,
    /// Our cells that the peer reads, by their indices among the local cells.
    out: Vec<u32>,
    /// The peer's cells among the local ones.
    ghosts: Range<usize>,
    /// The last message sent; its buffer is used again in the next exchange.
    sent: Vec<f64>,
    received: Vec<f64>,
}

/// All peers.
#[derive(Debug, Default)]
pub(crate) struct Halo {
    peers: Vec<HaloPeer>,
}

/// An exchange in flight.
#[must_use]
#[derive(Debug)]
pub(crate) struct HaloExchange<R> {
    /// Receives, and then sends.
    requests: Vec<R>,
    /// The buffers of completed requests.
    buffers: Vec<Vec<f64>>,
}

impl<R> Default for HaloExchange<R> {
    fn default() -> Self {
        Self {
            requests: Vec::new(),
            buffers: Vec::new(),
        }
    }
}

impl Halo {
    /// Finds the ranks that read this rank's cells, and fetches the cells that this rank reads.
    /// `own` becomes all local cells, in the order of the curve. Returns the range of own cells in
    /// it.
    pub(crate) fn build<M: MessagePassing, const D: usize>(
        mpi: &M,
        own: &mut Vec<Key<D>>,
        partition: &Partition,
        extent: [u32; D],
    ) -> Result<(Self, Range<usize>), M::Error> {
        let lookers = lookers(mpi, own, partition, extent);
        let counts: Vec<f64> = lookers.iter().map(|cells| cells.len() as f64).collect();
        let mut awaited = vec![0.0; counts.len()];
        mpi.alltoall(&counts, &mut awaited)?;
        let mut sends = send_keys(mpi, own, &lookers)?;
        let mut peers = Vec::new();
        let (mut below, mut above) = (Vec::new(), Vec::new());
        for (rank, out) in lookers.into_iter().enumerate() {
            if out.is_empty() && awaited[rank] == 0.0 {
                continue;
            }
            let keys = if awaited[rank] == 0.0 {
                Vec::new()
            } else {
                receive_keys(mpi, rank)?
            };
            let local = if rank < mpi.rank() {
                &mut below
            } else {
                &mut above
            };
            let ghosts = local.len()..local.len() + keys.len();
            local.extend(keys);
            peers.push(HaloPeer {
                rank,
                out,
                ghosts,
                sent: Vec::new(),
                received: Vec::new(),
            });
        }
        mpi.wait_all(&mut sends, &mut Vec::new())?;
        let mine = below.len()..below.len() + own.len();
        for peer in &mut peers {
            peer.out
                .iter_mut()
                .for_each(|cell| *cell += index(mine.start));
            if peer.rank > mpi.rank() {
                peer.ghosts = peer.ghosts.start + mine.end..peer.ghosts.end + mine.end;
            }
        }
        below.append(own);
        below.append(&mut above);
        *own = below;
        Ok((Self { peers }, mine))
    }

    /// Starts to send the values that other ranks read, and to receive those of ghosts.
    pub(crate) fn start<M: MessagePassing, V: CellValues + ?Sized>(
        &mut self,
        mpi: &M,
        values: &V,
        tag: i32,
        exchange: &mut HaloExchange<M::Request>,
    ) -> Result<(), M::Error> {
        for peer in &mut self.peers {
            if !peer.ghosts.is_empty() {
                let mut room = std::mem::take(&mut peer.received);
                room.resize(peer.ghosts.len() * V::WORDS, 0.0);
                exchange.requests.push(mpi.irecv(room, peer.rank, tag)?);
            }
        }
        for peer in &mut self.peers {
            if !peer.out.is_empty() {
                let mut words = std::mem::take(&mut peer.sent);
                words.clear();
                peer.out
                    .iter()
                    .for_each(|cell| values.put(*cell as usize, &mut words));
                exchange.requests.push(mpi.isend(words, peer.rank, tag)?);
            }
        }
        Ok(())
    }

    /// Waits for an exchange, and stores the ghosts' values.
    pub(crate) fn finish<M: MessagePassing, V: CellValues + ?Sized>(
        &mut self,
        mpi: &M,
        values: &mut V,
        exchange: &mut HaloExchange<M::Request>,
    ) -> Result<(), M::Error> {
        mpi.wait_all(&mut exchange.requests, &mut exchange.buffers)?;
        let mut buffers = exchange.buffers.drain(..);
        let receiving = self.peers.iter_mut().filter(|peer| !peer.ghosts.is_empty());
        for (peer, received) in receiving.zip(&mut buffers) {
            peer.received = received;
            let ghosts = peer.ghosts.clone();
            for (ghost, words) in ghosts.zip(peer.received.chunks_exact(V::WORDS)) {
                values.take(ghost, words);
            }
        }
        let sending = self.peers.iter_mut().filter(|peer| !peer.out.is_empty());
        for (peer, sent) in sending.zip(buffers) {
            peer.sent = sent;
        }
        Ok(())
    }

    /// Does an exchange without work in between.
    pub(crate) fn exchange<M: MessagePassing, V: CellValues + ?Sized>(
        &mut self,
        mpi: &M,
        values: &mut V,
        tag: i32,
        exchange: &mut HaloExchange<M::Request>,
    ) -> Result<(), M::Error> {
        self.start(mpi, values, tag, exchange)?;
        self.finish(mpi, values, exchange)
    }
}

/// Converts an index among local cells.
pub(crate) fn index(place: usize) -> u32 {
    u32::try_from(place).expect("a rank has fewer than 2^32 cells")
}

/// Returns for each rank the own cells that it reads: those next to its cells, and the siblings of
/// its cells, since siblings are coarsened together.
fn lookers<M: MessagePassing, const D: usize>(
    mpi: &M,
    own: &[Key<D>],
    partition: &Partition,
    extent: [u32; D],
) -> Vec<Vec<u32>> {
    let mut lookers = vec![Vec::new(); mpi.size()];
    if mpi.size() == 1 {
        return lookers;
    }
    for (place, cell) in own.iter().enumerate() {
        let mut look = |beside: Key<D>| {
            let rank = partition.owner(beside);
            let cells: &mut Vec<u32> = &mut lookers[rank];
            // A cell may have several neighbours that belong to the same rank.
            if rank != mpi.rank() && cells.last() != Some(&index(place)) {
                cells.push(index(place));
            }
        };
        for direction in 0..D {
            for side in Side::BOTH {
                if let Some(beyond) = cell.beyond(direction, side, extent) {
                    // As levels differ by at most one, the cell beyond is one of these, or contains
                    // them.
                    beyond
                        .parts_at(direction, side.opposite())
                        .for_each(&mut look);
                }
            }
        }
        if let Some(parent) = cell.parent() {
            (0..1 << D).for_each(|number| look(parent.child(number)));
        }
    }
    lookers
}

fn send_keys<M: MessagePassing, const D: usize>(
    mpi: &M,
    own: &[Key<D>],
    lookers: &[Vec<u32>],
) -> Result<Vec<M::Request>, M::Error> {
    let looking = lookers
        .iter()
        .enumerate()
        .filter(|(_, cells)| !cells.is_empty());
    looking
        .map(|(rank, cells)| {
            let words = cells
                .iter()
                .map(|cell| f64::from_bits(own[*cell as usize].word()));
            mpi.isend(words.collect(), rank, KEYS)
        })
        .collect()
}

fn receive_keys<M: MessagePassing, const D: usize>(
    mpi: &M,
    rank: usize,
) -> Result<Vec<Key<D>>, M::Error> {
    let mut words = vec![0.0; mpi.probe(rank, KEYS)?];
    mpi.recv(&mut words, rank, KEYS)?;
    Ok(words
        .into_iter()
        .map(|word| Key::from_word(word.to_bits()))
        .collect())
}

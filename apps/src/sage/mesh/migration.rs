//! Load balancing: cells move along the curve until all ranks have equally many.

use super::halo::FixedDoubles;
use super::key::Key;
use super::partition::share;
use super::to_count;
use crate::MessagePassing;

/// Tag of the messages with cells.
const CELLS: i32 = 6;

/// Moves cells, with their contents, to their new owners.
pub(crate) fn balance<P: MessagePassing, T: FixedDoubles, const D: usize>(
    mpi: &P,
    keys: &[Key<D>],
    contents: &[T],
) -> Result<(Vec<Key<D>>, Vec<T>), P::Error> {
    let ranks = mpi.size();
    let mut counts = vec![0.0; ranks];
    mpi.allgather(&[keys.len() as f64], &mut counts)?;
    let counts: Vec<usize> = counts.into_iter().map(to_count).collect();
    let cells = counts.iter().sum();
    let starts: Vec<usize> = counts
        .iter()
        .scan(0, |start, count| {
            Some(std::mem::replace(start, *start + count))
        })
        .collect();
    // Returns the part of `of`'s share that `from` has, as indices into the cells of `from`.
    let part = |of: usize, from: usize| {
        let (has, gets) = (
            starts[from]..starts[from] + counts[from],
            share(cells, of, ranks),
        );
        let (start, end) = (has.start.max(gets.start), has.end.min(gets.end));
        if start < end {
            start - has.start..end - has.start
        } else {
            0..0
        }
    };
    let words = |cells: std::ops::Range<usize>| {
        let mut words = Vec::with_capacity(cells.len() * (1 + T::WORDS));
        for (key, content) in keys[cells.clone()].iter().zip(&contents[cells]) {
            words.push(f64::from_bits(key.word()));
            content.put(&mut words);
        }
        words
    };
    let me = mpi.rank();
    let mut sends = Vec::new();
    for rank in (0..ranks).filter(|rank| *rank != me) {
        let cells = part(rank, me);
        if !cells.is_empty() {
            sends.push(mpi.isend(words(cells), rank, CELLS)?);
        }
    }
    let (mut own, mut values) = (Vec::new(), Vec::new());
    for rank in 0..ranks {
        let cells = part(me, rank);
        let words = if rank == me {
            words(cells)
        } else if cells.is_empty() {
            continue;
        } else {
            let mut words = vec![0.0; cells.len() * (1 + T::WORDS)];
            mpi.recv(&mut words, rank, CELLS)?;
            words
        };
        for cell in words.chunks_exact(1 + T::WORDS) {
            own.push(Key::from_word(cell[0].to_bits()));
            values.push(T::take(&cell[1..]));
        }
    }
    mpi.wait_all(&mut sends, &mut Vec::new())?;
    Ok((own, values))
}

//! The sequential oracle: the result that a rank must get. It computes the canonical order (law 9)
//! by its own method. It takes the arithmetic of one element from `bcs_core`, which has oracles of
//! its own.

use super::case::{Case, Collective, PlacedCommunicator};
use super::data::{elements, random};
use bcs_core::reduction::arithmetic::{ArithmeticPath, combine};

impl Case {
    /// Returns the contribution of a rank: its blocks for all ranks, in their order, without gaps.
    pub(super) fn contribution(&self, rank: usize, size: usize) -> Vec<u8> {
        let count: usize = match self.collective {
            Collective::Bcast
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Exscan
            | Collective::Gather
            | Collective::Allgather => self.count,
            Collective::Gatherv | Collective::Allgatherv => self.count_between(rank, 0),
            Collective::Barrier => 0,
            _ => (0..size).map(|to| self.count_between(rank, to)).sum(),
        };
        let mut random = random(self.seed ^ self.number, 1 << 40 | rank as u64);
        elements(self.datatype, count, self.mild, &mut random)
    }

    /// Returns its block for `to`.
    pub(super) fn block(&self, from: usize, to: usize, size: usize) -> Vec<u8> {
        let before: usize = (0..to).map(|to| self.count_between(from, to)).sum();
        let unit = self.datatype.size();
        let len = self.count_between(from, to) * unit;
        let start = before * unit;
        self.contribution(from, size)[start..start + len].to_vec()
    }

    /// Returns the reduction of all ranks' contributions.
    pub(super) fn reduced(&self, team: &PlacedCommunicator) -> Vec<u8> {
        if self.op.is_none() {
            // No NIC reduces with a program's function, so the order is from the left.
            let all = (0..team.size).map(|rank| self.contribution(rank, team.size));
            return self.fold(all).expect("somebody contributed");
        }
        let mut nodes: Vec<(i32, Vec<usize>)> = Vec::new();
        for (rank, &node) in team.node.iter().enumerate() {
            match nodes.iter_mut().find(|(other, _)| *other == node) {
                Some((_, ranks)) => ranks.push(rank),
                None => nodes.push((node, vec![rank])),
            }
        }
        // First within each node, in order; then neighbouring nodes, then neighbouring pairs of
        // them.
        let mut level: Vec<Vec<u8>> = nodes
            .into_iter()
            .map(|(_, ranks)| {
                self.fold(ranks.iter().map(|&rank| self.contribution(rank, team.size)))
                    .expect("a node has a rank")
            })
            .collect();
        while level.len() > 1 {
            let pairs = level.chunks(2).map(|pair| self.fold(pair.iter().cloned()));
            level = pairs.map(|pair| pair.expect("not empty")).collect();
        }
        level.pop().expect("somebody contributed")
    }

    /// Folds from the left.
    pub(super) fn fold(&self, mut parts: impl Iterator<Item = Vec<u8>>) -> Option<Vec<u8>> {
        // The two paths give the same bits, which other tests check. Long vectors take the faster
        // one.
        let path = if self.count > 1_000 {
            ArithmeticPath::Host
        } else {
            ArithmeticPath::Soft
        };
        let mut all = parts.next()?;
        for part in parts {
            match self.op {
                Some(op) => combine(op, self.datatype, path, &mut all, &part)
                    .expect("allowed, equally long"),
                None => all = compose(&all, &part, self.datatype.size()),
            }
        }
        Some(all)
    }
}

/// Applies the program's own operation to elements of `unit` bytes. Pairs of bytes represent `x ->
/// ax + b` modulo 256, and are composed, which is associative and not commutative. A single byte is
/// 7 bits under "or".
pub(super) fn compose(first: &[u8], then: &[u8], unit: usize) -> Vec<u8> {
    let elements = first.chunks(unit).zip(then.chunks(unit));
    elements
        .flat_map(|(first, then)| first.chunks(2).zip(then.chunks(2)))
        .flat_map(|pair| match pair {
            (&[a, b], &[c, d]) => {
                let both = [c.wrapping_mul(a), c.wrapping_mul(b).wrapping_add(d)];
                both.to_vec()
            }
            (a, b) => vec![(a[0] | b[0]) & 0x7f],
        })
        .collect()
}

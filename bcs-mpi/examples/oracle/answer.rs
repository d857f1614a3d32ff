//! The sequential oracle: what a rank must get. It knows the canonical order (law 9 of the design)
//! in its own way, and the arithmetic of one element from `bcs_core`, which has oracles of its own.

use crate::case::{Case, Collective, Team};
use crate::data::{elements, random};
use bcs_core::arithmetic::{Path, combine};

impl Case {
    /// What a rank contributes: its blocks for all ranks, in their order, without gaps.
    pub(crate) fn contribution(&self, rank: usize, size: usize) -> Vec<u8> {
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

    /// The block of it that is for `to`.
    pub(crate) fn block(&self, from: usize, to: usize, size: usize) -> Vec<u8> {
        let before: usize = (0..to).map(|to| self.count_between(from, to)).sum();
        let unit = self.datatype.size();
        let len = self.count_between(from, to) * unit;
        let start = before * unit;
        self.contribution(from, size)[start..start + len].to_vec()
    }

    /// What all ranks' contributions come to.
    pub(crate) fn reduced(&self, team: &Team) -> Vec<u8> {
        let mut nodes: Vec<(i32, Vec<usize>)> = Vec::new();
        for (rank, &node) in team.node.iter().enumerate() {
            match nodes.iter_mut().find(|(other, _)| *other == node) {
                Some((_, ranks)) => ranks.push(rank),
                None => nodes.push((node, vec![rank])),
            }
        }
        // First on each node, in order; then neighbouring nodes, then neighbouring pairs of them.
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

    /// From the left.
    pub(crate) fn fold(&self, mut parts: impl Iterator<Item = Vec<u8>>) -> Option<Vec<u8>> {
        // The two paths give the same bits, which is tested elsewhere; the faster one for much.
        let path = if self.count > 1_000 {
            Path::Host
        } else {
            Path::Soft
        };
        let mut all = parts.next()?;
        for part in parts {
            combine(self.op, self.datatype, path, &mut all, &part).expect("allowed, equally long");
        }
        Some(all)
    }
}

//! A mesh of cells, each of its own level. Every rank owns a stretch of the space-filling curve.
//!
//! | file | contains |
//! |---|---|
//! | `key` | the position of a cell, as a number along the curve |
//! | `partition` | the owners of cells |
//! | `halo` | the ghosts of a rank, and the exchange of their values |
//! | `faces` | the faces between cells |
//! | `levels` | the level of each cell: wishes, and the rules of neighbours |
//! | `migration` | cells that move until all ranks have equally many |
//! | `limits` | bounds |
//!
//! Results on a mesh must not depend on the owners of cells. Local cells are therefore in the order
//! of the curve, and so are the faces of a cell.

pub(crate) mod faces;
pub(crate) mod halo;
pub(crate) mod key;
pub(crate) mod levels;
pub(crate) mod limits;
pub(crate) mod migration;
pub(crate) mod partition;

use std::ops::Range;

use crate::MessagePassing;
use faces::{CellFaces, Faces};
use halo::{Halo, index};
use key::Key;
use limits::LEVELS;
use partition::Partition;

/// The box: cubes of level 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Extent<const D: usize> {
    /// Its low corner.
    pub(crate) low: [f64; D],
    /// Cells of level 0.
    pub(crate) cells: [u32; D],
    /// The edge of a cell of level 0.
    pub(crate) edge: f64,
}

impl<const D: usize> Extent<D> {
    /// Returns the cells in each direction at the finest possible level.
    pub(crate) fn finest(&self) -> [u32; D] {
        self.cells.map(|cells| cells << LEVELS)
    }

    /// Returns the edge of a cell of that level.
    #[inline]
    pub(crate) fn edge(&self, level: u8) -> f64 {
        self.edge / f64::from(1_u32 << level)
    }

    pub(crate) fn volume(&self, level: u8) -> f64 {
        self.edge(level).powi(i32::try_from(D).expect("at most 3"))
    }

    /// Returns the middle of a cell.
    pub(crate) fn middle(&self, key: Key<D>) -> [f64; D] {
        let (corner, half) = (key.corner(), f64::from(key.edge()) / 2.0);
        let unit = self.edge(LEVELS);
        std::array::from_fn(|d| self.low[d] + (f64::from(corner[d]) + half) * unit)
    }
}

/// The part of the mesh that a rank knows.
#[derive(Debug)]
pub(crate) struct Mesh<const D: usize> {
    pub(crate) extent: Extent<D>,
    /// The local cells along the curve: ghosts of lower ranks, own cells, ghosts of higher ranks.
    pub(crate) keys: Vec<Key<D>>,
    /// The range of own cells.
    pub(crate) own: Range<usize>,
    /// Own cells without neighbouring ghosts; the next list has the others.
    pub(crate) inner: Vec<u32>,
    pub(crate) outer: Vec<u32>,
    pub(crate) faces: [Faces; D],
    pub(crate) links: CellFaces,
    pub(crate) halo: Halo,
    /// Cells of all ranks.
    pub(crate) cells: usize,
}

impl<const D: usize> Mesh<D> {
    /// Makes a mesh from the cells that each rank owns.
    pub(crate) fn new<M: MessagePassing>(
        mpi: &M,
        extent: Extent<D>,
        own: Vec<Key<D>>,
    ) -> Result<Self, M::Error> {
        let first = own.first().map_or(0.0, |key| f64::from_bits(key.word()));
        let mut all = vec![0.0; 2 * mpi.size()];
        mpi.allgather(&[own.len() as f64, first], &mut all)?;
        let counts = all.chunks_exact(2).map(|rank| rank[0]);
        let cells = counts.map(to_count).sum();
        let firsts = all.chunks_exact(2);
        let partition =
            Partition::new(firsts.map(|rank| (rank[0] > 0.0).then(|| rank[1].to_bits())));
        let mut keys = own;
        let (halo, own) = Halo::build(mpi, &mut keys, &partition, extent.finest())?;
        let (faces, links) = faces::find(&keys, &own, extent.finest());
        let (inner, outer) = (Vec::new(), Vec::new());
        let mut mesh = Self {
            extent,
            keys,
            own,
            inner,
            outer,
            faces,
            links,
            halo,
            cells,
        };
        let is_inner = |place: &u32| {
            mesh.beside(*place as usize)
                .all(|other| mesh.own.contains(&other))
        };
        let own = index(mesh.own.start)..index(mesh.own.end);
        (mesh.inner, mesh.outer) = own.partition(is_inner);
        Ok(mesh)
    }

    /// Returns the number of faces that this rank knows.
    pub(crate) fn faces(&self) -> usize {
        self.faces.iter().map(Faces::count).sum()
    }
}

/// Converts a count that came as a double, which holds it exactly.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count below 2^53"
)]
pub(crate) fn to_count(count: f64) -> usize {
    count as usize
}

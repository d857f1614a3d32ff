//! A mesh of cells, each of its own level, of which every rank owns a stretch of the space-filling curve.
//!
//! | file | is |
//! |---|---|
//! | `key` | where a cell lies, as a number along the curve |
//! | `partition` | who owns what |
//! | `halo` | the cells of others that a rank looks at, and how their values come |
//! | `faces` | what lies between cells |
//! | `levels` | which level each cell should have: wishes, and what their neighbours allow |
//! | `migration` | cells move until every rank has as many as the others |
//! | `limits` | bounds |
//!
//! Nothing that is computed on a mesh may depend on who owns what: local cells are in the order of the curve, and so are a cell's faces.

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
    /// Where it begins.
    pub(crate) low: [f64; D],
    /// Cells of level 0.
    pub(crate) cells: [u32; D],
    /// The edge of one.
    pub(crate) edge: f64,
}

impl<const D: usize> Extent<D> {
    /// In cells of the finest level there may be.
    pub(crate) fn finest(&self) -> [u32; D] {
        self.cells.map(|cells| cells << LEVELS)
    }

    /// The edge of a cell of that level.
    #[inline]
    pub(crate) fn edge(&self, level: u8) -> f64 {
        self.edge / f64::from(1_u32 << level)
    }

    pub(crate) fn volume(&self, level: u8) -> f64 {
        self.edge(level).powi(i32::try_from(D).expect("at most 3"))
    }

    /// The middle of a cell.
    pub(crate) fn middle(&self, key: Key<D>) -> [f64; D] {
        let (corner, half) = (key.corner(), f64::from(key.edge()) / 2.0);
        let unit = self.edge(LEVELS);
        std::array::from_fn(|d| self.low[d] + (f64::from(corner[d]) + half) * unit)
    }
}

/// What a rank knows of the mesh.
#[derive(Debug)]
pub(crate) struct Mesh<const D: usize> {
    pub(crate) extent: Extent<D>,
    /// The local cells, along the curve: those of lower ranks that it looks at, its own, and those of higher ranks.
    pub(crate) keys: Vec<Key<D>>,
    /// Which of them are its own.
    pub(crate) own: Range<usize>,
    /// Own cells that have no ghost beside them, and those that have.
    pub(crate) inner: Vec<u32>,
    pub(crate) outer: Vec<u32>,
    pub(crate) faces: [Faces; D],
    pub(crate) links: CellFaces,
    pub(crate) halo: Halo,
    /// Cells of all ranks.
    pub(crate) cells: usize,
}

impl<const D: usize> Mesh<D> {
    /// From the cells that each rank owns.
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

    /// Faces that this rank knows.
    pub(crate) fn faces(&self) -> usize {
        self.faces.iter().map(Faces::count).sum()
    }
}

/// A count that came as a double, which holds it exactly.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count below 2^53"
)]
pub(crate) fn to_count(count: f64) -> usize {
    count as usize
}

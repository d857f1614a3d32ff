//! Distributed graphs (MPI 5.0, 8.5.3 and 8.5.4): every rank knows the edges that lead to it and
//! those that lead from it.
//!
//! [`Comm::dist_graph_create_adjacent`] takes just these edges. In [`Comm::dist_graph_create`] any
//! rank may name any edge; an all-to-all takes each to both of its ends. An end stores them in the
//! order of the ranks that named them, and those of one rank in the order in which it named them.
//! So of several edges between the same two ranks, the k-th is the same one at both ends.
//!
//! The edges of all ranks must fit together, or a neighbourhood collective would wait for ever. So
//! the constructor checks them: each rank adds the fingerprints of the edges that lead away and
//! subtracts those of the edges that lead here. The sum over all ranks must be 0.
#![expect(unsafe_code, reason = "collectives name their buffers by address")]

use crate::call_site;
use crate::mpi::error::{Error, ErrorClass, Operation, Result};
use crate::mpi::topology::Topology;
use crate::mpi::topology::distributed::{DistributedGraph, Edges};
use crate::mpi::{Blocks, Buffer, Comm, Op};
use crate::recording::{Primitive, Site};
use bcs_core::fingerprint::fingerprint;
use bcs_core::reduction::Datatype;
use std::borrow::Cow;

/// Returns the fingerprint of an edge. Two edges are unlikely to have the same one.
fn of_edge(from: i32, to: i32) -> u64 {
    fingerprint([from, to].map(|rank| u64::from(rank.cast_unsigned())))
}

fn checked_weights(weights: Option<&[i32]>, edges: usize, operation: Operation) -> Result<()> {
    let Some(weights) = weights else {
        return Ok(());
    };
    if weights.len() != edges {
        let reason = format!("{} weights are given for {edges} edges", weights.len());
        return Err(operation.error(ErrorClass::Arg, reason));
    }
    if let Some(weight) = weights.iter().find(|&&weight| weight < 0) {
        let reason = format!("the weight of an edge is {weight}: it may not be negative");
        return Err(operation.error(ErrorClass::Arg, reason));
    }
    Ok(())
}

/// An edge that this rank names: from, to, weight.
type NamedEdge = (i32, i32, i32);

/// The message to an end of an edge: which of its ends it is (1: its source), the rank at the
/// other, and the weight.
const TOLD: usize = 3;

impl Comm {
    /// `MPI_Dist_graph_create_adjacent`: each rank names the sources of the edges to it, the
    /// destinations of the edges from it, and, if they are weighted, the weights of both. Either
    /// all ranks give weights or no rank does.
    ///
    /// # Errors
    /// When there is no such rank, there are not as many weights as edges, a weight is negative,
    /// only some ranks give weights, and as [`dup`](Self::dup). If an edge is named at one of its
    /// ends only, collectives among neighbours fail.
    #[track_caller]
    pub fn dist_graph_create_adjacent(
        &self,
        sources: &[i32],
        destinations: &[i32],
        weights: Option<(&[i32], &[i32])>,
    ) -> Result<Self> {
        let call = ("MPI_Dist_graph_create_adjacent", Primitive::CommCreate);
        let operation = Operation::plain(call.0);
        self.usable_within(&operation)?;
        for &rank in sources.iter().chain(destinations) {
            self.world_rank(rank, &operation)?;
        }
        let (from, to) = weights.unzip();
        checked_weights(from, sources.len(), operation)?;
        checked_weights(to, destinations.len(), operation)?;
        let graph = DistributedGraph {
            into: Edges::new(sources, from),
            out: Edges::new(destinations, to),
            weighted: weights.is_some(),
            matched: true,
        };
        self.with_graph(call, graph)
    }

    /// `MPI_Dist_graph_create`: any rank names any edges of the graph. `degrees` holds how many of
    /// the `destinations` belong to each of the `sources`. Either all ranks give weights or no rank
    /// does.
    ///
    /// # Errors
    /// When there is no such rank, the numbers do not fit each other, a weight is negative, only
    /// some ranks give weights, and as [`dup`](Self::dup).
    #[track_caller]
    pub fn dist_graph_create(
        &self,
        sources: &[i32],
        degrees: &[i32],
        destinations: &[i32],
        weights: Option<&[i32]>,
    ) -> Result<Self> {
        let _at = call_site::enter(Site::here());
        let call = ("MPI_Dist_graph_create", Primitive::CommCreate);
        let operation = Operation::plain(call.0);
        self.usable_within(&operation)?;
        for &rank in sources.iter().chain(destinations) {
            self.world_rank(rank, &operation)?;
        }
        checked_weights(weights, destinations.len(), operation)?;
        let named = named(sources, degrees, destinations, weights, operation)?;
        let (mut into, mut out) = (Edges::default(), Edges::default());
        for told in self.tell(&named, operation)?.chunks_exact(TOLD) {
            let end = if told[0] == 1 { &mut out } else { &mut into };
            end.ranks.push(told[1]);
            if weights.is_some() {
                end.weights.push(told[2]);
            }
        }
        let weighted = weights.is_some();
        let graph = DistributedGraph {
            into,
            out,
            weighted,
            matched: true,
        };
        self.with_graph(call, graph)
    }

    /// `MPI_Dist_graph_neighbors` and `MPI_Dist_graph_neighbors_count`: returns this rank's edges.
    ///
    /// # Errors
    /// When the communicator has no distributed graph.
    pub fn dist_graph_neighbors(&self) -> Result<&DistributedGraph> {
        let operation = Operation::plain("MPI_Dist_graph_neighbors");
        self.usable(&operation)?;
        match self.topology() {
            Some(Topology::Distributed(graph)) => Ok(graph),
            _ => {
                let reason = "the communicator has no distributed graph (MPI_Dist_graph_create)";
                Err(operation.error(ErrorClass::Topology, reason))
            }
        }
    }

    /// Makes a duplicate with a graph, if all ranks together made one.
    #[track_caller]
    fn with_graph(
        &self,
        call: (&'static str, Primitive),
        mut graph: DistributedGraph,
    ) -> Result<Self> {
        let operation = Operation::plain(call.0);
        let _at = call_site::enter(Site::here());
        let me = self.rank();
        let add = |sum: u64, print: u64| sum.wrapping_add(print);
        let out = graph.out.ranks.iter().map(|&to| of_edge(me, to));
        let into = graph.into.ranks.iter().map(|&from| of_edge(from, me));
        let surplus = out.fold(0, add).wrapping_sub(into.fold(0, add));
        let mut sums = [surplus, u64::from(graph.weighted)];
        // SAFETY: the sums are borrowed until the request is done, which is in the next line.
        let data = unsafe { Buffer::new(sums.as_mut_ptr(), sums.len(), Datatype::Uint64) };
        self.iallreduce(data.clone(), data, Op::Sum)?
            .wait_unrecorded()?;
        let [surplus, weighted] = sums;
        // A graph whose edges do not match is no error: programs may inspect it. Its neighbourhood
        // collectives fail.
        graph.matched = surplus == 0;
        if weighted != 0 && weighted != self.members().len() as u64 {
            let reason = format!("{weighted} of {} ranks give weights", self.size());
            return Err(operation.error(ErrorClass::Arg, reason));
        }
        let comm = self.split_for(call, Some(0), 0, Some(Topology::Distributed(graph)))?;
        Ok(comm.expect("a rank with a colour is in a communicator"))
    }

    /// Sends edges to their ends. Returns what this rank received, in the order of the ranks that
    /// named the edges.
    fn tell(&self, edges: &[NamedEdge], operation: Operation) -> Result<Vec<i32>> {
        let mut to_each = vec![Vec::new(); self.members().len()];
        let place = |rank: i32| usize::try_from(rank).expect("ranks were checked");
        for &(from, to, weight) in edges {
            to_each[place(from)].extend([1, to, weight]);
            to_each[place(to)].extend([0, from, weight]);
        }
        let long = |len: usize| i64::try_from(len).expect("memory has fewer bytes");
        let counts: Vec<i64> = to_each.iter().map(|told| long(told.len())).collect();
        let mut come = vec![0_i64; counts.len()];
        // SAFETY: borrowed until the request is done, below.
        let out = unsafe { Buffer::read_only(counts.as_ptr(), 1, Datatype::Int64) };
        // SAFETY: as above.
        let into = unsafe { Buffer::new(come.as_mut_ptr(), 1, Datatype::Int64) };
        self.ialltoall(Some(out), into)?.wait_unrecorded()?;
        let starts = |counts: &[i64]| -> Vec<i64> {
            let start = |end: &mut i64, count: &i64| Some(std::mem::replace(end, *end + count));
            counts.iter().scan(0, start).collect()
        };
        let total = come.iter().try_fold(0_usize, |total, &count| {
            total.checked_add(usize::try_from(count).ok()?)
        });
        let mut told = vec![0_i32; total.ok_or_else(|| too_many(operation))?];
        let all = to_each.concat();
        let (from, to) = (starts(&counts), starts(&come));
        // SAFETY: borrowed until the request is done, below.
        let out = unsafe { Blocks::read_only(all.as_ptr(), &counts, &from, Datatype::Int32) };
        // SAFETY: as above.
        let into = unsafe { Blocks::new(told.as_mut_ptr(), &come, &to, Datatype::Int32) };
        self.ialltoallv(Some(out), into)?.wait_unrecorded()?;
        Ok(told)
    }
}

fn too_many(operation: Operation) -> Box<Error> {
    operation.error(
        ErrorClass::Count,
        "there are more edges than fit into memory",
    )
}

/// Returns the edges one by one.
fn named(
    sources: &[i32],
    degrees: &[i32],
    destinations: &[i32],
    weights: Option<&[i32]>,
    operation: Operation,
) -> Result<Vec<NamedEdge>> {
    let refuse = |reason: String| Err(operation.error(ErrorClass::Arg, reason));
    if sources.len() != degrees.len() {
        let (sources, degrees) = (sources.len(), degrees.len());
        return refuse(format!("{sources} sources have {degrees} degrees"));
    }
    let weights = weights.map_or_else(|| Cow::Owned(vec![0; destinations.len()]), Cow::Borrowed);
    let mut edges = destinations.iter().zip(weights.iter());
    let mut named = Vec::with_capacity(destinations.len());
    for (&from, &degree) in sources.iter().zip(degrees) {
        let Ok(degree) = usize::try_from(degree) else {
            return refuse(format!("the degree of rank {from} is {degree}"));
        };
        let before = named.len();
        named.extend(
            edges
                .by_ref()
                .take(degree)
                .map(|(&to, &weight)| (from, to, weight)),
        );
        if named.len() - before < degree {
            let given = destinations.len();
            return refuse(format!("the degrees count more than {given} destinations"));
        }
    }
    if named.len() < destinations.len() {
        let (counted, given) = (named.len(), destinations.len());
        return refuse(format!(
            "{given} destinations are given, and the degrees make {counted}"
        ));
    }
    Ok(named)
}

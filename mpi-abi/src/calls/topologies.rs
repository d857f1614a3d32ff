//! Grids and graphs (MPI 5.0, chapter 8).

use super::calls;
use super::communicators::made;
use crate::answer::{comm_of, error};
use crate::c::*;
use crate::objects::{list, list_mut, put};
use bcs_mpi::mpi::topology::{Cartesian, Topology, dims_create};
use bcs_mpi::mpi::{Comm, ErrorClass, Result};
use std::ffi::c_int;

fn flags(start: *const c_int, len: c_int) -> Result<Vec<bool>> {
    Ok(list(start, len)?.iter().map(|flag| *flag != 0).collect())
}

fn grid(comm: &Comm) -> Result<&Cartesian> {
    let none = || {
        error(
            ErrorClass::Topology,
            "the communicator has no grid (MPI_Cart_create)",
        )
    };
    comm.cartesian().ok_or_else(none)
}

fn length(of: usize) -> c_int {
    c_int::try_from(of).unwrap_or(c_int::MAX)
}

/// Copies as much of a list as there is room for.
fn fill<T: Copy>(place: *mut T, room: c_int, list: &[T]) -> Result<()> {
    let place = list_mut(place, room)?;
    let count = list.len().min(place.len());
    place[..count].copy_from_slice(&list[..count]);
    Ok(())
}

/// Returns weights, unless the program has passed none.
fn weights<'a>(start: *const c_int, len: usize) -> Result<Option<&'a [c_int]>> {
    match start.addr() {
        UNWEIGHTED => Ok(None),
        WEIGHTS_EMPTY if len == 0 => Ok(Some(&[])),
        WEIGHTS_EMPTY => Err(error(
            ErrorClass::Arg,
            format!("MPI_WEIGHTS_EMPTY stands for {len} weights"),
        )),
        _ => Ok(Some(list(start, length(len))?)),
    }
}

calls! {
    fn PMPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) {
        Ok(dims_create(nnodes, list_mut(dims, ndims)?)?)
    }

    fn PMPI_Cart_create(comm_old: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, _reorder: c_int, comm_cart: *mut MPI_Comm) {
        made("PMPI_Cart_create", &comm_of(comm_old)?, comm_cart, |comm| comm.cart_create(list(dims, ndims)?, &flags(periods, ndims)?))
    }

    fn PMPI_Cart_map(comm: MPI_Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, newrank: *mut c_int) {
        comm_of(comm)?.run(|comm| {
            let rank = comm.cart_map(list(dims, ndims)?, &flags(periods, ndims)?)?;
            put(newrank, rank.unwrap_or(MPI_UNDEFINED))
        })
    }

    fn PMPI_Cartdim_get(comm: MPI_Comm, ndims: *mut c_int) {
        comm_of(comm)?.run(|comm| put(ndims, length(grid(comm)?.dims().len())))
    }

    fn PMPI_Cart_get(comm: MPI_Comm, maxdims: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int) {
        comm_of(comm)?.run(|comm| {
            let grid = grid(comm)?;
            fill(dims, maxdims, grid.dims())?;
            let wrap: Vec<c_int> = grid.periods().iter().map(|period| c_int::from(*period)).collect();
            fill(periods, maxdims, &wrap)?;
            fill(coords, maxdims, &comm.cart_coords(comm.rank())?)
        })
    }

    fn PMPI_Cart_rank(comm: MPI_Comm, coords: *const c_int, rank: *mut c_int) {
        comm_of(comm)?.run(|comm| {
            let coords = list(coords, length(grid(comm)?.dims().len()))?;
            put(rank, comm.cart_rank(coords)?)
        })
    }

    fn PMPI_Cart_coords(comm: MPI_Comm, rank: c_int, maxdims: c_int, coords: *mut c_int) {
        comm_of(comm)?.run(|comm| fill(coords, maxdims, &comm.cart_coords(rank)?))
    }

    fn PMPI_Cart_shift(comm: MPI_Comm, direction: c_int, disp: c_int, rank_source: *mut c_int, rank_dest: *mut c_int) {
        comm_of(comm)?.run(|comm| {
            let (source, destination) = comm.cart_shift(direction, disp)?;
            put(rank_source, source)?;
            put(rank_dest, destination)
        })
    }

    fn PMPI_Cart_sub(comm: MPI_Comm, remain_dims: *const c_int, newcomm: *mut MPI_Comm) {
        made("PMPI_Cart_sub", &comm_of(comm)?, newcomm, |comm| {
            let remain = flags(remain_dims, length(grid(comm)?.dims().len()))?;
            comm.cart_sub(&remain).map(Some)
        })
    }

    fn PMPI_Topo_test(comm: MPI_Comm, status: *mut c_int) {
        comm_of(comm)?.run(|comm| put(status, match comm.topology() {
            None => MPI_UNDEFINED,
            Some(Topology::Cartesian(_)) => MPI_CART,
            Some(Topology::Graph(_)) => MPI_GRAPH,
            Some(Topology::Distributed(_)) => MPI_DIST_GRAPH,
        }))
    }

    fn PMPI_Graph_create(comm_old: MPI_Comm, nnodes: c_int, index: *const c_int, edges: *const c_int, _reorder: c_int, comm_graph: *mut MPI_Comm) {
        made("PMPI_Graph_create", &comm_of(comm_old)?, comm_graph, |comm| {
            let index = list(index, nnodes)?;
            comm.graph_create(index, list(edges, index.last().copied().unwrap_or(0))?)
        })
    }

    fn PMPI_Graph_map(comm: MPI_Comm, nnodes: c_int, index: *const c_int, edges: *const c_int, newrank: *mut c_int) {
        comm_of(comm)?.run(|comm| {
            let index = list(index, nnodes)?;
            let rank = comm.graph_map(index, list(edges, index.last().copied().unwrap_or(0))?)?;
            put(newrank, rank.unwrap_or(MPI_UNDEFINED))
        })
    }

    fn PMPI_Graphdims_get(comm: MPI_Comm, nnodes: *mut c_int, nedges: *mut c_int) {
        comm_of(comm)?.run(|comm| {
            let graph = graph(comm)?;
            put(nnodes, length(graph.nodes()))?;
            put(nedges, length(graph.edges().len()))
        })
    }

    fn PMPI_Graph_get(comm: MPI_Comm, maxindex: c_int, maxedges: c_int, index: *mut c_int, edges: *mut c_int) {
        comm_of(comm)?.run(|comm| {
            let graph = graph(comm)?;
            fill(index, maxindex, graph.index())?;
            fill(edges, maxedges, graph.edges())
        })
    }

    fn PMPI_Graph_neighbors_count(comm: MPI_Comm, rank: c_int, nneighbors: *mut c_int) {
        comm_of(comm)?.run(|comm| put(nneighbors, length(comm.graph_neighbors(rank)?.len())))
    }

    fn PMPI_Graph_neighbors(comm: MPI_Comm, rank: c_int, maxneighbors: c_int, neighbors: *mut c_int) {
        comm_of(comm)?.run(|comm| fill(neighbors, maxneighbors, comm.graph_neighbors(rank)?))
    }

    fn PMPI_Dist_graph_create_adjacent(comm_old: MPI_Comm, indegree: c_int, sources: *const c_int, sourceweights: *const c_int, outdegree: c_int, destinations: *const c_int, destweights: *const c_int, _info: MPI_Info, _reorder: c_int, comm_dist_graph: *mut MPI_Comm) {
        made("PMPI_Dist_graph_create_adjacent", &comm_of(comm_old)?, comm_dist_graph, |comm| {
            let (sources, destinations) = (list(sources, indegree)?, list(destinations, outdegree)?);
            let weights = (weights(sourceweights, sources.len())?, weights(destweights, destinations.len())?);
            let weights = match weights {
                (None, None) => None,
                (Some(into), Some(out)) => Some((into, out)),
                // Without edges there are no weights.
                (Some([]), None) | (None, Some([])) => None,
                (Some(into), None) if destinations.is_empty() => Some((into, &[][..])),
                (None, Some(out)) if sources.is_empty() => Some((&[][..], out)),
                _ => {
                    let reason = "MPI_UNWEIGHTED is for both lists or for none";
                    return Err(error(ErrorClass::Arg, reason));
                }
            };
            comm.dist_graph_create_adjacent(sources, destinations, weights).map(Some)
        })
    }

    fn PMPI_Dist_graph_create(comm_old: MPI_Comm, n: c_int, sources: *const c_int, degrees: *const c_int, destinations: *const c_int, weights: *const c_int, _info: MPI_Info, _reorder: c_int, comm_dist_graph: *mut MPI_Comm) {
        made("PMPI_Dist_graph_create", &comm_of(comm_old)?, comm_dist_graph, |comm| {
            let (sources, degrees) = (list(sources, n)?, list(degrees, n)?);
            let total = degrees.iter().try_fold(0, |sum: c_int, degree| {
                sum.checked_add(*degree).filter(|_| *degree >= 0)
            });
            let total = total.ok_or_else(|| {
                error(ErrorClass::Arg, format!("the degrees {degrees:?} cannot be added up"))
            })?;
            let destinations = list(destinations, total)?;
            let weights = super::weights(weights, destinations.len())?;
            comm.dist_graph_create(sources, degrees, destinations, weights).map(Some)
        })
    }

    fn PMPI_Dist_graph_neighbors_count(comm: MPI_Comm, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int) {
        comm_of(comm)?.run(|comm| {
            let graph = comm.dist_graph_neighbors()?;
            put(indegree, length(graph.sources().len()))?;
            put(outdegree, length(graph.destinations().len()))?;
            put(weighted, c_int::from(graph.weights().is_some()))
        })
    }

    fn PMPI_Dist_graph_neighbors(comm: MPI_Comm, maxindegree: c_int, sources: *mut c_int, sourceweights: *mut c_int, maxoutdegree: c_int, destinations: *mut c_int, destweights: *mut c_int) {
        comm_of(comm)?.run(|comm| {
            let graph = comm.dist_graph_neighbors()?;
            fill(sources, maxindegree, graph.sources())?;
            fill(destinations, maxoutdegree, graph.destinations())?;
            let Some((into, out)) = graph.weights() else {
                return Ok(());
            };
            if sourceweights.addr() != UNWEIGHTED {
                fill(sourceweights, maxindegree, into)?;
            }
            if destweights.addr() != UNWEIGHTED {
                fill(destweights, maxoutdegree, out)?;
            }
            Ok(())
        })
    }
}

fn graph(comm: &Comm) -> Result<&bcs_mpi::mpi::topology::Graph> {
    let none = || {
        error(
            ErrorClass::Topology,
            "the communicator has no graph (MPI_Graph_create)",
        )
    };
    comm.graph().ok_or_else(none)
}

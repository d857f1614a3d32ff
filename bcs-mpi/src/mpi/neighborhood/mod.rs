//! Communicators whose ranks have neighbours (MPI 5.0, chapter 8): how they are made, who is whose neighbour,
//! and collectives among neighbours.

mod cartesian;
mod collective;
mod distributed;
mod graph;
mod neighbors;

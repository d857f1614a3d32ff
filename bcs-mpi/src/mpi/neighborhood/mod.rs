//! Communicators whose ranks have neighbours (MPI 5.0, chapter 8): their construction, the
//! neighbours of a rank, and collectives among neighbours.

mod cartesian;
mod collective;
mod distributed;
mod graph;
mod neighbors;

//! A collective that a rank called with a wrong argument.
//!
//! The rank takes part all the same, so that the others need not wait for it, get the reason of the
//! failure, and go on with the next collective. It *arrives* with an invalid call in the place of
//! its real call ([`CollectiveKind::Invalid`](super::CollectiveKind::Invalid)), or *sends* one with
//! each message that the others wait for (its [`CheckBits`]).

use crate::check_bits::CheckBits;
use std::fmt;

/// The function that was called, and the class of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InvalidCall {
    function: u8,
    class: u8,
}

/// The functions, by their numbers. A function without a number has number 0.
const FUNCTIONS: [&str; 101] = [
    "a collective",
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Reduce_scatter_block",
    "MPI_Reduce_scatter",
    "MPI_Scan",
    "MPI_Exscan",
    "MPI_Neighbor_allgather",
    "MPI_Neighbor_allgatherv",
    "MPI_Neighbor_alltoall",
    "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoallw",
    "MPI_Ibarrier",
    "MPI_Ibcast",
    "MPI_Igather",
    "MPI_Igatherv",
    "MPI_Iscatter",
    "MPI_Iscatterv",
    "MPI_Iallgather",
    "MPI_Iallgatherv",
    "MPI_Ialltoall",
    "MPI_Ialltoallv",
    "MPI_Ialltoallw",
    "MPI_Ireduce",
    "MPI_Iallreduce",
    "MPI_Ireduce_scatter_block",
    "MPI_Ireduce_scatter",
    "MPI_Iscan",
    "MPI_Iexscan",
    "MPI_Ineighbor_allgather",
    "MPI_Ineighbor_allgatherv",
    "MPI_Ineighbor_alltoall",
    "MPI_Ineighbor_alltoallv",
    "MPI_Ineighbor_alltoallw",
    "MPI_Barrier_init",
    "MPI_Bcast_init",
    "MPI_Gather_init",
    "MPI_Gatherv_init",
    "MPI_Scatter_init",
    "MPI_Scatterv_init",
    "MPI_Allgather_init",
    "MPI_Allgatherv_init",
    "MPI_Alltoall_init",
    "MPI_Alltoallv_init",
    "MPI_Alltoallw_init",
    "MPI_Reduce_init",
    "MPI_Allreduce_init",
    "MPI_Reduce_scatter_block_init",
    "MPI_Reduce_scatter_init",
    "MPI_Scan_init",
    "MPI_Exscan_init",
    "MPI_Neighbor_allgather_init",
    "MPI_Neighbor_allgatherv_init",
    "MPI_Neighbor_alltoall_init",
    "MPI_Neighbor_alltoallv_init",
    "MPI_Neighbor_alltoallw_init",
    "MPI_Comm_dup",
    "MPI_Comm_dup_with_info",
    "MPI_Comm_split",
    "MPI_Comm_split_type",
    "MPI_Comm_create",
    "MPI_Cart_create",
    "MPI_Cart_sub",
    "MPI_Graph_create",
    "MPI_Dist_graph_create",
    "MPI_Dist_graph_create_adjacent",
    "MPI_Intercomm_create",
    "MPI_Intercomm_merge",
    "MPI_Start (MPI_Barrier_init)",
    "MPI_Start (MPI_Bcast_init)",
    "MPI_Start (MPI_Gather_init)",
    "MPI_Start (MPI_Gatherv_init)",
    "MPI_Start (MPI_Scatter_init)",
    "MPI_Start (MPI_Scatterv_init)",
    "MPI_Start (MPI_Allgather_init)",
    "MPI_Start (MPI_Allgatherv_init)",
    "MPI_Start (MPI_Alltoall_init)",
    "MPI_Start (MPI_Alltoallv_init)",
    "MPI_Start (MPI_Alltoallw_init)",
    "MPI_Start (MPI_Reduce_init)",
    "MPI_Start (MPI_Allreduce_init)",
    "MPI_Start (MPI_Reduce_scatter_block_init)",
    "MPI_Start (MPI_Reduce_scatter_init)",
    "MPI_Start (MPI_Scan_init)",
    "MPI_Start (MPI_Exscan_init)",
    "MPI_Start (MPI_Neighbor_allgather_init)",
    "MPI_Start (MPI_Neighbor_allgatherv_init)",
    "MPI_Start (MPI_Neighbor_alltoall_init)",
    "MPI_Start (MPI_Neighbor_alltoallv_init)",
    "MPI_Start (MPI_Neighbor_alltoallw_init)",
];

/// Error classes are below this.
const CLASSES: u8 = 128;

impl InvalidCall {
    /// Returns a call of this function with an error of this class, which is not the class of
    /// success.
    #[must_use]
    pub fn new(function: &str, class: i32) -> Self {
        let plain = function.strip_suffix("_c").unwrap_or(function);
        let function = FUNCTIONS.iter().position(|known| *known == plain);
        let class = u8::try_from(class)
            .ok()
            .filter(|class| (1..CLASSES).contains(class));
        Self {
            function: u8::try_from(function.unwrap_or(0)).expect("they are few"),
            class: class.unwrap_or(CLASSES - 1),
        }
    }

    /// Returns the name of the function.
    #[must_use]
    pub fn function(self) -> &'static str {
        FUNCTIONS[usize::from(self.function)]
    }

    /// Returns the error class, as the standard numbers it.
    #[must_use]
    pub fn class(self) -> i32 {
        self.class.into()
    }

    /// Packs the call into sixteen bits, which are not all zero.
    #[must_use]
    pub fn pack(self) -> u16 {
        u16::from_le_bytes([self.class, self.function])
    }

    /// Unpacks the call, or returns `None` if the bits are no call.
    #[must_use]
    pub fn unpack(bits: u16) -> Option<Self> {
        let [class, function] = bits.to_le_bytes();
        let known = usize::from(function) < FUNCTIONS.len() && (1..CLASSES).contains(&class);
        known.then_some(Self { function, class })
    }

    /// Returns the bits of a message that replaces one which the rank could not send.
    #[must_use]
    pub fn check_bits(self) -> CheckBits {
        CheckBits::new(self.pack().into())
    }

    /// Returns the invalid call that came with a message, or `None` if the message is an ordinary
    /// one.
    #[must_use]
    pub fn from_check_bits(mark: CheckBits) -> Option<Self> {
        u16::try_from(mark.bits()).ok().and_then(Self::unpack)
    }
}

/// "MPI_Bcast with a wrong argument"
impl fmt::Display for InvalidCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with a wrong argument", self.function())
    }
}

const _: () = assert!(FUNCTIONS.len() <= 256 && CheckBits::BITS >= 16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_comes_back_from_its_bits() {
        for (class, name) in (1..=62).cycle().zip(FUNCTIONS) {
            let call = InvalidCall::new(name, class);
            assert_eq!(
                (call.function(), call.class()),
                (name, class),
                "there is one of each name"
            );
            assert_eq!(InvalidCall::unpack(call.pack()), Some(call));
            assert_eq!(InvalidCall::from_check_bits(call.check_bits()), Some(call));
            assert_ne!(call.check_bits(), CheckBits::NONE);
        }
        assert_eq!(InvalidCall::from_check_bits(CheckBits::NONE), None);
        assert_eq!(InvalidCall::unpack(u16::MAX), None);
        assert_eq!(
            InvalidCall::new("MPI_Bcast_c", 2).to_string(),
            "MPI_Bcast with a wrong argument"
        );
        assert_eq!(InvalidCall::new("MPI_None", 2).function(), "a collective");
    }
}

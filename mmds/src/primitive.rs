//! The MPI calls that have a row of their own in Table 5.3.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One line per primitive: its variant, its name in reports and dumps, and whether its calls have a
/// size. The order here is the order of rows in reports.
macro_rules! primitives {
    ($($variant:ident $name:literal $size:ident,)*) => {
        /// An MPI call, named as in Table 5.3. Dumps spell it `MPI_Isend`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Primitive {
            $(
                #[doc = concat!("`", $name, "`")]
                #[serde(rename = $name)]
                $variant,
            )*
        }

        impl Primitive {
            /// All primitives, in the order of the rows of a report.
            pub const ALL: &'static [Primitive] = &[$(Primitive::$variant,)*];

            /// Returns its MPI name, such as `MPI_Isend`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Primitive::$variant => $name,)*
                }
            }

            /// Returns whether its calls move data. If so, a distribution of sizes is kept.
            #[must_use]
            #[inline]
            pub const fn has_size(self) -> bool {
                match self {
                    $(Primitive::$variant => primitives!(@ $size),)*
                }
            }
        }
    };
    (@ sized) => { true };
    (@ plain) => { false };
}

primitives! {
    Send "MPI_Send" sized,
    Bsend "MPI_Bsend" sized,
    Ssend "MPI_Ssend" sized,
    Rsend "MPI_Rsend" sized,
    Isend "MPI_Isend" sized,
    Ibsend "MPI_Ibsend" sized,
    Issend "MPI_Issend" sized,
    Irsend "MPI_Irsend" sized,
    Recv "MPI_Recv" sized,
    Irecv "MPI_Irecv" sized,
    Mrecv "MPI_Mrecv" sized,
    Imrecv "MPI_Imrecv" sized,
    Sendrecv "MPI_Sendrecv" sized,
    SendrecvReplace "MPI_Sendrecv_replace" sized,
    Start "MPI_Start" plain,
    Startall "MPI_Startall" plain,
    Probe "MPI_Probe" plain,
    Iprobe "MPI_Iprobe" plain,
    Mprobe "MPI_Mprobe" plain,
    Improbe "MPI_Improbe" plain,
    Wait "MPI_Wait" plain,
    Waitall "MPI_Waitall" plain,
    Waitany "MPI_Waitany" plain,
    Waitsome "MPI_Waitsome" plain,
    Test "MPI_Test" plain,
    Testall "MPI_Testall" plain,
    Testany "MPI_Testany" plain,
    Testsome "MPI_Testsome" plain,
    Barrier "MPI_Barrier" plain,
    Ibarrier "MPI_Ibarrier" plain,
    Bcast "MPI_Bcast" sized,
    Ibcast "MPI_Ibcast" sized,
    Reduce "MPI_Reduce" sized,
    Ireduce "MPI_Ireduce" sized,
    Allreduce "MPI_Allreduce" sized,
    Iallreduce "MPI_Iallreduce" sized,
    ReduceScatter "MPI_Reduce_scatter" sized,
    IreduceScatter "MPI_Ireduce_scatter" sized,
    ReduceScatterBlock "MPI_Reduce_scatter_block" sized,
    IreduceScatterBlock "MPI_Ireduce_scatter_block" sized,
    Scan "MPI_Scan" sized,
    Iscan "MPI_Iscan" sized,
    Exscan "MPI_Exscan" sized,
    Iexscan "MPI_Iexscan" sized,
    Gather "MPI_Gather" sized,
    Igather "MPI_Igather" sized,
    Gatherv "MPI_Gatherv" sized,
    Igatherv "MPI_Igatherv" sized,
    Scatter "MPI_Scatter" sized,
    Iscatter "MPI_Iscatter" sized,
    Scatterv "MPI_Scatterv" sized,
    Iscatterv "MPI_Iscatterv" sized,
    Allgather "MPI_Allgather" sized,
    Iallgather "MPI_Iallgather" sized,
    Allgatherv "MPI_Allgatherv" sized,
    Iallgatherv "MPI_Iallgatherv" sized,
    Alltoall "MPI_Alltoall" sized,
    Ialltoall "MPI_Ialltoall" sized,
    Alltoallv "MPI_Alltoallv" sized,
    Ialltoallv "MPI_Ialltoallv" sized,
    Alltoallw "MPI_Alltoallw" sized,
    Ialltoallw "MPI_Ialltoallw" sized,
    NeighborAllgather "MPI_Neighbor_allgather" sized,
    IneighborAllgather "MPI_Ineighbor_allgather" sized,
    NeighborAllgatherv "MPI_Neighbor_allgatherv" sized,
    IneighborAllgatherv "MPI_Ineighbor_allgatherv" sized,
    NeighborAlltoall "MPI_Neighbor_alltoall" sized,
    IneighborAlltoall "MPI_Ineighbor_alltoall" sized,
    NeighborAlltoallv "MPI_Neighbor_alltoallv" sized,
    IneighborAlltoallv "MPI_Ineighbor_alltoallv" sized,
    NeighborAlltoallw "MPI_Neighbor_alltoallw" sized,
    IneighborAlltoallw "MPI_Ineighbor_alltoallw" sized,
    CommDup "MPI_Comm_dup" plain,
    CommSplit "MPI_Comm_split" plain,
    CommCreate "MPI_Comm_create" plain,
    IntercommCreate "MPI_Intercomm_create" plain,
    IntercommMerge "MPI_Intercomm_merge" plain,
    CommFree "MPI_Comm_free" plain,
    Put "MPI_Put" sized,
    Rput "MPI_Rput" sized,
    Get "MPI_Get" sized,
    Rget "MPI_Rget" sized,
    Accumulate "MPI_Accumulate" sized,
    Raccumulate "MPI_Raccumulate" sized,
    GetAccumulate "MPI_Get_accumulate" sized,
    RgetAccumulate "MPI_Rget_accumulate" sized,
    FetchAndOp "MPI_Fetch_and_op" sized,
    CompareAndSwap "MPI_Compare_and_swap" sized,
    WinCreate "MPI_Win_create" plain,
    WinFree "MPI_Win_free" plain,
    WinFence "MPI_Win_fence" plain,
    WinPost "MPI_Win_post" plain,
    WinStart "MPI_Win_start" plain,
    WinComplete "MPI_Win_complete" plain,
    WinWait "MPI_Win_wait" plain,
    WinTest "MPI_Win_test" plain,
    WinLock "MPI_Win_lock" plain,
    WinUnlock "MPI_Win_unlock" plain,
    WinLockAll "MPI_Win_lock_all" plain,
    WinUnlockAll "MPI_Win_unlock_all" plain,
    WinFlush "MPI_Win_flush" plain,
    Finalize "MPI_Finalize" plain,
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_primitive_is_its_own_index_in_all() {
        for (index, primitive) in Primitive::ALL.iter().enumerate() {
            assert_eq!(*primitive as usize, index);
        }
    }

    #[test]
    fn dumps_spell_primitives_as_reports_do() {
        for primitive in Primitive::ALL {
            let text = serde_json::to_string(primitive).unwrap();
            assert_eq!(text, format!("\"{}\"", primitive.name()));
            assert_eq!(
                serde_json::from_str::<Primitive>(&text).unwrap(),
                *primitive
            );
        }
    }
}

//! Collectives (MPI 5.0, chapter 6): barriers, and those that move data. Reductions are in
//! `reducing`.
//!
//! An argument that is not significant at a rank may be anything there. It is not read, and the
//! core gets an empty value instead.

use crate::answer::error;
use crate::c::*;
use crate::objects::{Number, buffer, datatype, list};
use bcs_mpi::mpi::{Blocks, Buffer, Comm, Datatype, ErrorClass, InvalidArguments, Result};
use std::ffi::{c_int, c_void};

/// The role of a rank in a collective that has a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RootRole {
    Root,
    /// In the root's group of an intercommunicator.
    Beside,
    Other,
}

impl RootRole {
    /// Returns the role of this rank. A root that does not exist gives `Other`: the core reports
    /// the error.
    pub(super) fn of(comm: &Comm, root: c_int) -> Self {
        match (comm.is_inter(), root) {
            (true, MPI_ROOT) => Self::Root,
            (true, MPI_PROC_NULL) => Self::Beside,
            (false, root) if root == comm.rank() => Self::Root,
            _ => Self::Other,
        }
    }
}

/// Returns how many blocks a rank has: one for each rank that it gets data from.
pub(crate) fn peers(comm: &Comm) -> Result<c_int> {
    match comm.is_inter() {
        true => comm.remote_size(),
        false => Ok(comm.size()),
    }
}

/// Returns `None` if the address is `MPI_IN_PLACE`.
pub(crate) fn unless_in_place<T>(
    address: *const c_void,
    what: impl FnOnce() -> Result<T>,
) -> Result<Option<T>> {
    match address.addr() {
        IN_PLACE => Ok(None),
        _ => what().map(Some),
    }
}

/// Returns a buffer, or `None` for `MPI_IN_PLACE`.
pub(crate) fn optional(
    address: *const c_void,
    count: impl Number,
    of: MPI_Datatype,
) -> Result<Option<Buffer>> {
    unless_in_place(address, || buffer(address, count, of))
}

/// Returns a buffer that only the root has.
pub(crate) fn at_root(
    comm: &Comm,
    root: c_int,
    address: *const c_void,
    count: impl Number,
    of: MPI_Datatype,
) -> Result<Buffer> {
    match RootRole::of(comm, root) {
        RootRole::Root => buffer(address, count, of),
        RootRole::Beside | RootRole::Other => Ok(Buffer::EMPTY),
    }
}

/// Returns blocks that only the root has.
pub(crate) fn blocks_at_root(
    comm: &Comm,
    root: c_int,
    address: *const c_void,
    lists: (*const impl Number, *const impl Number),
    of: MPI_Datatype,
) -> Result<VectorBlocks> {
    match RootRole::of(comm, root) {
        RootRole::Root => VectorBlocks::of(address, lists, of, peers(comm)?),
        RootRole::Beside | RootRole::Other => Ok(VectorBlocks::NONE),
    }
}

/// Returns a buffer of one block that each rank has. On an intercommunicator only the group without
/// the root has one.
pub(crate) fn of_each(
    comm: &Comm,
    root: c_int,
    address: *const c_void,
    count: impl Number,
    of: MPI_Datatype,
) -> Result<Option<Buffer>> {
    match RootRole::of(comm, root) {
        RootRole::Root | RootRole::Beside if comm.is_inter() => Ok(None),
        // Only the root may be in place. For an empty buffer the address has no meaning.
        RootRole::Other if count.wide() == 0 => buffer(address, count, of).map(Some),
        _ => optional(address, count, of),
    }
}

/// Returns a buffer that all ranks have, except those beside the root.
pub(crate) fn not_beside(
    comm: &Comm,
    root: c_int,
    address: *const c_void,
    count: impl Number,
    of: MPI_Datatype,
) -> Result<Buffer> {
    match RootRole::of(comm, root) {
        RootRole::Beside => Ok(Buffer::EMPTY),
        RootRole::Root | RootRole::Other => buffer(address, count, of),
    }
}

/// Converts numbers to the core's width.
pub(super) fn wide<T: Number>(start: *const T, len: c_int) -> Result<Vec<i64>> {
    let list = list(start, len)?;
    Ok(list.iter().map(|number| number.wide()).collect())
}

/// Blocks of a vector collective, with lists in the core's width.
#[derive(Debug)]
pub(crate) struct VectorBlocks {
    address: *mut c_void,
    counts: Vec<i64>,
    displacements: Vec<i64>,
    of: Types,
}

#[derive(Debug)]
enum Types {
    One(Datatype),
    Each(Vec<Datatype>),
}

impl VectorBlocks {
    const NONE: Self = Self {
        address: std::ptr::null_mut(),
        counts: Vec::new(),
        displacements: Vec::new(),
        of: Types::One(Datatype::BYTE),
    };

    /// Returns blocks of one datatype; the lists are those of counts and of displacements.
    pub(crate) fn of(
        address: *const c_void,
        lists: (*const impl Number, *const impl Number),
        of: MPI_Datatype,
        ranks: c_int,
    ) -> Result<Self> {
        let of = Types::One(datatype(of)?);
        let (counts, displacements) = Self::lists(address, lists, ranks)?;
        Ok(Self {
            address: Self::start(address),
            counts,
            displacements,
            of,
        })
    }

    /// Returns blocks that each have their own datatype.
    pub(super) fn of_types(
        address: *const c_void,
        lists: (*const impl Number, *const impl Number),
        types: *const MPI_Datatype,
        ranks: c_int,
    ) -> Result<Self> {
        let (counts, displacements) = Self::lists(address, lists, ranks)?;
        let types = list(types, ranks)?.iter().zip(&counts);
        let types = types.map(|pair| match pair {
            // Programs give no datatype for an empty block.
            (&MPI_DATATYPE_NULL, 0) => Ok(Datatype::BYTE),
            (&of, _) => datatype(of),
        });
        let of = Types::Each(types.collect::<Result<_>>()?);
        Ok(Self {
            address: Self::start(address),
            counts,
            displacements,
            of,
        })
    }

    /// Returns where blocks begin. `MPI_IN_PLACE` becomes null: for empty blocks the address has no
    /// meaning.
    fn start(address: *const c_void) -> *mut c_void {
        match address.addr() {
            IN_PLACE => std::ptr::null_mut(),
            _ => address.cast_mut(),
        }
    }

    fn lists(
        address: *const c_void,
        (counts, displacements): (*const impl Number, *const impl Number),
        ranks: c_int,
    ) -> Result<(Vec<i64>, Vec<i64>)> {
        let counts = wide(counts, ranks)?;
        if address.addr() == IN_PLACE && counts.iter().any(|count| *count > 0) {
            let reason = "MPI_IN_PLACE is no buffer here";
            return Err(error(ErrorClass::Buffer, reason));
        }
        let displacements = list(displacements, ranks)?.iter().zip(&counts);
        let displacements = displacements.map(|(displacement, count)| match count {
            // The place of an empty block does not matter, but the core would check it.
            0 => 0,
            _ => displacement.wide(),
        });
        let displacements = displacements.collect();
        Ok((counts, displacements))
    }

    /// Returns the core's form of the blocks.
    pub(crate) fn blocks(&self) -> Blocks<'_> {
        let (counts, displacements) = (&self.counts, &self.displacements);
        // SAFETY: the caller's promise, which is the standard's: the memory stays while an
        // operation has it.
        unsafe {
            match &self.of {
                Types::One(of) => Blocks::new(self.address, counts, displacements, of),
                Types::Each(of) => Blocks::of_types(self.address, counts, displacements, of),
            }
        }
    }
}

/// Checks that send and receive buffers are not the same memory (6.2): the standard requires
/// `MPI_IN_PLACE` then. Compares where both begin; [`apart_by_block`] also compares a rank's own
/// block.
pub(crate) fn apart(
    sent: *const c_void,
    received: *const c_void,
    count: impl Number,
) -> Result<()> {
    if sent == received && sent.addr() > BUFFER_AUTOMATIC && count.wide() > 0 {
        let reason =
            format!("what is sent and what is received are both at {sent:p}: say MPI_IN_PLACE");
        return Err(error(ErrorClass::Buffer, reason));
    }
    Ok(())
}

/// Marks an error of the root alone, of which the other ranks are not notified, unlike of other
/// errors. In MPICH's tests (`noalias3`) only the root calls with one buffer for both, and the
/// others do not call the collective at all.
pub(super) fn of_root_alone<T>(checked: Result<T>) -> Result<T> {
    checked.map_err(|mut error| {
        error.told = true;
        error
    })
}

/// Checks the same where `whole` has a block of `count` elements for each rank, and `one` has a
/// single block.
pub(crate) fn apart_by_block(
    comm: &Comm,
    (one, whole): (*const c_void, *const c_void),
    count: impl Number,
    of: MPI_Datatype,
) -> Result<()> {
    apart(one, whole, count)?;
    if comm.is_inter() {
        return Ok(()); // No rank gets its own data.
    }
    let block = datatype(of)?.extent().1.wrapping_mul(count.wide());
    let own = block.wrapping_mul(i64::from(comm.rank()));
    let offset = isize::try_from(own).unwrap_or(0);
    apart(one, whole.wrapping_byte_offset(offset), count)
}

/// Returns where the block of this rank is, among blocks with displacements, and how many elements
/// it has.
fn own_block(
    comm: &Comm,
    address: *const c_void,
    (counts, displacements): (*const impl Number, *const impl Number),
    of: MPI_Datatype,
) -> Result<(*const c_void, i64)> {
    let ranks = peers(comm)?;
    let place = usize::try_from(comm.rank()).unwrap_or(0);
    let (counts, displacements) = (list(counts, ranks)?, list(displacements, ranks)?);
    let (Some(count), Some(displacement)) = (counts.get(place), displacements.get(place)) else {
        return Ok((std::ptr::null(), 0));
    };
    let offset = datatype(of)?.extent().1.wrapping_mul(displacement.wide());
    let offset = isize::try_from(offset).unwrap_or(0);
    Ok((address.wrapping_byte_offset(offset), count.wide()))
}

/// Checks that a single block is not the rank's own block among blocks with displacements.
pub(crate) fn apart_from_own(
    comm: &Comm,
    one: *const c_void,
    whole: *const c_void,
    lists: (*const impl Number, *const impl Number),
    of: MPI_Datatype,
) -> Result<()> {
    if one.addr() <= BUFFER_AUTOMATIC || comm.is_inter() {
        return Ok(());
    }
    let (own, count) = own_block(comm, whole, lists, of)?;
    apart(one, own, count)
}

/// Checks that a rank's own block is not the same on both sides, among blocks with displacements.
pub(crate) fn apart_with_own<C: Number, D: Number>(
    comm: &Comm,
    (sent, received): (*const c_void, *const c_void),
    lists: ((*const C, *const D), (*const C, *const D)),
    types: (MPI_Datatype, MPI_Datatype),
) -> Result<()> {
    if sent.addr() <= BUFFER_AUTOMATIC || comm.is_inter() {
        return Ok(());
    }
    let (one, _) = own_block(comm, sent, lists.0, types.0)?;
    apart_from_own(comm, one, received, lists.1, types.1)
}

/// Checks the same at the root.
pub(crate) fn apart_from_own_at_root(
    comm: &Comm,
    root: c_int,
    (one, whole): (*const c_void, *const c_void),
    lists: (*const impl Number, *const impl Number),
    of: MPI_Datatype,
) -> Result<()> {
    match RootRole::of(comm, root) {
        RootRole::Root => of_root_alone(apart_from_own(comm, one, whole, lists, of)),
        RootRole::Beside | RootRole::Other => Ok(()),
    }
}

/// Checks the same at the root; elsewhere there is only one buffer.
pub(crate) fn apart_at_root(
    comm: &Comm,
    root: c_int,
    (one, whole): (*const c_void, *const c_void),
    count: impl Number,
    of: MPI_Datatype,
) -> Result<()> {
    match RootRole::of(comm, root) {
        RootRole::Root if !comm.is_inter() => {
            of_root_alone(apart_by_block(comm, (one, whole), count, of))
        }
        _ => Ok(()),
    }
}

/// Defines the three forms of each collective from one list of arguments: the blocking one, the one
/// that starts, and the persistent one, each with its large form. After `=` is the method of the
/// core, and after `=>` are its arguments, computed from the communicator and the call's arguments.
macro_rules! collectives {
    ($(
        $name:ident $(| $large:ident)? = $blocking:ident
        $iname:ident $(| $ilarge:ident)? = $nonblocking:ident
        $init:ident $(| $init_large:ident)? = $persistent:ident
        ($($argument:ident : $type:ty),*; $comm:ident $(, root $root:ident)? $(, op $op:ident of $of:ident)?)
        => $(let $local:ident = $made:expr;)* ($($value:expr),* $(,)?);
    )*) => {
        $crate::calls::calls! {$(
            fn $name $(| $large)? ($($argument: $type,)* $comm: MPI_Comm) {
                let invalid = || $crate::calls::collectives::invalid!($($root)?; $($op $of)?);
                $crate::answer::comm_of($comm)?.run_collective(stringify!($name), invalid, |$comm| {
                    $(let $local = $made;)*
                    $comm.$blocking($($value),*)
                })
            }

            fn $iname $(| $ilarge)? ($($argument: $type,)* $comm: MPI_Comm, request: *mut MPI_Request) {
                let invalid = || $crate::calls::collectives::invalid!($($root)?; $($op $of)?);
                let on = (stringify!($iname), $comm, request);
                $crate::calls::requests::start_collective(on, invalid, |$comm| {
                    $(let $local = $made;)*
                    $comm.$nonblocking($($value),*)
                })
            }

            fn $init $(| $init_large)? (
                $($argument: $type,)* $comm: MPI_Comm, _info: MPI_Info, request: *mut MPI_Request
            ) {
                let on = (stringify!($init), $comm, request);
                $crate::calls::requests::make_persistent_collective(on, |$comm| {
                    $(let $local = $made;)*
                    $comm.$persistent($($value),*)
                })
            }
        )*}
    };
}
pub(super) use collectives;

/// Describes a collective with an invalid argument: its root, and its reduction.
macro_rules! invalid {
    ($($root:ident)?; $($op:ident $of:ident)?) => {{
        let known = bcs_mpi::mpi::InvalidArguments {
            $(root: Some($root),)?
            ..Default::default()
        };
        $(let known = $crate::calls::collectives::reducing(known, $op, $of);)?
        known
    }};
}
pub(super) use invalid;

/// Adds the reduction. An operation that no longer exists was one of the program's.
pub(super) fn reducing(known: InvalidArguments, op: MPI_Op, of: MPI_Datatype) -> InvalidArguments {
    let datatype = datatype(of).ok();
    InvalidArguments {
        by_function: op.0 >= crate::table::FIRST,
        ..known.reducing(None, datatype.as_ref())
    }
}

collectives! {
    PMPI_Barrier = barrier
    PMPI_Ibarrier = ibarrier
    PMPI_Barrier_init = barrier_init
    (; comm)
    => ();

    PMPI_Bcast | PMPI_Bcast_c = bcast
    PMPI_Ibcast | PMPI_Ibcast_c = ibcast
    PMPI_Bcast_init | PMPI_Bcast_init_c = bcast_init
    (buffer: *mut c_void, count: N, datatype: MPI_Datatype, root: c_int; comm, root root)
    => (not_beside(comm, root, buffer, count, datatype)?, root);

    PMPI_Gather | PMPI_Gather_c = gather
    PMPI_Igather | PMPI_Igather_c = igather
    PMPI_Gather_init | PMPI_Gather_init_c = gather_init
    (
        sendbuf: *const c_void, sendcount: N, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: N, recvtype: MPI_Datatype,
        root: c_int; comm, root root
    )
    =>
    let _apart = apart_at_root(comm, root, (sendbuf, recvbuf), recvcount, recvtype)?;
    (
        of_each(comm, root, sendbuf, sendcount, sendtype)?,
        at_root(comm, root, recvbuf, recvcount, recvtype)?,
        root,
    );

    PMPI_Gatherv | PMPI_Gatherv_c = gatherv
    PMPI_Igatherv | PMPI_Igatherv_c = igatherv
    PMPI_Gatherv_init | PMPI_Gatherv_init_c = gatherv_init
    (
        sendbuf: *const c_void, sendcount: N, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const N, displs: *const D, recvtype: MPI_Datatype,
        root: c_int; comm, root root
    )
    =>
    let _apart = apart_from_own_at_root(comm, root, (sendbuf, recvbuf), (recvcounts, displs), recvtype)?;
    (
        of_each(comm, root, sendbuf, sendcount, sendtype)?,
        blocks_at_root(comm, root, recvbuf, (recvcounts, displs), recvtype)?.blocks(),
        root,
    );

    PMPI_Scatter | PMPI_Scatter_c = scatter
    PMPI_Iscatter | PMPI_Iscatter_c = iscatter
    PMPI_Scatter_init | PMPI_Scatter_init_c = scatter_init
    (
        sendbuf: *const c_void, sendcount: N, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: N, recvtype: MPI_Datatype,
        root: c_int; comm, root root
    )
    =>
    let _apart = apart_at_root(comm, root, (recvbuf, sendbuf), sendcount, sendtype)?;
    (
        at_root(comm, root, sendbuf, sendcount, sendtype)?,
        of_each(comm, root, recvbuf, recvcount, recvtype)?,
        root,
    );

    PMPI_Scatterv | PMPI_Scatterv_c = scatterv
    PMPI_Iscatterv | PMPI_Iscatterv_c = iscatterv
    PMPI_Scatterv_init | PMPI_Scatterv_init_c = scatterv_init
    (
        sendbuf: *const c_void, sendcounts: *const N, displs: *const D, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: N, recvtype: MPI_Datatype,
        root: c_int; comm, root root
    )
    =>
    let _apart = apart_from_own_at_root(comm, root, (recvbuf, sendbuf), (sendcounts, displs), sendtype)?;
    (
        blocks_at_root(comm, root, sendbuf, (sendcounts, displs), sendtype)?.blocks(),
        of_each(comm, root, recvbuf, recvcount, recvtype)?,
        root,
    );

    PMPI_Allgather | PMPI_Allgather_c = allgather
    PMPI_Iallgather | PMPI_Iallgather_c = iallgather
    PMPI_Allgather_init | PMPI_Allgather_init_c = allgather_init
    (
        sendbuf: *const c_void, sendcount: N, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: N, recvtype: MPI_Datatype;
        comm
    )
    =>
    let _apart = apart_by_block(comm, (sendbuf, recvbuf), recvcount, recvtype)?;
    (
        optional(sendbuf, sendcount, sendtype)?,
        buffer(recvbuf, recvcount, recvtype)?,
    );

    PMPI_Allgatherv | PMPI_Allgatherv_c = allgatherv
    PMPI_Iallgatherv | PMPI_Iallgatherv_c = iallgatherv
    PMPI_Allgatherv_init | PMPI_Allgatherv_init_c = allgatherv_init
    (
        sendbuf: *const c_void, sendcount: N, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const N, displs: *const D, recvtype: MPI_Datatype;
        comm
    )
    =>
    let _apart = apart_from_own(comm, sendbuf, recvbuf, (recvcounts, displs), recvtype)?;
    (
        optional(sendbuf, sendcount, sendtype)?,
        VectorBlocks::of(recvbuf, (recvcounts, displs), recvtype, peers(comm)?)?.blocks(),
    );

    PMPI_Alltoall | PMPI_Alltoall_c = alltoall
    PMPI_Ialltoall | PMPI_Ialltoall_c = ialltoall
    PMPI_Alltoall_init | PMPI_Alltoall_init_c = alltoall_init
    (
        sendbuf: *const c_void, sendcount: N, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: N, recvtype: MPI_Datatype;
        comm
    )
    =>
    let _apart = apart(sendbuf, recvbuf, sendcount)?;
    (
        optional(sendbuf, sendcount, sendtype)?,
        buffer(recvbuf, recvcount, recvtype)?,
    );

    PMPI_Alltoallv | PMPI_Alltoallv_c = alltoallv
    PMPI_Ialltoallv | PMPI_Ialltoallv_c = ialltoallv
    PMPI_Alltoallv_init | PMPI_Alltoallv_init_c = alltoallv_init
    (
        sendbuf: *const c_void, sendcounts: *const N, sdispls: *const D, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const N, rdispls: *const D, recvtype: MPI_Datatype;
        comm
    )
    =>
    let ranks = peers(comm)?;
    let _apart = apart_with_own(
        comm, (sendbuf, recvbuf), ((sendcounts, sdispls), (recvcounts, rdispls)), (sendtype, recvtype),
    )?;
    let input = unless_in_place(sendbuf, || {
        VectorBlocks::of(sendbuf, (sendcounts, sdispls), sendtype, ranks)
    })?;
    (
        input.as_ref().map(VectorBlocks::blocks),
        VectorBlocks::of(recvbuf, (recvcounts, rdispls), recvtype, ranks)?.blocks(),
    );

    PMPI_Alltoallw | PMPI_Alltoallw_c = alltoallw
    PMPI_Ialltoallw | PMPI_Ialltoallw_c = ialltoallw
    PMPI_Alltoallw_init | PMPI_Alltoallw_init_c = alltoallw_init
    (
        sendbuf: *const c_void, sendcounts: *const N, sdispls: *const D, sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const N, rdispls: *const D, recvtypes: *const MPI_Datatype;
        comm
    )
    =>
    let ranks = peers(comm)?;
    let _apart = apart_with_own(
        comm, (sendbuf, recvbuf), ((sendcounts, sdispls), (recvcounts, rdispls)), (MPI_BYTE, MPI_BYTE),
    )?;
    let input = unless_in_place(sendbuf, || {
        VectorBlocks::of_types(sendbuf, (sendcounts, sdispls), sendtypes, ranks)
    })?;
    (
        input.as_ref().map(VectorBlocks::blocks),
        VectorBlocks::of_types(recvbuf, (recvcounts, rdispls), recvtypes, ranks)?.blocks(),
    );
}

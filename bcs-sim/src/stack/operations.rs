//! Operations of the program's own that call MPI themselves: each passes its input round a ring on
//! another communicator.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

use bcs_core::lockstep;
use bcs_core::reduction::Datatype;
use bcs_mpi::mpi::{Buffer, Comm, Request, Result, UserOp};
use std::sync::{Arc, Mutex};

const TAG: i32 = 17;

/// Does `count` reductions to all. (There every rank calls the function equally often, or rings
/// would be open.)
pub(super) fn run(world: &Comm, count: usize) -> Result<()> {
    let other = world.dup()?;
    let (me, size) = (world.rank(), world.size());
    let (next, last) = ((me + 1) % size, (me + size - 1) % size);
    let ring = move |mine: u64| -> Result<u64> {
        let mut came = 0_u64;
        // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
        let out = unsafe { Buffer::read_only(&raw const mine, 1, Datatype::Uint64) };
        // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
        let into = unsafe { Buffer::new(&raw mut came, 1, Datatype::Uint64) };
        other.sendrecv((out, next, TAG), (into, last, TAG))?;
        Ok(came)
    };
    let failed = Arc::new(Mutex::new(None));
    let tells = failed.clone();
    let function = move |left: *const u8, right: *mut u8, elements: usize, _| {
        assert_eq!(elements, 1, "there is one");
        // SAFETY: there is one element at each address.
        let mine = unsafe { left.cast::<u64>().read_unaligned() };
        match ring(mine) {
            Ok(came) => assert_eq!(came, mine, "all have the same to fold"),
            Err(error) => *lockstep::lock(&tells) = Some(error),
        }
        let right = right.cast::<u64>();
        // SAFETY: as above.
        let folded = unsafe { right.read_unaligned() } + mine;
        // SAFETY: as above.
        unsafe { right.write_unaligned(folded) };
    };
    // SAFETY: it accesses nothing else.
    let op = unsafe { UserOp::create(function, true) };
    for call in 0..count as u64 {
        let (mine, mut sum) = (call + u64::from(me.cast_unsigned()), 0_u64);
        // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
        let input = unsafe { Buffer::read_only(&raw const mine, 1, Datatype::Uint64) };
        // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
        let output = unsafe { Buffer::new(&raw mut sum, 1, Datatype::Uint64) };
        let posted = if call % 2 == 0 {
            world
                .allreduce(input, output, &op)
                .map(|()| Request::inactive())
        } else {
            world.iallreduce(input, output, &op)
        };
        posted?.wait()?;
        // A function has no way to return an error.
        if let Some(error) = lockstep::lock(&failed).take() {
            return Err(error);
        }
        let size = u64::from(size.cast_unsigned());
        assert_eq!(
            sum,
            size * call + size * (size - 1) / 2,
            "rank {me}: the sum"
        );
    }
    Ok(())
}

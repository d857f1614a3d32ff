//! The classes of calls.

use mds::dump::CallRow;
use mds::mmds::Primitive;

/// Returns the call of a row; `None` if its number is unknown, which never happens in a dump that
/// was read.
#[must_use]
pub fn primitive(call: &CallRow) -> Option<Primitive> {
    let place = usize::try_from(call.primitive).ok()?;
    Primitive::ALL.get(place).copied()
}

/// Returns the collective of a row, if it is one.
#[must_use]
pub fn collective(call: &CallRow) -> Option<Primitive> {
    primitive(call).filter(|primitive| is_collective(*primitive))
}

/// Returns whether all ranks of a communicator make this call together.
#[must_use]
fn is_collective(primitive: Primitive) -> bool {
    (Primitive::Barrier..=Primitive::IneighborAlltoallw).contains(&primitive)
}

/// Returns whether it sends a message, so that its size is that of a message.
#[must_use]
pub fn is_send(primitive: Primitive) -> bool {
    use Primitive::{Bsend, Ibsend, Irsend, Isend, Issend, Rsend, Send, Sendrecv, Ssend};
    matches!(
        primitive,
        Send | Bsend | Ssend | Rsend | Isend | Ibsend | Issend | Irsend | Sendrecv
    )
}

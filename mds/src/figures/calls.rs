//! Which calls are which.

use crate::dump::CallRow;
use crate::mmds::Primitive;

/// The call of a row; nothing if there is none of its number, which a dump that was read never has.
#[must_use]
pub fn primitive(call: &CallRow) -> Option<Primitive> {
    let place = usize::try_from(call.primitive).ok()?;
    Primitive::ALL.get(place).copied()
}

/// The collective of a row, if it is one.
#[must_use]
pub fn collective(call: &CallRow) -> Option<Primitive> {
    primitive(call).filter(|primitive| is_collective(*primitive))
}

/// Whether all ranks of a communicator make this call, with one another.
#[must_use]
fn is_collective(primitive: Primitive) -> bool {
    (Primitive::Barrier..=Primitive::IneighborAlltoallw).contains(&primitive)
}

/// Whether it sends a message, so that its size is that of a message.
#[must_use]
pub fn is_send(primitive: Primitive) -> bool {
    use Primitive::{Bsend, Ibsend, Irsend, Isend, Issend, Rsend, Send, Sendrecv, Ssend};
    matches!(
        primitive,
        Send | Bsend | Ssend | Rsend | Isend | Ibsend | Issend | Irsend | Sendrecv
    )
}

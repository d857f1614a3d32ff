//! Which calls are which, and when the run was.

use crate::dump::{Dumps, NONE};
use crate::mmds::Primitive;

/// Whether all ranks of a communicator make this call, with one another.
#[must_use]
pub fn is_collective(primitive: Primitive) -> bool {
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

/// From when to when there is something in the dumps, by their clock.
#[must_use]
pub fn span_ns(dumps: &Dumps) -> (u64, u64) {
    let began_ns = dumps.began_ns();
    let run = dumps.run.iter().map(|run| run.ended_ns);
    let ranks = dumps.ranks.iter();
    let ranks = ranks.map(|dump| dump.began_ns.saturating_add(dump.run_ns));
    let strobes = dumps.nodes.iter().flat_map(|dump| &dump.slices);
    let slices = strobes.map(|row| row.strobe_ns.saturating_add(row.ltts_ns));
    let ended_ns = run
        .chain(ranks)
        .chain(slices)
        .filter(|ns| *ns != NONE)
        .max();
    (began_ns, ended_ns.unwrap_or_default().max(began_ns))
}

//! The tables of all ranks or nodes together.

use std::io;

use mds::dump::{Row, RunDumps};

/// A receiver of tables.
pub(super) trait Sink {
    /// Takes a table of ranks or nodes, as `owner` names them, with the rows of each.
    fn table<'a, R: Row + 'a>(
        &mut self,
        owner: &'static str,
        rows: impl Iterator<Item = (u32, &'a [R])>,
    ) -> io::Result<()>;
}

/// Passes all tables to `sink`.
pub(super) fn tables(dumps: &RunDumps, sink: &mut impl Sink) -> io::Result<()> {
    let ranks = || dumps.ranks.iter();
    let nodes = || dumps.nodes.iter();
    let strobes = nodes().filter_map(|dump| Some((dump.node, &dump.global.as_ref()?.strobes[..])));
    sink.table("rank", ranks().map(|dump| (dump.rank, &dump.calls[..])))?;
    sink.table("rank", ranks().map(|dump| (dump.rank, &dump.messages[..])))?;
    sink.table("rank", ranks().map(|dump| (dump.rank, &dump.near[..])))?;
    sink.table("node", nodes().map(|dump| (dump.node, &dump.slices[..])))?;
    sink.table("node", strobes)
}

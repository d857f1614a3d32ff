//! Times of calls by place, in the folded form from which programs draw flame graphs
//! (flamegraph.pl, inferno, <https://www.speedscope.app>): a line for each stack, with the names
//! from the outermost to the innermost, and a number.
//!
//! ```text
//! rank 0;ring.c:17;MPI_Recv 123456
//! rank 0;computation 789012
//! ```
//!
//! The number is the time in nanoseconds. The recorder knows where MPI was called, but not which
//! functions had called that one, so a place is one name.

use std::io::{self, Write};

use mds::dump::{RankDump, RunDumps};

/// Writes the stacks of all ranks.
///
/// # Errors
///
/// Those of the stream.
pub fn write_folded(dumps: &RunDumps, to: &mut impl Write) -> io::Result<()> {
    dumps.ranks.iter().try_for_each(|dump| write_rank(dump, to))
}

fn write_rank(dump: &RankDump, to: &mut impl Write) -> io::Result<()> {
    let rank = dump.rank;
    for site in dump.sites.iter().filter(|site| site.time_ns.count > 0) {
        // A semicolon would begin another name, and control characters another line.
        let place = site
            .place
            .replace(|it: char| it == ';' || it.is_control(), "_");
        let call = site.primitive.map_or("other calls", |it| it.name());
        let place = if place.is_empty() {
            "other places"
        } else {
            &place
        };
        writeln!(to, "rank {rank};{place};{call} {}", site.time_ns.total)?;
    }
    let computation = dump.computation_granularity_ns.total;
    writeln!(to, "rank {rank};computation {computation}")
}

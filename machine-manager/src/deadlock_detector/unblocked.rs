//! Ranks that are not blocked, for a person: the others may wait for them.

use bcs_core::wait_state::Site;
use node_manager::control::UnblockedRank;
use source_lines::SourceLines;

/// Describes such a rank: "rank 0 on node 0 computes; its last call of MPI was at
/// a.c:12".
pub(super) fn describe(rank: &UnblockedRank, source: &mut SourceLines) -> String {
    let does = match (rank.is_initialized, rank.is_stopped) {
        (_, true) => "is stopped by a signal or a debugger",
        (false, false) => "has not called MPI_Init",
        (true, false) => "computes",
    };
    let place = rank.last_call.as_ref();
    let last = place.map(|place| source.site_of_place(place));
    let last = last.map_or_else(String::new, |site| last_call(&site));
    format!("rank {} on node {} {does}{last}", rank.rank, rank.node)
}

/// Describes where a rank has last called MPI, as the end of a sentence.
pub fn last_call(site: &Site) -> String {
    format!("; its last call of MPI was at {site}")
}

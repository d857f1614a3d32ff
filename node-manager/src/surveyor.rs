//! Makes surveys of what ranks do now.
//!
//! Like a query of wait states ([`crate::wait_state_report`]) a survey reads memory that ranks and
//! NICs write, and wakes nobody. It proves nothing, but reports more: posted operations, the
//! recorder of a rank, and ranks that do not wait.

use crate::limits::SURVEY_PART;
use crate::nic::LocalNics;
use crate::rank_process::{RankProcess, RankStage};
use crate::survey::{Progress, RankSurvey, SurveyPart};
use bcs_core::clock::now_ns;

/// Returns what these ranks do now, in parts; the last part is marked.
pub(crate) fn survey(number: u32, ranks: &[RankProcess], nic: &LocalNics) -> Vec<SurveyPart> {
    let (at_ns, slice) = (now_ns(), nic.slice());
    let part = |ranks: &[RankProcess]| SurveyPart {
        number,
        is_last: false,
        at_ns,
        slice,
        ranks: ranks.iter().map(|rank| look(rank, nic, at_ns)).collect(),
    };
    let mut parts: Vec<SurveyPart> = ranks.chunks(SURVEY_PART).map(part).collect();
    if parts.is_empty() {
        parts.push(part(&[]));
    }
    parts
        .last_mut()
        .into_iter()
        .for_each(|part| part.is_last = true);
    parts
}

fn look(rank: &RankProcess, nic: &LocalNics, now_ns: u64) -> RankSurvey {
    let started = rank.pid.as_raw_nonzero().get();
    let received = nic.pid(rank.rank).and_then(|pid| i32::try_from(pid).ok());
    let pid = received.unwrap_or(started);
    let progress = progress(rank, pid);
    let is_in_job = matches!(progress, Progress::Running | Progress::Stopped);
    let said = nic.wait_state(rank.rank).filter(|_| is_in_job);
    let said = said.filter(|(_, said)| !said.waits.is_empty());
    RankSurvey {
        rank: rank.rank,
        node: rank.node,
        pid,
        progress,
        code: said
            .as_ref()
            .and_then(|(_, said)| rank.place_of(said.site.as_ref()?)),
        last_call: match is_in_job && said.is_none() {
            true => nic.pid(rank.rank).and_then(|pid| rank.last_call(pid)),
            false => None,
        },
        words: said.map_or_else(Vec::new, |(_, said)| said.encode()),
        pending: match is_in_job {
            true => nic.pending(rank.rank).encode(),
            false => Vec::new(),
        },
        completions: nic.completions(rank.rank),
        recorded: rank
            .recorder
            .as_ref()
            .and_then(|it| it.take_snapshot(now_ns)),
    }
}

fn progress(rank: &RankProcess, pid: i32) -> Progress {
    if !rank.runs() {
        return Progress::Ended;
    }
    match rank.stage {
        RankStage::Finalized => Progress::Finalized,
        _ if is_stopped(pid.unsigned_abs()) => Progress::Stopped,
        RankStage::Started => Progress::Started,
        RankStage::Received(_) => Progress::Running,
    }
}

pub(crate) fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program, which may hold any bytes, ends at the last parenthesis.
    let after_name = stat.rsplit(|&byte| byte == b')').next();
    let state = after_name.and_then(|fields| fields.get(1));
    matches!(state, Some(b'T' | b't'))
}

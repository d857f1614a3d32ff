//! The server and the sockets of the ranks: one for each, which inherits its other end.

use crate::control::{FrameWriter, FromManager, JobStart, RankFailureKind};
use crate::pmi::{PmiEvent, PmiJob, PmiServer, PmiStage, process_mapping};
use crate::pmi_messages::{PmiAnswer, PmiTraffic};
use crate::rank_process::RankProcess;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// An event of a rank, named by its index.
#[derive(Debug)]
pub(crate) enum PmiNews {
    /// It has come this far.
    Stage(usize, PmiStage),
    /// It has failed.
    Failed(usize, RankFailureKind),
}

/// The server and its messages.
#[derive(Debug)]
pub(crate) struct PmiService {
    server: PmiServer,
}

impl PmiService {
    /// Makes the service of a node manager for its ranks.
    pub(crate) fn new(start: &JobStart, ranks: &[RankProcess]) -> Self {
        let job = PmiJob {
            space: format!("bcs_{}", start.job),
            ranks: start.placement.ranks(),
            mapping: process_mapping(&start.placement),
        };
        let local = ranks.iter().map(|rank| (rank.rank, rank.node));
        Self {
            server: PmiServer::new(job, local),
        }
    }

    /// Returns the counters, if a rank has used the server.
    pub(crate) fn traffic(&self) -> Option<PmiTraffic> {
        let traffic = self.server.traffic();
        (traffic != PmiTraffic::default()).then_some(traffic)
    }

    /// Reads what a rank has sent. Returns what has happened, and whether the stream has ended.
    pub(crate) fn read(
        &mut self,
        index: usize,
        ranks: &[RankProcess],
        buffer: &mut [u8],
        writer: &mut FrameWriter,
    ) -> (Vec<PmiNews>, bool) {
        let mut news = Vec::new();
        loop {
            match recv(&ranks[index].pmi.socket, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return (news, true),
                Ok((length, _)) => {
                    let events = self.server.receive(index, &buffer[..length]);
                    deliver(events, ranks, writer, &mut news);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return (news, false),
                Err(_) => return (news, true),
            }
        }
    }

    /// Handles an answer of `bcs run`.
    pub(crate) fn answer(
        &mut self,
        answer: PmiAnswer,
        ranks: &[RankProcess],
        writer: &mut FrameWriter,
    ) -> Vec<PmiNews> {
        let mut news = Vec::new();
        deliver(self.server.answer(answer), ranks, writer, &mut news);
        news
    }
}

/// Sends replies and requests, and collects the rest.
fn deliver(
    events: Vec<PmiEvent>,
    ranks: &[RankProcess],
    writer: &mut FrameWriter,
    news: &mut Vec<PmiNews>,
) {
    for event in events {
        match event {
            PmiEvent::Reply(index, line) => {
                if let Err(errno) = ranks[index].pmi.send(line) {
                    let what = format!("PMI requests whose replies it does not take ({errno})");
                    news.push(failed(index, RankFailureKind::MalformedMessage(what)));
                }
            }
            PmiEvent::Upward(request) => writer.message(&FromManager::Pmi(Box::new(request))),
            PmiEvent::Joined(index) => news.push(PmiNews::Stage(index, PmiStage::Joined)),
            PmiEvent::Finalized(index) => news.push(PmiNews::Stage(index, PmiStage::Finalized)),
            PmiEvent::Aborted(index, code) => {
                let (reason, place) = (String::new(), None);
                let end = RankFailureKind::Aborted {
                    code,
                    reason,
                    place,
                };
                news.push(failed(index, end));
            }
            PmiEvent::Malformed(index, what) => {
                news.push(failed(index, RankFailureKind::MalformedMessage(what)));
            }
        }
    }
}

fn failed(index: usize, what: RankFailureKind) -> PmiNews {
    PmiNews::Failed(index, what)
}

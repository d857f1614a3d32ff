//! The server of PMI-1 for the ranks of one node manager: a state machine without sockets or clock.
//!
//! It takes bytes of ranks and answers of `bcs run`, and makes events. The bytes of a rank are an
//! allegation: a line is copied, parsed, checked against the limits, and only then used.

use super::client::{PmiClient, PmiGroup, PmiWait};
use super::space::KeyValueSpace;
use crate::pmi_messages::{PmiAnswer, PmiRequest, PmiTraffic};
use bcs_core::job::NodeId;
use bcs_core::pmi::{BadLine, KEY_BYTES, LINE_BYTES, Line, SPACE_NAME_BYTES, VALUE_BYTES};

/// The job, as a server needs it.
#[derive(Clone, Debug)]
pub(crate) struct PmiJob {
    /// The name of the key-value space.
    pub(crate) space: String,
    /// The number of ranks.
    pub(crate) ranks: usize,
    /// The value of `PMI_process_mapping`.
    pub(crate) mapping: String,
}

/// An event. Ranks are named by their index among those of the node manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PmiEvent {
    /// Send a rank this line.
    Reply(usize, String),
    /// A rank has joined the job.
    Joined(usize),
    /// A rank has finalized.
    Finalized(usize),
    /// A rank has called MPI_Abort with this code.
    Aborted(usize, i32),
    /// A rank has sent something invalid.
    Malformed(usize, String),
    /// Send `bcs run` this request.
    Upward(PmiRequest),
}

/// The server.
#[derive(Debug)]
pub(crate) struct PmiServer {
    ranks: usize,
    clients: Vec<PmiClient>,
    space: KeyValueSpace,
    traffic: PmiTraffic,
    events: Vec<PmiEvent>,
    /// Ranks that wait no more, and whose further lines have to be handled.
    released: Vec<usize>,
}

impl PmiServer {
    /// Makes the server of a node manager's ranks, given with their nodes.
    pub(crate) fn new(job: PmiJob, local: impl Iterator<Item = (u32, NodeId)>) -> Self {
        let own = [
            ("PMI_process_mapping", job.mapping),
            ("universeSize", job.ranks.to_string()),
        ];
        Self {
            ranks: job.ranks,
            clients: local
                .map(|(rank, node)| PmiClient::new(rank, node))
                .collect(),
            space: KeyValueSpace::new(job.space, job.ranks, own),
            traffic: PmiTraffic::default(),
            events: Vec::new(),
            released: Vec::new(),
        }
    }

    /// Returns the counters.
    pub(crate) fn traffic(&self) -> PmiTraffic {
        self.traffic
    }

    /// Handles bytes of a rank.
    pub(crate) fn receive(&mut self, index: usize, bytes: &[u8]) -> Vec<PmiEvent> {
        if !self.clients[index].is_closed {
            self.clients[index].reader.push(bytes);
            self.handle_lines(index);
        }
        self.take_events()
    }

    /// Handles an answer of `bcs run`.
    pub(crate) fn answer(&mut self, answer: PmiAnswer) -> Vec<PmiEvent> {
        match answer {
            PmiAnswer::Released { group, pairs } => {
                self.space.fill(pairs);
                self.release(&group, |_| true);
            }
            PmiAnswer::Name { rank, port } => {
                let asked = self.clients.iter().position(|client| client.rank == rank);
                if let Some(index) = asked {
                    self.name_answered(index, &port);
                }
            }
        }
        self.take_events()
    }

    fn take_events(&mut self) -> Vec<PmiEvent> {
        // Lines of one rank may release others.
        while let Some(index) = self.released.pop() {
            self.handle_lines(index);
        }
        std::mem::take(&mut self.events)
    }

    /// Handles the lines of a rank, as long as it does not wait.
    fn handle_lines(&mut self, index: usize) {
        while self.clients[index].waits.is_none() && !self.clients[index].is_closed {
            match self.clients[index].reader.line() {
                Ok(Some(text)) => {
                    if let Err(error) = self.handle_line(index, &text) {
                        return self.malformed(index, error.to_string());
                    }
                }
                Ok(None) => return,
                Err(error) => return self.malformed(index, error.to_string()),
            }
        }
        // A client has one request in flight, so only a wrong one sends more meanwhile.
        if self.clients[index].reader.waiting() > LINE_BYTES {
            self.malformed(index, "PMI requests without waiting for replies".to_owned());
        }
    }

    fn malformed(&mut self, index: usize, what: String) {
        self.clients[index].is_closed = true;
        self.clients[index].reader = Default::default();
        self.events.push(PmiEvent::Malformed(index, what));
    }

    fn reply(&mut self, index: usize, line: impl Into<String>) {
        self.events.push(PmiEvent::Reply(index, line.into()));
    }

    fn upward(&mut self, request: PmiRequest) {
        self.traffic.upward += 1;
        self.events.push(PmiEvent::Upward(request));
    }

    fn handle_line(&mut self, index: usize, text: &str) -> Result<(), BadLine> {
        if self.clients[index].in_spawn {
            if text == "endcmd" {
                self.clients[index].in_spawn = false;
                self.reply(
                    index,
                    "cmd=spawn_result rc=-1 msg=bcs_run_starts_no_more_processes",
                );
            }
            return Ok(());
        }
        if text == "mcmd=spawn" {
            self.clients[index].in_spawn = true;
            return Ok(());
        }
        let line = Line::parse(text)?;
        match line.command {
            "init" => self.init(index, line),
            "get_maxes" => self.reply(
                index,
                format!(
                    "cmd=maxes rc=0 kvsname_max={SPACE_NAME_BYTES} keylen_max={KEY_BYTES} vallen_max={VALUE_BYTES}"
                ),
            ),
            "get_universe_size" => {
                let size = self.ranks;
                self.reply(index, format!("cmd=universe_size rc=0 size={size}"));
            }
            "get_appnum" => self.reply(index, "cmd=appnum rc=0 appnum=0"),
            "get_my_kvsname" => {
                let name = &self.space.name;
                let reply = format!("cmd=my_kvsname rc=0 kvsname={name}");
                self.reply(index, reply);
            }
            "put" => self.put(index, line),
            "get" => self.get(index, line),
            "barrier_in" => self.barrier(index, line),
            "publish_name" => self.name(index, line, "publish_result"),
            "lookup_name" => self.name(index, line, "lookup_result"),
            "unpublish_name" => self.name(index, line, "unpublish_result"),
            "finalize" => {
                self.reply(index, "cmd=finalize_ack rc=0");
                self.events.push(PmiEvent::Finalized(index));
            }
            "abort" => {
                let code = line.value("exitcode").and_then(|code| code.parse().ok());
                self.events.push(PmiEvent::Aborted(index, code.unwrap_or(1)));
            }
            unknown => {
                let reply = format!("cmd={unknown}_result rc=-1 msg=unknown_command");
                self.reply(index, reply);
            }
        }
        Ok(())
    }

    fn init(&mut self, index: usize, line: Line<'_>) {
        if line.value("pmi_version") != Some("1") {
            return self.reply(
                index,
                "cmd=response_to_init rc=-1 pmi_version=1 pmi_subversion=2 msg=only_PMI-1_is_served",
            );
        }
        self.reply(
            index,
            "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2",
        );
        self.events.push(PmiEvent::Joined(index));
    }

    /// Returns the reason if a line is about another space than that of the job.
    fn other_space(&self, line: Line<'_>) -> Option<&'static str> {
        (line.value("kvsname") != Some(&self.space.name)).then_some("no_such_kvsname")
    }

    fn put(&mut self, index: usize, line: Line<'_>) {
        let (key, value) = (line.value("key"), line.value("value"));
        let used = &mut self.clients[index].put_bytes;
        let put = match (line.value("kvsname") == Some(&self.space.name), key) {
            (false, _) => Err("no_such_kvsname"),
            (true, Some(key)) => self.space.put(key, value.unwrap_or_default(), used),
            (true, None) => Err("no_key"),
        };
        match put {
            Ok(()) => self.reply(index, "cmd=put_result rc=0"),
            Err(why) => self.reply(index, format!("cmd=put_result rc=-1 msg={why}")),
        }
    }

    fn get(&mut self, index: usize, line: Line<'_>) {
        self.traffic.gets += 1;
        if let Some(why) = self.other_space(line) {
            return self.reply(index, format!("cmd=get_result rc=-1 msg={why}"));
        }
        let found = self.space.get(line.value("key").unwrap_or_default());
        let reply = match found {
            Some(value) => format!("cmd=get_result rc=0 value={value}"),
            None => "cmd=get_result rc=1 msg=no_such_key".to_owned(),
        };
        self.reply(index, reply);
    }

    fn barrier(&mut self, index: usize, line: Line<'_>) {
        let text = line.value("group").unwrap_or_default();
        let Some((group, _)) = PmiGroup::parse(text, self.ranks) else {
            return self.reply(index, "cmd=barrier_out rc=-1 msg=no_such_group");
        };
        let (rank, node) = (self.clients[index].rank, self.clients[index].node);
        let is_member = |client: &PmiClient| match &group {
            PmiGroup::World => true,
            PmiGroup::Node => client.node == node,
            PmiGroup::Ranks(ranks) => ranks.contains(&client.rank),
        };
        if !is_member(&self.clients[index]) {
            let reply = format!("cmd=barrier_out rc=-1 msg=rank_{rank}_is_not_of_the_group");
            return self.reply(index, reply);
        }
        self.clients[index].waits = Some(PmiWait::Barrier(text.to_owned()));
        let waits = Some(PmiWait::Barrier(text.to_owned()));
        let mut members = self.clients.iter().filter(|client| is_member(client));
        if !members.all(|client| client.waits == waits) {
            return;
        }
        let entered = self
            .clients
            .iter()
            .filter(|client| is_member(client))
            .count();
        let members = match &group {
            PmiGroup::World => self.ranks,
            PmiGroup::Node => entered,
            PmiGroup::Ranks(ranks) => ranks.len(),
        };
        match entered == members && group != PmiGroup::World {
            // They have one cache.
            true => self.release(text, |client| match group {
                PmiGroup::Node => client.node == node,
                _ => true,
            }),
            false => {
                let pairs = self.space.take_new();
                self.upward(PmiRequest::Barrier {
                    group: text.to_owned(),
                    members,
                    entered,
                    pairs,
                });
            }
        }
    }

    /// Lets the ranks that wait in the barrier of a group go on.
    fn release(&mut self, group: &str, which: impl Fn(&PmiClient) -> bool) {
        let tag = group.split_once(':').map_or("0", |(_, tag)| tag);
        let reply = format!("cmd=barrier_out rc=0 tag={tag}");
        let waits = Some(PmiWait::Barrier(group.to_owned()));
        let released = self.clients.iter().enumerate();
        let released = released.filter(|(_, client)| client.waits == waits && which(client));
        let released: Vec<usize> = released.map(|(index, _)| index).collect();
        for &index in &released {
            self.clients[index].waits = None;
            self.reply(index, reply.clone());
        }
        self.released.extend(released);
    }

    fn name(&mut self, index: usize, line: Line<'_>, reply: &'static str) {
        let rank = self.clients[index].rank;
        let service = line.value("service").unwrap_or_default().to_owned();
        if service.is_empty() {
            return self.reply(index, format!("cmd={reply} rc=-1 msg=no_service"));
        }
        self.clients[index].waits = Some(PmiWait::Name(reply));
        self.upward(match reply {
            "publish_result" => PmiRequest::Publish {
                rank,
                service,
                port: line.value("port").unwrap_or_default().to_owned(),
            },
            "lookup_result" => PmiRequest::Lookup { rank, service },
            _ => PmiRequest::Unpublish { rank, service },
        });
    }

    fn name_answered(&mut self, index: usize, port: &Result<String, String>) {
        let Some(PmiWait::Name(reply)) = self.clients[index].waits else {
            return;
        };
        self.clients[index].waits = None;
        let line = match (reply, port) {
            ("lookup_result", Ok(port)) => format!("cmd={reply} rc=0 port={port}"),
            (_, Ok(_)) => format!("cmd={reply} rc=0"),
            (_, Err(why)) => format!("cmd={reply} rc=1 msg={why}"),
        };
        self.reply(index, line);
        self.released.push(index);
    }
}

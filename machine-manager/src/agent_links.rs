//! The node managers of a job as the launcher knows them, and the links that lead to them.
//!
//! The launcher has a link to each agent that it has started itself. If such an agent has started
//! others, the same link leads to them: messages to them have an address, and what they send is
//! handed out here, into a reader for each of them. So whoever reads the messages of a node manager
//! need not know where it is in the launch tree.

use crate::launcher_standard_error::StandardError;
use crate::verdict::manager_name;
use bcs_core::job::NodeId;
use node_manager::control::{
    FrameError, FrameReadOutcome, FrameReader, FrameWriter, Greeting, ToManager, encode,
};
use node_manager::launch_tree::shape::divide;
use node_manager::launch_tree::{
    AgentEnd, AgentEvent, AgentNews, Recipients, Subtree, Upward, routed, upward,
};
use rustix::io::Errno;
use rustix::process::Pid;
use std::ops::Range;
use std::os::fd::OwnedFd;

/// A node manager as the launcher knows it.
#[derive(Debug)]
pub struct ManagerHandle {
    /// Its nodes.
    pub nodes: Vec<NodeId>,
    /// Their host, if it was named.
    pub host: Option<String>,
    /// Its process, as soon as it is known, and its pidfd if it is a child of ours, until it is
    /// reaped.
    pub pid: Option<Pid>,
    /// See `pid`.
    pub pidfd: Option<OwnedFd>,
    /// Whether it is no child of ours: the end of its connection is its end.
    pub is_elsewhere: bool,
    /// The control socket, until its other end is closed.
    pub control: Option<OwnedFd>,
    /// The standard error of the command that starts it on its host.
    pub standard_error: Option<StandardError>,
    /// Its messages.
    pub reader: FrameReader,
    /// The messages to it, and to those below it.
    pub writer: FrameWriter,
    /// Its place in the launch tree.
    pub route: Route,
    /// Whether its end is known.
    pub has_ended: bool,
}

/// How a node manager is reached.
#[derive(Debug)]
pub enum Route {
    /// By its own link.
    Direct,
    /// By its own link, which also leads to others.
    Relay {
        /// The first message to it, until it was sent.
        subtree: Option<Box<Subtree>>,
        /// The frames that come over the link after that.
        frames: FrameReader,
        /// The end of the numbers below it.
        end: usize,
    },
    /// By the link of another one.
    Below(Box<Below>),
}

/// A node manager that another one has started.
#[derive(Debug)]
pub struct Below {
    /// The one whose link leads to it.
    pub root: usize,
    /// The one that starts it.
    pub parent: usize,
    /// The end of the numbers below it.
    pub end: usize,
    /// Its greeting.
    pub greeting: Greeting,
    /// How it has ended, or why it was not started.
    pub fate: Option<Result<AgentEnd, String>>,
}

/// News of a node manager, from the link that leads to it.
#[derive(Debug, PartialEq, Eq)]
pub enum LinkNews {
    /// Frames of this node manager are in its reader.
    Frames(usize),
    /// Its process is known.
    Started(usize),
    /// Its command has written to its standard error.
    StandardError(usize),
    /// It could not be started, or does not follow the protocol.
    Failed(usize, String),
    /// Its process has ended.
    Ended(usize, AgentEnd),
}

impl ManagerHandle {
    /// Makes one that is reached by this link, or by that of another one.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, host: Option<String>, control: Option<OwnedFd>) -> Self {
        Self {
            nodes,
            host,
            pid: None,
            pidfd: None,
            is_elsewhere: false,
            control,
            standard_error: None,
            reader: FrameReader::default(),
            writer: FrameWriter::default(),
            route: Route::Direct,
            has_ended: false,
        }
    }

    /// Returns its name for the user.
    #[must_use]
    pub fn name(&self, is_nic_host: bool) -> String {
        let who = manager_name(&self.nodes, is_nic_host);
        match &self.host {
            Some(host) => format!("{who} on host {host}"),
            None => who,
        }
    }

    /// Returns its process id, or 0 if it is not known yet.
    #[must_use]
    pub fn process(&self) -> i32 {
        self.pid.map_or(0, |pid| pid.as_raw_nonzero().get())
    }

    /// Returns whether it sends nothing any more.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        match &self.route {
            Route::Below(below) => below.fate.is_some(),
            Route::Direct | Route::Relay { .. } => self.control.is_none(),
        }
    }

    /// Returns the numbers below it, if it has number `index`.
    #[must_use]
    pub fn below(&self, index: usize) -> Range<usize> {
        match &self.route {
            Route::Direct => index + 1..index + 1,
            Route::Relay { end, .. } => index + 1..*end,
            Route::Below(below) => index + 1..below.end,
        }
    }

    /// Tells it which agents it is to start, if it is to start some.
    pub fn begin_subtree(&mut self) {
        if let Route::Relay { subtree, .. } = &mut self.route
            && let Some(subtree) = subtree.take()
        {
            self.writer.message(&ToManager::Subtree(subtree));
            self.send();
        }
    }

    /// Reads once from its link.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<FrameReadOutcome, Errno> {
        let Some(control) = &self.control else {
            return Ok(FrameReadOutcome::End);
        };
        let reader = match &mut self.route {
            Route::Relay {
                subtree: None,
                frames,
                ..
            } => frames,
            _ => &mut self.reader,
        };
        let outcome = reader.receive(control, buffer);
        if matches!(outcome, Ok(FrameReadOutcome::End) | Err(_)) {
            self.control = None;
        }
        outcome
    }

    /// Sends what the socket takes. If the node manager is gone, its pidfd reports that.
    pub fn send(&mut self) {
        if let Some(control) = &self.control
            && self.writer.send(control).is_err()
        {
            self.writer = FrameWriter::default();
        }
    }

    /// Closes its link after its last message, unless that leads to others, too.
    pub fn leave(&mut self) {
        if matches!(self.route, Route::Direct) {
            self.control = None;
        }
    }

    /// Sends a frame over its link.
    fn send_frame(&mut self, address: &Recipients, frame: &[u8]) {
        match &self.route {
            Route::Direct => self.writer.append(frame),
            Route::Relay { .. } => self.writer.append(&routed(address, frame)),
            Route::Below(_) => return,
        }
        self.send();
    }
}

/// Sends a message to one node manager as soon as its link takes it.
pub fn tell(managers: &mut [ManagerHandle], index: usize, message: &ToManager) {
    let root = root_of(managers, index);
    let address = Recipients::One(number(index));
    managers[root].send_frame(&address, &encode(message));
}

/// Sends a message to several.
pub fn tell_several(managers: &mut [ManagerHandle], which: &[usize], message: &ToManager) {
    let frame = encode(message);
    let numbers: Vec<u32> = which.iter().map(|&index| number(index)).collect();
    let address = Recipients::Several(numbers);
    let mut roots: Vec<usize> = which
        .iter()
        .map(|&index| root_of(managers, index))
        .collect();
    roots.sort_unstable();
    roots.dedup();
    for root in roots {
        managers[root].send_frame(&address, &frame);
    }
}

/// Sends a message to all: once over each link.
pub fn tell_all(managers: &mut [ManagerHandle], message: &ToManager) {
    let frame = encode(message);
    let links = managers.iter_mut();
    links.for_each(|manager| manager.send_frame(&Recipients::All, &frame));
}

/// Hands out what has come over the link of a node manager. Without others below it, these are its
/// own frames.
///
/// # Errors
/// [`FrameError`] if it is no link of a relay any more.
pub fn hand_out(managers: &mut [ManagerHandle], root: usize) -> Result<Vec<LinkNews>, FrameError> {
    let mut news = Vec::new();
    loop {
        let Route::Relay {
            subtree: None,
            frames,
            end,
        } = &mut managers[root].route
        else {
            return Ok(vec![LinkNews::Frames(root)]);
        };
        let end = *end;
        let Some(frame) = frames.raw()? else {
            return Ok(news);
        };
        let party = match upward(&frame)? {
            Upward::Plain(inner) => {
                managers[root].reader.feed(inner);
                root
            }
            Upward::Relayed(party, inner) => {
                let party = party as usize;
                if !(root..end).contains(&party) {
                    continue;
                }
                managers[party].reader.feed(inner);
                party
            }
            Upward::News(about) => {
                if (root..end).contains(&(about.party as usize)) {
                    news.extend(apply(managers, root, about));
                }
                continue;
            }
        };
        if news.last() != Some(&LinkNews::Frames(party)) {
            news.push(LinkNews::Frames(party));
        }
    }
}

/// Applies a report about a party below `root`, or the end of the messages of both.
fn apply(managers: &mut [ManagerHandle], root: usize, news: AgentNews) -> Option<LinkNews> {
    let party = news.party as usize;
    let manager = &mut managers[party];
    let Route::Below(below) = &mut manager.route else {
        if news.what == AgentEvent::Leaving && party == root {
            manager.control = None;
        }
        return None;
    };
    match news.what {
        AgentEvent::Started(pid) => {
            manager.pid = Pid::from_raw(pid);
            return Some(LinkNews::Started(party));
        }
        AgentEvent::Greeted(greeting) => below.greeting = greeting,
        AgentEvent::StandardError(bytes) => {
            let words = manager.standard_error.get_or_insert_default();
            words.add(&bytes);
            return Some(LinkNews::StandardError(party));
        }
        AgentEvent::NotStarted(why) => {
            below.fate = Some(Err(why.clone()));
            return Some(LinkNews::Failed(party, format!("was not started: {why}")));
        }
        AgentEvent::Invalid(why) => {
            let why = format!("has sent {why}");
            below.fate = Some(Err(why.clone()));
            return Some(LinkNews::Failed(party, why));
        }
        AgentEvent::Ended(end) => {
            below.fate = Some(Ok(end));
            return Some(LinkNews::Ended(party, end));
        }
        AgentEvent::Leaving => {}
    }
    None
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("MAX_NODES fits u32")
}

fn root_of(managers: &[ManagerHandle], index: usize) -> usize {
    match &managers[index].route {
        Route::Below(below) => below.root,
        Route::Direct | Route::Relay { .. } => index,
    }
}

/// The place of a party in the launch tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreePlace {
    /// The party whose link leads to it, and the one that starts it, unless the launcher does.
    pub above: Option<(usize, usize)>,
    /// The end of the numbers below it.
    pub end: usize,
}

/// Plans the tree of agents on these hosts, in which the launcher's own host is `own`.
#[must_use]
pub fn plan(
    hosts: &[Option<String>],
    own: Option<&Option<String>>,
    degree: usize,
) -> Vec<TreePlace> {
    let nowhere = TreePlace {
        above: None,
        end: 0,
    };
    let mut places = vec![nowhere; hosts.len()];
    let as_places = |range: Range<u32>| range.start as usize..range.end as usize;
    let roots = divide(hosts, 0, own, degree);
    let mut open: Vec<_> = roots
        .into_iter()
        .map(|range| (as_places(range), None))
        .collect();
    while let Some((range, above)) = open.pop() {
        let me = range.start;
        places[me] = TreePlace {
            above,
            end: range.end,
        };
        let root = above.map_or(me, |(root, _)| root);
        let below = &hosts[me + 1..range.end];
        let children = divide(below, number(me + 1), Some(&hosts[me]), degree);
        open.extend(
            children
                .into_iter()
                .map(|child| (as_places(child), Some((root, me)))),
        );
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use node_manager::control::{Frame, FromManager};
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    fn tree() -> (Vec<ManagerHandle>, OwnedFd) {
        let places = plan(&[None, None, None, None, None], Some(&None), 2);
        let place = |index: usize| (places[index].above, places[index].end);
        assert_eq!(place(0), (None, 2));
        assert_eq!(place(1), (Some((0, 0)), 2));
        assert_eq!(place(2), (None, 5));
        assert_eq!(place(4), (Some((2, 2)), 5));
        let flags = SocketFlags::CLOEXEC;
        let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let (near, far) = pair.unwrap();
        let mut near = Some(near);
        let managers = (0..5).map(|index| {
            let nodes = vec![NodeId::from_index(index)];
            let mut manager = ManagerHandle::new(nodes, None, None);
            let end = places[index].end;
            manager.route = match places[index].above {
                Some((root, parent)) => Route::Below(Box::new(Below {
                    root,
                    parent,
                    end,
                    greeting: Greeting::Awaited,
                    fate: None,
                })),
                None => Route::Relay {
                    subtree: None,
                    frames: FrameReader::default(),
                    end,
                },
            };
            if index == 2 {
                manager.control = near.take();
            }
            manager
        });
        (managers.collect(), far)
    }

    #[test]
    fn frames_of_all_below_a_link_reach_their_readers() {
        let (mut managers, far) = tree();
        let frame = encode(&FromManager::AllDone);
        for party in [4u32, 2, 9, 0] {
            let body = [&party.to_le_bytes()[..], &frame].concat();
            let len = u32::try_from(body.len()).unwrap().to_le_bytes();
            rustix::io::write(&far, &[&len[..], &[6], &body].concat()).unwrap();
        }
        let mut buffer = [0; 4096];
        let got = managers[2].receive(&mut buffer);
        assert_eq!(got, Ok(FrameReadOutcome::Bytes));
        // 9 does not exist, and 0 is not below this link.
        let news = hand_out(&mut managers, 2).unwrap();
        assert_eq!(news, [LinkNews::Frames(4), LinkNews::Frames(2)]);
        for party in [2, 4] {
            let frame = managers[party].reader.frame::<FromManager>().unwrap();
            assert_eq!(frame, Some(Frame::Message(FromManager::AllDone)));
        }
        assert!(managers[0].reader.rest().is_empty());
    }

    #[test]
    fn several_below_one_link_get_one_message() {
        let (mut managers, far) = tree();
        tell_several(&mut managers, &[2, 3, 4], &ToManager::StrikeSlice);
        let mut reader = FrameReader::default();
        reader.receive(&far, &mut [0; 4096]).unwrap();
        assert!(reader.raw().unwrap().is_some());
        assert!(reader.raw().unwrap().is_none());
    }
}

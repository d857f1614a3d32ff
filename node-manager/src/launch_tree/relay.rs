//! The relay of an agent that has started others: which frame goes where, and what the end of one
//! neighbour means for the others. A state machine without processes, links or a clock.
//!
//! ```text
//!                    parent (the launcher, or another relay)
//!        addressed frames │ ▲ frames with their party, news of agents
//!                         ▼ │
//!      own agent ◄──────► relay ◄──────► child, child, ...
//!        plain frames              plain frames if it is alone, else as to the parent
//! ```
//!
//! Invariants: a broadcast passes each link once. Frames of a party arrive in their order. A child
//! gets nothing before it can understand it: on another host that is its greeting. When the parent
//! is gone, the own agent and all children find the end of their links, and nothing is started any
//! more. The relay is over when its agent and all its children have ended, so whoever waits for
//! this process waits for the subtree.

use super::relay_frame::{AgentEnd, AgentEvent, Recipients, Upward, news, relayed, routed, upward};
use super::shape::divide;
use crate::control::{FromManager, Greeting};
use crate::frames::{self, KIND_NEWS, RawFrame};
use crate::subtree::{AgentStart, Subtree};
use std::ops::Range;

/// An event of a relay. Children are named by their place among its children.
#[derive(Debug)]
pub(crate) enum RelayEvent<'a> {
    /// The parent has sent a frame for these parties.
    Down(Recipients, &'a [u8]),
    /// The link to the parent has ended.
    ParentEnded,
    /// The own agent has sent a frame.
    Own(&'a [u8]),
    /// The own agent has closed its link.
    OwnEnded,
    /// The process of a child was started.
    ChildStarted(usize, i32),
    /// A child could not be started.
    ChildNotStarted(usize, String),
    /// The greeting of a child has come, or something else.
    ChildGreeted(usize, Greeting),
    /// A child has sent a frame.
    ChildFrame(usize, &'a RawFrame),
    /// A child has sent bytes that are no frame.
    ChildInvalid(usize, String),
    /// The command of a child has written to its standard error.
    ChildStandardError(usize, Vec<u8>),
    /// The link to a child has ended.
    ChildLinkEnded(usize),
    /// The process of a child has ended, and all that it had sent was handled.
    ChildEnded(usize, AgentEnd),
}

/// A reaction of a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RelayAction {
    /// Send bytes to the parent.
    ToParent(Vec<u8>),
    /// Send bytes to the own agent.
    ToOwn(Vec<u8>),
    /// Send bytes to a child.
    ToChild(usize, Vec<u8>),
    /// Close the link to the own agent.
    CloseOwn,
    /// Close the link to a child.
    CloseChild(usize),
}

/// The state of a child's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChildState {
    /// It is not started yet.
    Due,
    Running,
    /// It has ended, or never ran.
    Ended,
}

#[derive(Debug)]
struct Child {
    parties: Range<u32>,
    state: ChildState,
    /// The bytes that wait until it can understand them; `None` from then on.
    held: Option<Vec<u8>>,
    is_linked: bool,
}

impl Child {
    fn party(&self) -> u32 {
        self.parties.start
    }

    fn is_alone(&self) -> bool {
        self.parties.len() == 1
    }

    /// Returns the bytes that take a frame to these parties of it, if there are any.
    fn frame_for(&self, address: &Recipients, frame: &[u8]) -> Option<Vec<u8>> {
        let has = |party: &u32| self.parties.contains(party);
        let address = match address {
            Recipients::All => Recipients::All,
            Recipients::One(party) => Recipients::One(Some(*party).filter(has)?),
            Recipients::Several(parties) => {
                let within: Vec<u32> = parties.iter().copied().filter(has).collect();
                match within[..] {
                    [] => return None,
                    [party] => Recipients::One(party),
                    _ => Recipients::Several(within),
                }
            }
        };
        Some(match self.is_alone() {
            true => frame.to_vec(),
            false => routed(&address, frame),
        })
    }
}

/// A relay; see the head of this file.
#[derive(Debug)]
pub(crate) struct Relay {
    me: u32,
    /// Whether children greet before they understand frames.
    has_greetings: bool,
    children: Vec<Child>,
    has_parent: bool,
    has_own: bool,
    has_left: bool,
}

impl Relay {
    /// Makes the relay of an agent that has got this message.
    pub(crate) fn new(subtree: &Subtree) -> Self {
        let Some((own, below)) = subtree.hosts.split_first() else {
            return Self::of(subtree, Vec::new());
        };
        let ranges = divide(below, subtree.me + 1, Some(own), subtree.degree);
        let children = ranges.into_iter().map(|parties| {
            let place = |party: u32| (party - subtree.me) as usize;
            let hosts = &subtree.hosts[place(parties.start)..place(parties.end)];
            let first = (parties.len() > 1).then(|| {
                frames::encode(&crate::control::ToManager::Subtree(Box::new(Subtree {
                    me: parties.start,
                    hosts: hosts.to_vec(),
                    ..subtree.clone()
                })))
            });
            Child {
                parties,
                state: ChildState::Due,
                held: Some(first.unwrap_or_default()),
                is_linked: false,
            }
        });
        Self::of(subtree, children.collect())
    }

    fn of(subtree: &Subtree, children: Vec<Child>) -> Self {
        Self {
            me: subtree.me,
            has_greetings: matches!(subtree.start, AgentStart::Command { .. }),
            children,
            has_parent: true,
            has_own: true,
            has_left: false,
        }
    }

    /// Returns the parties of each child; the first of them is the child.
    pub(crate) fn children(&self) -> impl ExactSizeIterator<Item = &Range<u32>> {
        self.children.iter().map(|child| &child.parties)
    }

    /// Returns whether children greet before they understand frames.
    pub(crate) fn has_greetings(&self) -> bool {
        self.has_greetings
    }

    /// Returns the child that is to be started next.
    pub(crate) fn due(&self) -> Option<usize> {
        let is_due = |child: &Child| child.state == ChildState::Due;
        self.children
            .iter()
            .position(is_due)
            .filter(|_| self.has_parent && self.has_own)
    }

    /// Returns whether the own agent and all children have ended.
    pub(crate) fn is_over(&self) -> bool {
        let runs = |child: &Child| child.state == ChildState::Running;
        !self.has_own && !self.children.iter().any(runs)
    }

    /// Handles an event.
    pub(crate) fn handle(&mut self, event: RelayEvent<'_>) -> Vec<RelayAction> {
        let mut actions = Vec::new();
        match event {
            RelayEvent::Down(address, frame) => self.pass_down(&address, frame, &mut actions),
            RelayEvent::ParentEnded => {
                self.has_parent = false;
                actions.push(RelayAction::CloseOwn);
                (0..self.children.len()).for_each(|child| self.close(child, &mut actions));
            }
            RelayEvent::Own(frame) => actions.push(RelayAction::ToParent(relayed(self.me, frame))),
            RelayEvent::OwnEnded => self.has_own = false,
            RelayEvent::ChildStarted(child, pid) => {
                self.children[child].state = ChildState::Running;
                self.children[child].is_linked = true;
                self.tell(child, AgentEvent::Started(pid), &mut actions);
                if !self.has_greetings {
                    self.release(child, &mut actions);
                }
            }
            RelayEvent::ChildNotStarted(child, why) => {
                self.children[child].state = ChildState::Ended;
                self.tell(child, AgentEvent::NotStarted(why), &mut actions);
            }
            RelayEvent::ChildGreeted(child, greeting) => {
                let ours = env!("CARGO_PKG_VERSION");
                let is_ours = matches!(&greeting, Greeting::Version(version) if version == ours);
                self.tell(child, AgentEvent::Greeted(greeting), &mut actions);
                if is_ours {
                    self.release(child, &mut actions);
                }
            }
            RelayEvent::ChildFrame(child, frame) => self.pass_up(child, frame, &mut actions),
            RelayEvent::ChildInvalid(child, why) => self.refuse(child, why, &mut actions),
            RelayEvent::ChildStandardError(child, bytes) => {
                self.tell(child, AgentEvent::StandardError(bytes), &mut actions);
            }
            RelayEvent::ChildLinkEnded(child) => self.close(child, &mut actions),
            RelayEvent::ChildEnded(child, end) => {
                self.close(child, &mut actions);
                self.children[child].state = ChildState::Ended;
                self.tell(child, AgentEvent::Ended(end), &mut actions);
            }
        }
        if self.is_over() && !self.has_left {
            self.has_left = true;
            let left = news(self.me, AgentEvent::Leaving);
            actions.push(RelayAction::ToParent(left));
        }
        if !self.has_parent {
            actions.retain(|action| !matches!(action, RelayAction::ToParent(_)));
        }
        actions
    }

    fn pass_down(&mut self, address: &Recipients, frame: &[u8], actions: &mut Vec<RelayAction>) {
        let is_mine = match address {
            Recipients::All => true,
            Recipients::One(party) => *party == self.me,
            Recipients::Several(parties) => parties.contains(&self.me),
        };
        if is_mine {
            actions.push(RelayAction::ToOwn(frame.to_vec()));
        }
        for (place, child) in self.children.iter_mut().enumerate() {
            let Some(bytes) = child.frame_for(address, frame) else {
                continue;
            };
            match (&mut child.held, child.state) {
                (_, ChildState::Ended) => {}
                (Some(held), _) => held.extend(bytes),
                (None, _) if child.is_linked => actions.push(RelayAction::ToChild(place, bytes)),
                (None, _) => {}
            }
        }
    }

    /// Passes a frame of a child on, if it is about a party of that child.
    fn pass_up(&mut self, place: usize, frame: &RawFrame, actions: &mut Vec<RelayAction>) {
        let child = &self.children[place];
        let (party, parties) = (child.party(), child.parties.clone());
        match upward(frame) {
            Ok(Upward::Plain(bytes)) => {
                actions.push(RelayAction::ToParent(relayed(party, bytes)));
                if child.is_alone() && bytes == frames::encode(&FromManager::Goodbye) {
                    self.close(place, actions);
                }
            }
            Ok(Upward::Relayed(source, _)) if parties.contains(&source) => {
                actions.push(RelayAction::ToParent(frame.bytes().to_vec()));
            }
            Ok(Upward::News(about))
                if about.party == party && about.what == AgentEvent::Leaving =>
            {
                self.close(place, actions);
            }
            Ok(Upward::News(about)) if parties.contains(&about.party) && about.party != party => {
                actions.push(RelayAction::ToParent(frame.bytes().to_vec()));
            }
            Ok(Upward::Relayed(other, _)) => {
                let why = format!("a frame of party {other}, which is not below it");
                self.refuse(place, why, actions);
            }
            Ok(Upward::News(about)) => {
                let why = format!(
                    "a report about party {}, which is not below it",
                    about.party
                );
                self.refuse(place, why, actions);
            }
            Err(error) => {
                let kind = if frame.kind() == KIND_NEWS {
                    "report"
                } else {
                    "frame"
                };
                self.refuse(place, format!("an invalid {kind}: {error}"), actions);
            }
        }
    }

    fn refuse(&mut self, child: usize, why: String, actions: &mut Vec<RelayAction>) {
        self.tell(child, AgentEvent::Invalid(why), actions);
        self.close(child, actions);
    }

    fn tell(&self, child: usize, what: AgentEvent, actions: &mut Vec<RelayAction>) {
        let party = self.children[child].party();
        actions.push(RelayAction::ToParent(news(party, what)));
    }

    /// Sends a child all that waits for it.
    fn release(&mut self, child: usize, actions: &mut Vec<RelayAction>) {
        let held = self.children[child].held.take();
        if let Some(held) = held.filter(|held| !held.is_empty() && self.children[child].is_linked) {
            actions.push(RelayAction::ToChild(child, held));
        }
    }

    fn close(&mut self, child: usize, actions: &mut Vec<RelayAction>) {
        if std::mem::take(&mut self.children[child].is_linked) {
            actions.push(RelayAction::CloseChild(child));
        }
    }
}

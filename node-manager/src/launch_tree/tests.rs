//! Trees of relays in virtual time: links with delays, starts that take time, and processes that
//! are killed at any moment.

use super::relay::{Relay, RelayAction, RelayEvent};
use super::relay_frame::{AgentEnd, AgentEvent, Recipients, Upward, downward, upward};
use super::shape::{degree, divide};
use crate::control::{FrameReader, FromManager, Greeting, ToManager};
use crate::frames;
use crate::subtree::{AgentStart, Subtree};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::Duration;

const HOP_US: u64 = 100;
const START_US: u64 = 5_000;
/// An agent needs this time to end its ranks.
const END_US: u64 = 10_000;

/// An event at a party. Its parent is the launcher, or another party and the place among its
/// children.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// It starts its next child.
    StartNext,
    /// Bytes from its parent.
    Down(Vec<u8>),
    /// The end of the link to its parent.
    ParentEnded,
    /// Bytes from a child.
    Up(usize, Vec<u8>),
    ProcessEnded(usize, Option<i32>),
    /// Its agent has ended its ranks.
    OwnEnded,
}

/// Time, number in the order of causes, and receiver of an event; `None` is the launcher.
type Due = (u64, u64, Option<u32>, Event);

#[derive(Debug)]
struct Agent {
    parent: Option<(u32, usize)>,
    /// The relay, from the subtree on.
    relay: Option<Relay>,
    from_parent: FrameReader,
    from_children: BTreeMap<usize, FrameReader>,
    got: Vec<ToManager>,
    is_ending: bool,
}

/// A job: the launcher has the numbers of its children, and reads what comes from them.
#[derive(Debug)]
struct Tree {
    now_us: u64,
    events: BinaryHeap<Reverse<Due>>,
    sequence: u64,
    agents: BTreeMap<u32, Agent>,
    roots: Vec<std::ops::Range<u32>>,
    readers: Vec<FrameReader>,
    /// Processes that have ended, with the time.
    ended: BTreeMap<u32, u64>,
    has_greetings: bool,
    /// Frames that have passed each link on the way down, by the child.
    passed: BTreeMap<u32, usize>,
    /// Reports and messages that the launcher has got.
    started: BTreeMap<u32, u64>,
    heard: Vec<(u32, FromManager)>,
    told_ended: BTreeMap<u32, AgentEnd>,
    broken_roots: BTreeSet<u32>,
}

impl Tree {
    fn new(hosts: &[Option<String>], degree: usize, has_greetings: bool) -> Self {
        let own = (!has_greetings).then_some(&None);
        let roots = divide(hosts, 0, own, degree);
        let mut tree = Self {
            now_us: 0,
            events: BinaryHeap::new(),
            sequence: 0,
            agents: BTreeMap::new(),
            readers: roots.iter().map(|_| FrameReader::default()).collect(),
            roots: roots.clone(),
            ended: BTreeMap::new(),
            has_greetings,
            passed: BTreeMap::new(),
            started: BTreeMap::new(),
            heard: Vec::new(),
            told_ended: BTreeMap::new(),
            broken_roots: BTreeSet::new(),
        };
        for (place, root) in roots.iter().enumerate() {
            let place = u64::try_from(place).unwrap();
            tree.add(root.start, None);
            tree.started.insert(root.start, (place + 1) * START_US);
            if root.len() > 1 {
                let start = match has_greetings {
                    true => AgentStart::Command { words: vec![] },
                    false => AgentStart::Inherit { reader: None },
                };
                let subtree = frames::encode(&ToManager::Subtree(Box::new(Subtree {
                    me: root.start,
                    hosts: hosts[root.start as usize..root.end as usize].to_vec(),
                    degree,
                    start,
                    start_cost: Duration::ZERO,
                })));
                let at = (place + 1) * START_US;
                tree.after(at, Some(root.start), Event::Down(subtree));
            }
        }
        tree
    }

    fn add(&mut self, party: u32, parent: Option<(u32, usize)>) {
        let agent = Agent {
            parent,
            relay: None,
            from_parent: FrameReader::default(),
            from_children: BTreeMap::new(),
            got: Vec::new(),
            is_ending: false,
        };
        assert!(self.agents.insert(party, agent).is_none(), "started twice");
    }

    fn after(&mut self, delay_us: u64, to: Option<u32>, event: Event) {
        self.sequence += 1;
        let at = self.now_us + delay_us;
        self.events.push(Reverse((at, self.sequence, to, event)));
    }

    /// Sends from the launcher.
    fn tell(&mut self, address: &Recipients, message: &ToManager) {
        let frame = frames::encode(message);
        for root in self.roots.clone() {
            let is_for = |party: &u32| root.contains(party);
            let is_for = match address {
                Recipients::All => true,
                Recipients::One(party) => is_for(party),
                Recipients::Several(parties) => parties.iter().any(is_for),
            };
            let bytes = match root.len() {
                1 => frame.clone(),
                _ => super::routed(address, &frame),
            };
            // The launcher, too, starts one after the other.
            let place = self.roots.iter().position(|one| *one == root).unwrap();
            let started = u64::try_from(place + 1).unwrap() * START_US;
            let wait = started.saturating_sub(self.now_us);
            if is_for {
                self.after(wait + HOP_US, Some(root.start), Event::Down(bytes));
            }
        }
    }

    fn lose_launcher(&mut self) {
        let roots: Vec<u32> = self.roots.iter().map(|root| root.start).collect();
        let is_lost = |to: Option<u32>, event: &Event| match (to, event) {
            (None, _) => true,
            // It has not sent that yet, or not all of it.
            (Some(party), Event::Down(_)) => roots.contains(&party),
            _ => false,
        };
        self.events
            .retain(|Reverse((_, _, to, event))| !is_lost(*to, event));
        for root in self.roots.clone() {
            self.after(HOP_US, Some(root.start), Event::ParentEnded);
        }
    }

    /// Ends a process at once, as SIGKILL does or as an exit.
    fn end_process(&mut self, party: u32, signal: Option<i32>) {
        if self.ended.insert(party, self.now_us).is_some() {
            return;
        }
        let agent = &self.agents[&party];
        let parent = agent.parent;
        let children: Vec<u32> = agent
            .relay
            .iter()
            .flat_map(Relay::children)
            .map(|it| it.start)
            .collect();
        for child in children {
            if self.agents.contains_key(&child) {
                self.after(HOP_US, Some(child), Event::ParentEnded);
            }
        }
        match parent {
            Some((parent, place)) => {
                self.after(HOP_US, Some(parent), Event::ProcessEnded(place, signal));
            }
            None => {
                let place = self
                    .roots
                    .iter()
                    .position(|root| root.start == party)
                    .unwrap();
                self.after(HOP_US, None, Event::ProcessEnded(place, signal));
            }
        }
    }

    fn run_until(&mut self, end_us: u64) {
        while let Some(Reverse((at, _, to, event))) = self.events.peek().cloned() {
            if at > end_us {
                break;
            }
            self.events.pop();
            self.now_us = at;
            match to {
                None => self.launcher_gets(event),
                Some(party) if !self.ended.contains_key(&party) => self.agent_gets(party, event),
                Some(_) => {}
            }
        }
        self.now_us = end_us;
    }

    fn launcher_gets(&mut self, event: Event) {
        match event {
            Event::Up(place, bytes) => {
                let root = self.roots[place].clone();
                self.readers[place].feed(&bytes);
                while let Some(frame) = self.readers[place].raw().unwrap() {
                    let (party, inner) = match upward(&frame).unwrap() {
                        Upward::Plain(inner) => (root.start, inner.to_vec()),
                        Upward::Relayed(party, inner) => (party, inner.to_vec()),
                        Upward::News(news) => {
                            assert!(root.contains(&news.party));
                            match news.what {
                                AgentEvent::Started(_) => {
                                    assert!(self.started.insert(news.party, self.now_us).is_none());
                                }
                                AgentEvent::Ended(end) => {
                                    assert!(self.told_ended.insert(news.party, end).is_none());
                                }
                                AgentEvent::Leaving => assert_eq!(news.party, root.start),
                                AgentEvent::Greeted(_) => {}
                                other => panic!("{other:?}"),
                            }
                            continue;
                        }
                    };
                    let mut reader = FrameReader::default();
                    reader.feed(&inner);
                    match reader.frame().unwrap().unwrap() {
                        crate::control::Frame::Message(message) => {
                            self.heard.push((party, message))
                        }
                        other @ crate::control::Frame::Output { .. } => panic!("{other:?}"),
                    }
                }
            }
            Event::ProcessEnded(place, signal) => {
                let party = self.roots[place].start;
                let code = signal.is_none().then_some(0);
                self.told_ended.insert(party, AgentEnd { signal, code });
                self.broken_roots.insert(party);
            }
            other => panic!("{other:?}"),
        }
    }

    fn agent_gets(&mut self, party: u32, event: Event) {
        let agent = self.agents.get_mut(&party).unwrap();
        match event {
            Event::Down(bytes) => {
                agent.from_parent.feed(&bytes);
                *self.passed.entry(party).or_default() += 1;
                self.read_parent(party);
            }
            Event::ParentEnded if agent.relay.is_some() => {
                self.relay(party, RelayEvent::ParentEnded)
            }
            Event::ParentEnded => self.own_ends(party),
            Event::Up(place, bytes) => {
                agent.from_children.entry(place).or_default().feed(&bytes);
                loop {
                    let agent = self.agents.get_mut(&party).unwrap();
                    let reader = agent.from_children.get_mut(&place).unwrap();
                    let Some(frame) = reader.raw().unwrap() else {
                        return;
                    };
                    self.relay(party, RelayEvent::ChildFrame(place, &frame));
                }
            }
            Event::ProcessEnded(place, signal) => {
                let code = signal.is_none().then_some(0);
                self.relay(
                    party,
                    RelayEvent::ChildEnded(place, AgentEnd { signal, code }),
                );
            }
            Event::StartNext => {
                let relay = agent.relay.as_ref().unwrap();
                let Some(place) = relay.due() else { return };
                let child = relay.children().nth(place).unwrap().start;
                self.add(child, Some((party, place)));
                self.relay(party, RelayEvent::ChildStarted(place, 1));
                if self.has_greetings {
                    let version = env!("CARGO_PKG_VERSION").to_owned();
                    let greeting = Greeting::Version(version);
                    self.relay(party, RelayEvent::ChildGreeted(place, greeting));
                }
                self.after(START_US, Some(party), Event::StartNext);
            }
            Event::OwnEnded if agent.relay.is_some() => self.relay(party, RelayEvent::OwnEnded),
            Event::OwnEnded => self.end_process(party, None),
        }
    }

    fn read_parent(&mut self, party: u32) {
        loop {
            let agent = self.agents.get_mut(&party).unwrap();
            if agent.relay.is_some() {
                let Some(frame) = agent.from_parent.raw().unwrap() else {
                    return;
                };
                let (address, inner) = downward(&frame).unwrap();
                self.relay(party, RelayEvent::Down(address, inner));
            } else {
                match agent.from_parent.frame::<ToManager>().unwrap() {
                    None => return,
                    Some(crate::control::Frame::Message(ToManager::Subtree(subtree))) => {
                        assert_eq!(subtree.me, party);
                        agent.relay = Some(Relay::new(&subtree));
                        self.after(START_US, Some(party), Event::StartNext);
                    }
                    Some(crate::control::Frame::Message(message)) => self.own_gets(party, message),
                    Some(other) => panic!("{other:?}"),
                }
            }
        }
    }

    /// The agent itself: it answers a query, and ends when it is told to.
    fn own_gets(&mut self, party: u32, message: ToManager) {
        let agent = self.agents.get_mut(&party).unwrap();
        agent.got.push(message.clone());
        match message {
            ToManager::Survey(_) => self.own_says(party, &FromManager::InputTaken),
            ToManager::Finish | ToManager::Terminate => self.own_ends(party),
            _ => {}
        }
    }

    fn own_says(&mut self, party: u32, message: &FromManager) {
        let frame = frames::encode(message);
        match self.agents[&party].relay {
            Some(_) => self.relay(party, RelayEvent::Own(&frame)),
            None => self.send_up(party, frame),
        }
    }

    fn own_ends(&mut self, party: u32) {
        let agent = self.agents.get_mut(&party).unwrap();
        if !std::mem::replace(&mut agent.is_ending, true) {
            self.own_says(party, &FromManager::Goodbye);
            self.after(END_US, Some(party), Event::OwnEnded);
        }
    }

    fn send_up(&mut self, party: u32, bytes: Vec<u8>) {
        match self.agents[&party].parent {
            Some((parent, place)) => self.after(HOP_US, Some(parent), Event::Up(place, bytes)),
            None => {
                let place = self
                    .roots
                    .iter()
                    .position(|root| root.start == party)
                    .unwrap();
                self.after(HOP_US, None, Event::Up(place, bytes));
            }
        }
    }

    fn relay(&mut self, party: u32, event: RelayEvent<'_>) {
        let relay = self.agents.get_mut(&party).unwrap().relay.as_mut().unwrap();
        let children: Vec<u32> = relay.children().map(|range| range.start).collect();
        let actions = relay.handle(event);
        let is_over = relay.is_over();
        for action in actions {
            match action {
                RelayAction::ToParent(bytes) => self.send_up(party, bytes),
                RelayAction::ToOwn(bytes) => {
                    let mut reader = FrameReader::default();
                    reader.feed(&bytes);
                    match reader.frame().unwrap().unwrap() {
                        crate::control::Frame::Message(message) => self.own_gets(party, message),
                        other @ crate::control::Frame::Output { .. } => panic!("{other:?}"),
                    }
                }
                RelayAction::ToChild(place, bytes) => {
                    self.after(HOP_US, Some(children[place]), Event::Down(bytes));
                }
                RelayAction::CloseOwn => self.own_ends(party),
                // A child that has said goodbye reads no more.
                RelayAction::CloseChild(place) => {
                    if !self.agents[&children[place]].is_ending {
                        self.after(HOP_US, Some(children[place]), Event::ParentEnded);
                    }
                }
            }
        }
        if is_over {
            self.end_process(party, None);
        }
    }
}

fn here(agents: usize) -> Vec<Option<String>> {
    vec![None; agents]
}

fn there(agents: usize, per_host: usize) -> Vec<Option<String>> {
    (0..agents)
        .map(|party| Some(format!("h{}", party / per_host)))
        .collect()
}

const LONG_US: u64 = 10_000_000;

#[test]
fn a_broadcast_reaches_every_agent_once_and_passes_each_link_once() {
    for (hosts, degree, greet) in [
        (here(100), 3, false),
        (there(100, 4), 3, true),
        (there(40, 40), 5, true),
    ] {
        let mut tree = Tree::new(&hosts, degree, greet);
        tree.run_until(LONG_US);
        let before = tree.passed.clone();
        tree.tell(&Recipients::All, &ToManager::Survey(7));
        let some = Recipients::Several(vec![1, 17, 18, 39]);
        tree.tell(&some, &ToManager::StrikeSlice);
        tree.tell(&Recipients::One(17), &ToManager::Quiesce);
        tree.run_until(2 * LONG_US);
        for (party, agent) in &tree.agents {
            let has = |wanted: &ToManager| agent.got.iter().filter(|it| *it == wanted).count();
            assert_eq!(has(&ToManager::Survey(7)), 1, "{party}");
            assert_eq!(
                has(&ToManager::StrikeSlice),
                usize::from([1, 17, 18, 39].contains(party))
            );
            assert_eq!(
                has(&ToManager::Quiesce),
                usize::from(*party == 17),
                "{party}"
            );
            let passed = tree.passed[party] - before.get(party).copied().unwrap_or(0);
            assert!((1..=3).contains(&passed), "{party}: {passed}");
        }
        let answers: BTreeSet<u32> = tree.heard.iter().map(|(party, _)| *party).collect();
        assert_eq!(
            (answers.len(), tree.heard.len()),
            (hosts.len(), hosts.len())
        );
    }
}

#[test]
fn what_is_sent_before_an_agent_is_started_waits_for_it() {
    for greet in [false, true] {
        let hosts = if greet { there(50, 3) } else { here(50) };
        let mut tree = Tree::new(&hosts, 2, greet);
        tree.tell(&Recipients::All, &ToManager::Quiesce);
        tree.tell(&Recipients::All, &ToManager::StrikeSlice);
        tree.run_until(LONG_US);
        let expected = [ToManager::Quiesce, ToManager::StrikeSlice];
        assert_eq!(tree.agents.len(), 50);
        assert!(tree.agents.values().all(|agent| agent.got == expected));
    }
}

#[test]
fn an_orderly_job_ends_from_the_leaves_up() {
    let mut tree = Tree::new(&there(60, 4), 3, true);
    tree.run_until(LONG_US);
    tree.tell(&Recipients::All, &ToManager::Finish);
    tree.run_until(LONG_US + END_US + 40 * HOP_US);
    assert_eq!(tree.ended.len(), 60);
    assert_eq!(tree.told_ended.len(), 60);
    assert!(tree.told_ended.values().all(|end| end.code == Some(0)));
    let goodbyes = tree
        .heard
        .iter()
        .filter(|(_, it)| *it == FromManager::Goodbye);
    assert_eq!(goodbyes.count(), 60);
}

#[test]
fn the_time_to_start_grows_with_the_depth() {
    let time = |agents: usize| {
        let mut tree = Tree::new(&here(agents), degree(agents, 1), false);
        tree.run_until(100 * LONG_US);
        assert_eq!(tree.started.len(), agents);
        tree.started.values().copied().max().unwrap()
    };
    let of_16 = time(16);
    assert_eq!(of_16, 16 * START_US);
    for agents in [64, 256, 1024, 4096] {
        let all = time(agents);
        assert!(
            all <= 3 * of_16 + 20 * HOP_US,
            "{agents}: {all} us, 16: {of_16} us"
        );
    }
}

/// Kills each agent of a tree in turn, at moments from the first start to the end.
#[test]
fn the_end_of_an_agent_is_told_and_ends_all_below_it() {
    let hosts = there(31, 2);
    for victim in 0..31 {
        for moment in [20_000, 40_000, 60_000, 90_000, 1_000_000] {
            let mut tree = Tree::new(&hosts, 2, true);
            tree.run_until(moment);
            if !tree.agents.contains_key(&victim) || !tree.started.contains_key(&victim) {
                continue;
            }
            tree.end_process(victim, Some(9));
            tree.run_until(moment + END_US + 50 * HOP_US);
            let end = tree.told_ended.get(&victim);
            assert_eq!(
                end.and_then(|end| end.signal),
                Some(9),
                "{victim} at {moment}"
            );
            let below = tree.agents[&victim].relay.iter().flat_map(Relay::children);
            let below: Vec<u32> = below.cloned().flatten().collect();
            for party in below.iter().filter(|party| tree.agents.contains_key(party)) {
                assert!(
                    tree.ended.contains_key(party),
                    "{party} below {victim} at {moment}"
                );
            }
            tree.tell(&Recipients::All, &ToManager::Terminate);
            tree.run_until(moment + LONG_US);
            assert_eq!(tree.ended.len(), tree.agents.len(), "{victim} at {moment}");
        }
    }
}

#[test]
fn the_end_of_the_launcher_ends_all_agents_and_starts_no_more() {
    for moment in [0, 5_000, 12_000, 33_000, 60_000, 1_000_000] {
        let mut tree = Tree::new(&here(200), 3, false);
        tree.run_until(moment);
        tree.lose_launcher();
        tree.run_until(moment + END_US + 40 * HOP_US);
        let known = tree.agents.len();
        assert_eq!(tree.ended.len(), known, "at {moment}");
        tree.run_until(LONG_US);
        assert_eq!(tree.agents.len(), known, "at {moment}");
    }
}

#[test]
fn a_child_that_speaks_for_others_is_refused() {
    let subtree = Subtree {
        me: 4,
        hosts: here(6),
        degree: 2,
        start: AgentStart::Inherit { reader: None },
        start_cost: Duration::ZERO,
    };
    let mut relay = Relay::new(&subtree);
    assert_eq!(relay.children().cloned().collect::<Vec<_>>(), [5..7, 7..10]);
    let _started = relay.handle(RelayEvent::ChildStarted(0, 1));
    let mut reader = FrameReader::default();
    reader.feed(&super::relay_frame::relayed(
        8,
        &frames::encode(&FromManager::AllDone),
    ));
    let frame = reader.raw().unwrap().unwrap();
    let actions = relay.handle(RelayEvent::ChildFrame(0, &frame));
    assert_eq!(actions.last(), Some(&RelayAction::CloseChild(0)));
    let told = actions.iter().any(|action| match action {
        RelayAction::ToParent(bytes) => {
            let mut reader = FrameReader::default();
            reader.feed(bytes);
            let frame = reader.raw().unwrap().unwrap();
            matches!(upward(&frame), Ok(Upward::News(news)) if news.party == 5
                && matches!(news.what, AgentEvent::Invalid(_)))
        }
        _ => false,
    });
    assert!(told, "{actions:?}");
}

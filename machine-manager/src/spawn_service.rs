//! Requests of ranks to the launcher: for other ranks (`MPI_Comm_spawn`), and for ports by their
//! names. A state machine without sockets.
//!
//! ```text
//!  Asked ─► Start to each node manager with a place ─► Spawned of all ─► Answer: the ranks
//!                                                          │ one has failed
//!                                                          └─► Dismiss to all, Answer: why not
//! ```
//!
//! Spare ranks are given in ascending order, so the ranks of a group follow each other, on each
//! node in turn. A place is used once (docs/spawning.md).

use bcs_core::job::{NodeId, Placement, RankAnswer, RankRequest, SpawnCommand, SpawnedGroup};
use node_manager::control::{Application, SpawnStart};
use node_manager::limits::PMI_NAMES;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnAction {
    /// Tell a node manager to start ranks.
    Start(usize, Box<SpawnStart>),
    /// Tell a node manager to kill ranks that are not to be.
    Dismiss(usize, SpawnedGroup),
    /// Give a rank of a node manager the answer.
    Answer(usize, u32, RankAnswer),
}

/// Ranks that are being started.
#[derive(Debug)]
struct PendingSpawn {
    group: SpawnedGroup,
    /// The node manager of the rank that has asked.
    asker: usize,
    managers: BTreeSet<usize>,
    /// Those that have not answered.
    awaited: BTreeSet<usize>,
    failure: Option<String>,
}

/// The variables that `bcs run` sets for ranks.
type Environment = Vec<(OsString, OsString)>;

/// See the head of this file.
#[derive(Debug)]
pub struct SpawnService {
    placement: Placement,
    /// The node manager of each node.
    managers: Vec<usize>,
    /// Whether another launcher has started the ranks.
    is_adopted: bool,
    /// The first spare rank that was not used.
    next: u32,
    /// The number of the next spawn.
    number: u32,
    pending: BTreeMap<u32, PendingSpawn>,
    /// The variables of ranks: spawned ones get those of the rank that has asked for them.
    environments: Vec<(Range<u32>, Environment)>,
    /// The published ports, by name.
    names: BTreeMap<String, String>,
}

fn number(ranks: usize) -> u32 {
    u32::try_from(ranks).expect("MAX_RANKS fits u32")
}

impl SpawnService {
    /// Makes the service of a job with these programs, whose node managers have these nodes.
    #[must_use]
    pub fn new(
        placement: Placement,
        managers: &[Vec<NodeId>],
        applications: &[Application],
        is_adopted: bool,
    ) -> Self {
        let mut of_node = vec![0; placement.nodes()];
        for (manager, nodes) in managers.iter().enumerate() {
            nodes
                .iter()
                .for_each(|node| of_node[node.index()] = manager);
        }
        let mut first = 0;
        let environments = applications.iter().map(|application| {
            let ranks = first..first + number(application.ranks);
            first = ranks.end;
            (ranks, application.environment.clone())
        });
        Self {
            environments: environments.collect(),
            managers: of_node,
            is_adopted,
            next: number(placement.ranks()),
            placement,
            number: 0,
            pending: BTreeMap::new(),
            names: BTreeMap::new(),
        }
    }

    /// Handles a request of a rank of a node manager. Ranks can be started while the job runs.
    pub fn handle(
        &mut self,
        manager: usize,
        rank: u32,
        request: RankRequest,
        is_running: bool,
    ) -> Vec<SpawnAction> {
        let answer = match request {
            RankRequest::Spawn(commands) => {
                match self.spawn(manager, rank, &commands, is_running) {
                    Ok(actions) => return actions,
                    Err(why) => RankAnswer::Refused(why),
                }
            }
            RankRequest::Publish { service, port } => self.publish(service, port),
            RankRequest::Unpublish { service } => self
                .names
                .remove(&service)
                .map_or_else(unknown, RankAnswer::Port),
            RankRequest::Lookup { service } => self
                .names
                .get(&service)
                .cloned()
                .map_or_else(unknown, RankAnswer::Port),
        };
        vec![SpawnAction::Answer(manager, rank, answer)]
    }

    fn publish(&mut self, service: String, port: String) -> RankAnswer {
        if self.names.contains_key(&service) {
            return RankAnswer::Refused("the name is published already".to_owned());
        }
        if self.names.len() >= PMI_NAMES {
            return RankAnswer::Refused(format!("{PMI_NAMES} names are published already"));
        }
        self.names.insert(service, port.clone());
        RankAnswer::Port(port)
    }

    fn spawn(
        &mut self,
        asker: usize,
        root: u32,
        commands: &[SpawnCommand],
        is_running: bool,
    ) -> Result<Vec<SpawnAction>, String> {
        if !is_running {
            return Err("the job is ending".to_owned());
        }
        let ranks = commands
            .iter()
            .fold(0, |ranks: u32, command| ranks.saturating_add(command.ranks));
        let end = self.next.saturating_add(ranks);
        let capacity = self.placement.capacity();
        if end as usize > capacity {
            return Err(match self.is_adopted {
                true => "another launcher has started this job: start it with bcs run".to_owned(),
                false => format!(
                    "this job has places for {capacity} ranks, of which {} are used, and {ranks} \
                     more were asked for: bcs run --universe-size {end} gives it as many",
                    self.next
                ),
            });
        }
        let group = SpawnedGroup {
            first: self.next,
            ranks,
            number: self.number,
            root,
        };
        let environment = self
            .environments
            .iter()
            .find(|(ranks, _)| ranks.contains(&root));
        let environment = environment.map_or_else(Vec::new, |(_, environment)| environment.clone());
        let applications = commands
            .iter()
            .map(|command| application(command, &environment));
        let start = SpawnStart {
            group,
            applications: applications.collect(),
        };
        self.environments.push((group.first..end, environment));
        (self.next, self.number) = (end, self.number + 1);
        let nodes = (group.first..end).filter_map(|rank| self.placement.node_of(rank));
        let managers: BTreeSet<usize> = nodes.map(|node| self.managers[node.index()]).collect();
        let actions = managers.iter();
        let actions = actions.map(|&manager| SpawnAction::Start(manager, Box::new(start.clone())));
        let actions = actions.collect();
        let pending = PendingSpawn {
            group,
            asker,
            awaited: managers.clone(),
            managers,
            failure: None,
        };
        self.pending.insert(group.number, pending);
        Ok(actions)
    }

    /// Handles the report of a node manager about the ranks that it was to start.
    pub fn started(
        &mut self,
        manager: usize,
        number: u32,
        failure: Option<String>,
    ) -> Vec<SpawnAction> {
        let Some(pending) = self.pending.get_mut(&number) else {
            return Vec::new();
        };
        pending.awaited.remove(&manager);
        pending.failure = pending.failure.take().or(failure);
        if !pending.awaited.is_empty() {
            return Vec::new();
        }
        let Some(over) = self.pending.remove(&number) else {
            return Vec::new();
        };
        let root = over.group.root;
        let Some(why) = over.failure else {
            let answer = RankAnswer::Spawned(over.group);
            return vec![SpawnAction::Answer(over.asker, root, answer)];
        };
        let dismissed = over.managers.iter();
        let mut actions: Vec<SpawnAction> = dismissed
            .map(|&manager| SpawnAction::Dismiss(manager, over.group))
            .collect();
        actions.push(SpawnAction::Answer(
            over.asker,
            root,
            RankAnswer::Refused(why),
        ));
        actions
    }
}

fn unknown() -> RankAnswer {
    RankAnswer::Refused("nobody has published this name".to_owned())
}

fn application(command: &SpawnCommand, environment: &Environment) -> Application {
    let text = |bytes: &Vec<u8>| OsStr::from_bytes(bytes).to_owned();
    Application {
        ranks: command.ranks as usize,
        program: text(&command.program),
        arguments: command.arguments.iter().map(text).collect(),
        environment: environment.clone(),
        directory: Some(PathBuf::from(text(&command.directory))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(ranks: u32) -> SpawnCommand {
        SpawnCommand {
            program: b"/bin/worker".to_vec(),
            arguments: vec![b"worker".to_vec()],
            ranks,
            directory: b"/tmp".to_vec(),
        }
    }

    /// Makes the service of two ranks on two nodes with their own node managers.
    fn service(spare: usize) -> SpawnService {
        let placement = Placement::block(2, 2).unwrap().with_spare(spare).unwrap();
        let application = Application {
            ranks: 2,
            program: "master".into(),
            arguments: vec!["master".into()],
            environment: vec![("A".into(), "1".into())],
            directory: None,
        };
        SpawnService::new(
            placement,
            &[vec![NodeId(0)], vec![NodeId(1)]],
            &[application],
            false,
        )
    }

    fn spawn(service: &mut SpawnService, ranks: u32) -> Vec<SpawnAction> {
        service.handle(1, 1, RankRequest::Spawn(vec![command(ranks)]), true)
    }

    #[test]
    fn ranks_are_there_when_all_node_managers_have_started_theirs() {
        let mut service = service(8);
        let actions = spawn(&mut service, 3);
        let [SpawnAction::Start(0, start), SpawnAction::Start(1, _)] = &actions[..] else {
            panic!("{actions:?}");
        };
        let group = SpawnedGroup {
            first: 2,
            ranks: 3,
            number: 0,
            root: 1,
        };
        assert_eq!(start.group, group);
        assert_eq!(
            start.applications[0].environment,
            [("A".into(), "1".into())]
        );
        assert_eq!(service.started(1, 0, None), []);
        let answer = SpawnAction::Answer(1, 1, RankAnswer::Spawned(group));
        assert_eq!(service.started(0, 0, None), [answer]);
        assert_eq!(
            service.started(0, 0, None),
            [],
            "nobody waits for that any more"
        );
        let actions = spawn(&mut service, 1);
        assert!(matches!(&actions[..], [SpawnAction::Start(1, start)] if start.group.first == 5));
    }

    #[test]
    fn ranks_that_cannot_all_be_started_are_dismissed() {
        let mut service = service(8);
        spawn(&mut service, 2);
        assert_eq!(service.started(0, 0, Some("it is missing".to_owned())), []);
        let actions = service.started(1, 0, None);
        let [
            SpawnAction::Dismiss(0, group),
            SpawnAction::Dismiss(1, _),
            SpawnAction::Answer(1, 1, RankAnswer::Refused(why)),
        ] = &actions[..]
        else {
            panic!("{actions:?}");
        };
        assert_eq!((group.first, why.as_str()), (2, "it is missing"));
    }

    #[test]
    fn a_job_without_enough_places_says_which_option_gives_more() {
        let mut service = service(2);
        let refusal = |actions: Vec<SpawnAction>| match &actions[..] {
            [SpawnAction::Answer(1, 1, RankAnswer::Refused(why))] => why.clone(),
            other => panic!("{other:?}"),
        };
        let why = refusal(spawn(&mut service, 3));
        assert!(why.contains("bcs run --universe-size 5"), "{why}");
        assert_eq!(
            spawn(&mut service, 2).len(),
            2,
            "those that there are can be used"
        );
        assert!(refusal(spawn(&mut service, u32::MAX)).contains("4 are used"));
        let late = RankRequest::Spawn(vec![command(1)]);
        assert_eq!(
            refusal(service.handle(1, 1, late, false)),
            "the job is ending"
        );
    }

    #[test]
    fn a_name_has_one_port_until_it_is_withdrawn() {
        let mut service = service(0);
        let name = || "ocean".to_owned();
        let mut ask = |request| match service.handle(0, 0, request, true).remove(0) {
            SpawnAction::Answer(0, 0, RankAnswer::Port(port)) => Ok(port),
            SpawnAction::Answer(0, 0, RankAnswer::Refused(why)) => Err(why),
            other => panic!("{other:?}"),
        };
        let publish = |port: &str| RankRequest::Publish {
            service: name(),
            port: port.to_owned(),
        };
        assert!(ask(RankRequest::Lookup { service: name() }).is_err());
        assert_eq!(ask(publish("p")), Ok("p".to_owned()));
        assert!(ask(publish("q")).unwrap_err().contains("already"));
        assert_eq!(
            ask(RankRequest::Lookup { service: name() }),
            Ok("p".to_owned())
        );
        assert_eq!(
            ask(RankRequest::Unpublish { service: name() }),
            Ok("p".to_owned())
        );
        assert!(ask(RankRequest::Unpublish { service: name() }).is_err());
    }
}

//! Process creation (MPI 5.0, chapter 11.8) and the communication of groups that have no
//! communicator in common (11.9). docs/spawning.md has the whole.
//!
//! | file | is |
//! |---|---|
//! | [`command`] | which file a command means, and how many ranks of it |
//! | `mod.rs` | the ranks that spawn |
//! | [`spawned`] | the ranks that were spawned |
//! | [`ports`] | ports: accept and connect |
//! | [`names`] | names of ports |
//!
//! The root asks the launcher, by way of its node manager, for ranks. It waits in the kernel for
//! the answer, so it counts as awake for the deadlock detector; the other ranks wait in a
//! broadcast. Then both groups are ranks of one job, and agree on an intercommunicator as in
//! `MPI_Intercomm_create`. The leaders need a context for that, which both know: it is that of the
//! universe ([`UNIVERSE_CONTEXT`]). Each of them knows the number of the other one in the job.

mod command;
mod names;
mod ports;
mod spawned;

pub use command::Command;

use super::error::{ErrorClass, Operation};
use super::objects::context_ids::GROUP_MESSAGES;
use super::objects::members::Members;
use super::point_to_point::MessageCall;
use super::{Comm, Process, Result};
use crate::call_site;
use crate::recording::{CallTiming, Primitive, Site};
use bcs_core::job::{RankAnswer, RankRequest, SpawnedGroup};
use bcs_core::wait_state::UNIVERSE_CONTEXT;
use std::sync::Arc;

/// The tags of spawns in the universe: this and the number of the spawn. (Those of connections are
/// below.)
const SPAWN_TAG: i32 = 1 << 29;

/// The tags by which spawned ranks make their world.
const WORLD_TAG: i32 = SPAWN_TAG | 1 << 28;

/// Returns the number of a spawn in tags.
fn tag_of(number: u32) -> i32 {
    (number & 0x00ff_ffff).cast_signed()
}

/// The result of a spawn.
#[derive(Debug)]
pub struct SpawnOutcome {
    /// For each command: how many ranks were asked for, and how many were started.
    pub counts: Vec<(usize, usize)>,
    /// The communicator with the ranks.
    pub comm: Result<Comm>,
}

impl Process {
    /// Returns a communicator for messages of the library between this rank and another one of the
    /// job, whether or not they have another communicator in common.
    pub(in crate::mpi) fn pair(self: &Arc<Self>, other: u32) -> Comm {
        let me = self.world_rank();
        let members = vec![me.min(other), me.max(other)];
        self.in_universe(Members::new(members, usize::from(me > other)))
    }

    /// Returns a communicator of ranks of the job for messages of the library only.
    fn in_universe(self: &Arc<Self>, group: Members) -> Comm {
        let family = self.world_family.clone();
        let context = UNIVERSE_CONTEXT | GROUP_MESSAGES;
        self.messages_only(context, group, family)
    }
}

/// Makes the error of a request that the launcher, or the way to it, has refused.
fn refused(operation: &Operation, class: ErrorClass, why: String) -> Box<super::Error> {
    operation.error(class, why)
}

impl Comm {
    /// `MPI_Comm_spawn` and `MPI_Comm_spawn_multiple`: starts ranks that run these commands, of
    /// which only the root's count. All ranks of this communicator call it, and get the
    /// communicator with the new ranks, whose world they are.
    ///
    /// # Errors
    /// When there is no launcher, the job has not enough places, or a program cannot be started
    /// (`MPI_ERR_SPAWN` at all ranks); when an argument is wrong.
    #[track_caller]
    pub fn spawn(&self, call: &'static str, commands: &[Command<'_>], root: i32) -> SpawnOutcome {
        let call = MessageCall::standard(call, Primitive::IntercommCreate);
        let operation = Operation::plain(call.name);
        let site = Site::here();
        let _at = call_site::enter(site);
        let mut counts = Vec::new();
        let comm = self.record_call((call.primitive, CallTiming::Waits), &operation, |_| {
            self.usable_within(&operation)?;
            self.world_rank(root, &operation)?;
            let asked = (self.rank() == root).then(|| self.ask_for_ranks(commands, &operation));
            if let Some((all, _)) = &asked {
                counts.clone_from(all);
            }
            let group =
                self.share_group(asked.map(|(_, group)| group), &mut counts, root, operation)?;
            let other =
                (self.rank() == root).then_some((group.first, SPAWN_TAG | tag_of(group.number)));
            self.unite(root, other, call, operation, site)
        });
        SpawnOutcome { counts, comm }
    }

    /// Asks the launcher for ranks. Returns how many of each command were asked for and started.
    fn ask_for_ranks(
        &self,
        commands: &[Command<'_>],
        operation: &Operation,
    ) -> (Vec<(usize, usize)>, Result<SpawnedGroup>) {
        let asked = |command: &Command<'_>| (usize::try_from(command.ranks).unwrap_or(0), 0);
        let mut counts: Vec<(usize, usize)> = commands.iter().map(asked).collect();
        let group = (|| {
            let found = commands.iter().map(|command| command.find(operation));
            let found = found.collect::<Result<Vec<_>>>()?;
            let ranks: Vec<u32> = found.iter().map(|found| found.ranks).collect();
            let request = RankRequest::Spawn(found);
            let fail = |why| refused(operation, ErrorClass::Spawn, why);
            request.check().map_err(fail)?;
            match self.process().ask_launcher(request).map_err(fail)? {
                RankAnswer::Spawned(group) => {
                    let started = counts.iter_mut().zip(&ranks);
                    started.for_each(|((_, started), &ranks)| *started = ranks as usize);
                    Ok(group)
                }
                RankAnswer::Refused(why) => Err(fail(why)),
                RankAnswer::Port(_) => Err(fail("the launcher's answer makes no sense".to_owned())),
            }
        })();
        (counts, group)
    }

    /// Gives all ranks what the root has found.
    fn share_group(
        &self,
        found: Option<Result<SpawnedGroup>>,
        counts: &mut Vec<(usize, usize)>,
        root: i32,
        operation: Operation,
    ) -> Result<SpawnedGroup> {
        let mut words = match &found {
            None => [0; 5],
            Some(Ok(group)) => [
                0,
                u64::from(group.first),
                u64::from(group.ranks),
                u64::from(group.number),
                counts.len() as u64,
            ],
            Some(Err(error)) => {
                let class = u64::from(error.class.code().unsigned_abs());
                [class, 0, 0, 0, counts.len() as u64]
            }
        };
        self.share(&mut words, root, operation)?;
        let [class, first, ranks, number, commands] = words;
        let mut all = match found {
            Some(_) => counts
                .iter()
                .flat_map(|&(asked, started)| [asked as u64, started as u64])
                .collect(),
            None => vec![0; 2 * index(commands)],
        };
        self.share(&mut all, root, operation)?;
        *counts = all
            .chunks_exact(2)
            .map(|pair| (index(pair[0]), index(pair[1])))
            .collect();
        found.transpose()?;
        if class != 0 {
            let class = i32::try_from(class).ok().and_then(ErrorClass::from_code);
            let class = class.unwrap_or(ErrorClass::Spawn);
            let reason = format!(
                "the root, rank {root}, has found {}: see its error",
                class.text()
            );
            return Err(operation.error(class, reason));
        }
        let number_of = |word: u64| u32::try_from(word).expect("the root has checked it");
        Ok(SpawnedGroup {
            first: number_of(first),
            ranks: number_of(ranks),
            number: number_of(number),
            root: self.world_rank(root, &operation)?,
        })
    }
}

fn index(word: u64) -> usize {
    usize::try_from(word).expect("the root has as many")
}

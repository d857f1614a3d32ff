//! The requests of a rank to the launcher of its job, and the answers: to start other ranks
//! (`MPI_Comm_spawn`), and names that ranks publish (docs/spawning.md).
//!
//! A request is an allegation of a rank. [`RankRequest::check`] finds requests that no library of
//! ours sends.

use crate::limits::{MAX_RANKS, MAX_REQUEST_BYTES, MAX_SPAWN_COMMANDS};
use serde::{Deserialize, Serialize};

/// A program to start as ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnCommand {
    /// The file to execute.
    pub program: Vec<u8>,
    /// Its arguments, the name first.
    pub arguments: Vec<Vec<u8>>,
    /// The number of ranks that run it.
    pub ranks: u32,
    /// Its working directory.
    pub directory: Vec<u8>,
}

/// A request of a rank to the launcher of its job. A rank has one at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankRequest {
    /// Start these programs; their ranks follow each other in this order.
    Spawn(Vec<SpawnCommand>),
    /// Publish a port by a name.
    Publish {
        /// The name.
        service: String,
        /// The port.
        port: String,
    },
    /// Withdraw a name.
    Unpublish {
        /// The name.
        service: String,
    },
    /// Find the port of a name.
    Lookup {
        /// The name.
        service: String,
    },
}

/// The answer to a [`RankRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankAnswer {
    /// These ranks were started.
    Spawned(SpawnedGroup),
    /// The port of a name.
    Port(String),
    /// It could not be done, for this reason.
    Refused(String),
}

/// Ranks that one call of `MPI_Comm_spawn` has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnedGroup {
    /// The first of them. The others follow it.
    pub first: u32,
    /// How many there are.
    pub ranks: u32,
    /// The number of the spawn in the job.
    pub number: u32,
    /// The rank that has asked for them.
    pub root: u32,
}

impl SpawnedGroup {
    /// Returns whether a rank is one of them.
    #[must_use]
    pub fn contains(&self, rank: u32) -> bool {
        rank.wrapping_sub(self.first) < self.ranks
    }
}

impl RankRequest {
    /// Checks a request.
    ///
    /// # Errors
    /// The fault of a request that exceeds a limit.
    pub fn check(&self) -> Result<(), String> {
        let Self::Spawn(commands) = self else {
            return Ok(());
        };
        if commands.is_empty() || commands.len() > MAX_SPAWN_COMMANDS {
            return Err(format!(
                "{} commands to spawn, and there may be {MAX_SPAWN_COMMANDS}",
                commands.len()
            ));
        }
        let ranks = commands
            .iter()
            .fold(0_u64, |ranks, command| ranks + u64::from(command.ranks));
        if ranks == 0 || ranks > MAX_RANKS as u64 {
            return Err(format!(
                "{ranks} ranks to spawn, and a job has {MAX_RANKS} at most"
            ));
        }
        let texts = commands.iter().flat_map(|command| {
            let own = [&command.program, &command.directory];
            own.into_iter().chain(&command.arguments)
        });
        if texts.clone().any(|text| text.contains(&0)) {
            return Err("a NUL byte in a command to spawn".to_owned());
        }
        let bytes = texts.fold(0, |bytes: usize, text| bytes.saturating_add(text.len()));
        if bytes > MAX_REQUEST_BYTES {
            return Err(format!(
                "{bytes} bytes of commands to spawn, and there may be {MAX_REQUEST_BYTES}"
            ));
        }
        let is_nameless = |command: &SpawnCommand| {
            command.program.is_empty() || command.arguments.is_empty() || command.ranks == 0
        };
        match commands.iter().any(is_nameless) {
            true => Err("a command to spawn without a program, or without ranks".to_owned()),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(ranks: u32) -> SpawnCommand {
        SpawnCommand {
            program: b"/bin/true".to_vec(),
            arguments: vec![b"true".to_vec()],
            ranks,
            directory: b"/".to_vec(),
        }
    }

    #[test]
    fn a_request_within_the_limits_is_taken() {
        assert_eq!(
            RankRequest::Spawn(vec![command(2), command(1)]).check(),
            Ok(())
        );
        let service = "x".to_owned();
        assert_eq!(RankRequest::Lookup { service }.check(), Ok(()));
    }

    #[test]
    fn a_request_beyond_a_limit_is_refused() {
        let with = |change: &dyn Fn(&mut SpawnCommand)| {
            let mut changed = command(1);
            change(&mut changed);
            RankRequest::Spawn(vec![command(1), changed]).check()
        };
        assert!(RankRequest::Spawn(Vec::new()).check().is_err());
        assert!(
            RankRequest::Spawn(vec![command(1); MAX_SPAWN_COMMANDS + 1])
                .check()
                .is_err()
        );
        assert!(
            RankRequest::Spawn(vec![command(u32::MAX), command(2)])
                .check()
                .is_err()
        );
        assert!(with(&|command| command.ranks = 0).is_err());
        assert!(with(&|command| command.program.clear()).is_err());
        assert!(with(&|command| command.arguments.clear()).is_err());
        assert!(with(&|command| command.directory.push(0)).is_err());
        assert!(with(&|command| command.arguments.push(vec![1; MAX_REQUEST_BYTES])).is_err());
    }

    #[test]
    fn a_group_knows_its_ranks() {
        let group = SpawnedGroup {
            first: 4,
            ranks: 2,
            number: 1,
            root: 0,
        };
        assert_eq!(
            [3, 4, 5, 6].map(|rank| group.contains(rank)),
            [false, true, true, false]
        );
    }
}

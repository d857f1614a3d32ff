//! A rank that was spawned: its world, and its communicator with the ranks that have spawned it.

use super::{SPAWN_TAG, WORLD_TAG, tag_of};
use crate::mpi::create_group::{AgreementGroup, agree_on_id, agreement};
use crate::mpi::error::Operation;
use crate::mpi::objects::members::Members;
use crate::mpi::objects::universe::SpawnedWorld;
use crate::mpi::point_to_point::MessageCall;
use crate::mpi::{Comm, Process, Result};
use crate::recording::{Primitive, Site};
use bcs_core::job::SpawnedGroup;
use bcs_core::lockstep;
use std::sync::Arc;

const CALL: MessageCall = MessageCall::standard("MPI_Init", Primitive::IntercommCreate);

impl Process {
    /// Does the part of `MPI_Init` of a rank that was spawned: makes its world with the others of
    /// its group, and then the communicator with its parents.
    #[track_caller]
    pub(in crate::mpi) fn join_universe(self: &Arc<Self>) -> Result<()> {
        let Some(spawned) = self.universe.start.spawned else {
            return Ok(());
        };
        let operation = Operation::plain(CALL.name);
        self.make_world(spawned, operation)?;
        let world = self.world();
        let parent = (self.world_rank() == spawned.first)
            .then(|| (spawned.root, SPAWN_TAG | tag_of(spawned.number)));
        let comm = world.unite(0, parent, CALL, operation, Site::here())?;
        comm.set_name("MPI_COMM_PARENT");
        self.endpoint.bcs_keeps(comm.0.context);
        *lockstep::lock(&self.universe.parent) = Some(comm);
        Ok(())
    }

    fn make_world(self: &Arc<Self>, spawned: SpawnedGroup, operation: Operation) -> Result<()> {
        let members: Vec<u32> = (spawned.first..spawned.first + spawned.ranks).collect();
        let group = Members::new(
            members.clone(),
            (self.world_rank() - spawned.first) as usize,
        );
        let family = self.pair_family(&members);
        let base = self.in_universe(group.clone());
        let made = if members.len() == 1 {
            let properties = Arc::new(base.0.properties.inherited());
            self.single(group.clone(), None, properties, operation)?
        } else {
            let tag = WORLD_TAG | tag_of(spawned.number);
            let circle = AgreementGroup {
                call: CALL,
                comm: base.clone(),
                tag,
            };
            let or = |words: &mut [u64]| circle.allreduce_or(words);
            let number = agreement(base.0.context, tag);
            let id = agree_on_id(or, number, &family, self.held_contexts(), operation)?;
            let sides = (group.clone(), None);
            let comm = base.child_from(&family, sides, Some(id), None, operation);
            base.keep_if_all_succeeded(comm, Some(id), operation, or)?
        };
        let world = SpawnedWorld {
            context: made.0.context,
            group,
            family: made.0.family.clone(),
        };
        self.endpoint.bcs_keeps(world.context);
        let is_first = self.universe.world.set(world).is_ok();
        debug_assert!(is_first, "a process initialises once");
        // Its context is open as long as the process lives.
        std::mem::forget(made);
        Ok(())
    }

    /// `MPI_Comm_get_parent`: returns the communicator with the ranks that have spawned this one;
    /// `None` if it was not spawned, or has freed that communicator.
    #[must_use]
    pub fn parent(&self) -> Option<Comm> {
        lockstep::lock(&self.universe.parent).clone()
    }

    /// Forgets the communicator with the parents, if this one is it.
    pub(in crate::mpi) fn forget_parent(&self, comm: &Comm) {
        let mut parent = lockstep::lock(&self.universe.parent);
        let freed = parent.take_if(|parent| parent == comm);
        drop(parent);
        drop(freed);
    }
}

impl Comm {
    /// `MPI_Comm_disconnect`: frees the communicator when all that this rank has begun on it is
    /// over.
    ///
    /// # Errors
    /// When it is the world, or was freed, or a function that deletes an attribute fails.
    pub fn disconnect(&self) -> Result<()> {
        self.process().flush_buffers();
        self.free()
    }
}

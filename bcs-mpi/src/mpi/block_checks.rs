//! The blocks that the members of a communicator give each other in a collective. In a checked job
//! ([`crate::checked`]) the types of a block must be the same at the member that gives it and at
//! the one that takes it (MPI 5.0, 6.5 to 6.8 and 8.6).
//!
//! Where blocks have different types, or where only some members exchange any, the calls of two
//! members that follow each other say nothing about a block between two others. So each member
//! sends those to which it gives a block a report about it, and compares the reports about the
//! blocks that it takes. There are as many reports as blocks.
//!
//! A call that blocks waits for the reports of blocks that are not empty: it could not return
//! without these blocks anyway. Other reports are compared when they have come.

use super::blocks::BlockLayout;
use super::checks::{called, described, member_name};
use super::compared_blocks::{BlockTypes, ComparedBlocks, signature};
use super::datatype::Datatype;
use super::error::{ErrorClass, Operation, Result};
use super::{Comm, PROC_NULL};
use crate::bcs::Blocking;
use crate::checked::{AnnouncedCall, CallPredecessor, JobChecks, ReportSubject};
use crate::recording::Site;

impl BlockTypes {
    /// Returns the report about this block in a call at this place.
    fn report(&self, checked: &JobChecks, call: &'static str, site: Site) -> AnnouncedCall {
        let named = AnnouncedCall::new(call);
        let describe = || described(call, self.datatype(), site);
        let key = self.datatype().map_or(0, Datatype::key);
        AnnouncedCall {
            kind: checked.kinds.number(key ^ named.key(), site, describe),
            signature: signature(self.types.as_ref()),
            bytes: self.bytes(),
            ..named
        }
    }
}

/// Which blocks a call has.
impl Comm {
    /// Returns the block that this rank gives to itself.
    pub(super) fn own_block(
        &self,
        input: Option<&impl BlockLayout>,
        output: Option<&impl BlockLayout>,
    ) -> ComparedBlocks {
        let me = self.0.group.me;
        let (Some(input), Some(output)) = (input, output) else {
            return ComparedBlocks::NONE;
        };
        ComparedBlocks {
            given: vec![BlockTypes::of(input, me, me)],
            taken: vec![BlockTypes::of(output, me, me)],
        }
    }

    /// Returns the blocks of a gather, of which `input` may be in place at the root.
    pub(super) fn gathered_blocks(
        &self,
        input: Option<&impl BlockLayout>,
        output: &impl BlockLayout,
        root: i32,
    ) -> ComparedBlocks {
        let input = input.map(|input| (root, input));
        self.blocks_of_root(input, self.is_root(root).then_some(output))
            .unwrap_or_default()
    }

    /// Returns the blocks of a scatter, of which `output` may be in place at the root.
    pub(super) fn scattered_blocks(
        &self,
        input: &impl BlockLayout,
        output: Option<&impl BlockLayout>,
        root: i32,
    ) -> ComparedBlocks {
        let output = output.map(|output| (root, output));
        let blocks = self.blocks_of_root(output, self.is_root(root).then_some(input));
        let ComparedBlocks { given, taken } = blocks.unwrap_or_default();
        ComparedBlocks {
            given: taken,
            taken: given,
        }
    }

    /// Returns the block between this rank and the root as given, and those of the root as taken;
    /// `None` if there is no such root.
    fn blocks_of_root(
        &self,
        mine: Option<(i32, &impl BlockLayout)>,
        at_root: Option<&impl BlockLayout>,
    ) -> Option<ComparedBlocks> {
        let (me, size) = (self.0.group.me, self.members().len());
        let in_place = mine.is_none();
        let given = match mine {
            None => Vec::new(),
            Some((root, mine)) => {
                let root = usize::try_from(root).ok().filter(|&root| root < size)?;
                vec![BlockTypes::of(mine, me, root)]
            }
        };
        let taken = at_root.map_or(Vec::new(), |blocks| {
            let members = (0..size).filter(|&member| member != me || !in_place);
            members
                .map(|member| BlockTypes::of(blocks, member, member))
                .collect()
        });
        Some(ComparedBlocks { given, taken })
    }

    /// Returns the blocks of all with all.
    pub(super) fn exchanged_blocks(
        &self,
        input: &impl BlockLayout,
        output: &impl BlockLayout,
    ) -> ComparedBlocks {
        let members = 0..self.members().len();
        ComparedBlocks {
            given: members
                .clone()
                .map(|member| BlockTypes::of(input, member, member))
                .collect(),
            taken: members
                .map(|member| BlockTypes::of(output, member, member))
                .collect(),
        }
    }

    /// Returns the blocks among neighbours. Several blocks from one rank are in the order in which
    /// it gives them.
    pub(super) fn neighbors_blocks(
        &self,
        input: &impl BlockLayout,
        output: &impl BlockLayout,
    ) -> ComparedBlocks {
        let Ok(hood) = self.neighborhood(Operation::plain("")) else {
            return ComparedBlocks::NONE;
        };
        let place = |rank: i32| usize::try_from(rank).ok().filter(|_| rank != PROC_NULL);
        let given = hood.destinations.iter().enumerate();
        let taken = hood.matched.iter().map(|&at| (at, &hood.sources[at]));
        ComparedBlocks {
            given: given
                .filter_map(|(at, &rank)| Some(BlockTypes::of(input, at, place(rank)?)))
                .collect(),
            taken: taken
                .filter_map(|(at, &rank)| Some(BlockTypes::of(output, at, place(rank)?)))
                .collect(),
        }
    }

    /// Returns the blocks of a call with a wrong argument: this rank gives others blocks of unknown
    /// types, so nobody waits for a report.
    pub(super) fn unknown_blocks(&self, to: &[u32]) -> ComparedBlocks {
        let place = |rank| self.members().iter().position(|member| member == rank);
        let given = to.iter().filter_map(place).map(|member| BlockTypes {
            member,
            types: None,
        });
        ComparedBlocks {
            given: given.collect(),
            taken: Vec::new(),
        }
    }
}

/// How blocks are compared.
impl Comm {
    /// Reports the blocks that this rank gives to others, and notes those that it takes.
    pub(super) fn report_blocks(
        &self,
        checked: &JobChecks,
        blocks: &ComparedBlocks,
        call: &'static str,
        site: Site,
    ) {
        let (endpoint, members) = (self.process().endpoint(), self.members());
        let me = self.0.group.me;
        for block in blocks.given.iter().filter(|block| block.member != me) {
            let report = block.report(checked, call, site);
            let to = members[block.member];
            checked.kinds.tell(endpoint, to, report.kind);
            let subject = (self.0.context, ReportSubject::Block);
            checked.calls.tell(endpoint, subject, to, report);
        }
        for block in blocks.taken.iter().filter(|block| block.member != me) {
            let report = block.report(checked, call, site);
            checked.calls.expect(self.block_circle(block), report, site);
        }
    }

    fn block_circle(&self, block: &BlockTypes) -> CallPredecessor {
        CallPredecessor {
            context: self.0.context,
            member: self.members()[block.member],
            subject: ReportSubject::Block,
        }
    }

    /// Compares the blocks that this rank takes with the reports about them.
    pub(super) fn compare_blocks(
        &self,
        checked: &JobChecks,
        blocks: &ComparedBlocks,
        blocking: Blocking,
        (call, site): (&'static str, Site),
    ) -> Result<()> {
        let (process, me) = (self.process(), self.0.group.me);
        let operation = Operation::plain(call);
        let of_own = |blocks: &[BlockTypes]| -> Vec<AnnouncedCall> {
            let own = blocks.iter().filter(|block| block.member == me);
            own.map(|block| block.report(checked, call, site)).collect()
        };
        let own = of_own(&blocks.given).into_iter().zip(of_own(&blocks.taken));
        let mut found = Ok(());
        for (given, taken) in own {
            if found.is_ok() && !given.agrees_with(&taken) {
                let given = called(&given, checked.kinds.own(given.kind));
                let taken = called(&taken, checked.kinds.own(taken.kind));
                let reason = format!(
                    "the types of a block differ: rank {me} gives itself {given}, and takes {taken}"
                );
                found = Err(operation.error(ErrorClass::Type, reason));
            }
        }
        // Compares all even if one differs: the reports must be consumed.
        for block in blocks.taken.iter().filter(|block| block.member != me) {
            let waits = match block.bytes() {
                0 => Blocking::No,
                _ => blocking,
            };
            let circle = self.block_circle(block);
            let name = |rank: &u32| member_name(self.members(), *rank);
            let compared = process.compare(checked, circle, waits, operation, name);
            found = found.and(compared);
        }
        found
    }
}

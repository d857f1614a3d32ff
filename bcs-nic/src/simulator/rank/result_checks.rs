//! Checks the results of a scripted rank's requests.

use super::{NextAction, RankView, ReopenStep, RequestPurpose, ScriptedRank, number_beside};
use crate::simulator::canary_buffer::CanaryBuffer;
use crate::simulator::checkers::{Checker, ObservedReceive, check_receives};
use crate::simulator::program::{ProgramMessage, ProgramRound};
use bcs_core::descriptor::NicCollectiveCall;
use bcs_core::request::{Completion, RequestFailure};
use bcs_fabric::sim::RankStore;

impl ScriptedRank {
    /// Checks the results of a step, when all its requests have completed.
    pub(super) fn check(
        &mut self,
        world: &RankView<'_>,
        store: &RankStore,
    ) -> Result<(), (Checker, String)> {
        for outstanding in &self.outstanding {
            let completion = outstanding.completion.expect("all have completed");
            let tolerated = match completion.failure {
                RequestFailure::PeerGone => !world.nobody_died,
                RequestFailure::Mismatch => {
                    matches!(outstanding.purpose, RequestPurpose::Collective { .. })
                }
                RequestFailure::Cancelled => {
                    matches!(
                        outstanding.purpose,
                        RequestPurpose::ProbeOnce | RequestPurpose::Cancelled
                    )
                }
                RequestFailure::None => !matches!(
                    outstanding.purpose,
                    RequestPurpose::Cancelled | RequestPurpose::Send { missing: true }
                ),
                RequestFailure::BadAddress => matches!(
                    outstanding.purpose,
                    RequestPurpose::Send { missing: true }
                        | RequestPurpose::Receive { missing: true, .. }
                ),
                RequestFailure::SenderMemory => {
                    matches!(outstanding.purpose, RequestPurpose::Receive { .. })
                }
                RequestFailure::MemberMemory => {
                    matches!(outstanding.purpose, RequestPurpose::Collective { .. })
                }
                _ => false,
            };
            self.memory_faults += u64::from(matches!(
                completion.failure,
                RequestFailure::BadAddress
                    | RequestFailure::SenderMemory
                    | RequestFailure::MemberMemory
            ));
            if !tolerated {
                let what = format!(
                    "rank {}: {:?} failed with {:?}",
                    self.rank, outstanding.purpose, completion.failure
                );
                return Err((Checker::Soundness, what));
            }
        }
        for outstanding in &self.outstanding {
            let done = outstanding.completion.map(|done| done.failure);
            if let (RequestPurpose::Open { context }, Some(RequestFailure::None)) =
                (&outstanding.purpose, done)
            {
                self.opened[*context as usize] = true;
            }
        }
        match self.next {
            NextAction::Collective(round) => self.check_round(round, world, store),
            // After a round whose contexts were opened again there is nothing left to check.
            NextAction::Again(round, ReopenStep::Close) => {
                self.check_collectives(round, world, store)
            }
            NextAction::Compute(round) if round > 0 => {
                self.check_collectives(round - 1, world, store)
            }
            _ => Ok(()),
        }
    }

    fn check_round(
        &mut self,
        round: usize,
        world: &RankView<'_>,
        store: &RankStore,
    ) -> Result<(), (Checker, String)> {
        // All eager payloads of the round have been moved.
        self.payloads = 0;
        let messages = &world.program.rounds[round].messages;
        let mut received: Vec<Option<ObservedReceive>> = vec![None; self.receives_posted];
        let mut extracted = Vec::new();
        // The number of receives without room, and the sources whose memory was missing.
        let (mut lost, mut unread) = (0, Vec::new());
        for outstanding in &self.outstanding {
            let completion = outstanding.completion.expect("all have completed");
            let receives = matches!(outstanding.purpose, RequestPurpose::Receive { .. });
            match completion.failure {
                RequestFailure::None => {}
                RequestFailure::BadAddress if receives => lost += 1,
                RequestFailure::SenderMemory => unread.push(completion.source),
                _ => {}
            }
            if completion.failure != RequestFailure::None {
                continue;
            }
            match &outstanding.purpose {
                RequestPurpose::Receive { nth, into, .. } => {
                    let got = self.take_received(&completion, into, store)?;
                    match nth {
                        Some(nth) => received[*nth] = Some(got),
                        None => extracted.push(got),
                    }
                }
                RequestPurpose::ProbeOnce | RequestPurpose::Extract { .. } => {
                    check_found(self.rank, messages, &completion)?;
                }
                _ => {}
            }
        }
        // If nodes have died, messages may be missing for that reason.
        let lost = world.nobody_died.then_some(lost);
        let rank = self.rank;
        self.checked += check_receives(rank, messages, &received, &extracted, lost)?;
        let is_unread =
            |message: &&ProgramMessage| message.destination == self.rank && message.missing;
        let missing = messages.iter().filter(is_unread);
        let mut missing: Vec<u32> = missing.map(|message| message.source).collect();
        missing.sort_unstable();
        unread.sort_unstable();
        if world.nobody_died && unread != missing {
            let what = format!(
                "rank {} was told that it could not receive from {unread:?}, and not {missing:?}",
                self.rank
            );
            return Err((Checker::ExactlyOnce, what));
        }
        Ok(())
    }

    /// Returns what a receive brought, after a check that it wrote nothing else.
    fn take_received(
        &self,
        completion: &Completion,
        into: &CanaryBuffer,
        store: &RankStore,
    ) -> Result<ObservedReceive, (Checker, String)> {
        let len = usize::try_from(completion.len).expect("small");
        let inline = completion.inline_bytes();
        let moved = if inline.is_empty() { len } else { 0 };
        if !into.is_guarded(moved, store) {
            let what = format!("rank {}: bytes beside a message were written", self.rank);
            return Err((Checker::ExactlyOnce, what));
        }
        let bytes = if inline.is_empty() {
            into.message(len, store)
        } else {
            inline.to_vec()
        };
        Ok(ObservedReceive {
            source: completion.source,
            tag: completion.tag,
            len: completion.len,
            bytes,
        })
    }

    fn check_collectives(
        &mut self,
        round: usize,
        world: &RankView<'_>,
        store: &RankStore,
    ) -> Result<(), (Checker, String)> {
        self.check_beside(round, world, store)?;
        self.check_together(round, world, store)
    }

    fn check_beside(
        &mut self,
        round: usize,
        world: &RankView<'_>,
        store: &RankStore,
    ) -> Result<(), (Checker, String)> {
        let ranks = u32::try_from(world.placement.ranks()).expect("few");
        for outstanding in &self.outstanding {
            let RequestPurpose::Beside { nth, address } = outstanding.purpose else {
                continue;
            };
            let completion = outstanding.completion.expect("all have completed");
            if completion.failure != RequestFailure::None {
                continue; // a node has died
            }
            let (context, together) = &world.program.rounds[round].beside[nth];
            let members = world.program.members(*context, ranks);
            let number = number_beside(nth, round);
            let answer = together.answer(self.rank, &members, world.placement, number);
            if let Some(answer) = answer
                && bytes_of(&completion, address, answer.len() as u64, store) != answer
            {
                let what = format!(
                    "rank {}: wrong result of {together:?} beside others",
                    self.rank
                );
                return Err((Checker::Collective, what));
            }
            self.checked += 1;
        }
        Ok(())
    }

    fn check_together(
        &mut self,
        round: usize,
        world: &RankView<'_>,
        store: &RankStore,
    ) -> Result<(), (Checker, String)> {
        let program = &world.program.rounds[round];
        let Some((context, together)) = &program.together else {
            return Ok(());
        };
        for outstanding in &self.outstanding {
            let RequestPurpose::Collective { address } = outstanding.purpose else {
                continue;
            };
            let completion = outstanding.completion.expect("all have completed");
            let ranks = u32::try_from(world.placement.ranks()).expect("few");
            let members = world.program.members(*context, ranks);
            // The stray rank may have died before anybody could see its call.
            let (all, on) = (&members, world.placement);
            let must_be_told = program.must_be_told(self.rank, all, on);
            let as_it_should = match completion.failure {
                RequestFailure::None => {
                    !(world.nobody_died && (program.disagrees(&members) || must_be_told))
                }
                RequestFailure::MemberMemory => {
                    let culprit = program.missing_memory(all, on).map(|(rank, _)| rank.into());
                    culprit == Some(completion.len)
                }
                RequestFailure::Mismatch => program.disagrees(&members),
                _ => true,
            };
            if !as_it_should {
                let what = format!(
                    "rank {}: {together:?} ended with {:?} ({}), though one did {:?} and {:?} is missing",
                    self.rank, completion.failure, completion.len, program.astray, program.missing
                );
                return Err((Checker::Collective, what));
            }
            if completion.failure == RequestFailure::Mismatch {
                check_told(&completion, program, &members)?;
                self.checked += 1;
            }
            if completion.failure != RequestFailure::None {
                continue;
            }
            let together = program.collective_of(self.rank).unwrap_or(together);
            let answer = together.answer(self.rank, &members, world.placement, round);
            if let Some(answer) = answer
                && bytes_of(&completion, address, answer.len() as u64, store) != answer
            {
                let what = format!("rank {}: wrong result of {together:?}", self.rank);
                return Err((Checker::Collective, what));
            }
            self.checked += 1;
        }
        Ok(())
    }
}

/// Checks that the message which a probe found was sent to this rank.
fn check_found(
    rank: u32,
    messages: &[ProgramMessage],
    found: &Completion,
) -> Result<(), (Checker, String)> {
    let is_it = |message: &ProgramMessage| {
        let envelope = (message.source, message.tag, message.len as u64);
        message.destination == rank && envelope == (found.source, found.tag, found.len)
    };
    if messages.iter().any(is_it) {
        return Ok(());
    }
    let what = format!("rank {rank} found a message that nobody sent: {found:?}");
    Err((Checker::ExactlyOnce, what))
}

/// Checks that a member of a refused collective got a call that some member really made.
fn check_told(
    completion: &Completion,
    round: &ProgramRound,
    members: &[u32],
) -> Result<(), (Checker, String)> {
    let told = NicCollectiveCall::unpack(completion.len);
    let is_true = told.is_some_and(|told| {
        let really = round.collective_of(told.rank);
        members.contains(&told.rank) && really.is_some_and(|what| what.call(told.rank) == told)
    });
    if is_true {
        return Ok(());
    }
    let what = format!("a member was told that another called {told:?}");
    Err((Checker::Collective, what))
}

/// Returns the bytes of a completion: inline, or in the rank's memory.
fn bytes_of(completion: &Completion, address: u64, len: u64, store: &RankStore) -> Vec<u8> {
    if completion.inline_len > 0 {
        return completion.inline_bytes().to_vec();
    }
    let start = usize::try_from(address - store.start).expect("small");
    store.bytes[start..start + usize::try_from(len).expect("small")].to_vec()
}

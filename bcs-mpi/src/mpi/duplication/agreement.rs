//! How members agree on a duplicate's context id while they do something else.
#![expect(unsafe_code, reason = "a context names its members by address")]

use super::tree_allreduce::TreeAllreduce;
use crate::bcs;
use crate::endpoint::{AsyncOperation, OperationContext, OperationId, succeeded};
use crate::mpi::create::ATTEMPTS;
use crate::mpi::objects::context_ids::{
    CommFamily, ContextIdSet, HeldContextIds, IdContribution, choose,
};
use crate::transport::{RequestOutcome, TransportHandle};
use bcs_core::request::RequestFailure;
use std::sync::{Arc, OnceLock};

/// The outcome of an agreement.
#[derive(Clone, Copy, Debug)]
pub(super) enum AgreementOutcome {
    /// All members have opened the context with this id.
    Opened(u32),
    NoId,
    /// Another member could not open it.
    Refused,
    Failed(RequestFailure),
}

/// The members, and how they communicate.
#[derive(Debug)]
pub(super) struct DuplicationMembers {
    /// The context and tag of their messages.
    pub(super) on: (u32, i32),
    /// World ranks, and this rank's place.
    pub(super) members: Arc<[u32]>,
    pub(super) me: usize,
    /// The number of members on this node.
    pub(super) local: u32,
    pub(super) family: Arc<CommFamily>,
    pub(super) held: Arc<HeldContextIds>,
    /// A number that no other agreement of these members has.
    pub(super) agreement: u64,
}

impl DuplicationMembers {
    fn together(&self, words: &[u64]) -> TreeAllreduce {
        TreeAllreduce::new(words, self.me, &self.members)
    }

    /// Starts the phase that finds the unavailable ids.
    fn ask(&self) -> AgreementPhase {
        let said = Box::new(self.family.contribute());
        let or = self.together(said.unavailable.words());
        AgreementPhase::Asking { or, said }
    }

    /// Starts a phase that finds whether any member could not do its part.
    fn could(&self, could: bool) -> TreeAllreduce {
        self.together(&[u64::from(!could)])
    }
}

#[derive(Debug)]
enum AgreementPhase {
    Asking {
        or: TreeAllreduce,
        said: Box<IdContribution>,
    },
    Reserving {
        id: u32,
        reserved: bool,
        or: TreeAllreduce,
    },
    Opening {
        id: u32,
        request: Option<bcs::Request>,
    },
    Agreeing {
        id: u32,
        opened: bool,
        or: TreeAllreduce,
    },
    /// Another member could not open the context.
    Closing {
        id: u32,
        request: Option<bcs::Request>,
    },
}

/// An agreement in progress.
#[derive(Debug)]
pub(super) struct Agreement {
    circle: DuplicationMembers,
    attempt: u32,
    phase: AgreementPhase,
    verdict: Arc<OnceLock<AgreementOutcome>>,
}

impl Agreement {
    /// Begins the agreement at one member. Returns it and the place of its verdict.
    pub(super) fn new(circle: DuplicationMembers) -> (Self, Arc<OnceLock<AgreementOutcome>>) {
        let verdict = Arc::new(OnceLock::new());
        let agreement = Self {
            phase: circle.ask(),
            circle,
            attempt: 0,
            verdict: verdict.clone(),
        };
        (agreement, verdict)
    }

    /// Returns the next phase, or the verdict, if a phase is over; `None` if it is not.
    fn step(
        &mut self,
        at: &mut dyn OperationContext,
        posted: &mut bool,
    ) -> Option<Result<AgreementPhase, AgreementOutcome>> {
        let (circle, attempt) = (&self.circle, &mut self.attempt);
        let mut is_over = |or: &mut TreeAllreduce, at: &mut dyn OperationContext| {
            let over = or.advance(at.mux(), circle.on, posted);
            over.map_err(AgreementOutcome::Failed)
        };
        let next = match &mut self.phase {
            AgreementPhase::Asking { or, said } => match is_over(or, at) {
                Ok(false) => return None,
                Err(failed) => Err(failed),
                Ok(true) => {
                    let unavailable = ContextIdSet::from_words(or.words());
                    circle.family.apply_agreement(&unavailable, said);
                    let ids = choose(&unavailable, 1, circle.agreement, *attempt);
                    ids.ok_or(AgreementOutcome::NoId).map(|ids| {
                        let reserved = circle.held.reserve(ids[0]);
                        AgreementPhase::Reserving {
                            id: ids[0],
                            reserved,
                            or: circle.could(reserved),
                        }
                    })
                }
            },
            AgreementPhase::Reserving { id, reserved, or } => match is_over(or, at) {
                Ok(false) => return None,
                Err(failed) => Err(failed),
                Ok(true) if or.words() == [0] => Ok(AgreementPhase::Opening {
                    id: *id,
                    request: None,
                }),
                Ok(true) => {
                    if *reserved {
                        circle.held.release(*id);
                    }
                    *attempt += 1;
                    match *attempt < ATTEMPTS {
                        true => Ok(circle.ask()),
                        false => Err(AgreementOutcome::NoId),
                    }
                }
            },
            // Without a free request slot, opening is tried again later.
            AgreementPhase::Opening { id, request } => {
                if request.is_none() {
                    // SAFETY: the list of members lives as long as this, which ends after the
                    // request.
                    *request = unsafe { at.open(*id, &circle.members) }.ok();
                }
                let outcome = at.take((*request)?)?;
                let opened = succeeded(&outcome).is_ok();
                if opened {
                    at.opened(*id, &circle.members, circle.local);
                }
                Ok(AgreementPhase::Agreeing {
                    id: *id,
                    opened,
                    or: circle.could(opened),
                })
            }
            AgreementPhase::Agreeing { id, opened, or } => match is_over(or, at) {
                Ok(false) => return None,
                Err(failed) => Err(failed),
                Ok(true) if or.words() == [0] => Err(AgreementOutcome::Opened(*id)),
                Ok(true) if *opened => Ok(AgreementPhase::Closing {
                    id: *id,
                    request: None,
                }),
                Ok(true) => {
                    circle.held.release(*id);
                    Err(AgreementOutcome::Refused)
                }
            },
            AgreementPhase::Closing { id, request } => {
                if request.is_none() {
                    *request = at.close(*id).ok();
                }
                at.take((*request)?)?;
                circle.held.release(*id);
                Err(AgreementOutcome::Refused)
            }
        };
        Some(next)
    }
}

impl AsyncOperation for Agreement {
    fn advance(
        &mut self,
        at: &mut dyn OperationContext,
        posted: &mut bool,
    ) -> Option<RequestOutcome> {
        loop {
            match self.step(at, posted)? {
                Ok(next) => self.phase = next,
                Err(verdict) => {
                    let _once = self.verdict.set(verdict);
                    return Some(RequestOutcome::default());
                }
            }
        }
    }

    fn awaits(&self) -> Vec<TransportHandle> {
        let request = match &self.phase {
            AgreementPhase::Asking { or, .. }
            | AgreementPhase::Reserving { or, .. }
            | AgreementPhase::Agreeing { or, .. } => {
                return or.awaits();
            }
            AgreementPhase::Opening { request, .. } | AgreementPhase::Closing { request, .. } => {
                request
            }
        };
        match request {
            Some(bcs::Request(OperationId::Transport(handle))) => vec![*handle],
            _ => Vec::new(),
        }
    }
}

//! `MPI_Comm_idup` (MPI 5.0, 7.4.2): a duplicate of a communicator, without waiting.
//!
//! Blocking calls agree by collectives on the parent ([`create`](super::create)), one after the
//! other. A member's second collective meets the second collective of all others only if no member
//! begins another collective in between. Here a program may do that. So the members agree by
//! messages in a context of their own, the parent's with [`DUPLICATION_MESSAGES`] added, whose tag
//! is the number of the duplication on its parent. The messages go up a tree of the members and
//! down again, three times (`tree_allreduce.rs`). The agreement advances in every call of each rank
//! (`agreement.rs`), so duplications of several communicators complete in any order.
//!
//! | file | is |
//! |---|---|
//! | `tree_allreduce.rs` | the bitwise or of the words of all members |
//! | `agreement.rs` | the agreement: which ids are free, who could reserve one, who could open it |

mod agreement;
mod tree_allreduce;

use super::create::no_id;
use super::error::{ErrorClass, Operation};
use super::objects::context_ids::{CommFamily, DUPLICATION_MESSAGES};
use super::objects::properties::ObjectProperties;
use super::request::{CompletionHandler, CompletionKind};
use super::{Comm, Info, Request, Result, Status};
use crate::bcs::RequestOutcome;
use crate::call_site;
use crate::recording::{CallTiming, Primitive, RecordedOperation, Site};
use agreement::{Agreement, AgreementOutcome, DuplicationMembers};
use bcs_core::fingerprint::mix64;
use bcs_core::lockstep;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};

/// A function that gets the duplicate.
type OnDuplicated = Box<dyn FnOnce(Comm) + Send>;

/// The duplicate to be, once all have agreed.
struct DuplicateCompletion {
    verdict: Arc<OnceLock<AgreementOutcome>>,
    family: Arc<CommFamily>,
    kept: Arc<ObjectProperties<Comm>>,
    then: Mutex<Option<OnDuplicated>>,
}

impl fmt::Debug for DuplicateCompletion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut making = f.debug_struct("Making");
        making
            .field("verdict", &self.verdict)
            .finish_non_exhaustive()
    }
}

impl CompletionHandler for DuplicateCompletion {
    fn finish(&self, parent: &Comm, _: &RequestOutcome, operation: Operation) -> Result<Status> {
        let id = match self.verdict.get() {
            Some(AgreementOutcome::Opened(id)) => *id,
            Some(AgreementOutcome::NoId) => return Err(no_id(operation)),
            Some(AgreementOutcome::Failed(failure)) => return Err(operation.failure(*failure, 0)),
            Some(AgreementOutcome::Refused) | None => {
                let reason = "another rank could not make its part: see its error";
                return Err(operation.error(ErrorClass::Other, reason));
            }
        };
        let sides = (parent.0.group.clone(), parent.0.remote.clone());
        let topology = parent.0.topology.clone();
        let made = parent.opened(&self.family, sides, id, topology, self.kept.clone());
        if let Some(then) = lockstep::lock(&self.then).take() {
            then(made);
        }
        Ok(Status::EMPTY)
    }
}

impl Comm {
    /// `MPI_Comm_idup`: begins to duplicate. The call that finds the request done gives the
    /// duplicate to `then`. The duplicate has the attributes and hints that this communicator has
    /// now.
    ///
    /// # Errors
    /// When the communicator was freed, or a function that copies an attribute fails. The request
    /// fails if no context id is left.
    #[track_caller]
    pub fn idup(&self, then: impl FnOnce(Self) + Send + 'static) -> Result<Request> {
        self.duplicate("MPI_Comm_idup", &self.info(), Box::new(then))
    }

    /// `MPI_Comm_idup_with_info`: begins a duplicate with other hints.
    ///
    /// # Errors
    /// As [`idup`](Self::idup).
    #[track_caller]
    pub fn idup_with_info(
        &self,
        info: &Info,
        then: impl FnOnce(Self) + Send + 'static,
    ) -> Result<Request> {
        self.duplicate("MPI_Comm_idup_with_info", info, Box::new(then))
    }

    #[track_caller]
    fn duplicate(&self, call: &'static str, info: &Info, then: OnDuplicated) -> Result<Request> {
        let operation = Operation::plain(call);
        let _at = call_site::enter(Site::here());
        let recorded = (Primitive::CommDup, CallTiming::Starts);
        self.record_call(recorded, &operation, |begun| {
            self.usable(&operation)?;
            let kept = Arc::new(self.0.properties.inherited());
            *kept.info() = info.dup();
            let attributes = self.copied_attributes()?;
            kept.attributes.with(|kept| *kept = attributes);
            let told = RecordedOperation::started(begun, Primitive::CommDup);
            if self.is_single() {
                let (group, topology) = (self.0.group.clone(), self.0.topology.clone());
                then(self.process().single(group, topology, kept, operation)?);
                return Ok(Request::done(Ok(Status::EMPTY), 0, self, told));
            }
            let (agreement, verdict) = Agreement::new(self.duplication_members());
            let posted = self.process().endpoint().undertake(Box::new(agreement));
            let what = CompletionKind::Other(Arc::new(DuplicateCompletion {
                verdict,
                family: self.0.family.clone(),
                kept,
                then: Mutex::new(Some(then)),
            }));
            Ok(Request::posted(posted, what, self, &operation, told))
        })
    }

    #[cfg(test)]
    pub(crate) fn context_id(&self) -> u32 {
        self.0.context
    }

    /// Pretends that the communicator was duplicated this often. All members have to call it.
    #[cfg(test)]
    pub(crate) fn was_duplicated(&self, times: u32) {
        self.0.duplications.store(times, Ordering::Relaxed);
    }

    /// Returns the members, for the next duplication.
    fn duplication_members(&self) -> DuplicationMembers {
        let process = self.process();
        process.reap_closed_by_now();
        let number = self.0.duplications.fetch_add(1, Ordering::Relaxed);
        let tag = (number & i32::MAX.cast_unsigned()).cast_signed();
        let all = self.all_members();
        DuplicationMembers {
            on: (self.0.context | DUPLICATION_MESSAGES, tag),
            members: all.into(),
            me: self.place_among_all(),
            local: process.local_members(all),
            family: self.0.family.clone(),
            held: process.held_contexts().clone(),
            agreement: mix64(u64::from(self.0.context) << 32 | u64::from(all[0]))
                ^ u64::from(number),
        }
    }
}

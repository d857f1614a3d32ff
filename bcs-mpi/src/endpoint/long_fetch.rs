//! Updates that fetch more bytes than come back with one completion.
//!
//! Each element is updated in one step, and an update of many elements need not be one step (MPI
//! 5.0, section 12.7.1). So a long one is done in portions. A NIC applies the portions of one
//! origin and target in their order. So an update that is posted later must not overtake a portion:
//! the call that posts a long one ends when all its portions are posted. It needs nothing of the
//! target for that but its NIC.

use super::async_operation::{AsyncOperation, OperationContext};
use crate::data::{PackBuffer, PackBufferPool, gather, scatter};
use crate::transport::one_sided::{OneSided, OneSidedKind};
use crate::transport::{RequestOutcome, TransportHandle};
use bcs_core::limits::INLINE_BYTES;
use bcs_core::one_sided::UpdateKind;
use bcs_core::request::RequestFailure;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The portions under way at once: as many as one slice takes in a few microseconds.
const PORTIONS: usize = 128;

/// A portion: its result comes into a buffer of its own.
#[derive(Debug)]
struct Portion {
    handle: TransportHandle,
    at: usize,
    result: PackBuffer,
}

/// A long update that fetches.
#[derive(Debug)]
pub(super) struct LongFetch {
    operation: OneSided,
    posted: usize,
    under_way: VecDeque<Portion>,
    failure: RequestFailure,
    buffers: PackBufferPool,
    /// Set when all portions are posted, or none follows because of a failure.
    is_posted: Arc<AtomicBool>,
}

impl LongFetch {
    /// Returns the update as an async operation, if it is one of these.
    pub(super) fn of(operation: &OneSided) -> Option<Self> {
        let OneSidedKind::Update(update) = operation.kind else {
            return None;
        };
        let is_long = update.fetches && operation.len > INLINE_BYTES as u64;
        is_long.then(|| Self {
            operation: operation.clone(),
            posted: 0,
            under_way: VecDeque::new(),
            failure: RequestFailure::None,
            buffers: PackBufferPool::default(),
            is_posted: Arc::default(),
        })
    }

    /// Returns the flag that is set when all portions are posted.
    pub(super) fn posted_flag(&self) -> Arc<AtomicBool> {
        self.is_posted.clone()
    }

    fn len(&self) -> usize {
        usize::try_from(self.operation.len).expect("lengths have 64 bits here")
    }

    fn take(&mut self, at: &mut dyn OperationContext) {
        while let Some(oldest) = self.under_way.front() {
            let Some(outcome) = at.mux().take(oldest.handle) else {
                return;
            };
            let mut oldest = self.under_way.pop_front().expect("it is there");
            let len = INLINE_BYTES.min(self.len() - oldest.at);
            match outcome.failure {
                RequestFailure::None => {
                    scatter(&self.operation.result, oldest.at, oldest.result.bytes(len));
                }
                failure => self.failure = failure,
            }
            self.buffers.give_back(Some(oldest.result));
        }
    }

    /// Posts the next portion. Returns false if there is no room for it.
    fn post(&mut self, at: &mut dyn OperationContext) -> bool {
        let OneSidedKind::Update(update) = self.operation.kind else {
            unreachable!("only updates are long fetches");
        };
        let len = INLINE_BYTES.min(self.len() - self.posted);
        let mut operand = self.buffers.allocate(INLINE_BYTES);
        let mut result = self.buffers.allocate(INLINE_BYTES);
        let sent = match update.kind {
            UpdateKind::NoOp => 0,
            _ => {
                gather(&self.operation.origin, self.posted, operand.bytes(len));
                len
            }
        };
        let portion = OneSided {
            address: self.operation.address.wrapping_add(self.posted as u64),
            len: len as u64,
            origin: operand.plain(sent).into(),
            result: result.plain(len).into(),
            wakes_target: self.operation.wakes_target && self.posted + len == self.len(),
            ..self.operation.clone()
        };
        let posted = at.mux().one_sided(&portion);
        self.buffers.give_back(Some(operand));
        let Ok(handle) = posted else {
            return false;
        };
        self.under_way.push_back(Portion {
            handle,
            at: self.posted,
            result,
        });
        self.posted += len;
        true
    }
}

impl AsyncOperation for LongFetch {
    fn advance(
        &mut self,
        at: &mut dyn OperationContext,
        posted: &mut bool,
    ) -> Option<RequestOutcome> {
        self.take(at);
        while self.failure == RequestFailure::None
            && self.posted < self.len()
            && self.under_way.len() < PORTIONS
            && self.post(at)
        {
            *posted = true;
        }
        let is_over = self.posted == self.len() || self.failure != RequestFailure::None;
        if is_over {
            self.is_posted.store(true, Ordering::Release);
        }
        (is_over && self.under_way.is_empty()).then(|| RequestOutcome {
            len: self.operation.len,
            failure: self.failure,
            ..RequestOutcome::default()
        })
    }

    fn awaits(&self) -> Vec<TransportHandle> {
        self.under_way
            .iter()
            .map(|portion| portion.handle)
            .collect()
    }
}

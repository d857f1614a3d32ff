//! Puts, gets and accumulates (MPI 5.0, 12.3).
#![expect(
    unsafe_code,
    reason = "data are packed into memory that is named by address"
)]

use super::checked_operation::{CheckedOperation, GappedData};
use super::epoch_state::Permission;
use super::operands::{TargetData, element, first_bytes, operand_view, pieces};
use super::state::Window;
use crate::bcs::{self, DataView};
use crate::call_site;
use crate::mpi::error::{ErrorClass, Operation, Peer, Result};
use crate::mpi::{Buffer, Op};
use crate::recording::{CallTiming, Primitive, Site};
use crate::transport::one_sided::{OneSided, OneSidedKind, OneSidedRefusal};
use bcs_core::one_sided::{Update, UpdateKind};
use bcs_core::reduction;

/// The operation of an accumulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccumulateOp {
    /// A predefined operation of reductions.
    Reduce(Op),
    /// `MPI_REPLACE`.
    Replace,
    /// `MPI_NO_OP`.
    NoOp,
}

impl From<Op> for AccumulateOp {
    fn from(op: Op) -> Self {
        Self::Reduce(op)
    }
}

impl AccumulateOp {
    fn kind(self) -> UpdateKind {
        match self {
            Self::Reduce(op) => UpdateKind::Reduce(op),
            Self::Replace => UpdateKind::Replace,
            Self::NoOp => UpdateKind::NoOp,
        }
    }
}

/// Returns whether the elements of a buffer may be compared and swapped.
#[inline(always)]
fn can_be_compared(buffer: &Buffer) -> bool {
    use reduction::DatatypeClass::{Byte, Integer, Logical};
    let element = buffer.datatype().elementary();
    element.is_some_and(|element| matches!(element.class(), Integer | Logical | Byte))
}

/// Names a call at a target.
pub(super) fn at_target(call: &'static str, bytes: Option<usize>, rank: i32) -> Operation {
    Operation {
        bytes: bytes.map(|bytes| bytes as u64),
        peer: Some(Peer::To(rank)),
        ..Operation::plain(call)
    }
}

impl Window {
    /// `MPI_Put`: writes the origin's data to a target.
    ///
    /// # Errors
    /// When an argument is wrong, or no epoch allows it.
    #[track_caller]
    pub fn put(&self, origin: &Buffer, target: i32, data: TargetData<'_>) -> Result<()> {
        if self.put_at_once(origin, target, data) {
            return Ok(());
        }
        let operation = at_target("MPI_Put", origin.bytes(), target);
        let _at = call_site::enter(Site::here());
        self.record((Primitive::Put, CallTiming::Asks), &operation, || {
            let checked = self.checked_put(origin, target, data, operation)?;
            self.begin(checked)
        })
    }

    /// `MPI_Get`: reads the data of a target.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    #[track_caller]
    pub fn get(&self, into: &Buffer, target: i32, data: TargetData<'_>) -> Result<()> {
        if self.get_at_once(into, target, data) {
            return Ok(());
        }
        let operation = at_target("MPI_Get", into.bytes(), target);
        let _at = call_site::enter(Site::here());
        self.record((Primitive::Get, CallTiming::Asks), &operation, || {
            let checked = self.checked_get(into, target, data, operation)?;
            self.begin(checked)
        })
    }

    /// `MPI_Accumulate`: combines the origin's data with those of a target, there. Each element is
    /// updated in one step.
    ///
    /// # Errors
    /// As [`put`](Self::put), and when the operation is not defined on the elements.
    #[track_caller]
    pub fn accumulate(
        &self,
        origin: &Buffer,
        target: i32,
        data: TargetData<'_>,
        op: impl Into<AccumulateOp>,
    ) -> Result<()> {
        let op = op.into();
        if self.update_at_once(op.kind(), (origin, None, None), (target, data)) {
            return Ok(());
        }
        let operation = at_target("MPI_Accumulate", origin.bytes(), target);
        let _at = call_site::enter(Site::here());
        self.record(
            (Primitive::Accumulate, CallTiming::Asks),
            &operation,
            || {
                let checked = self.checked_update((origin, None), target, data, op, operation)?;
                self.begin(checked)
            },
        )
    }

    /// `MPI_Get_accumulate`: does the same, and returns the previous data of the target.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    #[track_caller]
    pub fn get_accumulate(
        &self,
        origin: &Buffer,
        result: &Buffer,
        target: i32,
        data: TargetData<'_>,
        op: impl Into<AccumulateOp>,
    ) -> Result<()> {
        let op = op.into();
        if self.update_at_once(op.kind(), (origin, None, Some(result)), (target, data)) {
            return Ok(());
        }
        let operation = at_target("MPI_Get_accumulate", result.bytes(), target);
        let _at = call_site::enter(Site::here());
        self.record(
            (Primitive::GetAccumulate, CallTiming::Asks),
            &operation,
            || {
                let both = (origin, Some(result));
                let checked = self.checked_update(both, target, data, op, operation)?;
                self.begin(checked)
            },
        )
    }

    /// `MPI_Fetch_and_op`: does the same with one predefined element.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    #[track_caller]
    pub fn fetch_and_op(
        &self,
        origin: &Buffer,
        result: &Buffer,
        target: i32,
        displacement: i64,
        op: impl Into<AccumulateOp>,
    ) -> Result<()> {
        let op = op.into();
        let data = TargetData {
            displacement,
            count: 1,
            datatype: result.datatype(),
        };
        if self.update_at_once(op.kind(), (origin, None, Some(result)), (target, data)) {
            return Ok(());
        }
        let operation = at_target("MPI_Fetch_and_op", result.bytes(), target);
        let _at = call_site::enter(Site::here());
        self.record(
            (Primitive::FetchAndOp, CallTiming::Asks),
            &operation,
            || {
                predefined(result, operation)?;
                let both = (origin, Some(result));
                let checked = self.checked_update(both, target, data, op, operation)?;
                self.begin(checked)
            },
        )
    }

    /// `MPI_Compare_and_swap`: replaces one predefined element of a target if it equals another
    /// one, and returns its previous value.
    ///
    /// # Errors
    /// As [`put`](Self::put), and when the elements are neither integers nor truth values nor
    /// bytes.
    #[track_caller]
    pub fn compare_and_swap(
        &self,
        (new, compare): (&Buffer, &Buffer),
        result: &Buffer,
        target: i32,
        displacement: i64,
    ) -> Result<()> {
        let data = TargetData {
            displacement,
            count: 1,
            datatype: result.datatype(),
        };
        let buffers = (new, Some(compare), Some(result));
        if can_be_compared(result)
            && self.update_at_once(UpdateKind::CompareAndSwap, buffers, (target, data))
        {
            return Ok(());
        }
        let operation = at_target("MPI_Compare_and_swap", result.bytes(), target);
        let _at = call_site::enter(Site::here());
        self.record(
            (Primitive::CompareAndSwap, CallTiming::Asks),
            &operation,
            || {
                let element = predefined(result, operation)?;
                if !can_be_compared(result) {
                    let reason = format!("elements of {element} cannot be compared");
                    return Err(operation.error(ErrorClass::Type, reason));
                }
                self.usable(operation)?;
                let Some(target) = self.target(target, operation)? else {
                    return Ok(());
                };
                let len = element.size();
                // The longest element that can be compared has 8 bytes.
                let mut operands = [0u8; 16];
                bcs::gather(&compare.piece(&operation)?, 0, &mut operands[..len]);
                bcs::gather(&new.piece(&operation)?, 0, &mut operands[len..2 * len]);
                // SAFETY: they stay until the operation is complete, at the end of this function.
                let origin = unsafe {
                    DataView::new(operands.as_ptr().expose_provenance() as u64, 2 * len, None)
                };
                let update = Update {
                    kind: UpdateKind::CompareAndSwap,
                    datatype: element,
                    fetches: true,
                };
                let checked = CheckedOperation {
                    target,
                    kind: OneSidedKind::Update(update),
                    data: self.target_view(target, data, true, operation)?,
                    origin,
                    result: result.piece(&operation)?,
                    gapped: None,
                    operation,
                };
                self.admit(&checked, false)?;
                self.complete_now(&checked)
            },
        )
    }

    pub(super) fn checked_put(
        &self,
        origin: &Buffer,
        target: i32,
        data: TargetData<'_>,
        operation: Operation,
    ) -> Result<Option<CheckedOperation>> {
        self.usable(operation)?;
        let Some(target) = self.target(target, operation)? else {
            return Ok(None);
        };
        let origin = origin.piece(&operation)?;
        let there = self.target_view(target, data, false, operation)?;
        let len = origin.len();
        fits(len, there.len(), operation)?;
        Ok(Some(CheckedOperation {
            target,
            kind: OneSidedKind::Put,
            data: first_bytes(&there, len),
            origin,
            result: DataView::EMPTY,
            gapped: None,
            operation,
        }))
    }

    pub(super) fn checked_get(
        &self,
        into: &Buffer,
        target: i32,
        data: TargetData<'_>,
        operation: Operation,
    ) -> Result<Option<CheckedOperation>> {
        self.usable(operation)?;
        let Some(target) = self.target(target, operation)? else {
            return Ok(None);
        };
        let result = into.piece(&operation)?;
        let there = self.target_view(target, data, false, operation)?;
        let len = there.len();
        fits(len, result.len(), operation)?;
        Ok(Some(CheckedOperation {
            target,
            kind: OneSidedKind::Get,
            data: there,
            origin: DataView::EMPTY,
            result: first_bytes(&result, len),
            gapped: None,
            operation,
        }))
    }

    pub(super) fn checked_update(
        &self,
        (origin, result): (&Buffer, Option<&Buffer>),
        target: i32,
        data: TargetData<'_>,
        op: AccumulateOp,
        operation: Operation,
    ) -> Result<Option<CheckedOperation>> {
        self.usable(operation)?;
        let Some(target) = self.target(target, operation)? else {
            return Ok(None);
        };
        let (kind, datatype) = (op.kind(), element(data.datatype, operation)?);
        let operands = [Some(origin).filter(|_| op != AccumulateOp::NoOp), result];
        let both = operands.into_iter().flatten();
        if data.count > 0 && data.datatype.size() > 0 {
            defined(op, datatype, operation)?;
            both.clone()
                .try_for_each(|of| alike(of, datatype, operation))?;
        }
        let has_gaps = datatype.size() != datatype.data_size();
        let is_derived = data.datatype.elementary().is_none()
            || both
                .into_iter()
                .any(|of| of.datatype().elementary().is_none());
        let spreads = has_gaps && is_derived;
        let there = self.target_view(target, data, !is_derived, operation)?;
        let view = |of: Option<&Buffer>| match (of, spreads) {
            (None, _) => Ok(DataView::EMPTY),
            (Some(of), true) => of.piece(&operation),
            (Some(of), false) => operand_view(of, &operation),
        };
        let [origin, result] = operands.map(view);
        let (origin, result) = (origin?, result?);
        let mut len = there.len();
        if op != AccumulateOp::NoOp {
            fits(origin.len(), len, operation)?;
            len = origin.len();
        }
        let fetches = operands[1].is_some();
        if fetches {
            fits(len, result.len(), operation)?;
        }
        let update = Update {
            kind,
            datatype,
            fetches,
        };
        let checked = CheckedOperation {
            target,
            kind: OneSidedKind::Update(update),
            data: first_bytes(&there, len),
            origin,
            result: first_bytes(&result, if fetches { len } else { 0 }),
            gapped: None,
            operation,
        };
        match spreads {
            true => GappedData::of(checked, datatype),
            false => Ok(Some(checked)),
        }
    }

    /// Enters the target: checks the epoch, and takes the lock that a first operation has to take.
    #[inline]
    pub(super) fn enter(&self, target: usize, operation: Operation) -> Result<()> {
        let number = self.0.epochs.number();
        let is_passive = match self.permit(target, operation)? {
            Permission::Granted { is_passive } => is_passive,
            Permission::TakeLock(all) => {
                self.acquire_in(&all, target, operation)?;
                true
            }
        };
        self.note_open(target, number, is_passive);
        Ok(())
    }

    /// Begins an operation. It is under way when this returns, or complete.
    #[inline]
    fn begin(&self, checked: Option<CheckedOperation>) -> Result<()> {
        let Some(checked) = checked else {
            return Ok(());
        };
        let (target, operation) = (checked.target, checked.operation);
        self.admit(&checked, false)?;
        self.post_pieces(&checked, |request| self.keep(target, request, operation))
    }

    /// Posts an operation piece by piece, and passes on the requests of those that are under way.
    pub(super) fn post_pieces(
        &self,
        checked: &CheckedOperation,
        mut under_way: impl FnMut(bcs::Request) -> Result<()>,
    ) -> Result<()> {
        if checked.data.is_empty() {
            return Ok(());
        }
        if let Some(gapped) = &checked.gapped {
            return self.complete_gapped(checked, gapped);
        }
        let both = [&checked.origin, &checked.result];
        let posted = pieces(&checked.data, both, |address, len, [origin, result]| {
            let one = self.one_sided(checked, (address, len), [origin, result]);
            let request = self.post_one(checked, &one)?;
            match request.is_complete() {
                true => Ok(()),
                false => under_way(request),
            }
        });
        posted.unwrap_or_else(|| self.complete_packed(checked))
    }

    fn one_sided(
        &self,
        checked: &CheckedOperation,
        (address, len): (u64, usize),
        [origin, result]: [DataView; 2],
    ) -> OneSided {
        OneSided {
            target: self.world_rank(self.part(checked.target).owner),
            address,
            len: len as u64,
            kind: checked.kind,
            origin,
            result,
            wakes_target: false,
        }
    }

    /// Posts one piece. If there are too many requests, it waits for older ones.
    #[inline]
    fn post_one(&self, checked: &CheckedOperation, one: &OneSided) -> Result<bcs::Request> {
        let endpoint = self.process().endpoint();
        let (target, operation) = (checked.target, checked.operation);
        loop {
            match endpoint.bcs_one_sided(self.direct(), one) {
                Ok(request) => return Ok(request),
                Err(OneSidedRefusal::TooManyRequests(_)) if self.complete_oldest(target)? => {}
                Err(why) => return Err(self.refusal(why, target, operation)),
            }
        }
    }

    /// Does an operation and waits until it is complete.
    pub(super) fn complete_now(&self, checked: &CheckedOperation) -> Result<()> {
        let mut posted = Vec::new();
        let all = self.post_pieces(checked, |request| {
            posted.push(request);
            Ok(())
        });
        let mut ended = all;
        for request in posted {
            let outcome = self
                .process()
                .endpoint()
                .bcs_test(bcs::Blocking::Yes, request);
            let outcome = outcome.expect("it was waited for");
            let checked = self.check_outcome(&outcome, checked.target, checked.operation);
            ended = ended.and(checked);
        }
        ended
    }

    /// Does an operation whose data are in pieces on both sides: it packs them, and waits until it
    /// is complete.
    fn complete_packed(&self, checked: &CheckedOperation) -> Result<()> {
        let mut origin = vec![0u8; checked.origin.len()];
        bcs::gather(&checked.origin, 0, &mut origin);
        let mut result = vec![0u8; checked.result.len()];
        let packed = |address: usize, len: usize| match len {
            0 => DataView::EMPTY,
            // SAFETY: the vectors stay until the operation is complete, below.
            _ => unsafe { DataView::new(address as u64, len, None) },
        };
        let plain = CheckedOperation {
            origin: packed(origin.as_ptr().expose_provenance(), origin.len()),
            result: packed(result.as_mut_ptr().expose_provenance(), result.len()),
            ..checked.clone()
        };
        self.complete_now(&plain)?;
        bcs::scatter(&checked.result, 0, &result);
        Ok(())
    }
}

/// Checks that an operation is defined on elements of a datatype.
#[inline]
fn defined(op: AccumulateOp, datatype: reduction::Datatype, operation: Operation) -> Result<()> {
    match op {
        AccumulateOp::Reduce(op) if !op.allowed(datatype) => {
            let reason = format!("{op} is not defined on {datatype} (MPI 5.0, 6.9.2)");
            Err(operation.error(ErrorClass::Op, reason))
        }
        _ => Ok(()),
    }
}

/// Checks that the elements of an operand are those of the target.
#[inline]
fn alike(operand: &Buffer, datatype: reduction::Datatype, operation: Operation) -> Result<()> {
    let other = element(operand.datatype(), operation)?;
    if other == datatype || operand.count() == 0 {
        return Ok(());
    }
    let reason = format!("elements of {other} meet elements of {datatype}");
    Err(operation.error(ErrorClass::Type, reason))
}

/// Checks that data fit where they go.
#[inline]
fn fits(len: usize, room: usize, operation: Operation) -> Result<()> {
    if len <= room {
        return Ok(());
    }
    let reason = format!("{len} bytes do not fit into {room}");
    Err(operation.error(ErrorClass::Truncate, reason))
}

/// Returns the element of a call with one predefined element.
fn predefined(of: &Buffer, operation: Operation) -> Result<reduction::Datatype> {
    of.datatype().elementary().ok_or_else(|| {
        let reason = "this call takes predefined datatypes only";
        operation.error(ErrorClass::Type, reason)
    })
}

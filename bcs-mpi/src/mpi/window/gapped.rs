//! Accumulates of pairs with gaps (`MPI_DOUBLE_INT`) that are elements of derived datatypes.
//!
//! Messages do not have the gaps, and the arithmetic needs them. So the origin's elements are
//! spread over memory of their own, and the target's are found one by one.
#![expect(unsafe_code, reason = "spread elements are named by address")]

use super::checked_operation::{CheckedOperation, GappedData};
use super::state::Window;
use crate::bcs::{self, DataView};
use crate::mpi::error::{ErrorClass, Operation, Result};
use bcs_core::layout::LayoutBuilder;
use bcs_core::reduction::Datatype;
use std::sync::Arc;

impl GappedData {
    /// Returns the same operation on elements with gaps.
    pub(super) fn of(
        mut checked: CheckedOperation,
        element: Datatype,
    ) -> Result<Option<CheckedOperation>> {
        checked.data = elements_of(&checked.data, element, checked.operation)?;
        checked.gapped = Some(Self {
            element,
            origin: checked.origin,
            result: checked.result,
        });
        checked.origin = DataView::EMPTY;
        checked.result = DataView::EMPTY;
        Ok(Some(checked))
    }

    fn spread_len(&self, data: usize) -> usize {
        data / self.element.data_size() * self.element.size()
    }

    /// Calls `visit` with the places of each part of an element: in the data, and in memory.
    fn parts(&self, data: usize, mut visit: impl FnMut(usize, usize, usize)) {
        let pair = self.element.pair().expect("only pairs have gaps");
        let (value, place) = (pair.value.size(), pair.place.size());
        let all = (0..data).step_by(self.element.data_size());
        for (at, spread) in all.zip((0..).step_by(self.element.size())) {
            visit(at, spread, value);
            visit(at + value, spread + pair.place_at(), place);
        }
    }
}

/// Returns the whole elements whose data these are, gaps included.
fn elements_of(data: &DataView, element: Datatype, operation: Operation) -> Result<DataView> {
    let (len, each) = (data.len(), element.data_size());
    if len == 0 {
        return Ok(DataView::EMPTY);
    }
    let mut builder = LayoutBuilder::default();
    let mut add = |offset: i64| {
        let pushed = builder.push(offset, element.size() as u64);
        pushed.map_err(|error| operation.error(ErrorClass::NoMem, error.to_string()))
    };
    let mut before = 0usize;
    match data.layout() {
        None => (0..len / each).try_for_each(|nth| add(offset_of(nth * element.size())))?,
        Some(layout) => {
            for strip in layout.pieces(0, len as u64) {
                let block = usize::try_from(strip.block).expect("lengths have 64 bits here");
                for offset in strip.offsets() {
                    // Each element begins where its first byte is.
                    let first = before.next_multiple_of(each) - before;
                    for at in (first..block).step_by(each) {
                        add(offset + offset_of(at))?;
                    }
                    before += block;
                }
            }
        }
    }
    let layout = builder.finish(0);
    let len = usize::try_from(layout.size()).expect("lengths have 64 bits here");
    // SAFETY: the memory is that of the target's elements.
    Ok(unsafe { DataView::new(data.address(), len, Some(Arc::new(layout))) })
}

fn offset_of(bytes: usize) -> i64 {
    i64::try_from(bytes).expect("it is within memory")
}

impl Window {
    /// Does such an operation, and waits until it is complete.
    pub(super) fn complete_gapped(
        &self,
        checked: &CheckedOperation,
        gapped: &GappedData,
    ) -> Result<()> {
        let mut packed = vec![0u8; gapped.origin.len()];
        bcs::gather(&gapped.origin, 0, &mut packed);
        let mut origin = vec![0u8; gapped.spread_len(packed.len())];
        gapped.parts(packed.len(), |at, spread, len| {
            origin[spread..spread + len].copy_from_slice(&packed[at..at + len]);
        });
        let mut result = vec![0u8; gapped.spread_len(gapped.result.len())];
        let plain = |address: usize, len: usize| match len {
            0 => DataView::EMPTY,
            // SAFETY: the vectors stay until the operation is complete, below.
            _ => unsafe { DataView::new(address as u64, len, None) },
        };
        let spread = CheckedOperation {
            origin: plain(origin.as_ptr().expose_provenance(), origin.len()),
            result: plain(result.as_mut_ptr().expose_provenance(), result.len()),
            gapped: None,
            ..checked.clone()
        };
        self.complete_now(&spread)?;
        let mut packed = vec![0u8; gapped.result.len()];
        gapped.parts(packed.len(), |at, spread, len| {
            packed[at..at + len].copy_from_slice(&result[spread..spread + len]);
        });
        bcs::scatter(&gapped.result, 0, &packed);
        Ok(())
    }
}

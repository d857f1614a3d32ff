//! The data of an operation on both sides: where they lie, in which pieces, and of which elements.
#![expect(unsafe_code, reason = "memory of both sides is named by address")]

use super::state::{Window, WindowFlavor};
use crate::bcs::DataView;
use crate::mpi::error::{Error, ErrorClass, Operation, Result};
use crate::mpi::{Buffer, Datatype};
use bcs_core::reduction;

/// The memory of a target that an operation names: displacement, count and datatype.
#[derive(Clone, Copy, Debug)]
pub struct TargetData<'a> {
    /// The displacement, in units of the target's window; in a dynamic window an address.
    pub displacement: i64,
    /// Elements of the datatype.
    pub count: usize,
    /// The datatype.
    pub datatype: &'a Datatype,
}

impl Window {
    /// Returns where the target's data lie in the process that has their memory. Predefined
    /// elements of accumulates include their gaps.
    #[inline]
    pub(super) fn target_view(
        &self,
        target: usize,
        data: TargetData<'_>,
        accumulates: bool,
        operation: Operation,
    ) -> Result<DataView> {
        let part = self.part(target);
        let start = match self.0.flavor {
            // An address may have its highest bit set.
            WindowFlavor::Dynamic => data.displacement.cast_unsigned(),
            _ => {
                let units = u64::try_from(data.displacement)
                    .map_err(|_| negative(data.displacement, operation))?;
                let bytes = units.checked_mul(part.disp_unit);
                let bytes = bytes.filter(|&bytes| i64::try_from(bytes).is_ok());
                bytes.ok_or_else(|| self.beyond(target, data, operation))?
            }
        };
        if self.0.flavor != WindowFlavor::Dynamic {
            self.check_range(target, start.cast_signed(), data, operation)?;
        }
        let address = part.base.wrapping_add(start);
        let pointer = std::ptr::with_exposed_provenance_mut::<u8>(
            usize::try_from(address).expect("addresses have 64 bits here"),
        );
        // SAFETY: the memory is not this process's, and is used by one-sided operations alone.
        let buffer = unsafe { Buffer::new(pointer, data.count, data.datatype) };
        let view = match accumulates {
            true => buffer.operand(&operation),
            false => buffer.piece(&operation),
        };
        let view = view.map_err(|mut error| {
            if matches!(error.class, ErrorClass::Buffer | ErrorClass::Arg) {
                error.class = ErrorClass::RmaRange;
            }
            error
        })?;
        if self.0.flavor == WindowFlavor::Dynamic && target == self.me() {
            self.check_attached(&view, operation)?;
        }
        Ok(view)
    }

    /// Checks that data lie within the memory of a target.
    #[inline]
    fn check_range(
        &self,
        target: usize,
        start: i64,
        data: TargetData<'_>,
        operation: Operation,
    ) -> Result<()> {
        if data.count == 0 || data.datatype.size() == 0 {
            return Ok(());
        }
        let (lower, len) = data.datatype.true_extent();
        let (_, extent) = data.datatype.extent();
        let steps = i128::from(extent) * (data.count as i128 - 1);
        let first = i128::from(start) + i128::from(lower) + steps.min(0);
        let end = i128::from(start) + i128::from(lower) + i128::from(len) + steps.max(0);
        let size = i128::from(self.part(target).size);
        match first >= 0 && end <= size {
            true => Ok(()),
            false => Err(self.beyond(target, data, operation)),
        }
    }

    #[cold]
    fn beyond(&self, target: usize, data: TargetData<'_>, operation: Operation) -> Box<Error> {
        let part = self.part(target);
        let reason = format!(
            "{} elements of {} bytes at displacement {} are not within the {} bytes of rank {target} \
             (in units of {})",
            data.count,
            data.datatype.size(),
            data.displacement,
            part.size,
            part.disp_unit
        );
        operation.error(ErrorClass::RmaRange, reason)
    }

    /// Checks that own memory is attached: nobody else reports an error for it.
    fn check_attached(&self, view: &DataView, operation: Operation) -> Result<()> {
        let len = view.len() as u64;
        let span = match view.layout() {
            None => Some((0, len)),
            Some(layout) => layout.span(len),
        };
        let is_there = span.is_some_and(|(offset, bytes)| {
            bytes == 0 || self.is_attached(view.address().wrapping_add_signed(offset), bytes)
        });
        if is_there {
            return Ok(());
        }
        let reason = format!(
            "{len} bytes at {:#x} are not attached to {}",
            view.address(),
            self.title()
        );
        Err(operation.error(ErrorClass::RmaRange, reason))
    }
}

#[cold]
fn negative(displacement: i64, operation: Operation) -> Box<Error> {
    let reason = format!("the displacement is {displacement}");
    operation.error(ErrorClass::Disp, reason)
}

/// Returns the predefined datatype that all elements of a datatype have.
#[inline]
pub(super) fn element(datatype: &Datatype, operation: Operation) -> Result<reduction::Datatype> {
    match datatype.elementary() {
        Some(element) => Ok(element),
        None => element_of_derived(datatype, operation),
    }
}

fn element_of_derived(datatype: &Datatype, operation: Operation) -> Result<reduction::Datatype> {
    let mut found = None;
    let mixed = |one: reduction::Datatype, other: reduction::Datatype| {
        let reason = format!("the datatype has elements of {one} and of {other}");
        operation.error(ErrorClass::Type, reason)
    };
    datatype.runs(1, &mut |predefined, _| match found {
        Some(one) if one != predefined.element => Err(mixed(one, predefined.element)),
        _ => {
            found = Some(predefined.element);
            Ok(())
        }
    })?;
    Ok(found.unwrap_or(reduction::Datatype::Byte))
}

/// Returns the memory of an accumulate's operand or result at the origin.
#[inline]
pub(super) fn operand_view(of: &Buffer, operation: &Operation) -> Result<DataView> {
    match of.datatype().elementary() {
        Some(_) => of.operand(operation),
        None => of.piece(operation),
    }
}

/// Returns the first bytes of data.
pub(super) fn first_bytes(of: &DataView, len: usize) -> DataView {
    debug_assert!(len <= of.len());
    // SAFETY: they are a part of data whose maker has made the promise.
    unsafe { DataView::new(of.address(), len, of.layout().cloned()) }
}

/// Returns a part of data, if they are contiguous.
fn part(of: &DataView, from: usize, len: usize) -> Option<DataView> {
    match (of.is_empty(), of.plain()) {
        (true, _) => Some(DataView::EMPTY),
        (false, plain) => plain.map(|plain| plain.part(from..from + len).into()),
    }
}

/// Calls `visit` for each contiguous piece of a target's data: with its address, and with the part
/// of the origin's data and of the result that belong to it. Returns `None` if these are not
/// contiguous either. Then nothing was visited.
pub(super) fn pieces(
    target: &DataView,
    [origin, result]: [&DataView; 2],
    mut visit: impl FnMut(u64, usize, [DataView; 2]) -> Result<()>,
) -> Option<Result<()>> {
    let Some(layout) = target.layout() else {
        let len = target.len();
        return Some(visit(
            target.address(),
            len,
            [origin.clone(), result.clone()],
        ));
    };
    part(origin, 0, 0).and_then(|_| part(result, 0, 0))?;
    let mut before = 0;
    // The piece that the next one may continue: address and length.
    let mut last: (u64, usize) = (0, 0);
    let mut flush = |(address, len): (u64, usize)| {
        if len == 0 {
            return Ok(());
        }
        let [origin, result] = [origin, result]
            .map(|data| part(data, before, len).expect("it was found to be contiguous"));
        before += len;
        visit(address, len, [origin, result])
    };
    for strip in layout.pieces(0, target.len() as u64) {
        let block = usize::try_from(strip.block).expect("lengths have 64 bits here");
        for offset in strip.offsets() {
            let address = target.address().wrapping_add_signed(offset);
            if last.1 > 0 && last.0.wrapping_add(last.1 as u64) == address {
                last.1 += block;
                continue;
            }
            if let Err(error) = flush(last) {
                return Some(Err(error));
            }
            last = (address, block);
        }
    }
    Some(flush(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::layout::LayoutBuilder;
    use std::sync::Arc;

    /// Returns a view of bytes that no test touches.
    fn view(address: u64, blocks: &[(i64, u64)]) -> DataView {
        let mut layout = LayoutBuilder::default();
        for &(offset, len) in blocks {
            layout.push(offset, len).unwrap();
        }
        let bytes = blocks.iter().map(|block| block.1).sum::<u64>();
        let bytes = usize::try_from(bytes).unwrap();
        let layout = Arc::new(layout.finish(100));
        let is_plain = matches!(blocks, [(0, _)]);
        // SAFETY: nothing is read or written there.
        unsafe { DataView::new(address, bytes, (!is_plain).then_some(layout)) }
    }

    type Piece = (u64, usize, [(u64, usize); 2]);

    fn found(target: &DataView, both: [&DataView; 2]) -> Option<Vec<Piece>> {
        let mut found = Vec::new();
        let visited = pieces(target, both, |address, len, both| {
            found.push((address, len, both.map(|data| (data.address(), data.len()))));
            Ok(())
        });
        visited.map(|visited| visited.map(|()| found).unwrap())
    }

    #[test]
    fn each_piece_of_a_target_has_its_part_of_both_operands() {
        let plain = |address| view(address, &[(0, 24)]);
        let (origin, result) = (plain(1_000), plain(2_000));
        let both = [&origin, &result];
        let whole = (3_000, 24, [(1_000, 24), (2_000, 24)]);
        assert_eq!(found(&plain(3_000), both), Some(vec![whole]));

        // The first two of the blocks are one piece.
        let target = view(3_000, &[(0, 4), (4, 4), (16, 8), (40, 8)]);
        let expected = vec![
            (3_000, 8, [(1_000, 8), (2_000, 8)]),
            (3_016, 8, [(1_008, 8), (2_008, 8)]),
            (3_040, 8, [(1_016, 8), (2_016, 8)]),
        ];
        assert_eq!(found(&target, both), Some(expected));

        let scattered = view(1_000, &[(0, 8), (16, 16)]);
        assert_eq!(found(&target, [&scattered, &result]), None);
        assert_eq!(found(&target, [&origin, &scattered]), None);
    }

    #[test]
    fn a_refused_piece_is_the_last_one() {
        let plain = view(1_000, &[(0, 16)]);
        let target = view(3_000, &[(0, 8), (16, 8)]);
        let mut visited = 0;
        let refused = pieces(&target, [&plain, &plain], |_, _, _| {
            visited += 1;
            Err(Operation::plain("MPI_Put").error(ErrorClass::RmaRange, "no"))
        });
        assert!(refused.is_some_and(|visit| visit.is_err()));
        assert_eq!(visited, 1);
    }
}

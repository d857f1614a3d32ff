//! Elements of a derived datatype in the form that a function of the program needs (MPI 5.0,
//! 6.9.5).
//!
//! A contribution to a reduction travels, and waits to be combined, as the bytes of its data, side
//! by side. A function needs elements that are laid out as their datatype defines. So both operands
//! are spread over memory of this module, some elements at a time, and the result is gathered
//! again. The gaps between the data there have no meaning: the gaps of the program's buffers are
//! neither passed to a function nor written.
#![expect(unsafe_code, reason = "functions get buffers by address")]

use crate::bcs::{DataView, gather, scatter};
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::objects::lent_functions::Function;
use crate::mpi::{Buffer, Datatype};
use bcs_core::layout::DataLayout;
use bcs_core::lockstep;
use std::sync::{Arc, Mutex};

/// Memory of one operand, unless an element is larger. Two of them fit a usual L2 cache.
const ROOM_BYTES: i128 = 64 * 1024;

/// The strictest alignment of a datatype.
const ALIGN: i128 = 16;

/// Memory for some elements of each operand.
pub(super) struct OperandBuffers {
    datatype: Datatype,
    layout: Arc<DataLayout>,
    /// How many elements are spread at a time.
    elements: usize,
    /// `None` while the function runs.
    rooms: Mutex<Option<[ElementBuffer; 2]>>,
}

/// Memory for elements, aligned as if their addresses were multiples of [`ALIGN`].
struct ElementBuffer {
    /// The address from which the displacements of the first element count.
    base: u64,
    _memory: Vec<u128>,
}

const _: () = assert!(align_of::<u128>() as i128 == ALIGN);

impl ElementBuffer {
    /// Allocates memory for bytes `low` to `high`, counted from the base.
    fn new(low: i128, high: i128, operation: Operation) -> Result<Self> {
        let words = (high - low + ALIGN).div_euclid(ALIGN) + 1;
        let mut memory: Vec<u128> = Vec::new();
        let words = usize::try_from(words).unwrap_or(usize::MAX);
        memory.try_reserve_exact(words).map_err(|_| {
            let reason = format!("there is no memory for an element that spans {words} words");
            operation.error(ErrorClass::NoMem, reason)
        })?;
        memory.resize(words, 0);
        let start = memory.as_mut_ptr().expose_provenance() as u64;
        let first = i64::try_from(low.div_euclid(ALIGN) * ALIGN);
        let first = first.expect("bounds of types fit 64 bits, and so do those of a few elements");
        Ok(Self {
            base: start.wrapping_sub(first.cast_unsigned()),
            _memory: memory,
        })
    }

    fn piece(&self, layout: &Arc<DataLayout>, len: usize) -> DataView {
        // SAFETY: it is the reduction's own, and has room for as many elements.
        unsafe { DataView::new(self.base, len, Some(Arc::clone(layout))) }
    }

    fn start(&self) -> *mut u8 {
        let base = usize::try_from(self.base).expect("addresses have 64 bits here");
        std::ptr::with_exposed_provenance_mut(base)
    }
}

impl OperandBuffers {
    /// Returns the buffers that elements of these data need; `None` if the elements lie side by
    /// side from the address of the first one on.
    pub(super) fn of(data: &Buffer, operation: Operation) -> Result<Option<Self>> {
        let datatype = data.datatype();
        if datatype.elementary().is_some() || datatype.size() == 0 {
            return Ok(None);
        }
        let Some(layout) = datatype.layout(&operation)? else {
            return Ok(None);
        };
        let from_the_address = layout.single_block().is_some_and(|(offset, _)| offset == 0);
        if from_the_address && layout.is_contiguous() {
            return Ok(None);
        }
        let (lower, true_extent) = datatype.true_extent();
        let (lower, true_extent) = (i128::from(lower), i128::from(true_extent));
        let extent = i128::from(layout.extent());
        // Elements that lie within each other are combined one by one, because they may have bytes
        // in common.
        let elements = if extent.abs() < true_extent {
            1
        } else {
            (ROOM_BYTES / extent.abs()).clamp(1, data.count().max(1) as i128)
        };
        let last = extent * (elements - 1);
        let (low, high) = (lower + last.min(0), lower + true_extent + last.max(0));
        let room = || ElementBuffer::new(low, high, operation);
        Ok(Some(Self {
            datatype: datatype.clone(),
            layout: Arc::clone(layout),
            elements: usize::try_from(elements).expect("no more than the buffer has"),
            rooms: Mutex::new(Some([room()?, room()?])),
        }))
    }

    /// Computes `inout = in OP inout` for this number of bytes of data side by side.
    ///
    /// # Safety
    /// `invec` may be read, `inoutvec` read and written, they are not used otherwise, and they do
    /// not overlap.
    pub(super) unsafe fn run(
        &self,
        function: &Function,
        invec: *const u8,
        inoutvec: *mut u8,
        bytes: usize,
    ) {
        // No lock is held while the function runs.
        let rooms = lockstep::lock(&self.rooms).take();
        let rooms = rooms.expect("only its own reduction calls it, one time after the other");
        let [left, right] = &rooms;
        let size = self.datatype.size();
        let mut done = 0;
        while done < bytes {
            let len = (bytes - done).min(self.elements * size);
            let (from, both) = (invec.wrapping_add(done), inoutvec.wrapping_add(done));
            // SAFETY: the caller's promise.
            let from = unsafe { std::slice::from_raw_parts(from, len) };
            // SAFETY: the caller's promise.
            let both = unsafe { std::slice::from_raw_parts_mut(both, len) };
            scatter(&left.piece(&self.layout, len), 0, from);
            let result = right.piece(&self.layout, len);
            scatter(&result, 0, both);
            let datatype = self.datatype.clone();
            function(
                left.start().cast_const(),
                right.start(),
                len / size,
                datatype,
            );
            gather(&result, 0, both);
            done += len;
        }
        *lockstep::lock(&self.rooms) = Some(rooms);
    }
}

//! The memory of all ranks as it must be.

use super::program::{Action, PlannedOperation, WindowProgram, WindowRound};
use bcs_core::reduction::Datatype;
use bcs_core::reduction::arithmetic::{ArithmeticPath, combine};
use bcs_mpi::mpi::window::AccumulateOp;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The elements of all ranks, and their counters.
#[derive(Clone, Debug)]
pub(super) struct WindowModel {
    datatype: Datatype,
    memory: Vec<Vec<u8>>,
    pub(super) counters: Vec<u64>,
}

/// Returns the elements that an operation sends. Complex numbers are small whole ones, so that
/// their sums are exact in any order.
pub(super) fn origin_elements(datatype: Datatype, operation: &PlannedOperation) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(operation.seed);
    if datatype == Datatype::DoubleComplex {
        let parts = (0..2 * operation.count).map(|_| f64::from(random.next_u32() % 1000));
        return parts.flat_map(f64::to_ne_bytes).collect();
    }
    let mut bytes = vec![0; operation.count * datatype.size()];
    random.fill_bytes(&mut bytes);
    if let Some(pair) = datatype.pair() {
        // Padding is zero in what an operation writes.
        for element in bytes.chunks_exact_mut(datatype.size()) {
            element[pair.value.size()..pair.place_at()].fill(0);
        }
    }
    bytes
}

impl WindowModel {
    pub(super) fn new(ranks: usize, program: &WindowProgram) -> Self {
        let bytes = program.elements(ranks) * program.datatype.size();
        Self {
            datatype: program.datatype,
            memory: vec![vec![0; bytes]; ranks],
            counters: vec![0; ranks],
        }
    }

    /// Returns the elements of a rank.
    pub(super) fn of(&self, rank: usize) -> &[u8] {
        &self.memory[rank]
    }

    /// Does what all origins do in an epoch. Returns what comes back to one of them, for each of
    /// its operations.
    pub(super) fn advance(&mut self, round: &WindowRound, me: usize) -> Vec<Vec<u8>> {
        let mut returned = Vec::new();
        for (origin, operations) in round.operations.iter().enumerate() {
            for operation in operations {
                let old = self.apply(operation);
                if origin == me {
                    returned.push(old);
                }
            }
        }
        if let Some((target, times)) = round.counter {
            self.counters[target] += (times * round.operations.len()) as u64;
        }
        returned
    }

    /// Does an operation. Returns what comes back.
    fn apply(&mut self, operation: &PlannedOperation) -> Vec<u8> {
        let size = self.datatype.size();
        let given = origin_elements(self.datatype, operation);
        let mut returned = Vec::new();
        let memory = &mut self.memory[operation.target];
        for (nth, given) in given.chunks_exact(size).enumerate() {
            let at = (operation.at + nth * operation.stride) * size;
            let element = &mut memory[at..at + size];
            match operation.action {
                Action::Put => element.copy_from_slice(given),
                Action::Get => returned.extend_from_slice(element),
                Action::Accumulate(op) => accumulate(self.datatype, op, element, given),
                Action::GetAccumulate(op) => {
                    returned.extend_from_slice(element);
                    accumulate(self.datatype, op, element, given);
                }
            }
        }
        returned
    }
}

fn accumulate(datatype: Datatype, op: AccumulateOp, element: &mut [u8], given: &[u8]) {
    match op {
        AccumulateOp::NoOp => {}
        AccumulateOp::Replace => element.copy_from_slice(given),
        AccumulateOp::Reduce(op) => {
            let done = combine(op, datatype, ArithmeticPath::Soft, element, given);
            done.expect("the operation is defined");
        }
    }
}

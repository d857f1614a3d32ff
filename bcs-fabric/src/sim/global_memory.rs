//! A node's global memory: its variables, and the bytes of its blocks.

use crate::Variable;
use std::collections::BTreeMap;
use std::ops::Range;

/// The global memory of one node.
#[derive(Debug)]
pub(super) struct GlobalMemory {
    variables: Vec<u64>,
    /// The touched pages only: all pages of all nodes would take gigabytes.
    pages: BTreeMap<usize, Vec<u8>>,
}

impl Default for GlobalMemory {
    fn default() -> Self {
        Self {
            variables: vec![0; Variable::COUNT],
            pages: BTreeMap::new(),
        }
    }
}

impl GlobalMemory {
    pub(super) fn load(&self, variable: Variable) -> u64 {
        self.variables[variable.index()]
    }

    pub(super) fn store(&mut self, variable: Variable, value: u64) {
        self.variables[variable.index()] = value;
    }

    pub(super) fn read(&self, start: usize, bytes: &mut [u8]) {
        for (page, range, offset) in pieces(start, bytes.len()) {
            let target = &mut bytes[offset..offset + range.len()];
            match self.pages.get(&page) {
                Some(stored) => target.copy_from_slice(&stored[range]),
                None => target.fill(0),
            }
        }
    }

    pub(super) fn write(&mut self, start: usize, bytes: &[u8]) {
        for (page, range, offset) in pieces(start, bytes.len()) {
            let stored = self.pages.entry(page).or_insert_with(|| vec![0; PAGE]);
            let source = &bytes[offset..offset + range.len()];
            stored[range].copy_from_slice(source);
        }
    }
}

const PAGE: usize = 4096;

/// Divides bytes of global memory by page: (page, range in the page, offset in the bytes).
fn pieces(start: usize, len: usize) -> impl Iterator<Item = (usize, Range<usize>, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let (page, first) = ((start + done) / PAGE, (start + done) % PAGE);
        let piece = (PAGE - first).min(len - done);
        let offset = done;
        done += piece;
        (piece > 0).then_some((page, first..first + piece, offset))
    })
}

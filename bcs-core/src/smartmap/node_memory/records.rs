//! Records: what ranks publish about collectives.

use super::NodeMemory;
use super::layout::{self, RECORD_BYTES};
use crate::limits::MAX_CONTEXTS;
use crate::memory::MappedArray;
use crate::smartmap::coll_info::{CollInfo, RECORD_PAYLOAD_BYTES, RECORD_WORDS, RecordMemory};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

impl NodeMemory {
    /// Returns the record of a rank in a context. The rank is a member of at most one communicator
    /// with that id.
    #[must_use]
    pub fn coll_info(&self, place: usize, context: u32) -> CollInfo<MappedRecord> {
        let context = context as usize;
        assert!(
            place < self.ranks && context < MAX_CONTEXTS,
            "context {context} of place {place} of {}",
            self.ranks
        );
        let record = context * self.ranks + place;
        let start = layout::coll_infos(self.ranks);
        let payloads = start + self.ranks * MAX_CONTEXTS * RECORD_BYTES;
        CollInfo::new(MappedRecord {
            words: MappedArray::new(self.words.0.clone(), start + record * RECORD_BYTES),
            payload: payloads + record * RECORD_PAYLOAD_BYTES,
        })
    }
}

/// The record of a rank in a context: words, and the place of its payload.
#[derive(Clone, Debug)]
pub struct MappedRecord {
    words: MappedArray<RECORD_WORDS>,
    payload: usize,
}

impl RecordMemory for MappedRecord {
    #[inline]
    fn words(&self) -> &[AtomicU64; RECORD_WORDS] {
        self.words.words()
    }

    fn write(&self, offset: usize, bytes: &[u8]) {
        self.words.mapping().write(self.payload + offset, bytes);
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.words.mapping().read(self.payload + offset, bytes);
    }

    fn at(&self, offset: usize, len: usize) -> NonNull<u8> {
        self.words.mapping().at(self.payload + offset, len)
    }
}

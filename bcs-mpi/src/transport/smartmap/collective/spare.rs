//! Memory that collectives of a rank use one after the other.

/// Memory that the next collective may use.
#[derive(Debug, Default)]
pub(in crate::transport::smartmap) struct SpareBuffers {
    /// For partial results.
    pub(in crate::transport::smartmap) partial: Vec<u8>,
    /// For chunks.
    pub(in crate::transport::smartmap) chunks: Vec<u8>,
    /// For the data that a leader has folded.
    pub(in crate::transport::smartmap) room: Vec<u8>,
    /// For the result that the last of many members folds for all.
    pub(in crate::transport::smartmap) folded: Vec<u8>,
}

impl SpareBuffers {
    /// Returns at least this many bytes, for chunks.
    pub(in crate::transport::smartmap) fn chunks(&mut self, len: usize) -> &mut [u8] {
        if self.chunks.len() < len {
            self.chunks.resize(len, 0);
        }
        &mut self.chunks
    }

    /// Takes over buffers that are larger there.
    pub(in crate::transport::smartmap) fn join(&mut self, other: Self) {
        let all = [
            (&mut self.partial, other.partial),
            (&mut self.chunks, other.chunks),
            (&mut self.room, other.room),
        ];
        for (mine, other) in all {
            if mine.capacity() < other.capacity() {
                *mine = other;
            }
        }
    }
}

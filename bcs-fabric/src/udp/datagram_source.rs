//! The source of datagrams for a [`DatagramFilter`](super::datagram_filter::DatagramFilter): a
//! socket, or a test.

use crate::shm::LentMemory;
use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;

/// The length of the longest piece: of one packet, or of several that the kernel has joined.
pub const PIECE_BYTES: usize = 1 << 16;

/// A piece: datagrams of one length of a peer, which come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoalescedDatagrams {
    /// The peer's address.
    pub from: SocketAddr,
    /// Bytes of all of them.
    pub bytes: usize,
    /// Bytes of each but the last, which may have fewer.
    pub each: usize,
}

/// A source of datagrams. It never blocks.
pub trait DatagramSource {
    /// Takes the datagrams that have come, at most `pieces` pieces, and returns their number: 0
    /// when there is nothing.
    ///
    /// # Errors
    /// The kernel's answer, if it is unexpected.
    fn receive(
        &mut self,
        pieces: usize,
        each: &mut dyn FnMut(SocketAddr, &mut [u8]),
    ) -> io::Result<usize>;

    /// Peeks at the next piece: copies as many of its first bytes as there is room for.
    ///
    /// # Errors
    /// As for [`receive`](Self::receive).
    fn peek(&mut self, front: &mut [u8]) -> io::Result<Option<CoalescedDatagrams>>;

    /// Takes the next piece. Its bytes go to these places, one after the other.
    ///
    /// # Errors
    /// As for [`receive`](Self::receive).
    fn scatter(&mut self, places: &ScatterList<'_>) -> io::Result<Option<CoalescedDatagrams>>;
}

/// Places in memory, one after the other.
#[derive(Debug, Default)]
pub struct ScatterList<'a> {
    places: Vec<libc::iovec>,
    ours: PhantomData<&'a mut [u8]>,
}

impl<'a> ScatterList<'a> {
    /// Makes an empty list with room for that many places.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self {
            places: Vec::with_capacity(count),
            ours: PhantomData,
        }
    }

    /// Appends a place in memory of this process.
    pub fn add(&mut self, ours: &'a mut [u8]) {
        self.push(ours.as_mut_ptr(), ours.len());
    }

    /// Appends a place in memory of this process that is only read: this list is to send from.
    pub fn add_read(&mut self, ours: &'a [u8]) {
        self.push(ours.as_ptr().cast_mut(), ours.len());
    }

    /// Appends a place in memory of a rank.
    pub fn add_lent(&mut self, lent: LentMemory) {
        self.push(lent.start().as_ptr(), lent.bytes());
    }

    fn push(&mut self, start: *mut u8, len: usize) {
        self.places.push(libc::iovec {
            iov_base: start.cast(),
            iov_len: len,
        });
    }

    /// Returns the places in the form that the kernel takes.
    #[must_use]
    pub fn as_slice(&self) -> &[libc::iovec] {
        &self.places
    }
}

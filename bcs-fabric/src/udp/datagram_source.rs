//! Where datagrams come from, for who takes them ([`DatagramFilter`](super::entrance::DatagramFilter)): a socket, or a test.

use crate::shm::LentMemory;
use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;

/// The longest piece: that of any packet, or of those that the kernel has joined.
pub const PIECE_BYTES: usize = 1 << 16;

/// What comes at once: datagrams of one length of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoalescedDatagrams {
    /// The peer's address.
    pub from: SocketAddr,
    /// Bytes of all of them.
    pub bytes: usize,
    /// Bytes of each but the last, which may have fewer.
    pub each: usize,
}

/// Where datagrams come from. It blocks nobody.
pub trait DatagramSource {
    /// Takes what has come, so many pieces at most, and says how many datagrams that were: none when there is nothing.
    ///
    /// # Errors
    /// What the kernel says, if it is not to be expected.
    fn receive(
        &mut self,
        pieces: usize,
        each: &mut dyn FnMut(SocketAddr, &mut [u8]),
    ) -> io::Result<usize>;

    /// Looks at the next piece without taking it: as many of its first bytes as there is room for.
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
    /// None, with room for so many.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self {
            places: Vec::with_capacity(count),
            ours: PhantomData,
        }
    }

    /// Then come bytes of ours.
    pub fn add(&mut self, ours: &'a mut [u8]) {
        self.push(ours.as_mut_ptr(), ours.len());
    }

    /// Then come bytes of ours that are only read: these places are to send from.
    pub fn add_read(&mut self, ours: &'a [u8]) {
        self.push(ours.as_ptr().cast_mut(), ours.len());
    }

    /// Then come bytes of a rank.
    pub fn add_lent(&mut self, lent: LentMemory) {
        self.push(lent.start().as_ptr(), lent.bytes());
    }

    fn push(&mut self, start: *mut u8, len: usize) {
        self.places.push(libc::iovec {
            iov_base: start.cast(),
            iov_len: len,
        });
    }

    /// As the kernel takes them.
    #[must_use]
    pub fn as_slice(&self) -> &[libc::iovec] {
        &self.places
    }
}

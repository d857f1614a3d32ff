//! What a rank writes, cut at line ends.

use crate::control::{FrameWriter, Stream};
use crate::limits::MAX_LINE_BYTES;
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// One of a rank's two pipes, with what has been read and not yet forwarded.
///
/// Memory is bounded: the owner reads only while nothing complete waits here, so at most one
/// unfinished line and one read are held.
#[derive(Debug)]
pub(crate) struct OutputPipe {
    /// Closed at the end of the stream.
    fd: Option<OwnedFd>,
    stream: Stream,
    bytes: Vec<u8>,
    /// The bytes before this are whole lines.
    complete: usize,
}

impl OutputPipe {
    /// With no descriptor, nothing will ever come: the rank writes elsewhere.
    pub(crate) fn new(fd: Option<OwnedFd>, stream: Stream) -> Self {
        Self {
            fd,
            stream,
            bytes: Vec::new(),
            complete: 0,
        }
    }

    /// The pipe, while it is open.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// Whether something can be forwarded.
    pub(crate) fn ready(&self) -> bool {
        self.complete > 0
    }

    /// Reads once. Returns whether there may be more: neither the end nor nothing for now.
    /// At the end `forget` is called with the descriptor, before it is closed.
    pub(crate) fn read(&mut self, buffer: &mut [u8], forget: impl Fn(BorrowedFd<'_>)) -> bool {
        let Some(fd) = &self.fd else { return false };
        match rustix::io::read(fd, &mut *buffer) {
            Ok(len) if len > 0 => {
                self.add(&buffer[..len]);
                true
            }
            Err(Errno::INTR) => true,
            Err(Errno::AGAIN) => false,
            // The end. An error is one, too: there is no way to get at the rest.
            Ok(_) | Err(_) => {
                forget(fd.as_fd());
                self.end();
                false
            }
        }
    }

    /// No more is read: an unfinished line is as whole as it will ever be.
    pub(crate) fn end(&mut self) {
        self.fd = None;
        self.complete = self.bytes.len();
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Some(newline) = bytes.iter().rposition(|&byte| byte == b'\n') {
            self.complete = self.bytes.len() + newline + 1;
        }
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() - self.complete >= MAX_LINE_BYTES {
            self.complete = self.bytes.len();
        }
    }

    /// Forwards the whole lines.
    pub(crate) fn forward(&mut self, rank: u32, writer: &mut FrameWriter) {
        // Never longer than a frame: less than the longest line waited when the last read came.
        if self.complete > 0 {
            writer.output(rank, self.stream, &self.bytes[..self.complete]);
            self.bytes.drain(..self.complete);
            self.complete = 0;
        }
        if self.bytes.is_empty() && self.bytes.capacity() > MAX_LINE_BYTES / 16 {
            self.bytes = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::{PipeFlags, pipe_with};

    fn pipe() -> (OutputPipe, OwnedFd) {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        (OutputPipe::new(Some(reader), Stream::Out), writer)
    }

    #[test]
    fn a_line_waits_for_its_end() {
        let (mut pipe, writer) = pipe();
        let mut buffer = [0; 64];
        assert!(!pipe.read(&mut buffer, |_| ()), "nothing for now");
        rustix::io::write(&writer, b"one\ntw").unwrap();
        assert!(pipe.read(&mut buffer, |_| ()));
        let mut frames = FrameWriter::default();
        pipe.forward(3, &mut frames);
        assert_eq!(frames.waiting(), 5 + 4 + 4);
        rustix::io::write(&writer, b"o").unwrap();
        assert!(pipe.read(&mut buffer, |_| ()));
        assert!(!pipe.ready());
        drop(writer);
        assert!(!pipe.read(&mut buffer, |_| ()));
        assert!(
            pipe.fd().is_none() && pipe.ready(),
            "at the end it is forwarded as it is"
        );
        assert_eq!(pipe.bytes, b"two");
    }

    #[test]
    fn a_line_without_end_is_forwarded_in_pieces_that_fit_a_frame() {
        let (mut pipe, _writer) = pipe();
        let piece = vec![b'x'; crate::limits::READ_BYTES];
        while !pipe.ready() {
            pipe.add(&piece);
        }
        assert!(pipe.complete <= crate::limits::MAX_FRAME_BYTES - 64);
        pipe.forward(0, &mut FrameWriter::default());
        assert_eq!(pipe.bytes.capacity(), 0, "the memory is given back");
    }
}

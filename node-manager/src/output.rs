//! The output of a rank, cut at line ends.

use crate::control::{FrameWriter, Stream};
use crate::limits::{MAX_LINE_BYTES, PROMPT_BYTES, WRITE_BUFFER_BYTES};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// One of a rank's two pipes, with the bytes that were read and not yet forwarded.
///
/// Memory is bounded: the owner reads only while no whole line waits here, so at most one
/// unfinished line and one read are held.
#[derive(Debug)]
pub(crate) struct OutputPipe {
    /// The pipe; closed at the end of the stream.
    fd: Option<OwnedFd>,
    stream: Stream,
    bytes: Vec<u8>,
    /// The length of the whole lines.
    complete: usize,
    /// Whether the rest may be a prompt, which must not wait long.
    may_be_prompt: bool,
    /// Whether the beginning of the next line has been sent ahead, and its end must follow.
    is_begun: bool,
    /// Whether the last forwarded bytes lack their newline.
    is_open: bool,
}

/// The end of a line in which its rank was killed.
const CUT: &[u8] = b" [cut]\n";

impl OutputPipe {
    /// Makes the pipe. Without a descriptor nothing ever comes: the rank writes elsewhere.
    pub(crate) fn new(fd: Option<OwnedFd>, stream: Stream) -> Self {
        Self {
            fd,
            stream,
            bytes: Vec::new(),
            complete: 0,
            may_be_prompt: false,
            is_begun: false,
            is_open: false,
        }
    }

    /// Returns the pipe, while it is open.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// Returns whether there is something to forward. At the end this may be only the message that
    /// nothing follows a begun line.
    pub(crate) fn ready(&self) -> bool {
        self.complete > 0 || (self.is_begun && self.fd.is_none())
    }

    /// Returns whether an unfinished line waits that may be a prompt.
    pub(crate) fn waits(&self) -> bool {
        let rest = self.bytes.len() - self.complete;
        self.may_be_prompt && (1..=PROMPT_BYTES).contains(&rest)
    }

    /// Reads once. Returns whether there may be more: false at the end, and if there is nothing for
    /// now. At the end `forget` is called with the descriptor, before it is closed.
    pub(crate) fn read(&mut self, buffer: &mut [u8], forget: impl Fn(BorrowedFd<'_>)) -> bool {
        let Some(fd) = &self.fd else { return false };
        match rustix::io::read(fd, &mut *buffer) {
            Ok(len) if len > 0 => {
                self.add(&buffer[..len]);
                self.may_be_prompt = !len.is_multiple_of(WRITE_BUFFER_BYTES);
                true
            }
            Err(Errno::INTR) => true,
            Err(Errno::AGAIN) => false,
            // The end. After an error, too, the rest cannot be read.
            Ok(_) | Err(_) => {
                forget(fd.as_fd());
                self.end();
                false
            }
        }
    }

    /// Ends the reading: an unfinished line will not grow any more.
    pub(crate) fn end(&mut self) {
        self.fd = None;
        self.complete = self.bytes.len();
    }

    /// Marks the unfinished line of a killed rank.
    pub(crate) fn cut(&mut self) {
        let is_cut = self
            .bytes
            .last()
            .map_or(self.is_open, |&last| last != b'\n');
        if is_cut {
            self.add(CUT);
        }
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
        // Never longer than a frame: at the last read, less than the longest line waited.
        if self.ready() {
            let lines = &self.bytes[..self.complete];
            writer.output(rank, self.stream, lines);
            self.is_open = lines.last().map_or(self.is_open, |&last| last != b'\n');
            self.bytes.drain(..self.complete);
            self.complete = 0;
            self.is_begun = false;
        }
        if self.bytes.is_empty() && self.bytes.capacity() > MAX_LINE_BYTES / 16 {
            self.bytes = Vec::new();
        }
    }

    /// Forwards the beginning of a line that may be a prompt.
    pub(crate) fn forward_beginning(&mut self, rank: u32, writer: &mut FrameWriter) {
        if self.waits() {
            self.forward(rank, writer);
            writer.beginning(rank, self.stream, &self.bytes);
            self.bytes.clear();
            self.is_begun = true;
            self.is_open = true;
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
    fn a_prompt_is_forwarded_before_its_line_ends() {
        let (mut pipe, writer) = pipe();
        let mut buffer = [0; 2048];
        let mut frames = FrameWriter::default();
        rustix::io::write(&writer, b"one\nname? ").unwrap();
        pipe.read(&mut buffer, |_| ());
        assert!(pipe.waits());
        pipe.forward_beginning(3, &mut frames);
        // A frame for the whole line, and one for the beginning.
        assert_eq!(frames.waiting(), (5 + 4 + 4) + (5 + 4 + 6));
        assert!(!pipe.waits() && !pipe.ready());
        drop(writer);
        pipe.read(&mut buffer, |_| ());
        assert!(
            pipe.ready(),
            "who holds the beginning is told that nothing follows"
        );
        pipe.forward(3, &mut frames);
        assert!(!pipe.ready());
    }

    #[test]
    fn half_a_line_at_the_end_of_a_full_buffer_is_no_prompt() {
        let (mut pipe, writer) = pipe();
        rustix::io::write(&writer, &[b'x'; 1024]).unwrap();
        pipe.read(&mut [0; 2048], |_| ());
        assert!(!pipe.waits());
    }

    #[test]
    fn a_line_that_a_killed_rank_left_is_marked() {
        let (mut pipe, writer) = pipe();
        let mut frames = FrameWriter::default();
        pipe.cut();
        assert!(!pipe.ready(), "there is none");
        for (text, left) in [
            ("whole\nhalf", "whole\nhalf [cut]\n"),
            ("whole\n", "whole\n"),
        ] {
            rustix::io::write(&writer, text.as_bytes()).unwrap();
            pipe.read(&mut [0; 64], |_| ());
            pipe.cut();
            assert_eq!(pipe.bytes, left.as_bytes());
            pipe.forward(0, &mut frames);
        }
        rustix::io::write(&writer, b"begun").unwrap();
        pipe.read(&mut [0; 64], |_| ());
        pipe.forward_beginning(0, &mut frames);
        // Its pipe may be found closed before its death is known.
        drop(writer);
        pipe.read(&mut [0; 64], |_| ());
        pipe.forward(0, &mut frames);
        pipe.cut();
        assert_eq!(pipe.bytes, CUT);
        pipe.forward(0, &mut frames);
        pipe.cut();
        assert!(pipe.bytes.is_empty(), "once");
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

//! Frames on a control channel, and the line of text that precedes them.
//!
//! A frame is its length (4 bytes, little-endian), a kind (1 byte), and a body: a message encoded
//! with postcard, or output (rank, stream, bytes as they are). Neither end blocks: bytes wait in a
//! [`FrameWriter`] until the channel takes them.

use crate::byte_stream;
use crate::limits::{MAX_ADDRESS_BYTES, MAX_FRAME_BYTES};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::os::fd::AsFd;

/// Standard output or standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// The beginning of the first line of a node manager of several machines; its version follows. It
/// is a line of text, so that any two versions understand it, and so that it differs from the
/// output of that host's shell.
const GREETING: &str = "\nBCS-MPI far-node-manager ";

/// The longest output of a shell before the greeting.
const MAX_PREAMBLE_BYTES: usize = 64 << 10;

/// The longest greeting.
const MAX_GREETING_BYTES: usize = 256;

/// Returns the first line of a node manager of several machines.
#[must_use]
pub(crate) fn greeting() -> String {
    format!("{GREETING}{}\n", env!("CARGO_PKG_VERSION"))
}

/// The state of the greeting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Greeting {
    /// It has not come yet.
    #[default]
    Awaited,
    /// It has not come, and the output is longer than a shell's.
    Absent,
    /// The version of the node manager that has greeted.
    Version(String),
}

/// A message, or output of a rank.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<T> {
    /// A message.
    Message(T),
    /// Whole lines of a rank; the last of a stream may lack its newline.
    Output {
        /// The rank.
        rank: u32,
        /// The stream to which the rank wrote them.
        stream: Stream,
        /// The lines.
        bytes: Vec<u8>,
        /// Whether this is only the beginning of a line. The rest comes later, or an output without
        /// bytes if there is no rest.
        is_beginning: bool,
    },
}

/// A violation of the frame format: a bug, for both ends are the same binary.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A length beyond [`MAX_FRAME_BYTES`], or a body too short for its kind.
    #[error("a frame of kind {kind} with {len} bytes makes no sense")]
    Shape {
        /// The kind.
        kind: u8,
        /// The length of the body.
        len: usize,
    },
    /// A body that cannot be decoded.
    #[error("a message cannot be decoded: {0}")]
    Message(#[from] postcard::Error),
}

const KIND_MESSAGE: u8 = 0;
const KIND_OUT: u8 = 1;
const KIND_ERR: u8 = 2;
const KIND_BEGINNING_OUT: u8 = 3;
const KIND_BEGINNING_ERR: u8 = 4;
/// A frame for parties below an agent ([`crate::launch_tree`]), and further such kinds.
pub(crate) const KIND_ROUTED: u8 = 5;
pub(crate) const KIND_RELAYED: u8 = 6;
pub(crate) const KIND_NEWS: u8 = 7;
const HEADER_BYTES: usize = 5;

/// Returns the longest body of a frame of this kind.
fn longest(kind: u8) -> usize {
    match kind {
        KIND_ROUTED | KIND_RELAYED => HEADER_BYTES + MAX_FRAME_BYTES + MAX_ADDRESS_BYTES,
        _ => MAX_FRAME_BYTES,
    }
}

/// Returns a whole frame, whose body has these parts.
///
/// # Panics
/// If it is longer than any frame.
pub(crate) fn whole(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    assert!(len <= longest(kind), "a frame of {len} bytes is not sent");
    let len = u32::try_from(len).expect("MAX_FRAME_BYTES fits u32");
    let header = [&len.to_le_bytes()[..], &[kind]].concat();
    [&[&header[..]], parts].concat().concat()
}

/// Returns the whole frame of a message.
///
/// # Panics
/// If it is longer than any frame.
#[must_use]
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    let body = postcard::to_stdvec(message).expect("our messages can be encoded");
    whole(KIND_MESSAGE, &[&body])
}

/// A whole frame that was not decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawFrame(Vec<u8>);

impl RawFrame {
    /// Returns its kind.
    pub(crate) fn kind(&self) -> u8 {
        self.0[HEADER_BYTES - 1]
    }

    /// Returns its body.
    pub(crate) fn body(&self) -> &[u8] {
        &self.0[HEADER_BYTES..]
    }

    /// Returns all of it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the error that it must not come here.
    pub(crate) fn misplaced(&self) -> FrameError {
        FrameError::Shape {
            kind: self.kind(),
            len: self.body().len(),
        }
    }
}

/// Frames to send.
#[derive(Debug, Default)]
pub struct FrameWriter {
    bytes: Vec<u8>,
    sent: usize,
}

impl FrameWriter {
    /// Returns how many bytes still wait for the channel.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Adds a message.
    pub fn message(&mut self, message: &impl Serialize) {
        self.append(&encode(message));
    }

    /// Adds whole frames.
    pub fn append(&mut self, frames: &[u8]) {
        self.bytes.extend_from_slice(frames);
    }

    /// Returns the bytes that still wait.
    #[cfg(test)]
    pub(crate) fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Adds output of a rank.
    pub fn output(&mut self, rank: u32, stream: Stream, lines: &[u8]) {
        let kind = match stream {
            Stream::Out => KIND_OUT,
            Stream::Err => KIND_ERR,
        };
        self.lines(kind, rank, lines);
    }

    /// Adds the beginning of a line of a rank.
    pub fn beginning(&mut self, rank: u32, stream: Stream, bytes: &[u8]) {
        let kind = match stream {
            Stream::Out => KIND_BEGINNING_OUT,
            Stream::Err => KIND_BEGINNING_ERR,
        };
        self.lines(kind, rank, bytes);
    }

    fn lines(&mut self, kind: u8, rank: u32, bytes: &[u8]) {
        self.header(kind, bytes.len() + 4);
        self.bytes.extend_from_slice(&rank.to_le_bytes());
        self.bytes.extend_from_slice(bytes);
    }

    fn header(&mut self, kind: u8, len: usize) {
        assert!(len <= MAX_FRAME_BYTES, "a frame of {len} bytes is not sent");
        let len = u32::try_from(len).expect("MAX_FRAME_BYTES fits u32");
        self.bytes.extend_from_slice(&len.to_le_bytes());
        self.bytes.push(kind);
    }

    /// Sends the bytes that a socket or a pipe takes without blocking.
    ///
    /// # Errors
    /// The kernel's error; EPIPE when the peer is gone.
    pub fn send(&mut self, to: impl AsFd) -> Result<(), Errno> {
        while self.waiting() > 0 {
            match byte_stream::write(&to, &self.bytes[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(errno),
            }
        }
        if self.waiting() == 0 {
            self.bytes.clear();
            self.sent = 0;
        } else if self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }
}

/// The result of a read from the control socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameReadOutcome {
    /// Some bytes.
    Bytes,
    /// Nothing for now.
    Nothing,
    /// The peer is gone, and everything it sent has been read.
    End,
}

/// Frames that arrive.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    taken: usize,
}

impl FrameReader {
    /// Reads once, without blocking, through a buffer of the caller.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn receive(
        &mut self,
        from: impl AsFd,
        buffer: &mut [u8],
    ) -> Result<FrameReadOutcome, Errno> {
        loop {
            match byte_stream::read(&from, buffer) {
                Ok(0) | Err(Errno::CONNRESET) => return Ok(FrameReadOutcome::End),
                Ok(len) => {
                    self.bytes.extend_from_slice(&buffer[..len]);
                    return Ok(FrameReadOutcome::Bytes);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(FrameReadOutcome::Nothing),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Adds bytes that have come by another way.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Removes the next whole frame, if it has arrived, without decoding it.
    ///
    /// # Errors
    /// [`FrameError`] when the bytes are not frames.
    pub fn raw(&mut self) -> Result<Option<RawFrame>, FrameError> {
        let Some(len) = self.next_len()? else {
            self.compact();
            return Ok(None);
        };
        let frame = self.bytes[self.taken..][..HEADER_BYTES + len].to_vec();
        self.taken += frame.len();
        Ok(Some(RawFrame(frame)))
    }

    /// Returns the length of the body of the next frame, if all of it has arrived.
    fn next_len(&self) -> Result<Option<usize>, FrameError> {
        let waiting = &self.bytes[self.taken..];
        let Some((&[a, b, c, d, kind], rest)) = waiting.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        if len > longest(kind) {
            return Err(FrameError::Shape { kind, len });
        }
        Ok((rest.len() >= len).then_some(len))
    }

    /// Removes the greeting and all bytes before it, if it has arrived. Call this before reading
    /// any frame, until it returns a greeting.
    pub fn greeting(&mut self) -> Greeting {
        let place = self
            .bytes
            .windows(GREETING.len())
            .position(|part| part == GREETING.as_bytes());
        let Some(place) = place else {
            return match self.bytes.len() > MAX_PREAMBLE_BYTES {
                true => Greeting::Absent,
                false => Greeting::Awaited,
            };
        };
        let line = &self.bytes[place + GREETING.len()..];
        match line.iter().position(|&byte| byte == b'\n') {
            Some(end) => {
                let version = String::from_utf8_lossy(&line[..end]).into_owned();
                self.taken = place + GREETING.len() + end + 1;
                self.compact();
                Greeting::Version(version)
            }
            None if line.len() > MAX_GREETING_BYTES => Greeting::Absent,
            None => Greeting::Awaited,
        }
    }

    /// Returns the bytes that have come and were not taken: the output of a program that is no node
    /// manager.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// Removes the next whole frame, if it has arrived.
    ///
    /// # Errors
    /// [`FrameError`] when the bytes are not frames.
    pub fn frame<T: DeserializeOwned>(&mut self) -> Result<Option<Frame<T>>, FrameError> {
        let Some(len) = self.next_len()? else {
            self.compact();
            return Ok(None);
        };
        let waiting = &self.bytes[self.taken..];
        let (kind, body) = (waiting[HEADER_BYTES - 1], &waiting[HEADER_BYTES..][..len]);
        let frame = decode(kind, body)?;
        self.taken += HEADER_BYTES + len;
        Ok(Some(frame))
    }

    /// Moves the rest to the front; called once per batch of frames.
    fn compact(&mut self) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
    }
}

fn decode<T: DeserializeOwned>(kind: u8, body: &[u8]) -> Result<Frame<T>, FrameError> {
    let stream = match kind {
        KIND_MESSAGE => return Ok(Frame::Message(postcard::from_bytes(body)?)),
        KIND_OUT | KIND_BEGINNING_OUT => Stream::Out,
        KIND_ERR | KIND_BEGINNING_ERR => Stream::Err,
        _ => {
            return Err(FrameError::Shape {
                kind,
                len: body.len(),
            });
        }
    };
    let Some((&rank, lines)) = body.split_first_chunk::<4>() else {
        return Err(FrameError::Shape {
            kind,
            len: body.len(),
        });
    };
    Ok(Frame::Output {
        rank: u32::from_le_bytes(rank),
        stream,
        bytes: lines.to_vec(),
        is_beginning: matches!(kind, KIND_BEGINNING_OUT | KIND_BEGINNING_ERR),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::FromManager;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    #[test]
    fn frames_arrive_whole_and_in_order_whatever_the_socket_takes_at_a_time() {
        let pair = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        );
        let (near, far) = pair.unwrap();
        let long = vec![b'x'; 3 << 20];
        let mut writer = FrameWriter::default();
        writer.message(&FromManager::AllDone);
        writer.output(7, Stream::Err, &long);
        writer.message(&FromManager::ManagerFailed {
            message: "no".into(),
        });
        let mut reader = FrameReader::default();
        let mut buffer = vec![0; 1000];
        let mut frames = Vec::new();
        while frames.len() < 3 {
            writer.send(&near).unwrap();
            reader.receive(&far, &mut buffer).unwrap();
            while let Some(frame) = reader.frame::<FromManager>().unwrap() {
                frames.push(frame);
            }
        }
        assert_eq!(frames[0], Frame::Message(FromManager::AllDone));
        assert_eq!(
            frames[1],
            Frame::Output {
                rank: 7,
                stream: Stream::Err,
                bytes: long,
                is_beginning: false,
            }
        );
        drop(near);
        assert_eq!(reader.receive(&far, &mut buffer), Ok(FrameReadOutcome::End));
    }

    /// A pipe, too, takes a part at a time, and neither end of it may block.
    #[test]
    fn frames_arrive_whole_through_a_pipe() {
        let (far, near) = rustix::pipe::pipe().unwrap();
        let long = vec![b'x'; 3 << 20];
        let mut writer = FrameWriter::default();
        writer.output(7, Stream::Out, &long);
        let mut reader = FrameReader::default();
        let mut buffer = vec![0; 10_000];
        assert_eq!(
            reader.receive(&far, &mut buffer),
            Ok(FrameReadOutcome::Nothing)
        );
        let frame = loop {
            writer.send(&near).unwrap();
            reader.receive(&far, &mut buffer).unwrap();
            if let Some(frame) = reader.frame::<FromManager>().unwrap() {
                break frame;
            }
        };
        assert!(matches!(frame, Frame::Output { bytes, .. } if bytes == long));
        drop(near);
        assert_eq!(reader.receive(&far, &mut buffer), Ok(FrameReadOutcome::End));
    }

    #[test]
    fn a_greeting_is_found_behind_what_a_shell_says() {
        let of = |text: &str| FrameReader {
            bytes: text.as_bytes().to_vec(),
            taken: 0,
        };
        let mut reader = of("Welcome to a!\nno newline");
        assert_eq!(reader.greeting(), Greeting::Awaited);
        let greeting = greeting();
        let (begin, rest) = greeting.split_at(20);
        reader.bytes.extend(begin.as_bytes());
        assert_eq!(reader.greeting(), Greeting::Awaited);
        reader.bytes.extend(rest.as_bytes());
        let mut writer = FrameWriter::default();
        writer.message(&FromManager::AllDone);
        reader.bytes.extend(&writer.bytes);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        assert_eq!(reader.greeting(), Greeting::Version(version));
        let frame = reader.frame::<FromManager>().unwrap();
        assert_eq!(frame, Some(Frame::Message(FromManager::AllDone)));
        assert_eq!(of(&"x".repeat(100_000)).greeting(), Greeting::Absent);
    }

    #[test]
    fn a_length_that_makes_no_sense_is_refused_before_memory_is_taken_for_it() {
        let mut reader = FrameReader {
            bytes: vec![0xff, 0xff, 0xff, 0xff, 0],
            taken: 0,
        };
        assert!(matches!(
            reader.frame::<FromManager>(),
            Err(FrameError::Shape { .. })
        ));
        let mut reader = FrameReader {
            bytes: vec![1, 0, 0, 0, KIND_OUT, 5],
            taken: 0,
        };
        assert!(matches!(
            reader.frame::<FromManager>(),
            Err(FrameError::Shape { .. })
        ));
    }
}

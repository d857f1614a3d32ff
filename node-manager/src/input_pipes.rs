//! Standard input that every rank reads: one piece at a time, into a pipe for each rank.
//!
//! No more than one piece is held. The next one comes when every rank's pipe has taken this one, so
//! the slowest reader sets the pace. A rank that has ended or closed its input is not waited for.

use crate::event_poll::{EventPoll, EventSource};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};

/// The pipes, by the index of the rank among those of this process.
#[derive(Debug, Default)]
pub(crate) struct InputPipes {
    pipes: Vec<Pipe>,
    piece: Vec<u8>,
}

#[derive(Debug)]
struct Pipe {
    /// The pipe, until its reader is gone or the input ends.
    fd: Option<OwnedFd>,
    /// The number of bytes of the piece that it has taken.
    taken: usize,
    /// Whether it is full and watched for room.
    full: bool,
}

impl InputPipes {
    /// Adds the pipe of the next rank. The pipe does not block.
    pub(crate) fn add(&mut self, fd: OwnedFd) {
        self.pipes.push(Pipe {
            fd: Some(fd),
            taken: 0,
            full: false,
        });
    }

    /// Offers the next piece to all, or the end if it is empty. Returns whether all have taken it.
    pub(crate) fn offer(&mut self, piece: Vec<u8>, watch: &EventPoll) -> Result<bool, Errno> {
        debug_assert!(self.all_have_taken(), "the launcher waits for InputTaken");
        if piece.is_empty() {
            self.pipes.clear();
            return Ok(true);
        }
        self.piece = piece;
        for (index, pipe) in self.pipes.iter_mut().enumerate() {
            pipe.taken = 0;
            pipe.write(&self.piece, index, watch)?;
        }
        Ok(self.all_have_taken())
    }

    /// Continues with a pipe that was full, and now has room or no reader. Returns whether all have
    /// taken the piece now.
    pub(crate) fn go_on(&mut self, index: usize, watch: &EventPoll) -> Result<bool, Errno> {
        if let Some(pipe) = self.pipes.get_mut(index) {
            pipe.write(&self.piece, index, watch)?;
        }
        Ok(self.all_have_taken())
    }

    fn all_have_taken(&self) -> bool {
        let whole = self.piece.len();
        self.pipes
            .iter()
            .all(|pipe| pipe.fd.is_none() || pipe.taken == whole)
    }
}

impl Pipe {
    /// Writes what the pipe takes, and watches it for room if some is left.
    fn write(&mut self, piece: &[u8], index: usize, watch: &EventPoll) -> Result<(), Errno> {
        let Some(fd) = &self.fd else { return Ok(()) };
        let mut gone = false;
        let mut full = false;
        while self.taken < piece.len() && !gone && !full {
            match rustix::io::write(fd, &piece[self.taken..]) {
                Ok(len) => self.taken += len,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => full = true,
                Err(_) => gone = true,
            }
        }
        if full != self.full {
            self.full = full;
            if full {
                watch.add_for_room(fd.as_fd(), EventSource::Input(index))?;
            } else {
                watch.remove(fd.as_fd());
            }
        }
        if gone {
            self.fd = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{OFlags, fcntl_setfl};
    use rustix::pipe::{PipeFlags, pipe_with};

    fn pipe(input: &mut InputPipes) -> OwnedFd {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        input.add(writer);
        reader
    }

    #[test]
    fn the_slowest_reader_sets_the_pace_and_who_is_gone_is_not_waited_for() {
        let watch = EventPoll::new().unwrap();
        let mut input = InputPipes::default();
        let (quick, slow, gone) = (pipe(&mut input), pipe(&mut input), pipe(&mut input));
        drop(gone);
        let piece = vec![b'x'; 100_000];
        assert_eq!(input.offer(piece, &watch), Ok(false), "a pipe takes 64 KiB");
        let mut buffer = vec![0; 100_000];
        assert_eq!(rustix::io::read(&quick, &mut buffer[..]), Ok(65_536));
        assert_eq!(watch.wait(None).unwrap(), [EventSource::Input(0)]);
        assert_eq!(input.go_on(0, &watch), Ok(false), "the slow one has not");
        assert_eq!(rustix::io::read(&slow, &mut buffer[..]), Ok(65_536));
        assert_eq!(watch.wait(None).unwrap(), [EventSource::Input(1)]);
        assert_eq!(input.go_on(1, &watch), Ok(true));
        assert_eq!(input.offer(Vec::new(), &watch), Ok(true));
        assert_eq!(
            rustix::io::read(&slow, &mut buffer[..]),
            Ok(100_000 - 65_536)
        );
        assert_eq!(rustix::io::read(&slow, &mut buffer[..]), Ok(0), "the end");
    }
}

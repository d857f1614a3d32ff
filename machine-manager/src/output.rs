//! Output of the ranks to the user: whole line by whole line, in one order.
//!
//! It never blocks: a user who has stopped reading (`less`) must not keep `bcs run` from ending the
//! job. Other processes share the standard streams, so we cannot make them non-blocking. Instead,
//! we write no more at a time than surely fits when poll reports room.

use crate::closed_streams;
use node_manager::control::Stream;
use node_manager::limits::MAX_LINE_BYTES;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

/// A pipe that poll calls writable takes this many bytes without blocking (PIPE_BUF).
const PIECE_BYTES: usize = 4096;

/// A stream takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputError {
    /// Nobody reads it any more.
    Gone,
    /// It cannot be written: the stream, and the reason.
    Unwritable(&'static str, Errno),
}

/// The two standard streams. One queue for both: they may be the same terminal or file, and then a
/// line of one must not end up inside a line of the other.
#[derive(Debug)]
pub struct Output {
    label: bool,
    queue: VecDeque<(Stream, Vec<u8>)>,
    /// Beginnings of lines that may be prompts, until their rank is the only one that writes, or
    /// goes on.
    begun: BTreeMap<(u32, Stream), Vec<u8>>,
    waiting: usize,
    /// The number of bytes of the first element that are written.
    written: usize,
    /// The rank whose line at the end of each stream lacks its newline.
    unfinished: [Option<Option<u32>>; 2],
    piece: [usize; 2],
    gone: [bool; 2],
    /// The first stream that could not be written, and why.
    lost: Option<(&'static str, Errno)>,
    /// The buffer for the standard output of the ranks, if it is for `bcs` itself.
    collected: Option<Rc<RefCell<Vec<u8>>>>,
}

fn index(stream: Stream) -> usize {
    match stream {
        Stream::Out => 0,
        Stream::Err => 1,
    }
}

/// Returns how much may be written at a time.
fn piece(fd: impl AsFd) -> usize {
    match rustix::fs::fstat(fd) {
        // A file on disk always takes everything.
        Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => usize::MAX,
        _ => PIECE_BYTES,
    }
}

impl Output {
    /// Makes an empty queue; with `label`, lines will begin with their rank.
    #[must_use]
    pub fn new(label: bool) -> Self {
        Self {
            label,
            queue: VecDeque::new(),
            begun: BTreeMap::new(),
            waiting: 0,
            written: 0,
            unfinished: [None; 2],
            piece: [piece(std::io::stdout()), piece(std::io::stderr())],
            gone: [false; 2],
            lost: None,
            collected: None,
        }
    }

    /// Collects the standard output of the ranks for `bcs` itself, and returns the buffer.
    #[must_use]
    pub fn collecting(place: Rc<RefCell<Vec<u8>>>, label: bool) -> Self {
        Self {
            collected: Some(place),
            ..Self::new(label)
        }
    }

    /// Returns the first stream that could not be written, and why.
    #[must_use]
    pub fn lost(&self) -> Option<(&'static str, Errno)> {
        self.lost
    }

    /// Returns how many bytes still wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Adds lines of a rank, or of `bcs` itself.
    pub fn add(&mut self, rank: Option<u32>, stream: Stream, lines: Vec<u8>) {
        let begun = rank.and_then(|rank| self.begun.remove(&(rank, stream)));
        let lines = match begun {
            Some(begun) => [begun, lines].concat(),
            None => lines,
        };
        self.put(rank, stream, lines);
        self.show_begun();
    }

    /// Adds the beginning of a line of a rank. It is shown if it cannot mix with lines of others:
    /// at once if nobody else writes. With labels, lines stay whole.
    pub fn begin(&mut self, rank: u32, stream: Stream, bytes: Vec<u8>) {
        self.begun.entry((rank, stream)).or_default().extend(bytes);
        self.show_begun();
        // A rank that writes on and on without a newline takes no more memory here than in the node
        // manager.
        if self
            .begun
            .get(&(rank, stream))
            .is_some_and(|begun| begun.len() >= MAX_LINE_BYTES)
        {
            self.add(Some(rank), stream, Vec::new());
        }
    }

    /// Ends the output: shows lines that were begun by ranks whose node managers are gone.
    pub fn end(&mut self) {
        for ((rank, stream), bytes) in std::mem::take(&mut self.begun) {
            self.put(Some(rank), stream, bytes);
        }
    }

    fn show_begun(&mut self) {
        if self.label || self.collected.is_some() || !self.queue.is_empty() {
            return;
        }
        let mut ranks = self.begun.keys().map(|&(rank, _)| rank);
        let Some(first) = ranks.next() else { return };
        if ranks.all(|rank| rank == first) {
            for ((rank, stream), bytes) in std::mem::take(&mut self.begun) {
                self.put(Some(rank), stream, bytes);
            }
        }
    }

    fn put(&mut self, rank: Option<u32>, stream: Stream, lines: Vec<u8>) {
        let Some(&last) = lines.last() else { return };
        if let (Some(place), Some(_), Stream::Out) = (&self.collected, rank, stream) {
            return place.borrow_mut().extend(lines);
        }
        if self.gone[index(stream)] {
            return;
        }
        let unfinished = &mut self.unfinished[index(stream)];
        let continued = *unfinished == Some(rank);
        let broken = unfinished.is_some() && !continued;
        *unfinished = (last != b'\n').then_some(rank);
        let label = rank.filter(|_| self.label).map(|rank| format!("[{rank}] "));
        let bytes = match (label, broken) {
            (None, false) => lines,
            (label, broken) => {
                let label = label.unwrap_or_default();
                let mut bytes = Vec::with_capacity(lines.len() + 64);
                if broken {
                    bytes.push(b'\n');
                }
                for (number, line) in lines.split_inclusive(|&byte| byte == b'\n').enumerate() {
                    if number > 0 || !continued {
                        bytes.extend_from_slice(label.as_bytes());
                    }
                    bytes.extend_from_slice(line);
                }
                bytes
            }
        };
        self.waiting += bytes.len();
        self.queue.push_back((stream, bytes));
    }

    /// Returns the descriptor to poll, while bytes wait.
    #[must_use]
    pub fn poll_fd(&self) -> Option<PollFd<'static>> {
        let (stream, _) = self.queue.front()?;
        Some(PollFd::from_borrowed_fd(standard(*stream), PollFlags::OUT))
    }

    /// Writes one piece, after poll has reported room.
    ///
    /// # Errors
    /// [`OutputError`] when the stream takes no more: the bytes that wait for it are dropped.
    pub fn write(&mut self) -> Result<(), OutputError> {
        let Some((stream, bytes)) = self.queue.front() else {
            return Ok(());
        };
        let stream = *stream;
        let rest = &bytes[self.written..];
        let piece = &rest[..rest.len().min(self.piece[index(stream)])];
        let written = match is_closed(stream) {
            true => Err(Errno::BADF),
            false => rustix::io::write(standard(stream), piece),
        };
        match written {
            Ok(len) => {
                self.written += len;
                self.waiting -= len;
                if self.written == bytes.len() {
                    self.queue.pop_front();
                    self.written = 0;
                    self.show_begun();
                }
                Ok(())
            }
            // Another process made the stream non-blocking and filled it.
            Err(Errno::INTR | Errno::AGAIN) => Ok(()),
            Err(errno) => {
                self.drop_stream(stream);
                let which = ["standard output", "standard error"][index(stream)];
                if errno == Errno::PIPE {
                    return Err(OutputError::Gone);
                }
                self.lost.get_or_insert((which, errno));
                Err(OutputError::Unwritable(which, errno))
            }
        }
    }

    fn drop_stream(&mut self, stream: Stream) {
        self.gone[index(stream)] = true;
        self.queue.retain(|(of, _)| *of != stream);
        self.written = 0;
        self.waiting = self.queue.iter().map(|(_, bytes)| bytes.len()).sum();
    }
}

/// Returns whether this process was started without the stream: then it is /dev/null by now.
fn is_closed(stream: Stream) -> bool {
    match stream {
        Stream::Out => closed_streams::output(),
        Stream::Err => closed_streams::error(),
    }
}

fn standard(stream: Stream) -> BorrowedFd<'static> {
    match stream {
        Stream::Out => rustix::stdio::stdout(),
        Stream::Err => rustix::stdio::stderr(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(output: &Output) -> String {
        let bytes: Vec<u8> = output
            .queue
            .iter()
            .flat_map(|(_, bytes)| bytes.clone())
            .collect();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn labels_stand_at_the_beginning_of_lines() {
        let mut output = Output::new(true);
        output.add(Some(3), Stream::Out, b"a\nb\n".to_vec());
        output.add(Some(12), Stream::Out, b"c".to_vec());
        output.add(Some(12), Stream::Out, b"d\n".to_vec());
        assert_eq!(all(&output), "[3] a\n[3] b\n[12] cd\n");
    }

    #[test]
    fn a_last_line_without_newline_is_not_continued_by_another_rank() {
        let mut output = Output::new(false);
        output.add(Some(0), Stream::Out, b"a".to_vec());
        output.add(Some(1), Stream::Out, b"b\n".to_vec());
        output.add(None, Stream::Err, b"bcs: x\n".to_vec());
        output.add(Some(1), Stream::Out, b"c".to_vec());
        assert_eq!(all(&output), "a\nb\nbcs: x\nc");
    }

    #[test]
    fn a_prompt_is_shown_if_one_rank_alone_writes() {
        let mut output = Output::new(false);
        output.begin(0, Stream::Out, b"name? ".to_vec());
        assert_eq!(all(&output), "name? ");
        output.add(Some(0), Stream::Out, b"thanks\n".to_vec());
        assert_eq!(all(&output), "name? thanks\n");
        // Others wait to be shown, too.
        output.begin(1, Stream::Out, b"ha".to_vec());
        output.add(Some(0), Stream::Out, b"whole\n".to_vec());
        output.add(Some(1), Stream::Out, b"lf\n".to_vec());
        assert_eq!(all(&output), "name? thanks\nwhole\nhalf\n");
    }

    #[test]
    fn two_ranks_that_have_begun_a_line_are_not_mixed() {
        let mut output = Output::new(false);
        output.add(Some(2), Stream::Out, b"x\n".to_vec());
        output.begin(0, Stream::Out, b"a".to_vec());
        output.begin(1, Stream::Out, b"b".to_vec());
        output.queue.clear();
        output.add(Some(0), Stream::Out, b"a\n".to_vec());
        assert_eq!(all(&output), "aa\n");
        output.queue.clear();
        output.show_begun();
        assert_eq!(all(&output), "b", "it is alone now");
    }

    #[test]
    fn labelled_lines_stay_whole() {
        let mut output = Output::new(true);
        output.begin(0, Stream::Out, b"50%".to_vec());
        assert_eq!(all(&output), "");
        output.add(Some(0), Stream::Out, Vec::new());
        assert_eq!(
            all(&output),
            "[0] 50%",
            "at the end they are shown as they are"
        );
        output.begin(1, Stream::Out, b"7".to_vec());
        output.end();
        assert_eq!(all(&output), "[0] 50%\n[1] 7");
    }

    #[test]
    fn only_standard_output_of_the_ranks_is_collected() {
        let place = Rc::default();
        let mut output = Output::collecting(Rc::clone(&place), false);
        output.add(Some(0), Stream::Out, b"row\n".to_vec());
        output.add(Some(0), Stream::Err, b"a\n".to_vec());
        output.add(None, Stream::Out, b"b\n".to_vec());
        assert_eq!(*place.borrow(), b"row\n");
        assert_eq!(all(&output), "a\nb\n");
    }
}

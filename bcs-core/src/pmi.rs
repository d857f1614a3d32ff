//! The lines of PMI-1, by which processes of a job and the launcher that has started them exchange
//! how they reach each other.
//!
//! A line is `cmd=NAME key=value ...`. Keys come in any order, and unknown keys are ignored. A
//! process has one request in flight. Node managers serve this protocol to programs of other MPIs,
//! and our ranks are its clients under the launchers of other MPIs.

/// The environment variable with the descriptor of a process's socket to its launcher.
pub const PMI_FD: &str = "PMI_FD";
/// The environment variable with the rank of a process.
pub const PMI_RANK: &str = "PMI_RANK";
/// The environment variable with the number of processes.
pub const PMI_SIZE: &str = "PMI_SIZE";

/// The longest name of a key-value space, with the NUL byte of C. Launchers of MPICH give this
/// length, and clients have buffers for it.
pub const SPACE_NAME_BYTES: usize = 256;
/// The longest key, as above.
pub const KEY_BYTES: usize = 64;
/// The longest value, as above.
pub const VALUE_BYTES: usize = 1024;
/// The longest line. A `put` with the longest space, key and value has less than half of it.
pub const LINE_BYTES: usize = 4096;

/// Bytes that are no line of PMI-1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    /// The line does not end.
    #[error("a PMI line of more than {LINE_BYTES} bytes")]
    TooLong,
    /// The line is no text.
    #[error("a PMI line that is not UTF-8")]
    NoText,
    /// The line names no command.
    #[error("a PMI line without a command: {0:?}")]
    NoCommand(String),
}

/// A line, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The command.
    pub command: &'a str,
    text: &'a str,
}

impl<'a> Line<'a> {
    /// Takes a line apart.
    ///
    /// # Errors
    /// [`BadLine::NoCommand`].
    pub fn parse(text: &'a str) -> Result<Self, BadLine> {
        match value_of(text, "cmd").filter(|command| !command.is_empty()) {
            Some(command) => Ok(Self { command, text }),
            None => Err(BadLine::NoCommand(text.chars().take(80).collect())),
        }
    }

    /// Returns the value of a key.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&'a str> {
        value_of(self.text, key)
    }

    /// Returns whether the line reports success: `rc=0`, or no `rc`.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.value("rc").is_none_or(|code| code == "0")
    }
}

fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut words = text.split_ascii_whitespace();
    words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// Cuts a stream of bytes into lines.
#[derive(Debug, Default)]
pub struct LineReader {
    bytes: Vec<u8>,
    /// How many of the bytes have no newline.
    searched: usize,
}

impl LineReader {
    /// Adds bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns how many bytes wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// Removes the next line, without its newline.
    ///
    /// # Errors
    /// [`BadLine::TooLong`] and [`BadLine::NoText`]; the stream is of no use then.
    pub fn line(&mut self) -> Result<Option<String>, BadLine> {
        let rest = &self.bytes[self.searched..];
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            self.searched = self.bytes.len();
            return match self.searched > LINE_BYTES {
                true => Err(BadLine::TooLong),
                false => Ok(None),
            };
        };
        let end = self.searched + end;
        if end > LINE_BYTES {
            return Err(BadLine::TooLong);
        }
        let mut line: Vec<u8> = self.bytes.drain(..=end).collect();
        self.searched = 0;
        line.pop();
        String::from_utf8(line)
            .map(Some)
            .map_err(|_| BadLine::NoText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_in_any_order_and_unknown_ones_are_ignored() {
        let text = "key=k more=x  cmd=put value=a=b kvsname=s rc=1";
        let line = Line::parse(text).unwrap();
        assert_eq!(line.command, "put");
        assert_eq!(line.value("value"), Some("a=b"));
        assert_eq!(line.value("key"), Some("k"));
        assert_eq!(line.value("name"), None, "the end of a key is no key");
        assert!(!line.is_success());
        assert!(Line::parse("cmd=x").unwrap().is_success());
        for text in ["", "cmd=", "put key=k"] {
            assert!(
                matches!(Line::parse(text), Err(BadLine::NoCommand(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn lines_are_whole_wherever_the_stream_is_cut() {
        let text = b"cmd=init a=1\ncmd=get key=k\n\ncmd=x";
        for cut in 0..=text.len() {
            let mut reader = LineReader::default();
            let mut lines = Vec::new();
            for part in [&text[..cut], &text[cut..]] {
                reader.push(part);
                while let Some(line) = reader.line().unwrap() {
                    lines.push(line);
                }
            }
            assert_eq!(lines, ["cmd=init a=1", "cmd=get key=k", ""], "cut at {cut}");
            assert_eq!(reader.waiting(), 5);
        }
    }

    #[test]
    fn a_line_without_end_or_without_text_is_refused() {
        let mut reader = LineReader::default();
        reader.push(&[b'x'; LINE_BYTES]);
        assert_eq!(reader.line(), Ok(None));
        reader.push(b"xx");
        assert_eq!(reader.line(), Err(BadLine::TooLong));
        let mut reader = LineReader::default();
        reader.push(&[b'x'; LINE_BYTES + 1]);
        reader.push(b"\n");
        assert_eq!(reader.line(), Err(BadLine::TooLong));
        let mut reader = LineReader::default();
        reader.push(b"cmd=\xff\n");
        assert_eq!(reader.line(), Err(BadLine::NoText));
    }
}

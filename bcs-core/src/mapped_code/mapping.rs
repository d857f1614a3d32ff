//! A part of a code map.

use serde::{Deserialize, Serialize};

/// The longest list of mapped files that is kept, in encoded bytes: more than any program was seen
/// to have, and less than the limit of a rank's message.
pub(super) const MOST_BYTES: usize = 48 * 1024;

/// Encoded bytes of a mapping without its names: three numbers, two lengths, and whether there is a
/// function, at most.
const MAPPING_BYTES: usize = 3 * 10 + 2 * 3 + 1;

/// Memory with code of a file, or lines of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mapping {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The offset in the file where the memory begins.
    pub(super) offset: u64,
    pub(super) file: String,
    /// The function, if the file is the text of a program that an interpreter runs. Offsets are
    /// lines then.
    pub(super) function: Option<String>,
}

impl Mapping {
    /// Parses a line: "559d0-559d1 r-xp 00001000 fe:01 1234   /home/me/ring"
    pub(super) fn of_line(line: &str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let (start, end) = words.next()?.split_once('-')?;
        let is_code = words.next()?.contains('x');
        let offset = words.next()?;
        let file = words.nth(2)?.trim_start();
        let hex = |word: &str| u64::from_str_radix(word, 16).ok();
        (is_code && file.starts_with('/')).then_some(())?;
        Some(Self {
            start: hex(start)?,
            end: hex(end)?,
            offset: hex(offset)?,
            file: file.to_owned(),
            function: None,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        let names = self.file.len() + self.function.as_ref().map_or(0, String::len);
        names + MAPPING_BYTES
    }

    /// Adds its bytes, and returns whether no more than `most` are used.
    pub(super) fn fits(&self, bytes: &mut usize, most: usize) -> bool {
        *bytes += self.bytes();
        *bytes <= most
    }
}

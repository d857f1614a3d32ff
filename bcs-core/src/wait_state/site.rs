//! The site of a call in a program.
//!
//! ```text
//! kind, bytes of the name │ line or address │ name, 8 bytes each
//! ```
//!
//! The words hold the name of the file itself, so a reader needs no access to the rank's memory,
//! even after the rank has ended. A long name is cut at its beginning, because its end tells files
//! apart.

use crate::mapped_code::CodePlace;
use crate::request::low;
use std::fmt;

/// Bytes of a file name that are sent.
const NAME_BYTES: usize = 88;

/// Words of a site.
pub(super) const WORDS: usize = 2 + NAME_BYTES / 8;

/// A place in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Site {
    /// A line of source text.
    Line(SourceLine),
    /// A return address, if the source text is not known.
    Address(u64),
    /// The place in a file of code, to which a reader converts an address if it knows the file. No
    /// rank sends it.
    Code {
        /// The place in the file.
        place: CodePlace,
        /// The function that contains it, if that is known.
        function: Option<String>,
    },
}

/// A line of source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    file: String,
    line: u32,
}

impl SourceLine {
    /// Returns a line of a file. Only the end of a long file name is kept.
    #[must_use]
    pub fn new(file: &str, line: u32) -> Self {
        let mut start = file.len().saturating_sub(NAME_BYTES);
        while !file.is_char_boundary(start) {
            start += 1;
        }
        let file = file[start..].to_owned();
        Self { file, line }
    }

    /// Returns the file, or the end of its name.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the line.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }
}

const LINE: u64 = 1;
const ADDRESS: u64 = 2;

pub(super) fn encode(site: Option<&Site>) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    let [head, place, name @ ..] = &mut words;
    match site {
        None | Some(Site::Code { .. }) => {}
        Some(Site::Address(address)) => (*head, *place) = (ADDRESS, *address),
        Some(Site::Line(SourceLine { file, line })) => {
            (*head, *place) = (LINE | (file.len() as u64) << 8, u64::from(*line));
            for (word, bytes) in name.iter_mut().zip(file.as_bytes().chunks(8)) {
                let mut eight = [0; 8];
                eight[..bytes.len()].copy_from_slice(bytes);
                *word = u64::from_le_bytes(eight);
            }
        }
    }
    words
}

/// Decodes a site. Invalid words are no site, and neither is a name with terminal control
/// characters.
pub(super) fn decode(words: &[u64; WORDS]) -> Option<Site> {
    let [head, place, name @ ..] = words;
    match head & 0xff {
        LINE => {
            let bytes: Vec<u8> = name.iter().flat_map(|word| word.to_le_bytes()).collect();
            let file = bytes.get(..usize::try_from(head >> 8).ok()?)?;
            let file = std::str::from_utf8(file).ok()?;
            let plain = !file.is_empty() && !file.chars().any(char::is_control);
            plain.then(|| Site::Line(SourceLine::new(file, low(*place))))
        }
        ADDRESS => Some(Site::Address(*place)),
        _ => None,
    }
}

impl fmt::Display for Site {
    /// "src/main.rs:17"
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(SourceLine { file, line }) => write!(f, "{file}:{line}"),
            Self::Address(address) => write!(f, "{address:#x}"),
            Self::Code {
                place,
                function: Some(function),
            } => write!(f, "{place} (in {function})"),
            Self::Code { place, .. } => write!(f, "{place}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_comes_back_from_its_words() {
        let long = format!("/{}/src/main.rs", "ä".repeat(NAME_BYTES));
        let long = SourceLine::new(&long, u32::MAX);
        assert!(long.file().len() <= NAME_BYTES && long.file().ends_with("ä/src/main.rs"));
        let sites = [
            None,
            Some(Site::Line(SourceLine::new("src/main.rs", 17))),
            Some(Site::Line(long)),
            Some(Site::Address(u64::MAX)),
        ];
        for site in sites {
            assert_eq!(decode(&encode(site.as_ref())), site);
        }
    }

    #[test]
    fn what_makes_no_sense_is_no_site() {
        let mut words = encode(Some(&Site::Line(SourceLine::new("a.rs", 1))));
        words[2] = u64::from_le_bytes(*b"a\x1b[2Jxxx");
        words[0] = LINE | 8 << 8;
        assert_eq!(decode(&words), None, "it clears the screen");
        words[0] = LINE | (NAME_BYTES as u64 + 1) << 8;
        assert_eq!(decode(&words), None, "it is longer than there is room");
        words[0] = LINE | u64::MAX << 8;
        assert_eq!(decode(&words), None);
        assert_eq!(decode(&[7; WORDS]), None);
    }
}

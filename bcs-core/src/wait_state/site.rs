//! The site of a call in a program.
//!
//! ```text
//! kind, bytes of the names │ line or address │ file, 0, function, 8 bytes each
//! ```
//!
//! The words hold the names themselves, so a reader needs no access to the rank's memory, even
//! after the rank has ended. A long name of a file is cut at its beginning, because its end tells
//! files apart. The function is known for lines that an interpreter runs; others have no 0.

use crate::mapped_code::CodePlace;
use crate::request::low;
use std::fmt;

/// Bytes of names that are sent.
const NAME_BYTES: usize = 88;

/// Bytes of a function's name that are sent.
const FUNCTION_BYTES: usize = 31;

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
    function: Option<String>,
}

impl SourceLine {
    /// Returns a line of a file. Only the end of a long file name is kept.
    #[must_use]
    pub fn new(file: &str, line: u32) -> Self {
        Self {
            file: last_bytes(file, NAME_BYTES).to_owned(),
            line,
            function: None,
        }
    }

    /// Returns a line of a function. Only the beginning of a long name of the function is kept, and
    /// the end of that of the file.
    #[must_use]
    pub fn in_function(file: &str, line: u32, function: &str) -> Self {
        let function = &function[..function.floor_char_boundary(FUNCTION_BYTES)];
        Self {
            file: last_bytes(file, NAME_BYTES - 1 - function.len()).to_owned(),
            line,
            function: Some(function.to_owned()),
        }
    }

    /// Returns the same line with another name of the file.
    #[must_use]
    pub fn with_file(&self, file: &str) -> Self {
        match &self.function {
            Some(function) => Self::in_function(file, self.line, function),
            None => Self::new(file, self.line),
        }
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

fn last_bytes(name: &str, bytes: usize) -> &str {
    &name[name.ceil_char_boundary(name.len().saturating_sub(bytes))..]
}

const LINE: u64 = 1;
const ADDRESS: u64 = 2;

pub(super) fn encode(site: Option<&Site>) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    let [head, place, name @ ..] = &mut words;
    match site {
        None | Some(Site::Code { .. }) => {}
        Some(Site::Address(address)) => (*head, *place) = (ADDRESS, *address),
        Some(Site::Line(SourceLine {
            file,
            line,
            function,
        })) => {
            let names = match function {
                Some(function) => format!("{file}\0{function}"),
                None => file.clone(),
            };
            (*head, *place) = (LINE | (names.len() as u64) << 8, u64::from(*line));
            for (word, bytes) in name.iter_mut().zip(names.as_bytes().chunks(8)) {
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
            let names = bytes.get(..usize::try_from(head >> 8).ok()?)?;
            let names = std::str::from_utf8(names).ok()?;
            let is_plain = |name: &str| !name.is_empty() && !name.chars().any(char::is_control);
            let line = low(*place);
            let source = match names.split_once('\0') {
                None => is_plain(names).then(|| SourceLine::new(names, line)),
                Some((file, function)) => (is_plain(file) && is_plain(function))
                    .then(|| SourceLine::in_function(file, line, function)),
            };
            source.map(Site::Line)
        }
        ADDRESS => Some(Site::Address(*place)),
        _ => None,
    }
}

impl fmt::Display for Site {
    /// "src/main.rs:17", or "dead.py:4 in work"
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(SourceLine {
                file,
                line,
                function: None,
            }) => write!(f, "{file}:{line}"),
            Self::Line(SourceLine {
                file,
                line,
                function: Some(function),
            }) => write!(f, "{file}:{line} in {function}"),
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
            Some(Site::Line(SourceLine::in_function("dead.py", 4, "work"))),
            Some(Site::Line(SourceLine::in_function(
                &"ä".repeat(NAME_BYTES),
                4,
                &"ü".repeat(NAME_BYTES),
            ))),
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
        words[2] = u64::from_le_bytes(*b"a.py\0\0ab");
        assert_eq!(decode(&words), None, "a function's name has a 0");
        words[0] = LINE | 5 << 8;
        assert_eq!(decode(&words), None, "a function has no name");
        words[0] = LINE | (NAME_BYTES as u64 + 1) << 8;
        assert_eq!(decode(&words), None, "it is longer than there is room");
        words[0] = LINE | u64::MAX << 8;
        assert_eq!(decode(&words), None);
        assert_eq!(decode(&[7; WORDS]), None);
    }
}

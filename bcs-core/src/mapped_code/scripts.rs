//! Lines of programs that an interpreter runs.
//!
//! Such a line has no address, but the rest of the library identifies a place by one. So it gets an
//! address where no process of x86-64 Linux has memory, from 2^47 on:
//!
//! ```text
//! bit  47   46 ... 36   35 ... 24   23 ... 0
//!      1    0           function    line
//! ```
//!
//! The map of the process's code ([`MappedCode`](super::MappedCode)) contains these addresses, so
//! whoever resolves an address resolves them, too.

use super::mapping::{MOST_BYTES, Mapping};
use crate::lockstep;
use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, Mutex};

const FIRST: u64 = 1 << 47;
const LINE_BITS: u32 = 24;
const LINES: u64 = 1 << LINE_BITS;

/// The most functions. A program has few that call MPI, but it may make functions as it runs.
const FUNCTIONS: usize = 1 << 12;

/// The most bytes of all their names.
const NAME_BYTES: usize = 1 << 20;

/// The most encoded bytes in a code map, which also has the files of the process.
const MAP_BYTES: usize = MOST_BYTES / 2;

/// A line of a program that an interpreter runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptLine {
    /// The path of the file.
    pub file: String,
    /// The name of the function.
    pub function: String,
    /// The line.
    pub line: u32,
}

impl fmt::Display for ScriptLine {
    /// "/home/me/ring.py:7 in main"
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} in {}", self.file, self.line, self.function)
    }
}

/// The functions of this process that have called MPI.
static FOUND: LazyLock<Mutex<Functions>> = LazyLock::new(Mutex::default);

#[derive(Debug, Default)]
struct Functions {
    /// The numbers by file and name.
    numbers: HashMap<(String, String), usize>,
    /// Files and names by number.
    names: Vec<(String, String)>,
    bytes: usize,
}

impl Functions {
    fn number(&mut self, file: &str, function: &str) -> Option<usize> {
        let key = (file.to_owned(), function.to_owned());
        if let Some(&number) = self.numbers.get(&key) {
            return Some(number);
        }
        let is_plain = |name: &str| !name.is_empty() && !name.chars().any(char::is_control);
        let bytes = file.len() + function.len();
        let fits = self.names.len() < FUNCTIONS && self.bytes + bytes <= NAME_BYTES;
        (fits && is_plain(file) && is_plain(function)).then_some(())?;
        let number = self.names.len();
        self.bytes += bytes;
        self.names.push(key.clone());
        self.numbers.insert(key, number);
        Some(number)
    }

    fn line_at(&self, address: u64) -> Option<ScriptLine> {
        let place = address.checked_sub(FIRST)?;
        let number = usize::try_from(place >> LINE_BITS).ok()?;
        let (file, function) = self.names.get(number)?.clone();
        Some(ScriptLine {
            file,
            function,
            line: u32::try_from(place % LINES).ok()?,
        })
    }

    fn mappings(&self) -> Vec<Mapping> {
        let starts = (FIRST..).step_by(1 << LINE_BITS);
        let mapping = |((file, function), start): (&(String, String), u64)| Mapping {
            start,
            end: start + LINES,
            offset: 0,
            file: file.clone(),
            function: Some(function.clone()),
        };
        let mut bytes = 0;
        let mappings = self.names.iter().zip(starts).map(mapping);
        mappings
            .take_while(|it| it.fits(&mut bytes, MAP_BYTES))
            .collect()
    }
}

/// Returns the address that stands for a line of this process's program. Returns `None` if there
/// are too many functions, or if a name is empty or has control characters.
#[must_use]
pub fn address_of(file: &str, function: &str, line: u32) -> Option<u64> {
    (u64::from(line) < LINES).then_some(())?;
    let number = lockstep::lock(&FOUND).number(file, function)?;
    Some(FIRST + (number as u64) * LINES + u64::from(line))
}

/// Returns the line that an address stands for.
#[must_use]
pub fn line_at(address: u64) -> Option<ScriptLine> {
    // Most addresses are those of code, and most processes have no scripts.
    (address >= FIRST).then_some(())?;
    lockstep::lock(&FOUND).line_at(address)
}

/// Returns the part of the code map that these addresses are, as far as there is room.
pub(super) fn mappings() -> Vec<Mapping> {
    lockstep::lock(&FOUND).mappings()
}

#[cfg(test)]
mod tests {
    use super::super::MappedCode;
    use super::*;

    #[test]
    fn a_line_has_an_address_that_the_code_map_resolves() {
        let main = address_of("/home/me/dead.py", "main", 9).unwrap();
        let work = address_of("/home/me/dead.py", "work", (1 << LINE_BITS) - 1).unwrap();
        assert_eq!(
            address_of("/home/me/dead.py", "main", 10),
            Some(main + 1),
            "it is known"
        );
        assert_eq!(address_of("/home/me/dead.py", "main", 1 << LINE_BITS), None);
        let line = line_at(work).unwrap();
        assert_eq!((line.function.as_str(), line.line), ("work", 0xff_ffff));
        assert_eq!(line_at(FIRST - 1), None);
        assert_eq!(line_at(u64::MAX), None);
        let code = MappedCode::of_this_process().unwrap();
        let place = code.place(main).unwrap();
        assert_eq!(place.to_string(), "/home/me/dead.py:9 in main");
        assert_eq!(code.place(u64::MAX), None);
    }

    #[test]
    fn there_is_a_most_number_of_functions() {
        let mut functions = Functions::default();
        assert_eq!(functions.number("a.py", ""), None);
        assert_eq!(functions.number("a.py", "\x1b[2J"), None);
        let known = (0..FUNCTIONS)
            .map_while(|nth| functions.number("a.py", &nth.to_string()))
            .count();
        assert_eq!(known, FUNCTIONS);
        assert_eq!(functions.number("a.py", "7"), Some(7), "it is known");
        assert_eq!(functions.number("a.py", "another"), None);
        let bytes: usize = functions.mappings().iter().map(Mapping::bytes).sum();
        assert!(bytes <= MAP_BYTES && bytes > MAP_BYTES - 64, "{bytes}");
    }

    #[test]
    fn there_is_a_most_length_of_names() {
        let mut functions = Functions::default();
        let name = "x".repeat(NAME_BYTES - 4);
        assert_eq!(functions.number("a.py", &name), Some(0));
        assert_eq!(functions.number("b.py", "b"), None);
    }
}

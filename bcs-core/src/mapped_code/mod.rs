//! The files from which the code of a process is mapped, so that other processes can interpret its
//! addresses.
//!
//! Programs that are not written in Rust report an address where they call the library. Such an
//! address means nothing outside of the process, and nothing at all once the process has ended. A
//! place in a file stays valid: with that file, a debugger's tables give the source line.
//!
//! A program that an interpreter runs has lines instead, to which [`scripts`] gives addresses.

mod last_call;
mod mapping;
pub mod scripts;

pub use last_call::LastCall;

use mapping::{MOST_BYTES, Mapping};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;

/// The code of a process, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedCode(Vec<Mapping>);

/// A place in a file of code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CodePlace {
    /// The path of the file.
    pub file: String,
    /// The offset in the file.
    pub offset: u64,
    /// The function, if the file is the text of a program that an interpreter runs. The offset is a
    /// line then.
    pub function: Option<String>,
}

impl MappedCode {
    /// Parses a text in the form of `/proc/PID/maps` (proc_pid_maps(5)). It skips lines of another
    /// form, and mappings that are not code of a file.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut bytes = 0;
        let mappings = text.lines().filter_map(Mapping::of_line);
        Self(
            mappings
                .take_while(|it| it.fits(&mut bytes, MOST_BYTES))
                .collect(),
        )
    }

    /// Reads the code map of this process.
    ///
    /// # Errors
    /// When the kernel does not provide it.
    pub fn of_this_process() -> io::Result<Self> {
        let Self(files) = Self::parse(&std::fs::read_to_string("/proc/self/maps")?);
        let mut all = scripts::mappings();
        let mut bytes = all.iter().map(Mapping::bytes).sum();
        all.extend(
            files
                .into_iter()
                .take_while(|file| file.fits(&mut bytes, MOST_BYTES)),
        );
        Ok(Self(all))
    }

    /// Returns the place of an address of this process, if it is known.
    #[must_use]
    pub fn place_here(address: u64) -> Option<CodePlace> {
        if let Some(line) = scripts::line_at(address) {
            return Some(CodePlace {
                file: line.file,
                offset: line.line.into(),
                function: Some(line.function),
            });
        }
        Self::of_this_process().ok()?.place(address)
    }

    /// Reads the current code map of another process.
    ///
    /// # Errors
    /// When there is no such process, or the kernel does not provide the map.
    pub fn of_process(pid: i32) -> io::Result<Self> {
        std::fs::read_to_string(format!("/proc/{pid}/maps")).map(|text| Self::parse(&text))
    }

    /// Returns the place that is mapped at an address. The map may come from a rank that is not
    /// trusted, so a file name with terminal control characters gives no place.
    #[must_use]
    pub fn place(&self, address: u64) -> Option<CodePlace> {
        let found = self
            .0
            .iter()
            .find(|mapping| (mapping.start..mapping.end).contains(&address))?;
        let is_plain = |name: &str| !name.chars().any(char::is_control);
        let function = found.function.clone();
        let is_file = found.file.starts_with('/') || function.is_some();
        (is_file && is_plain(&found.file)).then_some(())?;
        function.as_deref().is_none_or(is_plain).then_some(())?;
        Some(CodePlace {
            file: found.file.clone(),
            offset: (address - found.start).checked_add(found.offset)?,
            function,
        })
    }
}

impl fmt::Display for CodePlace {
    /// "/home/me/ring+0x11b9", or "/home/me/ring.py:7 in main"
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            None => write!(f, "{}+{:#x}", self.file, self.offset),
            Some(function) => write!(f, "{}:{} in {function}", self.file, self.offset),
        }
    }
}

impl std::str::FromStr for CodePlace {
    type Err = ();

    /// Parses the first form.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (file, offset) = text.rsplit_once("+0x").ok_or(())?;
        let offset = u64::from_str_radix(offset, 16).map_err(drop)?;
        let file = file.to_owned();
        let function = None;
        let place = Self {
            file,
            offset,
            function,
        };
        place.file.starts_with('/').then_some(place).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c0001000 r--p 00000000 fe:01 77                         /home/me/a ring
55d0c0001000-55d0c0002000 r-xp 00001000 fe:01 77                         /home/me/a ring
7f0000000000-7f0000010000 rwxp 00000000 00:00 0
7ffe00000000-7ffe00002000 r-xp 00000000 00:00 0                          [vdso]
rubbish
";

    #[test]
    fn an_address_of_code_has_a_place_in_a_file() {
        let code = MappedCode::parse(MAPS);
        let place = code.place(0x55d0_c000_11b9).unwrap();
        assert_eq!(place.to_string(), "/home/me/a ring+0x11b9");
        assert_eq!(place.to_string().parse(), Ok(place));
        for nowhere in [
            0,
            0x55d0_c000_0000,
            0x55d0_c000_2000,
            0x7f00_0000_0001,
            u64::MAX,
        ] {
            assert_eq!(code.place(nowhere), None, "{nowhere:#x}");
        }
    }

    #[test]
    fn what_is_told_has_an_end() {
        let line = |n: u64| format!("{n:x}0000-{n:x}1000 r-xp 00000000 fe:01 77 /a\n");
        let text: String = (1..20_000).map(line).collect();
        let told = postcard::to_stdvec(&MappedCode::parse(&text)).unwrap();
        assert!((10_000..MOST_BYTES).contains(&told.len()), "{}", told.len());
    }

    #[test]
    fn a_name_that_plays_tricks_is_none() {
        let code = MappedCode::parse("1000-2000 r-xp 00000000 fe:01 77 /a\u{1b}[2J\n");
        assert_eq!(code.place(0x1000), None);
    }

    #[test]
    fn a_process_finds_its_own_code() {
        let here = a_process_finds_its_own_code as fn() as usize as u64;
        let place = MappedCode::of_this_process().unwrap().place(here).unwrap();
        let own = std::env::current_exe().unwrap();
        assert_eq!(place.file, own.to_str().unwrap());
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in [
            "",
            "0x7f00",
            "ring+0x11",
            "/ring+0x",
            "/ring+11",
            "src/main.rs:17:5",
        ] {
            assert_eq!(text.parse::<CodePlace>(), Err(()), "{text}");
        }
    }
}

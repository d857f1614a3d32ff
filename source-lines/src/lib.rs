//! Source lines for programs that are not written in Rust. Their call sites are addresses, for
//! which node managers know the files.
//!
//! A file's line tables are read only here, when a message is shown to a person (by the commands of
//! `bcs`, and by `MPI_Error_string`). Reading them may take long, and a job whose calls all succeed
//! does not pay for it. If a file is not on this machine, or has no lines (`-g`), the message has
//! the function name, if that is known, and the offset in the file.

use addr2line::Loader;
use bcs_core::mapped_code::CodePlace;
use bcs_core::wait_state::{Site, SourceLine, WaitState};
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, elf};
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// How much of a file is read to find where its parts lie in memory. The file lists that at its
/// beginning.
const HEAD_BYTES: u64 = 64 * 1024;

/// Source lines by offsets in files. Keeps the tables that it has read.
#[derive(Default)]
pub struct SourceLines {
    files: HashMap<String, Option<LineTable>>,
    known: HashMap<CodePlace, Site>,
}

/// The line table of a program's file.
struct LineTable {
    lines: Loader,
    /// The offset in the file, the length, and the address that the file's own tables use.
    segments: Vec<(u64, u64, u64)>,
}

impl SourceLines {
    /// Resolves a site.
    pub fn look_up(&mut self, site: &mut Site) {
        match site {
            Site::Code { place, .. } => *site = self.site_of_place(&place.clone()),
            Site::Line(line) => *line = line.with_file(&from_here(line.file())),
            Site::Address(_) => {}
        }
    }

    /// Resolves all sites of a rank's wait state.
    pub fn look_up_in(&mut self, told: &mut WaitState) {
        let titles = told
            .labels
            .iter_mut()
            .filter_map(|title| title.site.as_mut());
        let calls = told.site.iter_mut().chain(&mut told.started);
        let sites = calls.chain(titles);
        sites.for_each(|site| self.look_up(site));
    }

    /// Returns a site for a place: its line, or what is known instead.
    pub fn site_of_place(&mut self, place: &CodePlace) -> Site {
        if let Some(known) = self.known.get(place) {
            return known.clone();
        }
        if let Some(function) = &place.function {
            let line = u32::try_from(place.offset).unwrap_or(0);
            let file = from_here(&place.file);
            return Site::Line(SourceLine::in_function(&file, line, function));
        }
        let file = self.files.entry(place.file.clone());
        let program = file.or_insert_with(|| LineTable::read(Path::new(&place.file)));
        let site = (program.as_ref())
            .and_then(|program| program.site(place))
            .unwrap_or_else(|| unresolved_site(place.clone()));
        self.known.insert(place.clone(), site.clone());
        site
    }
}

impl fmt::Debug for SourceLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.files.keys();
        f.debug_list().entries(files).finish()
    }
}

impl LineTable {
    fn read(path: &Path) -> Option<Self> {
        if !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let mut head = Vec::new();
        let file = File::open(path).ok()?;
        file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
        let segments = segments(&head)?;
        let lines = Loader::new(path).ok()?;
        Some(Self { lines, segments })
    }

    fn site(&self, place: &CodePlace) -> Option<Site> {
        // The call comes before the address that it returns to.
        let offset = place.offset.checked_sub(1)?;
        let &(first, _, address) = self
            .segments
            .iter()
            .find(|(first, len, _)| (*first..first.saturating_add(*len)).contains(&offset))?;
        let address = (offset - first).checked_add(address)?;
        let found = self.lines.find_location(address).ok().flatten();
        if let Some((file, line)) = found.and_then(|found| Some((found.file?, found.line?)))
            && line > 0
            && !file.chars().any(char::is_control)
        {
            return Some(Site::Line(SourceLine::new(&from_here(file), line)));
        }
        let function = self.lines.find_symbol(address)?;
        let plain = !function.chars().any(char::is_control);
        plain.then(|| Site::Code {
            place: place.clone(),
            function: Some(function.to_owned()),
        })
    }
}

/// Returns a site of which only the offset in its file is known.
#[must_use]
pub fn unresolved_site(place: CodePlace) -> Site {
    let function = None;
    Site::Code { place, function }
}

/// Returns the name of a file relative to the current folder.
fn from_here(file: &str) -> String {
    let here = std::env::current_dir().ok();
    let short = here.and_then(|here| Path::new(file).strip_prefix(here).ok()?.to_str());
    short.unwrap_or(file).to_owned()
}

/// Returns the loaded segments of a program for 64 bits.
fn segments(bytes: &[u8]) -> Option<Vec<(u64, u64, u64)>> {
    let header = elf::FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let headers = header.program_headers(endian, bytes).ok()?;
    let loaded = headers
        .iter()
        .filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
    let segments = loaded.map(|segment| {
        let (first, len) = segment.file_range(endian);
        (first, len, segment.p_vaddr(endian))
    });
    Some(segments.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::mapped_code::MappedCode;

    /// The test's own program has lines.
    #[test]
    fn a_place_in_a_program_is_a_line() {
        let here = a_place_in_a_program_is_a_line as fn() as usize as u64 + 5;
        let place = MappedCode::of_this_process().unwrap().place(here).unwrap();
        let mut lines = SourceLines::default();
        let mut site = unresolved_site(place);
        lines.look_up(&mut site);
        let Site::Line(source) = &site else {
            panic!("{site:?}");
        };
        assert!(source.file().ends_with("lib.rs"), "{source:?}");
        assert!(source.line().abs_diff(line!()) < 20, "{source:?}");
        let known = site.clone();
        lines.look_up(&mut site);
        assert_eq!(site, known);
    }

    #[test]
    fn what_has_no_lines_keeps_its_place() {
        let mut lines = SourceLines::default();
        for file in [
            "/nowhere/ring",
            "/dev/zero",
            "/proc/version",
            "/tmp",
            "/bin",
        ] {
            let place = CodePlace {
                file: file.to_owned(),
                offset: 0x11,
                function: None,
            };
            assert_eq!(
                lines.site_of_place(&place).to_string(),
                format!("{file}+0x11")
            );
        }
    }
}

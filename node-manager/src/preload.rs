//! The heap that is preloaded into programs ([`FILE`], the crate `heap-preload`): where it is
//! found, which programs get it, and the variable that does it.
//!
//! Each process that a rank starts inherits the variable, as it does `BCS_SLOT`. So a wrapper and
//! its program (`env`, `nice`, a shell script) both have the heap, each in a slot of its own, and
//! the one that calls MPI_Init is the rank. Processes that it starts then find no place in
//! `BCS_SLOT`, and the preloaded library leaves them the C library's heap. Only the file that `bcs
//! run` starts is examined: a sanitized program behind a wrapper needs `--heap own`.

use crate::control::{Application, JobStart};
use crate::program_file::{PreloadRefusal, suits};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The name of the library.
pub const FILE: &str = "libbcs_heap.so";

/// The dynamic linker's variable: libraries to load before all others, separated by blanks or
/// colons.
const VARIABLE: &str = "LD_PRELOAD";

/// Finds the library: beside the command (in a build folder), or where it is installed.
///
/// # Errors
/// A text that names the folders without it.
pub fn find() -> Result<PathBuf, String> {
    let command = std::env::current_exe()
        .map_err(|error| format!("the folder of bcs is not known: {error}"))?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let beside = folder.join(FILE);
    let installed = folder.parent().map(|prefix| prefix.join("lib").join(FILE));
    let found = [Some(beside), installed].into_iter().flatten();
    let mut found = found.filter(|path| path.is_file());
    found.next().ok_or_else(|| {
        let folder = folder.display();
        format!("{FILE} is neither in {folder} nor in {folder}/../lib")
    })
}

/// Returns whether the linker takes the path for one word.
fn is_a_word(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    !bytes.iter().any(|byte| is_between(*byte))
}

fn is_between(byte: u8) -> bool {
    byte == b':' || byte == b' '
}

/// The preload of the ranks of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreloadChoice {
    /// The variable, if it has to be set. It includes the libraries that the user preloads, which
    /// take precedence.
    pub(crate) variable: Option<(OsString, OsString)>,
    /// The reason in words, if no heap is preloaded.
    pub(crate) refused: Option<String>,
}

/// Decides about the preload of an application.
pub(crate) fn choose_preload(start: &JobStart, application: &Application) -> PreloadChoice {
    let library = if start.preload {
        find().and_then(|library| judge(&library, application).map(|()| library))
    } else {
        Err("--heap own leaves it where the program has it".to_owned())
    };
    let own = application.environment.iter().rev();
    let mut own = own.filter(|(name, _)| name == VARIABLE);
    let before = own.next().map(|(_, value)| value.clone());
    let before = before.or_else(|| std::env::var_os(VARIABLE));
    let value = value(before.as_deref(), library.as_deref().ok());
    PreloadChoice {
        variable: (value != before).then(|| (VARIABLE.into(), value.unwrap_or_default())),
        refused: library.err(),
    }
}

fn judge(library: &Path, application: &Application) -> Result<(), String> {
    if !is_a_word(library) {
        let library = library.display();
        return Err(format!(
            "the dynamic linker takes no path with blanks or colons: {library}"
        ));
    }
    let judged = match application.directory.as_deref() {
        Some(directory) => suits(&directory.join(&application.program)),
        None => suits(application.program.as_ref()),
    };
    judged.map_err(|unsuited: PreloadRefusal| unsuited.to_string())
}

/// Appends a library to the previous value. If a library of ours is there already (a job in a job),
/// it stays only where it is wanted, and once.
fn value(before: Option<&OsStr>, library: Option<&Path>) -> Option<OsString> {
    let before_us = before.map(OsStr::as_bytes).unwrap_or_default();
    let words = before_us.split(|byte| is_between(*byte));
    let is_ours =
        |word: &[u8]| Path::new(OsStr::from_bytes(word)).file_name() == Some(FILE.as_ref());
    let has_ours = words.clone().any(is_ours);
    if !has_ours && library.is_none() {
        return before.map(OsStr::to_owned);
    }
    let others = words.filter(|word| !word.is_empty() && !is_ours(word));
    let ours = library.map(|library| library.as_os_str().as_bytes());
    let all: Vec<&[u8]> = others.chain(ours).collect();
    Some(OsStr::from_bytes(&all.join(&b':')).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preloaded(before: Option<&str>, library: Option<&str>) -> Option<String> {
        let value = value(before.map(OsStr::new), library.map(Path::new));
        value.map(|value| value.into_string().unwrap())
    }

    #[test]
    fn ours_comes_last_and_once() {
        let ours = Some("/b/libbcs_heap.so");
        let is = |before, value: &str| {
            assert_eq!(preloaded(before, ours).as_deref(), Some(value));
        };
        is(None, "/b/libbcs_heap.so");
        is(Some(""), "/b/libbcs_heap.so");
        is(Some("/a/x.so y.so"), "/a/x.so:y.so:/b/libbcs_heap.so");
        is(Some("/old/libbcs_heap.so:x.so"), "x.so:/b/libbcs_heap.so");
    }

    #[test]
    fn where_it_is_not_wanted_it_is_taken_out_and_nothing_else_changes() {
        assert_eq!(preloaded(None, None), None);
        assert_eq!(
            preloaded(Some("x.so  y.so"), None).as_deref(),
            Some("x.so  y.so")
        );
        let inherited = Some("x.so:/b/libbcs_heap.so");
        assert_eq!(preloaded(inherited, None).as_deref(), Some("x.so"));
        assert_eq!(
            preloaded(Some("/b/libbcs_heap.so"), None).as_deref(),
            Some("")
        );
    }

    #[test]
    fn a_path_of_two_words_is_none() {
        assert!(is_a_word("/usr/lib/libbcs_heap.so".as_ref()));
        assert!(!is_a_word(
            "/home/me/installed here/lib/libbcs_heap.so".as_ref()
        ));
    }
}

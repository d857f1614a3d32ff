//! A command to spawn: which file it means, and how many ranks of it.
//!
//! A name with a slash is a path, from the directory of the root on, even if the hint `wdir` names
//! another directory for the ranks. Any other name is searched for in the folders of the hint
//! `path`, then in `PATH`, then in the directory of the root. The root looks: a program that does
//! not exist is its error at once.

use crate::mpi::error::{ErrorClass, Operation};
use crate::mpi::{Info, Result};
use bcs_core::job::SpawnCommand;
use rustix::fs::Access;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// A command, as the program gives it at the root.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    /// The program.
    pub program: &'a [u8],
    /// Its arguments, without its name.
    pub arguments: Vec<&'a [u8]>,
    /// The number of ranks, at most.
    pub ranks: i32,
    /// Hints.
    pub info: Info,
}

impl Command<'_> {
    /// Returns the command as the launcher gets it.
    pub(super) fn find(&self, operation: &Operation) -> Result<SpawnCommand> {
        let wrong = |class, reason| Err(operation.error(class, reason));
        let Some(most) = u32::try_from(self.ranks).ok().filter(|&most| most > 0) else {
            let reason = format!("{} ranks of a command are asked for", self.ranks);
            return wrong(ErrorClass::Arg, reason);
        };
        let ranks = match self.info.get("soft")? {
            None => most,
            Some(soft) => match largest(&soft, most) {
                Ok(Some(ranks)) => ranks,
                Ok(None) => {
                    let reason = format!("the hint soft, {soft}, allows no number up to {most}");
                    return wrong(ErrorClass::Spawn, reason);
                }
                Err(part) => {
                    let reason = format!("{part} in the hint soft is neither a number nor a range");
                    return wrong(ErrorClass::InfoValue, reason);
                }
            },
        };
        let own = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let directory = match self.info.get("wdir")? {
            Some(directory) => own.join(directory),
            None => own.clone(),
        };
        let path = self.info.get("path")?;
        let program = match find_program(self.program, &own, path.as_deref()) {
            Ok(program) => program,
            Err(reason) => return wrong(ErrorClass::Spawn, reason),
        };
        let mut arguments = vec![self.program.to_vec()];
        arguments.extend(self.arguments.iter().map(|argument| argument.to_vec()));
        Ok(SpawnCommand {
            program: program.into_os_string().into_vec(),
            arguments,
            ranks,
            directory: directory.into_os_string().into_vec(),
        })
    }
}

/// Returns the largest number up to `most` in a list such as `1,3:5,8:16:4`.
fn largest(soft: &str, most: u32) -> std::result::Result<Option<u32>, String> {
    let mut best = None;
    for part in soft
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let numbers: Option<Vec<i64>> = part
            .split(':')
            .map(|word| word.trim().parse().ok())
            .collect();
        let (first, last, step) = match numbers.as_deref() {
            Some(&[one]) => (one, one, 1),
            Some(&[first, last]) => (first, last, 1),
            Some(&[first, last, step]) if step != 0 => (first, last, step),
            _ => return Err(part.to_owned()),
        };
        let (low, high) = (first.min(last), first.max(last));
        // The largest of the range that is not above `most`.
        let top = high.min(i64::from(most));
        let distance = step.unsigned_abs();
        let found = match step > 0 {
            true if first <= last && top >= first => {
                Some(first + (top - first) / distance.cast_signed() * distance.cast_signed())
            }
            false if first >= last => {
                let above = (high - top).unsigned_abs().div_ceil(distance);
                let found = high - (above * distance).cast_signed();
                (found >= low).then_some(found)
            }
            _ => None,
        };
        let found = found
            .and_then(|found| u32::try_from(found).ok())
            .filter(|&found| found > 0);
        best = best.max(found);
    }
    Ok(best)
}

/// Finds the file of a program.
fn find_program(
    name: &[u8],
    directory: &Path,
    path: Option<&str>,
) -> std::result::Result<PathBuf, String> {
    let program = Path::new(OsStr::from_bytes(name));
    if name.is_empty() {
        return Err("the command has no name".to_owned());
    }
    if name.contains(&b'/') {
        let file = directory.join(program);
        return match is_executable(&file) {
            Ok(()) => Ok(file),
            Err(why) => Err(format!("program {} {why}", file.display())),
        };
    }
    let hinted = path.map(std::env::split_paths).into_iter().flatten();
    let usual = std::env::var_os("PATH");
    let usual = usual.iter().flat_map(std::env::split_paths);
    let places = hinted.chain(usual).chain([PathBuf::new()]);
    let mut files = places.map(|folder| directory.join(folder).join(program));
    let found = files.find(|file| is_executable(file).is_ok());
    found.ok_or_else(|| {
        format!(
            "program {} is neither on PATH nor in {}",
            program.display(),
            directory.display()
        )
    })
}

fn is_executable(file: &Path) -> std::result::Result<(), String> {
    let stat = rustix::fs::stat(file).map_err(|errno| match errno {
        rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => "does not exist".to_owned(),
        errno => format!("cannot be examined: {errno}"),
    })?;
    let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
    match kind.is_file() && rustix::fs::access(file, Access::EXEC_OK).is_ok() {
        true => Ok(()),
        false => Err("is not executable".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_allows_the_largest_number_that_fits() {
        for (soft, most, expected) in [
            ("1:5", 3, Some(3)),
            ("1,3,8", 7, Some(3)),
            ("2:100:3", 10, Some(8)),
            ("8:2:-2", 7, Some(6)),
            ("9", 4, None),
            ("0", 4, None),
            ("5:1", 4, None),
            ("", 4, None),
            ("1 , 2", 4, Some(2)),
        ] {
            assert_eq!(largest(soft, most), Ok(expected), "{soft} up to {most}");
        }
        assert_eq!(largest("1,x:2", 4), Err("x:2".to_owned()));
        assert!(largest("1:2:0", 4).is_err());
    }

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        let root = Path::new("/");
        let sh = find_program(b"sh", root, None).unwrap();
        assert!(sh.is_absolute() && sh.ends_with("sh"));
        assert_eq!(
            find_program(b"bin/sh", root, None),
            Ok(PathBuf::from("/bin/sh"))
        );
        assert_eq!(
            find_program(b"sh", root, Some("/bin")),
            Ok(PathBuf::from("/bin/sh"))
        );
        let why = find_program(b"/nowhere/x", root, None).unwrap_err();
        assert_eq!(why, "program /nowhere/x does not exist");
        assert!(
            find_program(b"/etc/passwd", root, None)
                .unwrap_err()
                .contains("not executable")
        );
        assert!(
            find_program(b"no-such-program", root, None)
                .unwrap_err()
                .contains("PATH")
        );
        assert!(find_program(b"", root, None).is_err());
    }
}

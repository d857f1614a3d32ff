//! The program to run: found and checked before anything is started.

use crate::builtin;
use rustix::fs::Access;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A program that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file to execute.
    pub file: OsString,
    /// Its arguments, the name first.
    pub arguments: Vec<OsString>,
}

/// A program that cannot be run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProgram {
    /// No program has this name.
    #[error(
        "program {name} is neither built in ({}) nor on PATH: check the name, or give a path \
         with a slash",
        builtin::names()
    )]
    NotFound {
        /// The name as given.
        name: String,
    },
    /// The file does not exist.
    #[error("program {path} does not exist: check the path")]
    Missing {
        /// As given.
        path: String,
    },
    /// It is no file.
    #[error("program {path} is a directory: name the program in it")]
    Directory {
        /// As given or found.
        path: String,
    },
    /// The file lacks the permission.
    #[error("program {path} is not executable: make it so with chmod +x {path}")]
    NotExecutable {
        /// As given or found.
        path: String,
    },
    /// The file cannot be examined.
    #[error("program {path} cannot be examined: {errno}")]
    Hidden {
        /// As given.
        path: String,
        /// The kernel's error.
        errno: rustix::io::Errno,
    },
}

impl Program {
    /// Finds the program of a command line: a built-in program before one on PATH; a name with a
    /// slash is always a path.
    ///
    /// # Errors
    /// [`BadProgram`] describes the error.
    pub fn find(line: &[OsString], search: Option<&OsStr>) -> Result<Self, BadProgram> {
        let (name, rest) = line.split_first().expect("a command line has a name");
        if name.is_empty() {
            return Err(BadProgram::NotFound {
                name: "\"\"".into(),
            });
        }
        if name.as_bytes().contains(&b'/') {
            check(Path::new(name))?;
            return Ok(Self {
                file: name.clone(),
                arguments: line.to_vec(),
            });
        }
        if let Some(program) = name.to_str().and_then(builtin::find) {
            let mut arguments: Vec<OsString> =
                ["bcs", "app", program.name].map(OsString::from).to_vec();
            arguments.extend_from_slice(rest);
            return Ok(Self {
                file: "/proc/self/exe".into(),
                arguments,
            });
        }
        let mut refused = None;
        // As a shell does: take the first that can be executed. If there is none, report the error
        // of the first.
        for directory in search.map(std::env::split_paths).into_iter().flatten() {
            // An empty element is the current directory; join then leaves the bare name, which
            // execve takes as a path.
            let file = directory.join(name);
            match check(&file) {
                Ok(()) => {
                    return Ok(Self {
                        file: file.into_os_string(),
                        arguments: line.to_vec(),
                    });
                }
                Err(BadProgram::NotExecutable { path }) => {
                    refused.get_or_insert(BadProgram::NotExecutable { path });
                }
                Err(_) => {}
            }
        }
        Err(refused.unwrap_or_else(|| BadProgram::NotFound {
            name: name.display().to_string(),
        }))
    }
}

fn check(file: &Path) -> Result<(), BadProgram> {
    let path = file.display().to_string();
    let kind = match rustix::fs::stat(file) {
        Ok(stat) => rustix::fs::FileType::from_raw_mode(stat.st_mode),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {
            return Err(BadProgram::Missing { path });
        }
        Err(errno) => return Err(BadProgram::Hidden { path, errno }),
    };
    if kind.is_dir() {
        return Err(BadProgram::Directory { path });
    }
    match rustix::fs::access(file, Access::EXEC_OK) {
        Ok(()) if kind.is_file() => Ok(()),
        _ => Err(BadProgram::NotExecutable { path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str, search: &str) -> Result<Program, BadProgram> {
        Program::find(&[name.into(), "-n".into()], Some(search.as_ref()))
    }

    #[test]
    fn built_in_names_win_and_paths_are_never_built_in() {
        let hello = find("hello", "/bin").unwrap();
        assert_eq!(hello.arguments, ["bcs", "app", "hello", "-n"]);
        assert!(matches!(
            find("./hello", "/bin"),
            Err(BadProgram::Missing { .. })
        ));
    }

    #[test]
    fn names_are_looked_up_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let first = directory.path().to_str().unwrap();
        std::fs::write(directory.path().join("true"), "").unwrap();
        let search = format!("{first}:/bin");
        assert_eq!(find("true", &search).unwrap().file, "/bin/true");
        assert!(matches!(
            find("true", first),
            Err(BadProgram::NotExecutable { .. })
        ));
        assert!(matches!(
            find("no-such-program", &search),
            Err(BadProgram::NotFound { .. })
        ));
        assert!(matches!(find(first, ""), Err(BadProgram::Directory { .. })));
    }
}

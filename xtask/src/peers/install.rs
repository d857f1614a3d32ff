//! Installing a peer from its wheel.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Peer;
use crate::process;
use crate::verdict::CannotTell;
use crate::workspace::Workspace;

/// Wheels of MPI implementations are up to some hundred megabytes.
const INSTALL_LIMIT: Duration = Duration::from_secs(900);

impl Peer {
    /// The path of its launcher; it is installed the first time.
    ///
    /// # Errors
    ///
    /// [`CannotTell`] when it cannot be installed here; others when `target/peers` cannot be written.
    pub fn mpiexec(&self, workspace: &Workspace) -> Result<PathBuf> {
        self.launcher_under(&workspace.target().join("peers"))
    }

    /// The folder that it is installed in.
    pub(super) fn folder(&self, workspace: &Workspace) -> PathBuf {
        workspace.target().join("peers").join(self.name)
    }

    fn launcher_under(&self, peers: &Path) -> Result<PathBuf> {
        let context = || format!("failed to prepare {}", peers.join(self.name).display());
        fs::create_dir_all(peers).with_context(context)?;
        // Two checks may be started at once; the lock goes with the file when this function returns.
        let lock = File::create(peers.join(format!("{}.lock", self.name))).with_context(context)?;
        lock.lock().with_context(context)?;
        let folder = peers.join(self.name);
        let launcher = folder.join(self.launcher);
        // Written last, so that an installation that was interrupted is made anew.
        let stamp = folder.join("installed");
        let installed = fs::read_to_string(&stamp).is_ok_and(|text| text == self.requirement);
        if installed && launcher.is_file() {
            return Ok(launcher);
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
        if !launcher.is_file() {
            let why = format!("the wheel of {} has no {}", self.requirement, self.launcher);
            return Err(CannotTell(why).into());
        }
        fs::write(&stamp, self.requirement).with_context(context)?;
        Ok(launcher)
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
                .and_then(process::Finished::succeeded)
                .map_err(|error| {
                    CannotTell(format!(
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
    use crate::peers::Ways;

    const FAKE: Peer = Peer {
        name: "fake",
        requirement: "fake==1",
        launcher: "bin/mpiexec",
        compiler: "bin/mpicc",
        program_of: None,
        node: Ways::NONE,
        tcp: Ways::NONE,
    };

    fn install_by_hand(peers: &Path, stamp: &str) -> PathBuf {
        let folder = peers.join("fake");
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::write(folder.join("bin/mpiexec"), "").unwrap();
        fs::write(folder.join("installed"), stamp).unwrap();
        folder.join("bin/mpiexec")
    }

    #[test]
    fn what_is_installed_is_not_installed_again() {
        let peers = tempfile::tempdir().unwrap();
        let launcher = install_by_hand(peers.path(), "fake==1");
        assert_eq!(FAKE.launcher_under(peers.path()).unwrap(), launcher);
    }

    #[test]
    fn what_cannot_be_installed_is_nothing_this_machine_can_tell() {
        let peers = tempfile::tempdir().unwrap();
        // An older version is in place; pip refuses the new requirement before it looks for any index.
        let old = install_by_hand(peers.path(), "fake==0");
        let peer = Peer {
            requirement: "not a requirement",
            ..FAKE
        };
        let error = peer.launcher_under(peers.path()).unwrap_err();
        assert!(error.is::<CannotTell>(), "{error:#}");
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

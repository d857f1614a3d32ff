//! The checkout under test: its path, and the build and start of its programs.

use std::cell::OnceCell;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;

/// The time limit of a first build of everything on a slow machine.
pub(crate) const BUILD_LIMIT: Duration = Duration::from_secs(3600);

/// The checkout that this program was built from.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    target: PathBuf,
    /// The folder of release programs, once they are built.
    release: OnceCell<PathBuf>,
}

impl Workspace {
    /// Finds the checkout from the package folder that cargo passes.
    ///
    /// # Errors
    ///
    /// This program was not started by cargo from a checkout.
    pub fn find() -> Result<Self> {
        let package = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = package
            .parent()
            .context("failed to find the workspace above xtask")?;
        ensure!(
            root.join("Cargo.lock").is_file(),
            "failed to find the workspace: no Cargo.lock in {}; run `cargo xtask` inside a checkout",
            root.display()
        );
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        Ok(Self {
            root: root.to_owned(),
            target: root.join(target),
            release: OnceCell::new(),
        })
    }

    /// Returns its path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of build products and of the programs that we compare with.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Builds the `bcs` command with the programs of `apps` for release, on the first call. Returns
    /// the folder that contains it.
    ///
    /// # Errors
    ///
    /// The programs do not build.
    pub fn release(&self) -> Result<&Path> {
        if let Some(release) = self.release.get() {
            return Ok(release);
        }
        let mut build = self.cargo(["build", "--release", "--package", "machine-manager"]);
        eprintln!("building the bcs command ...");
        process::run(&mut build, BUILD_LIMIT)?
            .succeeded()
            .context("failed to build")?;
        Ok(self.release.get_or_init(|| self.target.join("release")))
    }

    /// Returns a command that runs a program of the package `fixtures` with `words` as its
    /// arguments, built for release if necessary. `layout` has the options of `bcs run`.
    ///
    /// # Errors
    ///
    /// The program or the `bcs` command does not build.
    pub fn fixture<'a>(
        &self,
        layout: &str,
        name: &str,
        words: impl IntoIterator<Item = &'a str>,
    ) -> Result<Command> {
        let program = self.fixture_program(name)?;
        let mut command = self.bcs(["run"])?;
        command
            .args(layout.split_whitespace())
            .arg(program)
            .args(words);
        Ok(command)
    }

    /// Returns the path of a program of the package `fixtures`, built for release if necessary.
    ///
    /// # Errors
    ///
    /// It does not build.
    pub fn fixture_program(&self, name: &str) -> Result<PathBuf> {
        self.build("fixtures", name)
    }

    /// Builds a program of a package, and returns its path.
    ///
    /// # Errors
    ///
    /// It does not build.
    pub fn build(&self, package: &str, program: &str) -> Result<PathBuf> {
        let mut build = self.cargo(["build", "--release", "--package", package]);
        build.args(["--bin", program]);
        process::run(&mut build, BUILD_LIMIT)?
            .succeeded()
            .with_context(|| format!("failed to build {program} of {package}"))?;
        Ok(self.target.join("release").join(program))
    }

    /// Returns cargo with `words` as its arguments, in this checkout.
    #[must_use]
    pub fn cargo<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(words).current_dir(&self.root);
        command
    }

    /// Returns the `bcs` command with `words` as its arguments, built if necessary.
    ///
    /// # Errors
    ///
    /// It does not build.
    pub fn bcs<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Result<Command> {
        let mut command = Command::new(self.release()?.join("bcs"));
        command.args(words);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_is_found_from_its_own_package() {
        let workspace = Workspace::find().unwrap();
        assert!(workspace.root.join("xtask/src/workspace.rs").is_file());
        assert!(workspace.target().is_absolute());
    }
}

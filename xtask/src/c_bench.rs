//! Our own benchmarks in C, built like a user's program with the `mpicc_abi` that this checkout
//! installs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result};

use toolchain::DebugInfo;

use crate::install::install;
use crate::peers::BENCH;
use crate::process;
use crate::workspace::Workspace;

const BUILD_LIMIT: Duration = Duration::from_secs(120);

/// A launcher command, and a benchmark program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CBench {
    launcher: PathBuf,
    program: PathBuf,
}

impl CBench {
    /// Returns our benchmark. The first call installs the library into a folder of the target
    /// folder, and builds the program there.
    ///
    /// # Errors
    ///
    /// The installation or the build fails.
    pub fn shared(workspace: &Workspace) -> Result<&'static Self> {
        static BUILT: OnceLock<CBench> = OnceLock::new();
        if let Some(built) = BUILT.get() {
            return Ok(built);
        }
        let bench = Self::build_of(workspace, "bench", BENCH)?;
        Ok(BUILT.get_or_init(|| bench))
    }

    /// Installs the library, and builds another program.
    ///
    /// # Errors
    ///
    /// As [`shared`](Self::shared).
    pub fn build_of(workspace: &Workspace, name: &str, text: &str) -> Result<Self> {
        let prefix = workspace.target().join("installed");
        install(workspace, &prefix, DebugInfo::Stripped)?;
        let (source, program) = (prefix.join(format!("{name}.c")), prefix.join(name));
        std::fs::write(&source, text)
            .with_context(|| format!("failed to write {}", source.display()))?;
        let mut compiler = Command::new(prefix.join("bin/mpicc_abi"));
        compiler.args(["-std=c11", "-O3", "-pthread", "-o"]);
        compiler.arg(&program).arg(&source).arg("-lm");
        process::run(&mut compiler, BUILD_LIMIT)?
            .succeeded()
            .context("mpicc_abi builds no benchmark")?;
        let launcher = prefix.join("bin/bcs");
        Ok(Self { launcher, program })
    }

    /// Returns the installed `bcs`.
    #[must_use]
    pub fn launcher(&self) -> &Path {
        &self.launcher
    }

    /// Makes a `bcs run` command with these options and `ranks` ranks of the program; the caller
    /// adds the program's own arguments.
    #[must_use]
    pub fn command(&self, ranks: usize, options: &[String]) -> Command {
        let mut command = Command::new(&self.launcher);
        command.args(["run", "-n", &ranks.to_string()]);
        command.args(options).arg(&self.program);
        command
    }
}

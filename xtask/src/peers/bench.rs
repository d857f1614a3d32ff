//! The benchmark program of a peer: its build, and its start with the fastest settings.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use apps::bench::BenchRow;

use super::{LauncherSettings, PeerMpi};
use crate::hosts::Hosts;
use crate::process;
use crate::verdict::UnsuitableMachine;
use crate::workspace::Workspace;

/// The program's source.
pub const BENCH: &str = include_str!("../../../apps/c/bench.c");

/// The options that a peer's user would give for speed and portability.
const FLAGS: [&str; 2] = ["-std=c11", "-O3"];

const BUILD_LIMIT: Duration = Duration::from_secs(120);

/// An installed peer runs its program for a moment in less than this.
const TRY_LIMIT: Duration = Duration::from_secs(60);

impl PeerMpi {
    /// Returns the path of its benchmark. Builds it if the source has changed.
    ///
    /// # Errors
    ///
    /// [`UnsuitableMachine`] when the peer cannot be installed or does not compile the program.
    pub fn program(&self, workspace: &Workspace) -> Result<PathBuf> {
        self.built(workspace, "bench", BENCH)
    }

    /// Returns the path of a program. Builds it if the source has changed.
    ///
    /// # Errors
    ///
    /// As [`program`](Self::program).
    pub fn built(&self, workspace: &Workspace, name: &str, text: &str) -> Result<PathBuf> {
        if let Some(other) = self.program_of {
            return other.built(workspace, name, text);
        }
        self.mpiexec(workspace)?;
        let folder = self.folder(workspace);
        let (program, source) = (folder.join(name), folder.join(format!("{name}.c")));
        let context = || format!("failed to write {}", source.display());
        let same = fs::read_to_string(&source).is_ok_and(|old| old == text);
        if same && program.is_file() {
            return Ok(program);
        }
        // The old program is removed before the new source is written, and the new one is built
        // under another name. A program next to a source is therefore complete and built from it.
        if program.exists() {
            fs::remove_file(&program).with_context(context)?;
        }
        fs::write(&source, text).with_context(context)?;
        let unfinished = folder.join(format!("{name}.{}", std::process::id()));
        let mut compiler = Command::new(folder.join(self.compiler));
        compiler.args(FLAGS).arg("-o").arg(&unfinished).arg(&source);
        compiler.arg("-pthread");
        process::run(&mut compiler, BUILD_LIMIT)
            .and_then(process::ProcessResult::succeeded)
            .map_err(|error| {
                UnsuitableMachine(format!("{} builds no program: {error:#}", self.name))
            })?;
        fs::rename(&unfinished, &program).with_context(context)?;
        Ok(program)
    }

    /// Returns its launcher for this number of ranks, on this machine or over these hosts; the
    /// program is to follow.
    ///
    /// # Errors
    ///
    /// As [`mpiexec`](Self::mpiexec).
    pub fn launch(
        &self,
        workspace: &Workspace,
        settings: &LauncherSettings,
        ranks: usize,
        hosts: Option<&Hosts>,
    ) -> Result<Command> {
        let launcher = self.mpiexec(workspace)?;
        let mut command = match hosts {
            None => Command::new(launcher),
            Some(hosts) => hosts.command(0, &launcher),
        };
        command.args(["-n", &ranks.to_string()]);
        match hosts {
            None => command.args(settings.options),
            Some(hosts) => command.args(settings.options.iter().map(|option| hosts.fill(option))),
        };
        command.envs(settings.variables.iter().copied());
        if self.program_of.is_some() {
            command.env("LD_LIBRARY_PATH", self.folder(workspace).join("lib"));
        }
        Ok(command)
    }

    /// Returns the command that runs its benchmark, without the benchmark's own arguments.
    ///
    /// # Errors
    ///
    /// As [`program`](Self::program).
    pub fn bench(
        &self,
        workspace: &Workspace,
        settings: &LauncherSettings,
        ranks: usize,
        hosts: Option<&Hosts>,
    ) -> Result<Command> {
        let program = self.program(workspace)?;
        let mut command = self.launch(workspace, settings, ranks, hosts)?;
        command.arg(program);
        Ok(command)
    }

    /// Runs the benchmark once, so that problems appear before the measurements.
    pub(super) fn try_out(&self, workspace: &Workspace) -> Result<()> {
        for settings in self.all_settings() {
            let mut command = self.bench(workspace, settings, 2, None)?;
            command.args(["--ops", "barrier", "--row-ms", "1", "--samples", "1"]);
            let output = process::run(&mut command, TRY_LIMIT)?.succeeded()?.stdout;
            let rows = BenchRow::of_output(&output).context("it wrote a broken row")?;
            ensure!(rows.len() == 1, "it wrote {} rows and not one", rows.len());
        }
        Ok(())
    }
}

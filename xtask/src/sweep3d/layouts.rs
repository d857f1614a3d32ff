//! SWEEP3D of one deck by two ranks, in several layouts.

use std::process::Command;

use anyhow::Result;

use super::Problem;
use crate::workspace::Workspace;

/// Whether ranks wait in their calls, or post and compute.
#[derive(Debug, Clone, Copy)]
pub enum CommunicationStyle {
    /// As in the paper's Figure 6.2.
    Blocking,
    /// As in the paper's Figure 6.3.
    NonBlocking,
}

/// A deck to solve in layouts, which are options of `bcs run`.
#[derive(Debug)]
pub struct Layouts<'a> {
    workspace: &'a Workspace,
    /// The deck.
    pub problem: Problem,
}

impl<'a> Layouts<'a> {
    /// Builds the programs, and writes the deck.
    ///
    /// # Errors
    ///
    /// The programs do not build, or the deck cannot be written.
    pub fn new(workspace: &'a Workspace, deck: &str) -> Result<Self> {
        workspace.release()?;
        let problem = Problem::new(deck)?;
        Ok(Self { workspace, problem })
    }

    /// Returns the job without its deck.
    ///
    /// # Errors
    ///
    /// The programs do not build.
    pub fn command(&self, layout: &str, messages: CommunicationStyle) -> Result<Command> {
        let mut command = self.workspace.bcs(["run", "-n", "2"])?;
        command.args(layout.split_whitespace());
        let comm = match messages {
            CommunicationStyle::Blocking => "blocking",
            CommunicationStyle::NonBlocking => "nonblocking",
        };
        command.args(["sweep3d", "--comm", comm]);
        Ok(command)
    }

    /// Returns the solver's time, in seconds.
    ///
    /// # Errors
    ///
    /// As [`Problem::solve`].
    pub fn solve(&self, layout: &str, messages: CommunicationStyle) -> Result<f64> {
        self.problem.solve(&mut self.command(layout, messages)?)
    }
}

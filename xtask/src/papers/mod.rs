//! `cargo xtask papers`: measures the tables and figures of the papers on this machine, next to the
//! published results.
//!
//! | module | contains |
//! |---|---|
//! | `published` | the papers' results, from data files |
//! | `section` | a section: its name, its heading, its measurement |
//! | `run` | the thoroughness and the turns of measurements |
//! | `content` | the content of a section |
//! | `picture` | curves as SVG |
//! | `sizes` | figures over the size of a message |
//! | `document` | the document as a file |
//! | other modules | a section each |
//!
//! A section measures, and adds its results to its [`PaperContent`]. If a part fails, or is
//! impossible on this machine, a sentence replaces it, and the exit code reports it.

mod content;
mod document;
mod figure_6_1;
mod figures_5;
mod figures_6_2_and_6_3;
mod picture;
mod published;
mod run;
mod section;
mod sizes;
mod smartmap_collectives;
mod smartmap_messages;
mod table_2_1;
mod table_5_3;
mod table_6_1;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use self::content::PaperContent;
use self::document::{Chapter, MeasurementContext};
use self::run::PaperRun;
use self::section::Section;
use crate::process;
use crate::verdict::Verdict;
use crate::workspace::Workspace;

/// The sections, in their order.
const SECTIONS: &[Section] = &[
    table_2_1::SECTION,
    table_5_3::SECTION,
    figures_5::SECTION,
    figure_6_1::SECTION,
    figures_6_2_and_6_3::SECTION,
    table_6_1::SECTION,
    smartmap_messages::FIGURE_1,
    smartmap_messages::FIGURE_2,
    smartmap_collectives::ON_A_NODE,
    smartmap_collectives::HIERARCHICAL,
];

/// The options of `cargo xtask papers`.
#[derive(Debug, Args)]
pub struct PapersArgs {
    /// Measure less of everything: about five minutes instead of forty
    #[arg(long)]
    quick: bool,
    /// Only this section; may be repeated. It takes its place in the document of docs, unless
    /// --output says where to write it alone
    #[arg(long, value_name = "NAME")]
    section: Vec<String>,
    /// The folder to write papers.md and papers/*.svg into [default: docs]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl PapersArgs {
    /// Measures, and writes the document. The verdict is [`Verdict::Held`] if the document is
    /// complete, [`Verdict::Missed`] if a part failed, and otherwise [`Verdict::CannotTell`] if
    /// this machine cannot measure a part.
    ///
    /// # Errors
    ///
    /// There is no such section, or the document cannot be written.
    pub fn run(&self, workspace: &Workspace) -> Result<Verdict> {
        let sections = self.chosen()?;
        let run = PaperRun {
            workspace,
            quick: self.quick,
        };
        workspace.release()?;
        let began = Instant::now();
        let mut occasion = MeasurementContext {
            when: said("date", &["-u", "+%Y-%m-%d %H:%M UTC"])?,
            machine: machine()?,
            commit: commit(workspace)?,
            command: self.command(),
            took: String::new(),
        };
        let folder = match &self.output {
            Some(folder) => folder.clone(),
            None => workspace.root().join("docs"),
        };
        let takes_its_place = !self.section.is_empty() && self.output.is_none();
        let mut chapters = Vec::new();
        for section in &sections {
            chapters.push(chapter(&run, section));
            occasion.took = format!("{:.0} s", began.elapsed().as_secs_f64());
            // Saves the results so far, in case the next section is interrupted.
            if !takes_its_place {
                document::write(&folder, &occasion, &chapters)?;
            }
        }
        if takes_its_place {
            document::replace(&folder, &occasion, &chapters)?;
        }
        println!("wrote {}", folder.join("papers.md").display());
        let verdicts = chapters.iter().map(|chapter| chapter.content.verdict);
        Verdict::of_all(verdicts).context("no section was chosen")
    }

    fn chosen(&self) -> Result<Vec<Section>> {
        if self.section.is_empty() {
            return Ok(SECTIONS.to_vec());
        }
        let named = |name: &String| match SECTIONS.iter().find(|section| section.name == *name) {
            Some(section) => Ok(*section),
            None => {
                let names: Vec<&str> = SECTIONS.iter().map(|section| section.name).collect();
                bail!("there is no section {name}; there are {}", names.join(", "))
            }
        };
        self.section.iter().map(named).collect()
    }

    fn command(&self) -> String {
        let sections = self.section.iter().map(|name| format!(" --section {name}"));
        let quick = if self.quick { " --quick" } else { "" };
        format!("cargo xtask papers{quick}{}", sections.collect::<String>())
    }
}

fn chapter(run: &PaperRun<'_>, section: &Section) -> Chapter {
    let began = Instant::now();
    let mut content = PaperContent::new();
    content.attempt(section.heading, |content| (section.fill)(run, content));
    let seconds = began.elapsed().as_secs_f64();
    let how = match content.verdict {
        Verdict::Held => "whole",
        Verdict::Missed => "a part failed",
        Verdict::CannotTell => "a part cannot be shown on this machine",
    };
    println!("{}: {how}, {seconds:.0} s", section.name);
    Chapter {
        heading: section.heading,
        content,
    }
}

/// Returns the processor, the cores and the kernel.
fn machine() -> Result<String> {
    let processors = fs::read_to_string("/proc/cpuinfo").context("failed to read /proc/cpuinfo")?;
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("an unknown processor", |(_, model)| model.trim());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let kernel = said("uname", &["-sr"])?;
    Ok(format!("{cores} cores of {model}, {kernel}"))
}

fn commit(workspace: &Workspace) -> Result<String> {
    let root = workspace.root().to_string_lossy();
    let commit = said("git", &["-C", &root, "rev-parse", "--short", "HEAD"])?;
    let changed = said(
        "git",
        &["-C", &root, "status", "--porcelain", "--", "*.rs", "*.toml"],
    )?;
    Ok(match changed.as_str() {
        "" => commit,
        _ => format!("{commit} with changes that are not committed"),
    })
}

/// Returns the output of a small program.
fn said(program: &str, words: &[&str]) -> Result<String> {
    const LIMIT: Duration = Duration::from_secs(30);
    let finished = process::run(Command::new(program).args(words), LIMIT)?.succeeded()?;
    Ok(finished.stdout.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(section: &[&str]) -> PapersArgs {
        PapersArgs {
            quick: true,
            section: section.iter().map(|name| (*name).to_owned()).collect(),
            output: None,
        }
    }

    #[test]
    fn sections_are_known_by_name() {
        assert_eq!(args(&[]).chosen().unwrap().len(), SECTIONS.len());
        let chosen = args(&["table-2.1"]);
        assert_eq!(chosen.chosen().unwrap()[0].name, "table-2.1");
        assert_eq!(
            chosen.command(),
            "cargo xtask papers --quick --section table-2.1"
        );
        let error = args(&["table-9"]).chosen().unwrap_err().to_string();
        assert!(
            error.starts_with("there is no section table-9; there are table-2.1"),
            "{error}"
        );
    }

    #[test]
    fn the_machine_is_named() {
        let machine = machine().unwrap();
        assert!(
            machine.contains("cores of") && machine.contains("Linux"),
            "{machine}"
        );
    }
}

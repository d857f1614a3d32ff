//! `bcs mds`: what the Monitoring and Debugging System recorded.

use crate::cli::MdsCommand;
use crate::exit_code;
use mds::report::{Whose, run_time, table_5_3, table_nodes};
use std::process::ExitCode;

pub(super) fn run(command: MdsCommand) -> ExitCode {
    let MdsCommand::Report { dir, rank } = command;
    match report(&dir, rank) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bcs: failed to report on {}: {error}", dir.display());
            ExitCode::from(exit_code::BAD_INPUT)
        }
    }
}

fn report(dir: &std::path::Path, rank: Option<u32>) -> anyhow::Result<String> {
    let dumps = mds::dump::read_dir(dir)?;
    let whose = rank.map_or(Whose::AllRanks, Whose::Rank);
    let mut text = table_5_3(&dumps.ranks, whose)?;
    text += "\n";
    text += &run_time(&dumps.ranks, whose)?;
    if rank.is_none() && !dumps.nodes.is_empty() {
        text += "\n\n";
        text += &table_nodes(&dumps.nodes);
    }
    Ok(text)
}

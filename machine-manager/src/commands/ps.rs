//! `bcs ps`: lists the running jobs.

use crate::cli::PsArgs;
use crate::exit_code;
use crate::live::client::{JobAnswer, JobQueryError};
use crate::live::jobs;
use crate::live::name::JobName;
use crate::standard_output::print;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde_json::{Value, json};
use std::process::ExitCode;

type ListedJob = (JobName, Result<JobAnswer, JobQueryError>);

pub(super) fn run(arguments: &PsArgs) -> ExitCode {
    let jobs = match jobs::all() {
        Ok(jobs) => jobs,
        Err(error) => {
            eprintln!("bcs: {}", jobs::JobLookupError::from(error));
            return ExitCode::from(exit_code::RUNTIME);
        }
    };
    let text = match arguments.json {
        true => format!("{:#}", Value::from_iter(jobs.iter().map(as_json))),
        false => table(&jobs).trim_fmt(),
    };
    print(&text);
    ExitCode::SUCCESS
}

fn table(jobs: &[ListedJob]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["JOB", "PID", "NODES", "RANKS", "TIME", "COMMAND"]);
    for (name, answered) in jobs {
        let (id, pid) = (name.id.clone(), name.pid.to_string());
        let none = || "?".to_owned();
        table.add_row(match answered {
            Ok(JobAnswer { facts, .. }) => {
                let age = match facts.is_ending {
                    true => format!("{}, is ending", facts.age()),
                    false => facts.age(),
                };
                let (nodes, ranks) = (facts.nodes.to_string(), facts.ranks.to_string());
                [id, pid, nodes, ranks, age, facts.command_line()]
            }
            Err(_) => [id, pid, none(), none(), none(), "does not answer".into()],
        });
    }
    for column in [1, 2, 3] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn as_json((name, answered): &ListedJob) -> Value {
    match answered {
        Ok(JobAnswer { facts, .. }) => facts.json(),
        Err(error) => json!({
            "job": name.id,
            "pid": name.pid,
            "user": name.user,
            "error": error.to_string(),
        }),
    }
}

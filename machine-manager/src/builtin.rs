//! Programs that come with `bcs`: run as `/proc/self/exe app NAME ARGS`.

use std::ffi::OsString;
use std::process::ExitCode;

/// A built-in program.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// What the user calls it.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Its main function, in a rank. The arguments are those after the name.
    pub run: fn(Vec<OsString>) -> ExitCode,
}

/// All of them.
pub const TABLE: &[BuiltIn] = &[
    BuiltIn {
        name: "hello",
        about: "every rank says its number",
        run: |arguments| apps::bcs::run("hello", apps::hello::command, arguments),
    },
    BuiltIn {
        name: "pingpong",
        about: "two ranks send a message to and fro",
        run: |arguments| apps::bcs::run("pingpong", apps::pingpong::command, arguments),
    },
    BuiltIn {
        name: "send-cost",
        about: "blocking sends at random moments of a slice, timed",
        run: |arguments| apps::bcs::run("send-cost", apps::send_cost::command, arguments),
    },
    BuiltIn {
        name: "spin",
        about: "every rank computes for a while, and says how far it got",
        run: |arguments| apps::bcs::run("spin", apps::spin::command, arguments),
    },
    BuiltIn {
        name: "beat",
        about: "two ranks exchange a message in every slice while the others compute",
        run: |arguments| apps::bcs::run("beat", apps::beat::command, arguments),
    },
    BuiltIn {
        name: "doze",
        about: "half of the ranks sleep, half wait for them in a receive",
        run: |arguments| apps::bcs::run("doze", apps::doze::command, arguments),
    },
    BuiltIn {
        name: "bench",
        about: "time messages and collectives, a line of JSON each; `bcs bench` makes a table",
        run: |arguments| apps::bcs::run("bench", apps::bench::command, arguments),
    },
    BuiltIn {
        name: "sweep3d",
        about: "neutron transport by discrete ordinates: the benchmark of the BCS-MPI paper",
        run: |arguments| {
            let program = apps::abi::Program {
                bcs: apps::sweep3d::command,
                abi: apps::sweep3d::command,
            };
            apps::abi::run("sweep3d", program, arguments)
        },
    },
    BuiltIn {
        name: "sage",
        about: "gas dynamics on an adaptive mesh: an application like SAGE of the BCS-MPI paper",
        run: |arguments| {
            let program = apps::abi::Program {
                bcs: apps::sage::command,
                abi: apps::sage::command,
            };
            apps::abi::run("sage", program, arguments)
        },
    },
];

/// The built-in program of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    TABLE.iter().find(|program| program.name == name)
}

/// Their names, for messages.
#[must_use]
pub fn names() -> String {
    TABLE
        .iter()
        .map(|program| program.name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A rank that runs one: the name, then its arguments.
#[must_use]
pub fn main(mut line: Vec<OsString>) -> ExitCode {
    let name = if line.is_empty() {
        OsString::new()
    } else {
        line.remove(0)
    };
    match name.to_str().and_then(find) {
        Some(program) => (program.run)(line),
        None => {
            eprintln!(
                "bcs: {} is no built-in program: there are {}",
                name.display(),
                names()
            );
            ExitCode::from(crate::exit_code::BAD_INPUT)
        }
    }
}

/// What `bcs run --help` says about programs.
#[must_use]
pub fn help() -> String {
    let mut text =
        String::from("PROGRAM is a built-in program, a name on PATH, or a path (with a slash):\n");
    for program in TABLE {
        text += &format!("  {:<10} {}\n", program.name, program.about);
    }
    text
}

//! The programs that come with `bcs`, by name.

use std::ffi::OsString;
use std::process::ExitCode;

/// A built-in program.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// The name by which the user runs it.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Its main function, in a rank. The arguments are those after the name.
    pub run: fn(Vec<OsString>) -> ExitCode,
}

/// All programs. A static, so that each is compiled as a whole with this crate, and not where it is
/// called.
pub static TABLE: &[BuiltIn] = &[
    BuiltIn {
        name: "hello",
        about: "every rank says its number",
        run: |arguments| crate::bcs::run("hello", crate::hello::command, arguments),
    },
    BuiltIn {
        name: "pingpong",
        about: "two ranks send a message to and fro",
        run: |arguments| crate::bcs::run("pingpong", crate::pingpong::command, arguments),
    },
    BuiltIn {
        name: "send-cost",
        about: "blocking sends at random moments of a slice, timed",
        run: |arguments| crate::bcs::run("send-cost", crate::send_cost::command, arguments),
    },
    BuiltIn {
        name: "spin",
        about: "every rank computes for a while, and says how far it got",
        run: |arguments| crate::bcs::run("spin", crate::spin::command, arguments),
    },
    BuiltIn {
        name: "beat",
        about: "two ranks exchange a message in every slice while the others compute",
        run: |arguments| crate::bcs::run("beat", crate::beat::command, arguments),
    },
    BuiltIn {
        name: "doze",
        about: "half of the ranks sleep, half wait for them in a receive",
        run: |arguments| crate::bcs::run("doze", crate::doze::command, arguments),
    },
    BuiltIn {
        name: "bench",
        about: "time messages and collectives, a line of JSON each; `bcs bench` makes a table",
        run: |arguments| crate::bcs::run("bench", crate::bench::command, arguments),
    },
    BuiltIn {
        name: "sweep3d",
        about: "neutron transport by discrete ordinates: the benchmark of the BCS-MPI paper",
        run: |arguments| {
            let name = "sweep3d";
            crate::abi::run(
                name,
                |world, words| crate::sweep3d::command(world, words),
                arguments,
            )
        },
    },
    BuiltIn {
        name: "sage",
        about: "gas dynamics on an adaptive mesh: an application like SAGE of the BCS-MPI paper",
        run: |arguments| {
            let name = "sage";
            crate::abi::run(
                name,
                |world, words| crate::sage::command(world, words),
                arguments,
            )
        },
    },
];

/// Finds the built-in program with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    TABLE.iter().find(|program| program.name == name)
}

/// Returns their names, for messages.
#[must_use]
pub fn names() -> String {
    TABLE
        .iter()
        .map(|program| program.name)
        .collect::<Vec<_>>()
        .join(", ")
}

//! Programs that come with `bcs`: run as `/proc/self/exe app NAME ARGS`.

pub use apps::builtin::{BuiltIn, TABLE, find, names};
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs a rank of a built-in program: the name, then its arguments.
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

/// Returns the part of `bcs run --help` about programs.
#[must_use]
pub fn help() -> String {
    let mut text =
        String::from("PROGRAM is a built-in program, a name on PATH, or a path (with a slash):\n");
    for program in TABLE {
        text += &format!("  {:<10} {}\n", program.name, program.about);
    }
    text
}

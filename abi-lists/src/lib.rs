//! The MPI 5.0 standard's lists of functions and constants, and what build scripts generate from
//! them: declarations in Rust, and entry points in assembly.
//!
//! | file | is |
//! |---|---|
//! | `prototype.rs` | a prototype of C and its parameters |
//! | `assembly.rs` | the names that a shared library exports |
//! | `../mpi-abi/standard` | the lists themselves |

mod assembly;
mod prototype;

pub use assembly::{EntryPoint, entry_points};
pub use prototype::{Parameter, Prototype};

/// C prototypes of all functions, by name.
pub const FUNCTIONS: &str = include_str!("../../mpi-abi/standard/functions.txt");

/// The constants: category, name, type and value, separated by tabs.
pub const CONSTANTS: &str = include_str!("../../mpi-abi/standard/constants.txt");

/// The header of the BCS API.
pub const BCS_HEADER: &str = include_str!("../../mpi-abi/include/bcs.h");

/// A named constant of C.
#[derive(Debug, Clone, Copy)]
pub struct Constant<'a> {
    /// The standard's name for the category.
    pub category: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its type in C.
    pub kind: &'a str,
    /// Its value; for a handle or an address, its number.
    pub value: i64,
}

/// Returns all constants of the standard, in its order.
pub fn constants() -> impl Iterator<Item = Constant<'static>> {
    constants_of(CONSTANTS)
}

/// Returns the constants of a list that has the form of [`CONSTANTS`].
///
/// # Panics
///
/// The list is malformed.
pub fn constants_of(list: &str) -> impl Iterator<Item = Constant<'_>> {
    list.lines().map(|line| {
        let words: Vec<&str> = line.split('\t').collect();
        let [category, name, kind, value] = words[..] else {
            panic!("{line} has no four words");
        };
        Constant {
            category,
            name,
            kind,
            value: value.parse().expect("a value is a number"),
        }
    })
}

/// Returns the prototypes of the standard's functions.
pub fn functions() -> impl Iterator<Item = Prototype<'static>> {
    FUNCTIONS.lines().map(Prototype::parse)
}

/// Returns the prototypes that the header of the BCS API declares, one per line.
///
/// # Panics
///
/// A comment of the header does not end.
#[must_use]
pub fn bcs_functions() -> Vec<String> {
    let mut code = String::new();
    let mut rest = BCS_HEADER;
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        let (_, after) = comment.split_once("*/").expect("a comment ends");
        rest = after;
    }
    code.push_str(rest);
    let words = |statement: &str| statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let statements = code.split(';').map(words);
    statements.filter(|of| of.starts_with("int bcs_")).collect()
}

//! The standard's lists, from which the crate `mpi-abi` is generated, too.

/// C prototypes of all functions, by name.
pub const FUNCTIONS: &str = include_str!("../../mpi-abi/standard/functions.txt");

const CONSTANTS: &str = include_str!("../../mpi-abi/standard/constants.txt");

/// A named constant of C.
#[derive(Debug, Clone, Copy)]
pub struct Constant {
    /// The standard's name for the category.
    pub category: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its type in C.
    pub kind: &'static str,
    /// Its value; for a handle or an address, its number.
    pub value: i64,
}

/// Returns all constants, in the order of the standard.
///
/// # Panics
///
/// The list is malformed.
pub fn constants() -> impl Iterator<Item = Constant> {
    CONSTANTS.lines().map(|line| {
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

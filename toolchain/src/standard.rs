//! The standard's lists, which the crate `mpi-abi` is made of, too.

/// C prototypes of all functions, by name.
pub const FUNCTIONS: &str = include_str!("../../mpi-abi/standard/functions.txt");

const CONSTANTS: &str = include_str!("../../mpi-abi/standard/constants.txt");

/// A named constant of C.
#[derive(Debug, Clone, Copy)]
pub struct Constant {
    /// The standard's name for what it is one of.
    pub category: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its type in C.
    pub kind: &'static str,
    /// Its value; of a handle or address, its number.
    pub value: i64,
}

/// All constants, in the order of the standard.
///
/// # Panics
///
/// The list is not what it should be.
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

//! Generates the translation between MPICH's ABI and the standard's, from the standard's prototypes
//! and from both lists of constants.
//!
//! | file | generates |
//! |---|---|
//! | `functions.rs` | a function for each prototype, which translates its arguments and results |
//! | `constants.rs` | tables of constants and predefined handles |
//!
//! A function that a file in `src/by_hand` defines is not generated. `lists/functions.txt` has the
//! functions that MPICH's library exports in addition to the standard's, all of them by hand.

mod constants;
mod functions;

use abi_lists::{EntryPoint, Prototype, entry_points};
use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

fn main() {
    for input in ["build", "lists", "src/by_hand"] {
        println!("cargo::rerun-if-changed={input}");
    }
    let read = |file: &str| fs::read_to_string(file).unwrap_or_else(|_| panic!("{file} is there"));
    let more = read("lists/functions.txt");
    let standard: Vec<Prototype> = abi_lists::functions().collect();
    let exported: Vec<Prototype> = standard
        .iter()
        .cloned()
        .chain(more.lines().map(Prototype::parse))
        .collect();
    let by_hand = defined(Path::new("src/by_hand"));
    let generated = exported.iter().filter(|of| !by_hand.contains(of.name));
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let write = |file: &str, text: String| {
        fs::write(Path::new(&out).join(file), text).expect("OUT_DIR can be written");
    };
    write("entries.rs", functions::entries(&standard));
    write("functions.rs", functions::translations(generated));
    let constants = read("lists/constants.txt");
    write("tables.rs", constants::tables(&constants));
    write("handles.rs", constants::handles(&constants));
    let names: Vec<String> = exported.iter().map(|of| format!("P{}", of.name)).collect();
    let targets = names.iter().map(|name| EntryPoint {
        name,
        weak: Some(&name[1..]),
        prefix: "mpich_",
    });
    write("names.s", entry_points(targets));
}

/// Returns the names without the P of all functions that files of a folder define: in lines that
/// begin with `fn PMPI`, or with `PMPI` where a macro defines them from a list.
fn defined(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let text = fs::read_to_string(path).expect("it can be read");
        for line in text.lines().map(str::trim_start) {
            let line = line
                .strip_prefix("pub unsafe extern \"C\" ")
                .unwrap_or(line);
            if !line.starts_with("fn PMPI") && !line.starts_with("PMPI") {
                continue;
            }
            let head = line.split_once('(').map_or(line, |(head, _)| head);
            let words = head.split(|of: char| !(of.is_alphanumeric() || of == '_'));
            let functions = words.filter_map(|word| word.strip_prefix('P'));
            names.extend(
                functions
                    .filter(|of| of.starts_with("MPI"))
                    .map(str::to_owned),
            );
        }
    }
    names
}

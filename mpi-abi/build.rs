//! Generates the code that is the same for all functions of the standard's list. Also checks
//! functions against the header of the BCS API.
//!
//! If a file in `src/calls` defines a function (`fn PMPI_...`), the function is checked against its
//! prototype in the list. If no file defines it, it returns that it is not supported, after it has
//! called the error handler of the object that the standard names (9.3, 14.7). All such functions
//! are on files.

use abi_lists::{Prototype, bcs_functions, constants, functions};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=src/calls");
    let functions: Vec<Prototype> = functions().collect();
    let defined = defined(Path::new("src/calls"));
    for name in &defined {
        let known = functions.iter().any(|function| function.name == name);
        assert!(
            known,
            "src/calls defines P{name}, which the standard has not"
        );
    }
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let out = Path::new(&out);
    let write =
        |file: &str, text: String| fs::write(out.join(file), text).expect("OUT_DIR can be written");
    write("rest.rs", rest(&functions, &defined));
    let theirs = functions.iter().filter(|of| defined.contains(of.name));
    write("prototypes.rs", prototypes("P", theirs));
    let declared = bcs_functions();
    let declared: Vec<Prototype> = declared.iter().map(|line| Prototype::parse(line)).collect();
    write("bcs_prototypes.rs", prototypes("", declared.iter()));
    write("constants.rs", constants_in_rust());
}

/// Returns the names without the P of all functions that files of a folder define: in lines that
/// begin with `fn PMPI_`, or with `PMPI_` where a macro defines them from a list.
fn defined(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let text = fs::read_to_string(path).expect("it can be read");
        for line in text.lines().map(str::trim_start) {
            let line = line
                .strip_prefix("pub unsafe extern \"C\" ")
                .unwrap_or(line);
            if !line.starts_with("fn PMPI_") && !line.starts_with("PMPI_") {
                continue;
            }
            let head = line.split_once('(').map_or(line, |(head, _)| head);
            let words = head.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let theirs =
                words.filter_map(|word| word.strip_prefix('P').filter(|of| of.starts_with("MPI_")));
            names.extend(theirs.map(str::to_owned));
        }
    }
    names
}

/// Generates the functions that are not implemented.
fn rest(functions: &[Prototype], defined: &BTreeSet<String>) -> String {
    let mut text = String::new();
    let missing = functions
        .iter()
        .filter(|function| !defined.contains(function.name));
    let mut names = Vec::new();
    for Prototype { name, returns, .. } in missing {
        assert_eq!(
            *returns, "int",
            "{name} cannot answer that it is not supported"
        );
        let _ = writeln!(
            text,
            "/// `{name}` is not there yet.\n#[unsafe(export_name = \"entry_P{name}\")]\npub extern \"C\" fn P{name}{}",
            unsupported(name)
        );
        names.push(*name);
    }
    let _ = writeln!(
        text,
        "/// Functions that are not there yet.\npub const UNSUPPORTED: &[&str] = &{names:?};"
    );
    text
}

/// Returns the parameters and the body of a function that is not implemented. All of these are on
/// files. There is no file before it is open, so these are errors of `MPI_FILE_NULL`.
fn unsupported(name: &str) -> String {
    let is_on_files = name.starts_with("MPI_File_") || name.starts_with("MPI_Register_datarep");
    assert!(is_on_files, "no file in src/calls defines P{name}");
    format!("() -> c_int {{ unsupported_file(\"{name}\") }}")
}

/// Generates checks that each implemented function has the type of its prototype. Its name in Rust
/// may have a prefix.
fn prototypes<'a>(prefix: &str, functions: impl Iterator<Item = &'a Prototype<'a>>) -> String {
    let mut text = String::new();
    for function in functions {
        let parameters: Vec<String> = function.parameters.iter().map(|of| of.in_rust()).collect();
        let _ = writeln!(
            text,
            "const _: unsafe extern \"C\" fn({}) -> {} = {prefix}{};",
            parameters.join(", "),
            function.result_in_rust(),
            function.name
        );
    }
    text
}

/// Generates the constants that are integers or handles.
fn constants_in_rust() -> String {
    let mut text = String::new();
    for constant in constants() {
        let (name, value) = (constant.name, constant.value);
        let (kind, value) = match constant.kind {
            "int" | "MPI_T_cb_safety" | "MPI_T_source_order" => ("c_int", value.to_string()),
            kind if kind.ends_with('*') => continue,
            kind => (kind, format!("{kind}({value})")),
        };
        let _ = writeln!(
            text,
            "#[doc = \"`{name}`\"]\npub const {name}: {kind} = {value};"
        );
    }
    text
}

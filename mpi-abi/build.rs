//! Generates the code that is the same for all functions of the standard's list. Also checks
//! functions against the header of the BCS API.
//!
//! If a file in `src/calls` defines a function (`fn PMPI_...`), the function is checked against its
//! prototype in the list. If no file defines it, it returns that it is not supported, after it has
//! called the error handler of the object that the standard names (9.3, 14.7). Each function gets
//! its two names.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// A function of the list.
struct AbiFunction<'a> {
    name: &'a str,
    returns: &'a str,
    parameters: Vec<&'a str>,
}

fn main() {
    println!("cargo::rerun-if-changed=standard");
    println!("cargo::rerun-if-changed=src/calls");
    println!("cargo::rerun-if-changed=include");
    let list =
        fs::read_to_string("standard/functions.txt").expect("the list of functions is there");
    let functions: Vec<AbiFunction> = list.lines().map(parse).collect();
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
    let header = fs::read_to_string("include/bcs.h").expect("the header is there");
    let declared = declared(&header);
    let declared: Vec<AbiFunction> = declared.iter().map(|line| parse(line)).collect();
    write("names.s", names(&functions, &declared));
    write("bcs_prototypes.rs", prototypes("", declared.iter()));
    let constants =
        fs::read_to_string("standard/constants.txt").expect("the list of constants is there");
    write("constants.rs", constants_in_rust(&constants));
}

fn parse(line: &str) -> AbiFunction<'_> {
    let (head, rest) = line.split_once('(').expect("a prototype has a parenthesis");
    let (returns, name) = head.rsplit_once(' ').expect("a prototype has a type");
    let parameters = rest.trim_end_matches(')').split(", ");
    let parameters = parameters
        .filter(|of| !["void", "..."].contains(of))
        .collect();
    AbiFunction {
        name,
        returns,
        parameters,
    }
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

/// Generates the entry points of the functions, which store the address that they are called from
/// (`src/caller.rs`), and continue in Rust. Each of the standard's functions has two names; the
/// `MPI_` name is weak, so that a tool may replace it.
fn names(functions: &[AbiFunction], of_bcs: &[AbiFunction]) -> String {
    let mut text = String::from(".text\n");
    for AbiFunction { name, .. } in functions {
        text += &entry(&format!("P{name}"), Some(name));
    }
    for AbiFunction { name, .. } in of_bcs {
        text += &entry(name, None);
    }
    text
}

fn entry(name: &str, weak: Option<&str>) -> String {
    let mut text = String::new();
    let mut begin = |binding: &str, name: &str| {
        let _ = writeln!(text, ".{binding} {name}\n.type {name}, @function\n{name}:");
    };
    weak.iter().for_each(|name| begin("weak", name));
    begin("globl", name);
    let _ = writeln!(
        text,
        "    lea rax, [rip + bcs_caller@tlsdesc]\n    call qword ptr [rax + bcs_caller@tlscall]\n    \
         mov r11, qword ptr [rsp]\n    mov qword ptr fs:[rax], r11\n    jmp entry_{name}"
    );
    for name in weak.into_iter().chain([name]) {
        let _ = writeln!(text, ".size {name}, . - {name}");
    }
    format!(".p2align 4\n{text}")
}

/// Generates the functions that are not implemented.
fn rest(functions: &[AbiFunction], defined: &BTreeSet<String>) -> String {
    let mut text = String::new();
    let missing = functions
        .iter()
        .filter(|function| !defined.contains(function.name));
    let mut names = Vec::new();
    for AbiFunction {
        name,
        returns,
        parameters,
    } in missing
    {
        assert_eq!(
            *returns, "int",
            "{name} cannot answer that it is not supported"
        );
        let _ = writeln!(
            text,
            "/// `{name}` is not there yet.\n#[unsafe(export_name = \"entry_P{name}\")]\npub extern \"C\" fn P{name}{}",
            unsupported(name, parameters)
        );
        names.push(*name);
    }
    let _ = writeln!(
        text,
        "/// Functions that are not there yet.\npub const UNSUPPORTED: &[&str] = &{names:?};"
    );
    text
}

/// Returns the parameters and the body of a function that is not implemented. The parameters decide
/// whose handler is called.
fn unsupported(name: &str, parameters: &[&str]) -> String {
    // There is no file before it is open, so these are errors of MPI_FILE_NULL.
    if name.starts_with("MPI_File_") || name.starts_with("MPI_Register_datarep") {
        return format!("() -> c_int {{ unsupported_file(\"{name}\") }}");
    }
    let comm = parameters.iter().position(|of| of.starts_with("MPI_Comm "));
    let Some(comm) = comm.filter(|&at| !parameters[at].contains(['*', '['])) else {
        return format!("() -> c_int {{ unsupported(\"{name}\") }}");
    };
    let before = parameters[..comm].iter().enumerate();
    let before = before.map(|(at, of)| format!("_before_{at}: {}, ", in_rust(of, true)));
    let before: String = before.collect();
    format!("({before}comm: MPI_Comm) -> c_int {{ unsupported_on(\"{name}\", comm) }}")
}

/// Returns the prototypes in a header of the BCS API, one per line.
fn declared(header: &str) -> Vec<String> {
    let mut code = String::new();
    let mut rest = header;
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

/// Generates checks that each implemented function has the type of its prototype. Its name in Rust
/// may have a prefix.
fn prototypes<'a>(prefix: &str, functions: impl Iterator<Item = &'a AbiFunction<'a>>) -> String {
    let mut text = String::new();
    for function in functions {
        let parameters: Vec<String> = function
            .parameters
            .iter()
            .map(|of| in_rust(of, true))
            .collect();
        let _ = writeln!(
            text,
            "const _: unsafe extern \"C\" fn({}) -> {} = {prefix}{};",
            parameters.join(", "),
            in_rust(function.returns, false),
            function.name
        );
    }
    text
}

/// Translates a type of C to Rust, with or without the name of a parameter.
fn in_rust(c: &str, named: bool) -> String {
    let constant = c.starts_with("const ");
    let c = c.trim_start_matches("const ");
    let end = c
        .find(|of: char| !(of.is_alphanumeric() || of == '_'))
        .unwrap_or(c.len());
    let (word, rest) = c.split_at(end);
    let depth = rest.matches('*').count() + rest.matches('[').count();
    let threes = rest.ends_with("[3]");
    let word = match word {
        "int" | "MPI_Fint" => "c_int".to_owned(),
        "char" => "c_char".to_owned(),
        "double" => "f64".to_owned(),
        "size_t" => "usize".to_owned(),
        "void" => "c_void".to_owned(),
        other => other.to_owned(),
    };
    let function = word.contains("_function");
    assert!(named || rest.is_empty(), "{c} is no type of a result");
    if function {
        return word;
    }
    if threes {
        return format!("*mut [{word}; 3]");
    }
    let mut text = word;
    for level in 0..depth {
        let qualifier = if constant && level == 0 {
            "const"
        } else {
            "mut"
        };
        text = format!("*{qualifier} {text}");
    }
    text
}

/// Generates the constants that are integers or handles.
fn constants_in_rust(list: &str) -> String {
    let mut text = String::new();
    for line in list.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let [_, name, kind, value] = words[..] else {
            panic!("{line} has no four words");
        };
        let (kind, value) = match kind {
            "int" | "MPI_T_cb_safety" | "MPI_T_source_order" => ("c_int", value.to_owned()),
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

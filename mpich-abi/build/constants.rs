//! Tables of constants and predefined handles.

use abi_lists::{Constant, constants, constants_of};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The assertions about windows. The standard has them in one category with the modes of files.
const ASSERTIONS: [&str; 5] = [
    "MPI_MODE_NOCHECK",
    "MPI_MODE_NOPRECEDE",
    "MPI_MODE_NOPUT",
    "MPI_MODE_NOSTORE",
    "MPI_MODE_NOSUCCEED",
];

/// The name of the table that a constant is in, by its category.
fn table_of(constant: &Constant) -> Option<&'static str> {
    let table = match constant.category {
        "error_classes" if constant.name == "MPI_ERR_LASTCODE" => return None,
        "error_classes" => "ERROR_CLASSES",
        "threads_constants" => "THREAD_LEVELS",
        "communicator_group_comp_results" => "COMPARISONS",
        "topologies" => "TOPOLOGIES",
        "datatype_decoding_constants" => "COMBINERS",
        "communicator_split_type" => "SPLIT_TYPES",
        "f90_datatype_matching_constants" => "TYPE_CLASSES",
        "file_operations_constants" => "DISTRIBUTIONS",
        "window_lock_type_constants" => "LOCK_TYPES",
        "window_create_flavors" => "WINDOW_FLAVORS",
        "window_models" => "WINDOW_MODELS",
        "file_pos_constants" => "FILE_POSITIONS",
        "mode_constants" if ASSERTIONS.contains(&constant.name) => "ASSERTIONS",
        "mode_constants" => "FILE_MODES",
        "env_inq_and_attr_keys" => "KEYS",
        "tool_info_iface_verbosity_levels" => "VERBOSITIES",
        "tool_info_iface_var_associations" => "BINDINGS",
        "tool_info_iface_var_scopes" => "SCOPES",
        "tool_info_iface_pvar_classes" => "VARIABLE_CLASSES",
        "tool_info_iface_source_orderings" => "SOURCE_ORDERS",
        "tool_info_iface_cb_safety_req_levels" => "SAFETIES",
        _ => return None,
    };
    Some(table)
}

/// The types of handles whose predefined values are translated one by one.
const HANDLES: [&str; 10] = [
    "MPI_Comm",
    "MPI_Errhandler",
    "MPI_Group",
    "MPI_Info",
    "MPI_Message",
    "MPI_Op",
    "MPI_Request",
    "MPI_Session",
    "MPI_Win",
    "MPI_Datatype",
];

/// A datatype of C that the standard has only in Fortran. The handle of C is the usual one, because
/// an MPICH without 16-bit reals in Fortran has `MPI_DATATYPE_NULL` for the other one.
const FLOAT16: [&str; 2] = ["MPIX_C_FLOAT16", "MPI_REAL2"];

/// Generates tables of integers, and MPICH's constants by their names.
pub(crate) fn tables(list: &str) -> String {
    let mpich: BTreeMap<&str, i64> = constants_of(list).map(|of| (of.name, of.value)).collect();
    let mut text = String::new();
    let mut tables: BTreeMap<&str, Vec<(i64, i64)>> = BTreeMap::new();
    for constant in constants() {
        let Some(value) = mpich.get(constant.name) else {
            continue;
        };
        if let Some(table) = table_of(&constant) {
            tables
                .entry(table)
                .or_default()
                .push((constant.value, *value));
        }
    }
    for (name, pairs) in tables {
        let _ = writeln!(
            text,
            "pub static {name}: [(c_int, c_int); {}] = {pairs:?};",
            pairs.len()
        );
    }
    text += "/// MPICH's constants.\npub mod mpich {\nuse std::ffi::c_int;\n";
    for constant in constants_of(list).filter(|of| !of.kind.ends_with('*')) {
        let (name, value) = (constant.name, constant.value);
        let _ = writeln!(text, "pub const {name}: c_int = {value};");
    }
    text + "}\n"
}

/// Generates functions and tables of predefined handles.
pub(crate) fn handles(list: &str) -> String {
    let mpich: BTreeMap<&str, i64> = constants_of(list).map(|of| (of.name, of.value)).collect();
    let mut text = String::new();
    let mut numbers = [0_i64; 1024];
    for kind in HANDLES {
        let mut known: Vec<(i64, i64)> = Vec::new();
        for constant in constants().filter(|of| of.kind == kind) {
            let names = match constant.name == FLOAT16[1] {
                true => &FLOAT16[..],
                false => &[constant.name],
            };
            let values: Vec<i64> = names
                .iter()
                .filter_map(|name| mpich.get(name).copied())
                .collect();
            let place = usize::try_from(constant.value).expect("a predefined handle is small");
            numbers[place] = values.first().copied().unwrap_or_default();
            let new = values.iter().map(|theirs| (*theirs, constant.value));
            known.extend(new);
        }
        known.sort_unstable();
        known.dedup_by_key(|(theirs, _)| *theirs);
        if kind == "MPI_Datatype" {
            text += &datatypes(&mut known);
        }
        let _ = writeln!(
            text,
            "#[inline]\nfn predefined_{}(theirs: c_int) -> Option<usize> {{\nSome(match theirs {{",
            kind.to_lowercase()
        );
        for (theirs, ours) in known {
            let _ = writeln!(text, "{theirs} => {ours},");
        }
        text += "_ => return None,\n})\n}\n";
    }
    let _ = writeln!(
        text,
        "/// MPICH's numbers of predefined handles, by the standard's; 0 where it has none.\n\
         static PREDEFINED: [c_int; {}] = {numbers:?};",
        numbers.len()
    );
    text
}

/// Generates a table of the datatypes whose lowest byte is their index in MPICH, and takes them out
/// of the list.
fn datatypes(known: &mut Vec<(i64, i64)>) -> String {
    const BUILTIN: i64 = 0x4c00_0000;
    let mut table = [(0_i64, 0_i64); 128];
    known.retain(|&(theirs, ours)| {
        if theirs & !0xffff != BUILTIN {
            return true;
        }
        let place = usize::try_from(theirs & 0x7f).expect("it is no sign");
        assert_eq!(table[place].0, 0, "{theirs:#x} has the index of another");
        table[place] = (theirs, ours);
        false
    });
    format!(
        "/// Predefined datatypes by their index in MPICH: MPICH's number and the standard's.\n\
         static DATATYPES_BY_INDEX: [(c_int, usize); 128] = {table:?};\n"
    )
}

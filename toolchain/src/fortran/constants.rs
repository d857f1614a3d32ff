//! Constants of Fortran, which have the numbers of C's (20.3.3).

use std::fmt::Write as _;

use crate::standard::{Constant, constants};

/// The kinds of integers, and what they and a status need.
const OWN: [(&str, i64); 8] = [
    ("MPI_ADDRESS_KIND", 8),
    ("MPI_COUNT_KIND", 8),
    ("MPI_OFFSET_KIND", 8),
    ("MPI_INTEGER_KIND", 4),
    ("MPI_STATUS_SIZE", 8),
    ("MPI_SOURCE", 1),
    ("MPI_TAG", 2),
    ("MPI_ERROR", 3),
];

/// Combiners that MPI 3 removed: no datatype has them, but programs compare with them. The
/// standard's constants have other numbers.
const OLD_COMBINERS: [(&str, i64); 3] = [
    ("MPI_COMBINER_HVECTOR_INTEGER", -1),
    ("MPI_COMBINER_HINDEXED_INTEGER", -2),
    ("MPI_COMBINER_STRUCT_INTEGER", -3),
];

/// Markers of bounds that MPI 3 removed. Only `MPI_TYPE_STRUCT` takes them (`glue/glue.h`).
const MARKERS: [(&str, i64); 2] = [("MPI_LB", -1), ("MPI_UB", -2)];

/// Whether the module is that of Fortran 2008, where handles have types and descriptors are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// `mpif.h`, and the module `mpi`.
    Old,
    /// The module `mpi_f08`.
    F08,
}

/// Returns the constants that Fortran has: not those of the tool information interface, and none
/// whose value is an address.
fn in_fortran() -> impl Iterator<Item = Constant<'static>> {
    constants().filter(|of| {
        !of.name.starts_with("MPI_T_") && !of.name.starts_with("MPI_F_") && !of.kind.contains('*')
    })
}

/// Returns the value in Fortran. Lengths of texts do not count C's zero at the end.
fn value(of: &Constant) -> i64 {
    of.value - i64::from(of.category == "max_str_size_constants")
}

/// Returns the declarations of all constants, in lines that both source forms accept.
pub(super) fn declarations(language: Language) -> String {
    let mut text = String::new();
    let mut declare = |kind: &str, name: &str, value: &str| {
        let _ = writeln!(
            text,
            "      {kind} {name}\n      parameter ({name}={value})"
        );
    };
    for (name, value) in OWN.into_iter().chain(OLD_COMBINERS) {
        declare("integer", name, &value.to_string());
    }
    let is_f08 = language == Language::F08;
    for (name, value) in MARKERS {
        match is_f08 {
            true => declare(
                "type(MPI_Datatype)",
                name,
                &format!("MPI_Datatype({value})"),
            ),
            false => declare("integer", name, &value.to_string()),
        }
    }
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        declare("logical", name, &format!(".{is_f08}."));
    }
    for of in in_fortran() {
        let value = value(&of).to_string();
        match of.kind.strip_prefix("MPI_") {
            Some(_) if is_f08 => {
                declare(
                    &format!("type({})", of.kind),
                    of.name,
                    &format!("{}({value})", of.kind),
                );
            }
            _ if of.name == "MPI_DISPLACEMENT_CURRENT" => {
                declare("integer(kind=MPI_OFFSET_KIND)", of.name, &value);
            }
            _ => declare("integer", of.name, &value),
        }
    }
    text + &sentinels(language)
}

/// Returns the variables that the glue knows by their addresses (`glue/glue.h`).
fn sentinels(language: Language) -> String {
    let status = match language {
        Language::Old => {
            "      integer MPI_STATUS_IGNORE(MPI_STATUS_SIZE)\n      integer MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)\n"
        }
        Language::F08 => {
            "      type(MPI_Status) MPI_STATUS_IGNORE\n      type(MPI_Status) MPI_STATUSES_IGNORE(1)\n"
        }
    };
    let names = [
        "MPI_BOTTOM",
        "MPI_IN_PLACE",
        "MPI_BUFFER_AUTOMATIC",
        "MPI_UNWEIGHTED(1)",
        "MPI_WEIGHTS_EMPTY(1)",
        "MPI_ERRCODES_IGNORE(1)",
    ];
    let mut text = String::new();
    for name in names {
        let _ = writeln!(text, "      integer {name}");
    }
    text += status;
    // A block that is named again goes on where it has ended.
    let all = names
        .into_iter()
        .chain(["MPI_STATUS_IGNORE", "MPI_STATUSES_IGNORE"]);
    for name in all {
        let name = name.split('(').next().expect("a name");
        let _ = writeln!(text, "      common /BCSMPISENTINELS/ {name}");
    }
    text += "      character*1 MPI_ARGV_NULL(1)\n      character*1 MPI_ARGVS_NULL(1,1)\n      \
             common /BCSMPITEXTS/ MPI_ARGV_NULL\n      common /BCSMPITEXTS/ MPI_ARGVS_NULL\n";
    text
}

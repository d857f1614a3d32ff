//! Generates `mpif.h` and the modules, which each compiler compiles for itself.
//!
//! Procedures of `mpi` are external ones with the names of `mpif.h`, and their interfaces. A buffer
//! is an argument whose type, kind and rank the compiler does not check: the directives of all
//! usual compilers say so. Procedures of `mpi_f08` are external ones, too. Those that have a buffer
//! have a binding label, so that the compiler passes a descriptor of Fortran 2018 at the place of
//! the call, and the glue gets the program's own return address.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::constants::{Language, declarations};
use super::functions::{FortranFunction, HANDLES, Integer, Intent, Kind, Parameter, Returns};

/// Functions of keys that are predefined, by their kinds of objects.
const PREDEFINED: [(&str, &str); 3] = [("COMM", "Comm"), ("TYPE", "Datatype"), ("WIN", "Win")];

/// The abstract interfaces of functions of the program that do not come in several kinds.
const CALLBACKS: &str = include_str!("callbacks.f90");

const HEAD: &str = "! MPI 5.0 for Fortran, written by BCS-MPI of the standard's lists.\n";

/// Returns the names of predefined functions.
fn predefined_functions() -> Vec<String> {
    let kinds = PREDEFINED
        .iter()
        .map(|(kind, _)| format!("{kind}_"))
        .chain([String::new()]);
    let of_kind = kinds.flat_map(|kind| {
        ["NULL_COPY_FN", "DUP_FN", "NULL_DELETE_FN"].map(|name| format!("MPI_{kind}{name}"))
    });
    of_kind
        .chain(["MPI_CONVERSION_FN_NULL", "MPI_CONVERSION_FN_NULL_C"].map(str::to_owned))
        .collect()
}

/// Returns `mpif.h`, in lines that both source forms accept.
pub(super) fn mpif() -> String {
    let mut text = HEAD.to_owned() + &declarations(Language::Old);
    for name in predefined_functions() {
        let _ = writeln!(text, "      external {name}");
    }
    for function in FortranFunction::all() {
        if let Returns::Value(_, kind) = function.returns {
            for profiling in ["", "P"] {
                let name = format!("{profiling}{}", function.name);
                let _ = writeln!(text, "      {kind} {name}\n      external {name}");
            }
        }
    }
    text
}

/// Returns the module of types that both modules have.
pub(super) fn types() -> String {
    let mut text = HEAD.to_owned();
    text += "module bcs_mpi_types\n  use, intrinsic :: iso_c_binding, only: c_int\n  implicit none\n  private :: c_int\n\n";
    text += "  type, bind(C) :: MPI_Status\n    integer(c_int) :: MPI_SOURCE, MPI_TAG, MPI_ERROR\n    \
             integer(c_int) :: MPI_internal(5)\n  end type\n";
    for (kind, _) in HANDLES {
        let _ = writeln!(
            text,
            "  type, bind(C) :: MPI_{kind}\n    integer(c_int) :: MPI_VAL\n  end type"
        );
    }
    for (operator, name) in [("==", "is"), ("/=", "is_not")] {
        let _ = writeln!(text, "\n  interface operator({operator})");
        for (kind, _) in HANDLES {
            let _ = writeln!(text, "    module procedure {kind}_{name}");
        }
        text += "  end interface\n";
    }
    text += "\n  private :: ";
    let names = HANDLES.map(|(kind, _)| format!("{kind}_is, {kind}_is_not"));
    text += &names.join(", &\n    ");
    text += "\ncontains\n";
    for (operator, name) in [("==", "is"), ("/=", "is_not")] {
        for (kind, _) in HANDLES {
            let _ = writeln!(
                text,
                "  elemental logical function {kind}_{name}(a, b) result(answer)\n    \
                 type(MPI_{kind}), intent(in) :: a, b\n    answer = a%MPI_VAL {operator} b%MPI_VAL\n  end function"
            );
        }
    }
    text + "end module\n"
}

/// Returns the module `mpi`.
pub(super) fn old() -> String {
    let mut text = HEAD.to_owned();
    text += "module mpi\n  use bcs_mpi_types\n  use, intrinsic :: iso_c_binding, only: c_ptr\n  implicit none\n  private :: c_ptr\n\n";
    text += &declarations(Language::Old);
    for name in predefined_functions() {
        let _ = writeln!(text, "      external {name}");
    }
    text.push('\n');
    for profiling in ["", "P"] {
        for function in FortranFunction::all().iter().filter(|of| !of.is_large()) {
            text += &old_interface(function, profiling);
        }
        for (name, from, to) in CONVERSIONS {
            text += &conversion(profiling, name, from, to);
        }
        text += &size_of(profiling);
        let _ = writeln!(
            text,
            "  interface\n    subroutine {profiling}MPI_F_sync_reg(buf)\n{}    end subroutine\n  end interface",
            unchecked("buf")
        );
    }
    text + "end module\n"
}

/// Conversions between both forms of a status, and their arguments.
const CONVERSIONS: [(&str, &str, &str); 2] = [
    ("MPI_Status_f2f08", "f_status", "f08_status"),
    ("MPI_Status_f082f", "f08_status", "f_status"),
];

fn conversion(profiling: &str, name: &str, from: &str, to: &str) -> String {
    let declare = |of: &str, intent: &str| match of {
        "f_status" => format!("      integer, intent({intent}) :: f_status(8)\n"),
        _ => format!("      type(MPI_Status), intent({intent}) :: {of}\n"),
    };
    format!(
        "  interface\n    subroutine {profiling}{name}({from}, {to}, ierror)\n      import :: MPI_Status\n{}{}      \
         integer, optional, intent(out) :: ierror\n    end subroutine\n  end interface\n",
        declare(from, "in"),
        declare(to, "out")
    )
}

/// `MPI_Sizeof`, whose argument comes as a descriptor.
fn size_of(profiling: &str) -> String {
    format!(
        "  interface {profiling}MPI_Sizeof\n    subroutine {profiling}MPI_Sizeof_descriptor(x, size, ierror) &\n        \
         bind(C, name=\"mpi_sizeof_descriptor\")\n      type(*), dimension(..), intent(in) :: x\n      \
         integer, intent(out) :: size\n      integer, optional, intent(out) :: ierror\n    end subroutine\n  end interface\n"
    )
}

/// Declares a buffer that no compiler checks.
fn unchecked(name: &str) -> String {
    let directives = [
        "!GCC$ ATTRIBUTES NO_ARG_CHECK ::",
        "!DEC$ ATTRIBUTES NO_ARG_CHECK ::",
        "!DIR$ IGNORE_TKR",
        "!$PRAGMA IGNORE_TKR",
        "!IBM* IGNORE_TKR",
    ];
    let directives = directives.map(|of| format!("      {of} {name}\n"));
    format!(
        "{}      type(*), dimension(*) :: {name}\n",
        directives.concat()
    )
}

fn old_interface(function: &FortranFunction, profiling: &str) -> String {
    let name = format!("{profiling}{}", function.name);
    let mut text = String::new();
    let is_pointer = |of: &Parameter| of.kind == Kind::Pointer && of.name == "baseptr";
    let has_pointer = function.parameters.iter().any(is_pointer);
    match has_pointer {
        true => {
            let _ = writeln!(text, "  interface {name}");
        }
        false => text.push_str("  interface\n"),
    }
    let declare = |parameter: &Parameter| old_declaration(function, parameter);
    text += &body(
        function,
        &name,
        "",
        declare,
        "integer, intent(out) :: ierror",
    );
    if has_pointer {
        let typed = |parameter: &Parameter| match is_pointer(parameter) {
            true => "      type(c_ptr), intent(out) :: baseptr\n".to_owned(),
            false => old_declaration(function, parameter),
        };
        text += &body(
            function,
            &format!("{name}_cptr"),
            "",
            typed,
            "integer, intent(out) :: ierror",
        );
    }
    text + "  end interface\n"
}

/// Returns an interface body. The binding label may be empty.
fn body(
    function: &FortranFunction,
    name: &str,
    label: &str,
    declare: impl Fn(&Parameter) -> String,
    code: &str,
) -> String {
    let mut names: Vec<&str> = function.parameters.iter().map(|of| of.name).collect();
    let word = match function.returns {
        Returns::Value(..) => "function",
        _ => "subroutine",
    };
    if function.returns == Returns::Code {
        names.push("ierror");
    }
    let mut text = wrapped(&format!("    {word} {name}({}){label}", names.join(", ")));
    text.push_str("      import\n");
    for parameter in &function.parameters {
        text += &declare(parameter);
    }
    match function.returns {
        Returns::Code => {
            let _ = writeln!(text, "      {code}");
        }
        Returns::Nothing => {}
        Returns::Value(_, kind) => {
            let _ = writeln!(text, "      {kind} :: {name}");
        }
    }
    let _ = writeln!(text, "    end {word}");
    text
}

/// Divides a line where it has blanks.
fn wrapped(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while rest.len() > 96 {
        let at = rest[..96].rfind(", ").map_or(rest.len(), |at| at + 2);
        let _ = writeln!(text, "{}&", &rest[..at]);
        rest = &rest[at..];
        text.push_str("        ");
    }
    let _ = writeln!(text, "{rest}");
    text
}

/// Returns the shape and the intent of an argument that has one type in both modules.
fn integer(kind: &str, name: &str, direction: Intent, shape: &str) -> String {
    let intent = match direction {
        Intent::In => ", intent(in)",
        Intent::Out if shape.is_empty() => ", intent(out)",
        Intent::InOut if shape.is_empty() => ", intent(inout)",
        // Some arrays may be empty or sentinels.
        _ => "",
    };
    format!("      {kind}{intent} :: {name}{shape}\n")
}

/// Returns the declaration of an argument that is declared alike in both modules.
fn common(parameter: &Parameter) -> Option<String> {
    let Parameter { name, kind } = *parameter;
    Some(match kind {
        Kind::Value(of) => integer(of.in_fortran(), name, Intent::In, ""),
        Kind::Place(of, direction) => integer(of.in_fortran(), name, direction, ""),
        Kind::Array(of, direction) => integer(of.in_fortran(), name, direction, "(*)"),
        Kind::Triples => integer("integer", name, Intent::In, "(3, *)"),
        Kind::Logical(direction) => integer("logical", name, direction, ""),
        Kind::Logicals(direction, _) => integer("logical", name, direction, "(*)"),
        Kind::Index => integer("integer", name, Intent::Out, ""),
        Kind::Indices => integer("integer", name, Intent::Out, "(*)"),
        Kind::Weights(_) | Kind::Codes => format!("      integer :: {name}(*)\n"),
        Kind::TextIn => integer("character(len=*)", name, Intent::In, ""),
        Kind::TextOut(_) => integer("character(len=*)", name, Intent::Out, ""),
        Kind::Texts("array_of_argv") => {
            format!("      character(len=*), intent(in) :: {name}(count, *)\n")
        }
        Kind::Texts(_) => integer("character(len=*)", name, Intent::In, "(*)"),
        _ => return None,
    })
}

fn old_declaration(function: &FortranFunction, parameter: &Parameter) -> String {
    let Parameter { name, kind } = *parameter;
    let is_deprecated = function.name.contains("Keyval_") || function.name.contains("Attr_");
    match kind {
        Kind::Choice(_) => unchecked(name),
        Kind::Pointer if name == "buffer_addr" => unchecked(name),
        Kind::Pointer => integer("integer(MPI_ADDRESS_KIND)", name, Intent::Out, ""),
        Kind::Handle(_, direction) => integer("integer", name, direction, ""),
        Kind::Handles(_, direction, _) => integer("integer", name, direction, "(*)"),
        Kind::Status(Intent::In) => {
            format!("      integer, intent(in) :: {name}(MPI_STATUS_SIZE)\n")
        }
        Kind::Status(_) => format!("      integer :: {name}(MPI_STATUS_SIZE)\n"),
        Kind::Statuses => format!("      integer :: {name}(MPI_STATUS_SIZE, *)\n"),
        Kind::UserFunction(_) => format!("      external :: {name}\n"),
        Kind::Kept(direction) => {
            let kind = match is_deprecated {
                true => "integer",
                false => Integer::Aint.in_fortran(),
            };
            // A flag says whether there is a value.
            let direction = match direction {
                Intent::Out => Intent::InOut,
                other => other,
            };
            integer(kind, name, direction, "")
        }
        _ => common(parameter).expect("all other kinds are alike in both modules"),
    }
}

fn f08_declaration(function: &FortranFunction, parameter: &Parameter) -> String {
    let Parameter { name, kind } = *parameter;
    match kind {
        Kind::Choice(direction) => {
            let intent = match direction {
                Intent::In => ", intent(in)",
                _ => "",
            };
            let kept = match function.keeps_buffers() {
                true => ", asynchronous",
                false => "",
            };
            format!("      type(*), dimension(..){intent}{kept} :: {name}\n")
        }
        Kind::Pointer => format!("      type(c_ptr), intent(out) :: {name}\n"),
        Kind::Handle(kind, direction) => integer(&format!("type(MPI_{kind})"), name, direction, ""),
        Kind::Handles(kind, direction, _) => {
            integer(&format!("type(MPI_{kind})"), name, direction, "(*)")
        }
        Kind::Status(Intent::In) => format!("      type(MPI_Status), intent(in) :: {name}\n"),
        Kind::Status(_) => format!("      type(MPI_Status) :: {name}\n"),
        Kind::Statuses => format!("      type(MPI_Status) :: {name}(*)\n"),
        Kind::UserFunction(kind) => format!("      procedure({kind}) :: {name}\n"),
        Kind::Kept(Intent::In) => integer(Integer::Aint.in_fortran(), name, Intent::In, ""),
        Kind::Kept(_) => integer(Integer::Aint.in_fortran(), name, Intent::InOut, ""),
        _ => common(parameter).expect("all other kinds are alike in both modules"),
    }
}

/// Returns the abstract interfaces of functions of the program.
fn callbacks() -> String {
    let mut text = String::from("  abstract interface\n");
    text += CALLBACKS;
    for kind in ["Comm", "File", "Win", "Session"] {
        let lower = kind.to_lowercase();
        let _ = writeln!(
            text,
            "    subroutine MPI_{kind}_errhandler_function({lower}, error_code)\n      import :: MPI_{kind}\n      \
             type(MPI_{kind}) :: {lower}\n      integer :: error_code\n    end subroutine"
        );
    }
    for (name, kind) in [("Comm", "Comm"), ("Type", "Datatype"), ("Win", "Win")] {
        text += &copy_function(&format!("MPI_{name}_copy_attr_function"), kind);
        text += &delete_function(&format!("MPI_{name}_delete_attr_function"), kind);
    }
    text += "  end interface\n\n  interface\n";
    for (name, kind) in PREDEFINED {
        text += &copy_function(&format!("MPI_{name}_NULL_COPY_FN"), kind);
        text += &copy_function(&format!("MPI_{name}_DUP_FN"), kind);
        text += &delete_function(&format!("MPI_{name}_NULL_DELETE_FN"), kind);
    }
    text + "  end interface\n\n  procedure(MPI_Datarep_conversion_function) :: MPI_CONVERSION_FN_NULL\n  \
            procedure(MPI_Datarep_conversion_function_c) :: MPI_CONVERSION_FN_NULL_C\n\n"
}

fn copy_function(name: &str, kind: &str) -> String {
    let (old, keyval) = old_names(kind);
    format!(
        "    subroutine {name}({old}, {keyval}, extra_state, &\n        attribute_val_in, attribute_val_out, flag, ierror)\n      \
         import :: MPI_{kind}, MPI_ADDRESS_KIND\n      type(MPI_{kind}) :: {old}\n      integer :: {keyval}\n      \
         integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out\n      logical :: flag\n      \
         integer :: ierror\n    end subroutine\n"
    )
}

fn delete_function(name: &str, kind: &str) -> String {
    let (_, keyval) = old_names(kind);
    let object = match kind {
        "Datatype" => "datatype".to_owned(),
        other => other.to_lowercase(),
    };
    format!(
        "    subroutine {name}({object}, {keyval}, attribute_val, &\n        extra_state, ierror)\n      \
         import :: MPI_{kind}, MPI_ADDRESS_KIND\n      type(MPI_{kind}) :: {object}\n      integer :: {keyval}\n      \
         integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state\n      integer :: ierror\n    end subroutine\n"
    )
}

fn old_names(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "Comm" => ("oldcomm", "comm_keyval"),
        "Win" => ("oldwin", "win_keyval"),
        _ => ("oldtype", "type_keyval"),
    }
}

/// Returns whether two functions of one generic name can be told apart: by the kind of an integer.
fn differ(small: &FortranFunction, large: &FortranFunction) -> bool {
    let is_long = |of: &Parameter| match of.kind {
        Kind::Value(of) | Kind::Place(of, _) | Kind::Array(of, _) => of.is_long(),
        _ => false,
    };
    let longs = |of: &FortranFunction| of.parameters.iter().map(is_long).collect::<Vec<_>>();
    longs(small) != longs(large)
}

/// Returns the module `mpi_f08`.
pub(super) fn f08() -> String {
    let mut text = HEAD.to_owned();
    text += "module mpi_f08\n  use bcs_mpi_types\n  use, intrinsic :: iso_c_binding, only: c_ptr\n  implicit none\n  private :: c_ptr\n\n";
    text += &declarations(Language::F08);
    text.push('\n');
    text += &callbacks();
    // The bindings that MPI 4.1 and earlier deprecated have no form here.
    let functions = FortranFunction::all()
        .into_iter()
        .filter(|of| !of.name.starts_with("MPI_Keyval_") && !of.name.starts_with("MPI_Attr_"));
    let mut generic: BTreeMap<&str, Vec<FortranFunction>> = BTreeMap::new();
    for function in functions {
        let small = generic.get(function.base()).and_then(|of| of.first());
        let key = match small {
            Some(small) if function.is_large() && !differ(small, &function) => function.name,
            _ => function.base(),
        };
        generic.entry(key).or_default().push(function);
    }
    for profiling in ["", "P"] {
        for (name, functions) in &generic {
            match functions[0].returns {
                Returns::Code => {
                    let _ = writeln!(text, "  interface {profiling}{name}");
                }
                _ => text.push_str("  interface\n"),
            }
            for function in functions {
                text += &f08_body(function, profiling);
            }
            text += "  end interface\n";
        }
        for (name, from, to) in CONVERSIONS {
            text += &conversion(profiling, name, from, to);
        }
        text += &size_of(profiling);
        let _ = writeln!(
            text,
            "  interface {profiling}MPI_F_sync_reg\n    subroutine {profiling}MPI_F_sync_reg_f08ts(buf) &\n        \
             bind(C, name=\"mpi_f_sync_reg_\")\n      type(*), dimension(..), asynchronous :: buf\n    end subroutine\n  end interface"
        );
    }
    text + "end module\n"
}

fn f08_body(function: &FortranFunction, profiling: &str) -> String {
    let declare = |parameter: &Parameter| f08_declaration(function, parameter);
    let code = "integer, optional, intent(out) :: ierror";
    let name = format!("{profiling}{}", function.name);
    if function.returns != Returns::Code {
        return body(function, &name, "", declare, code);
    }
    if function.has_choice() {
        let name = format!("{name}_f08ts");
        let label = format!(", bind(C, name=\"{}_\")", name.to_lowercase());
        // A comma is where a line is divided, and none belongs here.
        return body(function, &name, &label, declare, code)
            .replacen("), bind(C", ") bind(C", 1)
            .replacen("), &\n        bind(C", ") &\n        bind(C", 1);
    }
    body(function, &format!("{name}_f08"), "", declare, code)
}

//! The form in Fortran of each parameter of the standard's C functions.
//!
//! The standard derives the bindings of both languages from one description. The list of C
//! prototypes holds nearly all of it. Types say most, and the standard's names of parameters say
//! the rest: a `flag` is a LOGICAL, and an `array_of_indices` counts from 1. The few rules that
//! neither says are the tables of this file.

use crate::standard::FUNCTIONS;

/// How the values of a parameter go: into the call, out of it, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    In,
    Out,
    InOut,
}

/// An integer type, which Fortran and C have alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Integer {
    Int,
    Aint,
    Count,
    Offset,
}

impl Integer {
    fn of(c: &str) -> Option<Self> {
        match c {
            "int" => Some(Self::Int),
            "MPI_Aint" => Some(Self::Aint),
            "MPI_Count" => Some(Self::Count),
            "MPI_Offset" => Some(Self::Offset),
            _ => None,
        }
    }

    /// The type in C.
    pub(super) fn in_c(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Aint => "MPI_Aint",
            Self::Count => "MPI_Count",
            Self::Offset => "MPI_Offset",
        }
    }

    /// The type in Fortran.
    pub(super) fn in_fortran(self) -> &'static str {
        match self {
            Self::Int => "integer",
            Self::Aint => "integer(MPI_ADDRESS_KIND)",
            Self::Count => "integer(MPI_COUNT_KIND)",
            Self::Offset => "integer(MPI_OFFSET_KIND)",
        }
    }

    /// The name of its kind. Types of one kind cannot be told apart by a generic name.
    pub(super) fn is_long(self) -> bool {
        self != Self::Int
    }
}

/// The form of a parameter in Fortran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A buffer of any type.
    Choice(Intent),
    /// An integer by its value.
    Value(Integer),
    /// An integer, or an array of them, that C may use where it is.
    Place(Integer, Intent),
    /// The same as an array.
    Array(Integer, Intent),
    /// An array of triples.
    Triples,
    /// A logical.
    Logical(Intent),
    /// An array of logicals; the length is an expression of C.
    Logicals(Intent, &'static str),
    /// An index that counts from 1.
    Index,
    /// Such indices, as many as the parameter `outcount` says.
    Indices,
    /// Weights of edges, which may be one of two sentinels.
    Weights(Intent),
    /// A handle, by the name of its kind.
    Handle(&'static str, Intent),
    /// An array of handles; the length is an expression of C.
    Handles(&'static str, Intent, &'static str),
    /// A text for the library.
    TextIn,
    /// A text of the library; the expression is the room that C needs.
    TextOut(&'static str),
    /// A status, which may be ignored.
    Status(Intent),
    /// An array of statuses, which may be ignored.
    Statuses,
    /// An address of memory that the library returns.
    Pointer,
    /// A function of the program, by the name of its type.
    UserFunction(&'static str),
    /// A value of the size of an address, which the library keeps for the program.
    Kept(Intent),
    /// An array of texts, or an array of arrays of them.
    Texts(&'static str),
    /// An array of error codes, which may be ignored.
    Codes,
}

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

/// The result of a function in Fortran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returns {
    /// It is a subroutine with the argument `ierror`.
    Code,
    /// It is a subroutine without.
    Nothing,
    /// It is a function of this type in C and in Fortran.
    Value(&'static str, &'static str),
}

/// A function of the standard that Fortran has.
#[derive(Debug, Clone)]
pub(super) struct FortranFunction {
    /// The name in C: `MPI_Send_c`.
    pub(super) name: &'static str,
    pub(super) parameters: Vec<Parameter>,
    pub(super) returns: Returns,
}

/// Kinds of handles, and the names that the conversions have for them.
pub(super) const HANDLES: [(&str, &str); 11] = [
    ("Comm", "Comm"),
    ("Datatype", "Type"),
    ("Errhandler", "Errhandler"),
    ("File", "File"),
    ("Group", "Group"),
    ("Info", "Info"),
    ("Message", "Message"),
    ("Op", "Op"),
    ("Request", "Request"),
    ("Session", "Session"),
    ("Win", "Win"),
];

/// Functions that change a handle which they are given. Others only return one.
const CHANGES_HANDLE: [&str; 24] = [
    "MPI_Cancel",
    "MPI_Comm_disconnect",
    "MPI_Comm_free",
    "MPI_Errhandler_free",
    "MPI_File_close",
    "MPI_Group_free",
    "MPI_Imrecv",
    "MPI_Info_free",
    "MPI_Mrecv",
    "MPI_Op_free",
    "MPI_Request_free",
    "MPI_Session_finalize",
    "MPI_Start",
    "MPI_Startall",
    "MPI_Test",
    "MPI_Testall",
    "MPI_Testany",
    "MPI_Testsome",
    "MPI_Type_commit",
    "MPI_Type_free",
    "MPI_Wait",
    "MPI_Waitall",
    "MPI_Waitany",
    "MPI_Win_free",
];

/// Parameters of C that Fortran does not have: the arguments of the program, and those after
/// `level`.
const ONLY_C: [&str; 4] = ["int *argc", "char ***argv", "int argc", "..."];

/// Returns whether Fortran has a function of C. The standard gives it no tool information interface
/// and no conversions of handles. Booleans of Fortran are told by the language's own library.
fn is_in_fortran(name: &str) -> bool {
    let only_c = ["MPI_T_", "MPI_Status_c2f", "MPI_Status_f2c"];
    let only_c_ends = ["_toint", "_fromint", "_fortran_booleans"];
    !only_c.iter().any(|start| name.starts_with(start))
        && !only_c_ends.iter().any(|end| name.ends_with(end))
}

impl FortranFunction {
    /// Returns all functions, in the order of the list.
    ///
    /// # Panics
    ///
    /// The list is malformed, or has a type that this file does not know.
    pub(super) fn all() -> Vec<Self> {
        let functions = FUNCTIONS.lines().filter_map(parse);
        functions.collect()
    }

    /// Returns whether counts are of the large kind.
    pub(super) fn is_large(&self) -> bool {
        self.name.ends_with("_c")
    }

    /// The name without the mark of large counts.
    pub(super) fn base(&self) -> &'static str {
        self.name.strip_suffix("_c").unwrap_or(self.name)
    }

    /// Returns whether a parameter is a buffer of any type.
    pub(super) fn has_choice(&self) -> bool {
        let is_choice = |of: &Parameter| matches!(of.kind, Kind::Choice(_));
        self.parameters.iter().any(is_choice)
    }

    /// Returns whether the call may return before it is done with its buffers.
    pub(super) fn keeps_buffers(&self) -> bool {
        let base = self.base();
        let starts = ["MPI_I", "MPI_R", "MPI_File_i", "MPI_Win_", "MPI_Buffer_"];
        let blocking = ["MPI_Recv", "MPI_Reduce", "MPI_Rsend"];
        let one_sided = [
            "MPI_Put",
            "MPI_Get",
            "MPI_Accumulate",
            "MPI_Get_accumulate",
            "MPI_Fetch_and_op",
            "MPI_Compare_and_swap",
            "MPI_Get_address",
            "MPI_Free_mem",
            "MPI_F_sync_reg",
        ];
        let ends = ["_init", "_begin", "_end", "_attach_buffer"];
        ends.iter().any(|end| base.ends_with(end))
            || one_sided.contains(&base)
            || (starts.iter().any(|start| base.starts_with(start))
                && !blocking.iter().any(|start| base.starts_with(start)))
    }
}

fn parse(line: &'static str) -> Option<FortranFunction> {
    let (head, rest) = line.split_once('(').expect("a prototype has a parenthesis");
    let (returns, name) = head.rsplit_once(' ').expect("a prototype has a type");
    if !is_in_fortran(name) {
        return None;
    }
    let parameters = rest.trim_end_matches(')').split(", ");
    let parameters = parameters
        .filter(|of| *of != "void" && !ONLY_C.contains(of))
        .filter(|of| !(name == "MPI_Info_create_env" && of.starts_with("char")));
    let parameters = parameters.map(|of| parameter(name, of)).collect();
    let returns = match returns {
        "double" => Returns::Value("double", "double precision"),
        "MPI_Aint" => Returns::Value("MPI_Aint", "integer(MPI_ADDRESS_KIND)"),
        _ if name == "MPI_Pcontrol" => Returns::Nothing,
        _ => Returns::Code,
    };
    Some(FortranFunction {
        name,
        parameters,
        returns,
    })
}

/// Returns the parameter of a declaration in C.
fn parameter(function: &'static str, c: &'static str) -> Parameter {
    let constant = c.starts_with("const ");
    let c = c.trim_start_matches("const ");
    let word_end = c.find([' ', '*']).expect("a declaration has a name");
    let (word, rest) = c.split_at(word_end);
    let name_start = rest.find(|of: char| of.is_alphanumeric()).expect("a name");
    let rest_name = &rest[name_start..];
    let name = rest_name.split('[').next().expect("a name");
    let depth = rest.matches('*').count() + rest.matches('[').count();
    let direction = match constant {
        true => Intent::In,
        false => Intent::Out,
    };
    let kind = match (word, depth) {
        ("void", 1) => pointer(function, name, direction),
        ("char", 1) if constant => Kind::TextIn,
        ("char", 1) => Kind::TextOut(room(function, name)),
        ("char", _) => Kind::Texts(name),
        ("MPI_Status", _) if name.starts_with("array") => Kind::Statuses,
        ("MPI_Status", _) => Kind::Status(status_direction(function, constant)),
        ("int", 2) if rest.contains("[3]") => Kind::Triples,
        _ if word.contains("_function") => Kind::UserFunction(word),
        _ => match Integer::of(word) {
            Some(integer) => integer_kind(
                function,
                name,
                integer,
                depth,
                direction,
                rest.contains('['),
            ),
            None => handle(function, name, word, depth, direction),
        },
    };
    let name = if name == "indx" { "index" } else { name };
    Parameter { name, kind }
}

fn status_direction(function: &str, constant: bool) -> Intent {
    match constant {
        true => Intent::In,
        false if function.starts_with("MPI_Status_set_") => Intent::InOut,
        false => Intent::Out,
    }
}

/// Returns what a `void *` is.
fn pointer(function: &'static str, name: &str, direction: Intent) -> Kind {
    let creates_key = function.ends_with("create_keyval") || function == "MPI_Keyval_create";
    match name {
        "extra_state" => Kind::Kept(Intent::In),
        "attribute_val" if function.contains("get") => Kind::Kept(Intent::Out),
        "attribute_val" => Kind::Kept(Intent::In),
        "baseptr" => Kind::Pointer,
        "buffer_addr" => Kind::Pointer,
        _ => {
            assert!(!creates_key, "{function} keeps {name}");
            Kind::Choice(direction)
        }
    }
}

fn integer_kind(
    function: &'static str,
    name: &str,
    integer: Integer,
    depth: usize,
    direction: Intent,
    is_array: bool,
) -> Kind {
    let logical = ["flag", "reorder", "commute", "high", "weighted"];
    match (name, depth) {
        ("array_of_errcodes", _) => Kind::Codes,
        ("array_of_indices", _) => Kind::Indices,
        ("indx", 1) if function.ends_with("any") => Kind::Index,
        ("weights" | "sourceweights" | "destweights", _) => Kind::Weights(direction),
        ("periods", _) if function == "MPI_Cart_get" => Kind::Logicals(direction, "*maxdims"),
        ("periods", _) => Kind::Logicals(direction, "*ndims"),
        ("remain_dims", _) => Kind::Logicals(direction, "dimensions(*comm)"),
        (_, 0) if logical.contains(&name) => Kind::Logical(Intent::In),
        (_, 1) if logical.contains(&name) => Kind::Logical(Intent::Out),
        (_, 0) => Kind::Value(integer),
        _ if is_array && name == "dims" && function == "MPI_Dims_create" => {
            Kind::Array(integer, Intent::InOut)
        }
        _ if is_array => Kind::Array(integer, direction),
        ("position" | "buflen" | "pset_len", _) => Kind::Place(integer, Intent::InOut),
        ("comm_keyval" | "type_keyval" | "win_keyval" | "keyval", _)
            if function.contains("free") =>
        {
            Kind::Place(integer, Intent::InOut)
        }
        _ => Kind::Place(integer, direction),
    }
}

fn handle(function: &'static str, name: &str, word: &str, depth: usize, direction: Intent) -> Kind {
    let word = word.trim_start_matches("MPI_");
    let found = HANDLES.iter().find(|(kind, _)| *kind == word);
    let (kind, _) = found.unwrap_or_else(|| panic!("{function} has the unknown type {word}"));
    let base = function.strip_suffix("_c").unwrap_or(function);
    let changes = CHANGES_HANDLE.contains(&base) || base.ends_with("some") || base.ends_with("all");
    let is_changed = changes && !(base.ends_with("mrecv") && name == "request");
    let direction = match direction {
        Intent::Out if is_changed => Intent::InOut,
        other => other,
    };
    match (name, depth) {
        (_, 0) => Kind::Handle(kind, Intent::In),
        ("array_of_requests", _) if function.ends_with("some") => {
            Kind::Handles(kind, direction, "*incount")
        }
        ("sendtypes", _) => Kind::Handles(kind, direction, "senders(*comm, sendcounts)"),
        ("recvtypes", _) => Kind::Handles(kind, direction, "receivers(*comm)"),
        ("array_of_datatypes", _) => Kind::Handles(kind, direction, "*max_datatypes"),
        ("array_of_requests" | "array_of_types" | "array_of_info", _) => {
            Kind::Handles(kind, direction, "*count")
        }
        _ => Kind::Handle(kind, direction),
    }
}

/// Returns the room that a text of the library needs.
fn room(function: &'static str, name: &str) -> &'static str {
    match name {
        "comm_name" | "type_name" | "win_name" => "MPI_MAX_OBJECT_NAME",
        "string" => "MPI_MAX_ERROR_STRING",
        "version" => "MPI_MAX_LIBRARY_VERSION_STRING",
        "name" => "MPI_MAX_PROCESSOR_NAME",
        "port_name" => "MPI_MAX_PORT_NAME",
        "datarep" => "MPI_MAX_DATAREP_STRING",
        "key" => "MPI_MAX_INFO_KEY",
        "value" => "MPI_MAX_INFO_VAL",
        "pset_name" => "MPI_MAX_PSET_NAME_LEN",
        _ => panic!("the room of {name} of {function} is unknown"),
    }
}

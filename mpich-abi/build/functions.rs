//! A function for each prototype, which translates its arguments and results.

use abi_lists::{Parameter, Prototype};
use std::fmt::Write as _;

/// Types of handles that are an `int` in MPICH.
const HANDLES: [&str; 10] = [
    "MPI_Comm",
    "MPI_Datatype",
    "MPI_Errhandler",
    "MPI_Group",
    "MPI_Info",
    "MPI_Message",
    "MPI_Op",
    "MPI_Request",
    "MPI_Session",
    "MPI_Win",
];

/// Names of addresses of data, which may be `MPI_IN_PLACE` or `MPI_BUFFER_AUTOMATIC`.
const BUFFERS: [&str; 10] = [
    "buf",
    "buffer",
    "sendbuf",
    "recvbuf",
    "inbuf",
    "outbuf",
    "inoutbuf",
    "origin_addr",
    "result_addr",
    "compare_addr",
];

/// Generates declarations of the standard's functions. They are called by their symbols: a function
/// that the crate `mpi-abi` does not have yet takes fewer arguments there than its prototype has.
pub(crate) fn entries(functions: &[Prototype]) -> String {
    let mut text = String::from("unsafe extern \"C\" {\n");
    for function in functions {
        let parameters = function.parameters.iter();
        let parameters = parameters.map(|of| format!("{}: {}", of.name(), of.in_rust()));
        let _ = writeln!(
            text,
            "pub fn entry_P{}({}) -> {};",
            function.name,
            parameters.collect::<Vec<_>>().join(", "),
            function.result_in_rust()
        );
    }
    text + "}\n"
}

pub(crate) fn translations<'a>(functions: impl Iterator<Item = &'a Prototype<'a>>) -> String {
    functions.map(translation).collect()
}

/// One parameter of a translated function.
struct Translated {
    /// Its type in MPICH's ABI.
    kind: String,
    /// The statements before the call.
    before: String,
    /// The argument of the call.
    argument: String,
    /// The statements after the call.
    after: String,
}

impl Translated {
    fn passed(kind: impl Into<String>, argument: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            before: String::new(),
            argument: argument.into(),
            after: String::new(),
        }
    }

    /// A variable in the place of the parameter: it lends a place to the call and stores what comes
    /// back.
    fn place(name: &str, kind: &str, made: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            before: format!("let mut {name} = {made};\n"),
            argument: format!("{name}.place()"),
            after: format!("{name}.store();\n"),
        }
    }
}

fn translation(function: &Prototype) -> String {
    let mut text = String::new();
    let (mut kinds, mut before, mut arguments, mut after) =
        (vec![], String::new(), vec![], String::new());
    for parameter in &function.parameters {
        let translated = translate(function, *parameter);
        kinds.push(format!("{}: {}", parameter.name(), translated.kind));
        before += &translated.before;
        arguments.push(translated.argument);
        after += &translated.after;
    }
    let returns = function.result_in_rust();
    let call = format!("entry_P{}({})", function.name, arguments.join(", "));
    let body = match function.returns {
        "int" => {
            format!("{before}let code = {call};\n{after}crate::codes::to_mpich(code)")
        }
        _ => call,
    };
    let _ = writeln!(
        text,
        "#[unsafe(export_name = \"mpich_P{name}\")]\n\
         pub unsafe extern \"C\" fn P{name}({kinds}) -> {returns} {{\nunsafe {{\n{body}\n}}\n}}",
        name = function.name,
        kinds = kinds.join(", "),
    );
    text
}

fn translate(function: &Prototype, parameter: Parameter) -> Translated {
    let (name, base) = (parameter.name(), parameter.base());
    if HANDLES.contains(&base) || base == "MPI_File" {
        return handle(function, parameter);
    }
    match (base, parameter.depth()) {
        ("MPI_Status", _) => status(function, parameter),
        ("void", 1) if BUFFERS.contains(&name) => {
            let argument = match parameter.is_const() {
                true => format!("crate::addresses::ours({name})"),
                false => format!("crate::addresses::ours({name}.cast_const()).cast_mut()"),
            };
            Translated::passed(parameter.in_rust(), argument)
        }
        ("void", 1) if name == "buffer_addr" => Translated {
            after: format!("if code == 0 {{ crate::addresses::store_detached({name}); }}\n"),
            ..Translated::passed(parameter.in_rust(), name)
        },
        ("MPI_Offset", 0) if name == "disp" => Translated::passed(
            "MPI_Offset",
            format!("crate::numbers::displacement_ours({name})"),
        ),
        ("int", 1) if name == "array_of_errcodes" => Translated {
            before: "crate::codes::of_not_started();\n".to_owned(),
            ..Translated::passed(parameter.in_rust(), name)
        },
        ("int" | "MPI_T_cb_safety" | "MPI_T_source_order", _) => number(function, parameter),
        _ => Translated::passed(parameter.in_rust(), name),
    }
}

fn handle(function: &Prototype, parameter: Parameter) -> Translated {
    let (name, base) = (parameter.name(), parameter.base());
    let raw = format!("<{base} as Handle>::Mpich");
    let kind = parameter.in_rust_of(&raw);
    if parameter.depth() == 0 {
        return Translated::passed(raw, format!("{base}::ours({name})"));
    }
    if !parameter.is_array() {
        let place = match is_given(function.name, parameter) {
            true => "Given",
            false => "HandleResult",
        };
        let made = format!("crate::places::{place}::<{base}>::new({name})");
        return Translated::place(name, &kind, &made);
    }
    let length = length(function, name);
    if parameter.is_const() {
        let before =
            format!("let {name} = crate::arrays::List::<{base}>::new({name}, {length});\n");
        return Translated {
            before,
            ..Translated::passed(kind, format!("{name}.start()"))
        };
    }
    let made = format!("crate::arrays::Array::<{base}>::new({name}, {length})");
    Translated::place(name, &kind, &made)
}

/// Returns whether a call reads the handle at an address, and does not only write one.
fn is_given(function: &str, parameter: Parameter) -> bool {
    let first = [
        "MPI_Start",
        "MPI_Wait",
        "MPI_Test",
        "MPI_Cancel",
        "MPI_Comm_disconnect",
        "MPI_Session_finalize",
        "MPI_File_close",
        "MPI_Type_commit",
    ];
    first.contains(&function)
        || function.ends_with("_free")
        || (function.contains("mrecv") || function.contains("Mrecv"))
            && parameter.base() == "MPI_Message"
}

/// Returns the number of handles in an array.
fn length(function: &Prototype, name: &str) -> String {
    let has = |name: &str| function.parameters.iter().any(|of| of.name() == name);
    match name {
        "sendtypes" | "recvtypes" => {
            let side = match (function.name.contains("eighbor"), name) {
                (true, "sendtypes") => "destinations",
                (true, _) => "sources",
                (false, _) => "members",
            };
            // `MPI_IN_PLACE` takes the place of the types that are sent.
            match (side, name) {
                ("members", "sendtypes") => {
                    "crate::arrays::senders(comm, sendbuf.addr())".to_owned()
                }
                _ => format!("crate::arrays::{side}(comm)"),
            }
        }
        _ if has("incount") => "incount.into()".to_owned(),
        _ => "count.into()".to_owned(),
    }
}

fn status(function: &Prototype, parameter: Parameter) -> Translated {
    let name = parameter.name();
    let kind = parameter.in_rust_of("MpichStatus");
    if name == "array_of_statuses" {
        let length = length(function, name);
        let made = format!("crate::statuses::StatusArray::new({name}, {length})");
        return Translated::place(name, &kind, &made);
    }
    if parameter.is_const() {
        let before =
            format!("let {name} = crate::statuses::KnownStatus::new({name}.cast_mut());\n");
        return Translated {
            before,
            ..Translated::passed(kind, format!("{name}.start()"))
        };
    }
    let place = match function.name.starts_with("MPI_Status_set") {
        true => "KnownStatus",
        false => "StatusResult",
    };
    Translated::place(
        name,
        &kind,
        &format!("crate::statuses::{place}::new({name})"),
    )
}

/// Translates an integer that is a constant, or leaves it.
fn number(function: &Prototype, parameter: Parameter) -> Translated {
    let name = parameter.name();
    let kind = parameter.in_rust();
    if parameter.depth() == 0 {
        let argument = match incoming(function.name, name) {
            Some(how) => how.replace('$', name),
            None => name.to_owned(),
        };
        return Translated::passed(kind, argument);
    }
    if ["array_of_distribs", "array_of_dargs"].contains(&name) {
        let how = &name["array_of_".len()..];
        let before = format!("let {name} = crate::arrays::{how}({name}, ndims);\n");
        return Translated {
            before,
            ..Translated::passed(kind, format!("{name}.start()"))
        };
    }
    if function.name.ends_with("free_keyval") || function.name == "MPI_Keyval_free" {
        return Translated::place(name, &kind, &format!("crate::places::Key::new({name})"));
    }
    match outgoing(function.name, name) {
        Some(how) => Translated {
            after: format!(
                "if code == 0 && !{name}.is_null() {{ *{name} = {}; }}\n",
                how.replace('$', &format!("*{name}"))
            ),
            ..Translated::passed(kind, name)
        },
        None => Translated::passed(kind, name),
    }
}

/// Returns how an argument becomes one of the standard's; `$` stands for it.
fn incoming(function: &str, name: &str) -> Option<&'static str> {
    Some(match name {
        "dest" | "source" | "root" | "rank" | "target_rank" | "local_leader" | "remote_leader" => {
            "crate::numbers::rank_ours($)"
        }
        "tag" | "sendtag" | "recvtag" => "crate::numbers::tag_ours($)",
        "keyval" | "comm_keyval" | "type_keyval" | "win_keyval" => "crate::numbers::ours(&KEYS, $)",
        "errorcode" | "errorclass" => "crate::codes::ours($)",
        "error" if function == "MPI_Status_set_error" => "crate::codes::ours($)",
        "required" => "crate::numbers::ours(&THREAD_LEVELS, $)",
        "split_type" => "crate::numbers::split_type_ours($)",
        "typeclass" => "crate::numbers::ours(&TYPE_CLASSES, $)",
        "order" => "crate::numbers::ours(&DISTRIBUTIONS, $)",
        "lock_type" => "crate::numbers::ours(&LOCK_TYPES, $)",
        "assert" => "crate::numbers::bits_ours(&ASSERTIONS, $)",
        "amode" => "crate::numbers::bits_ours(&FILE_MODES, $)",
        "whence" => "crate::numbers::ours(&FILE_POSITIONS, $)",
        "var_class" => "crate::numbers::ours(&VARIABLE_CLASSES, $)",
        "cb_safety" => "crate::numbers::ours(&SAFETIES, $)",
        _ => return None,
    })
}

/// Returns how a result becomes one of MPICH's.
fn outgoing(function: &str, name: &str) -> Option<&'static str> {
    Some(match (function, name) {
        (_, "provided") => "crate::numbers::to_mpich(&THREAD_LEVELS, $)",
        ("MPI_Comm_compare" | "MPI_Group_compare", "result") => {
            "crate::numbers::to_mpich(&COMPARISONS, $)"
        }
        ("MPI_Topo_test", "status") => "crate::numbers::to_mpich(&TOPOLOGIES, $)",
        (_, "combiner") => "crate::numbers::to_mpich(&COMBINERS, $)",
        (_, "rank_source" | "rank_dest") => "crate::numbers::rank_to_mpich($)",
        (_, "errorclass" | "errorcode") => "crate::codes::to_mpich($)",
        ("MPI_Status_get_error", "error") => "crate::codes::to_mpich($)",
        ("MPI_Status_get_source", "source") => "crate::numbers::rank_to_mpich($)",
        ("MPI_Status_get_tag", "tag") => "crate::numbers::tag_to_mpich($)",
        ("MPI_File_get_amode", "amode") => "crate::numbers::bits_to_mpich(&FILE_MODES, $)",
        (_, "verbosity") => "crate::numbers::to_mpich(&VERBOSITIES, $)",
        (_, "bind") => "crate::numbers::to_mpich(&BINDINGS, $)",
        (_, "scope") => "crate::numbers::to_mpich(&SCOPES, $)",
        (_, "var_class") => "crate::numbers::to_mpich(&VARIABLE_CLASSES, $)",
        (_, "ordering") => "crate::numbers::to_mpich(&SOURCE_ORDERS, $)",
        _ => return None,
    })
}

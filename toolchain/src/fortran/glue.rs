//! Generates the glue between Fortran's procedures and the functions of C.
//!
//! Each function has up to three procedures. That of `mpif.h` and the module `mpi` gets all by
//! address, and lengths of texts after all other arguments. That of `mpi_f08` is the same if the
//! function has no buffer (a missing `ierror` is a null pointer). If it has one, buffers and texts
//! come as descriptors of Fortran 2018, and the procedure has one name only, since it has a binding
//! label. Each exists twice: `mpi_send` calls `MPI_Send`, and `pmpi_send` calls `PMPI_Send`, so a
//! tool in C sees the calls of a Fortran program.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::functions::{FortranFunction, Integer, Intent, Kind, Parameter, Returns};

/// The sources that are written by hand, and the generated one includes or stands beside.
pub(super) const SOURCES: [(&str, &str); 4] = [
    ("glue.h", include_str!("glue/glue.h")),
    ("callbacks.c", include_str!("glue/callbacks.c")),
    ("sections.h", include_str!("glue/sections.h")),
    ("sections.c", include_str!("glue/sections.c")),
];

const SPECIALS: &str = include_str!("glue/specials.c");

/// Returns the generated source.
pub(super) fn calls() -> String {
    let mut text = String::from("#include \"sections.h\"\n");
    for profiling in ["", "P"] {
        let special = specials(profiling);
        text += &special.text;
        for function in FortranFunction::all() {
            text += &procedures(&function, profiling, &special.names);
        }
    }
    text
}

/// The procedures that are written by hand, under one of both names.
struct Specials {
    text: String,
    /// Names without the form that a compiler gives them: `mpi_init`.
    names: BTreeSet<String>,
}

fn specials(profiling: &str) -> Specials {
    let lower = profiling.to_lowercase();
    let mut names = BTreeSet::new();
    let mut text = String::new();
    // Macros are defined again for the second names, with the same text but for these.
    let is_macro = |line: &'static str| line.strip_prefix("#define ")?.split(['(', ' ']).next();
    for name in SPECIALS.lines().filter_map(is_macro) {
        let _ = writeln!(text, "#undef {name}");
    }
    for line in SPECIALS.lines() {
        let defines = [
            "void FORTRAN(",
            "double FORTRAN(",
            "MPI_Aint FORTRAN(",
            "PREDEFINED(",
        ];
        let is_definition = defines.iter().any(|start| line.starts_with(start));
        let parts: Vec<&str> = line.split("FORTRAN(").collect();
        let mut changed = parts[0].to_owned();
        for part in &parts[1..] {
            let (name, rest) = part.split_once(')').expect("a parenthesis is closed");
            if is_definition && name.starts_with("mpi_") {
                names.insert(name.to_owned());
            }
            let _ = write!(changed, "{lower}{name}_{rest}");
        }
        let parts: Vec<&str> = changed.split("CALL(").collect();
        text += parts[0];
        for part in &parts[1..] {
            let (name, rest) = part.split_once(')').expect("a parenthesis is closed");
            let _ = write!(text, "{profiling}{name}{rest}");
        }
        text.push('\n');
    }
    for name in &names {
        text += &other_names(&format!("{lower}{name}"));
        let own = format!("{name}_f08");
        if !names.contains(&own) && !name.ends_with("_f08") {
            text += &as_f08(&format!("{lower}{name}"));
        }
    }
    Specials { text, names }
}

/// Gives a procedure the other names by which compilers call it.
fn other_names(name: &str) -> String {
    let upper = name.to_uppercase();
    // Some compilers append two underscores to a name that has one. Some names are macros of mpi.h.
    format!(
        "#undef {upper}\nALIAS({name}_, {name})\nALIAS({name}_, {name}__)\nALIAS({name}_, {upper})\n"
    )
}

/// Gives a procedure the names of `mpi_f08`.
fn as_f08(name: &str) -> String {
    let f08 = format!("{name}_f08");
    format!(
        "ALIAS({name}_, {f08}_)\nALIAS({name}_, {f08})\nALIAS({name}_, {f08}__)\nALIAS({name}_, {})\n",
        f08.to_uppercase()
    )
}

fn procedures(function: &FortranFunction, profiling: &str, specials: &BTreeSet<String>) -> String {
    let base = function.base().to_lowercase();
    let full = function.name.to_lowercase();
    let prefix = profiling.to_lowercase();
    let mut text = String::new();
    if specials.contains(&full) {
        return text;
    }
    let is_choice = function.has_choice();
    if !function.is_large() {
        text += &procedure(function, profiling, &format!("{prefix}{base}"), Form::Old);
        text += &other_names(&format!("{prefix}{base}"));
        if !is_choice {
            text += &as_f08(&format!("{prefix}{base}"));
        }
        // The module mpi declares the procedure for both types of an address.
        if function.parameters.iter().any(|of| of.name == "baseptr") {
            text += &format!("ALIAS({prefix}{base}_, {prefix}{base}_cptr_)\n");
            let cptr = format!("{prefix}{base}_cptr");
            text +=
                &other_names(&cptr).replace(&format!("({cptr}_,"), &format!("({prefix}{base}_,"));
        }
    } else if !is_choice {
        let name = format!("{prefix}{full}_f08");
        text += &procedure(function, profiling, &name, Form::Old);
        text += &other_names(&name);
    }
    if is_choice {
        let name = format!("{prefix}{full}_f08ts");
        text += &procedure(function, profiling, &name, Form::Descriptors);
    }
    text
}

/// How buffers and texts come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// By address, and lengths at the end.
    Old,
    /// As descriptors.
    Descriptors,
}

/// The parts of a procedure.
#[derive(Default)]
struct Parts {
    /// Its parameters.
    parameters: Vec<String>,
    /// The lengths of texts, which come last.
    lengths: Vec<String>,
    /// Statements before the call.
    before: String,
    /// The arguments of the call.
    arguments: Vec<String>,
    /// Statements after the call.
    after: String,
    /// Buffers that must be opened: their names and how.
    blocks: Vec<(String, String)>,
}

fn procedure(function: &FortranFunction, profiling: &str, name: &str, form: Form) -> String {
    let mut parts = Parts::default();
    for parameter in &function.parameters {
        match form {
            Form::Old => {}
            Form::Descriptors if matches!(parameter.kind, Kind::Choice(_) | Kind::TextIn) => {
                with_descriptor(&mut parts, function, parameter);
                continue;
            }
            Form::Descriptors => {}
        }
        pass(&mut parts, function, parameter);
    }
    assert_eq!(
        function.returns,
        Returns::Code,
        "{} is no special one",
        function.name
    );
    let is_reduction = is_reduction(function) && !parts.blocks.is_empty();
    match is_reduction {
        true => describe_operands(&mut parts.arguments, function),
        false => {
            for (block, _) in &parts.blocks {
                describe(&mut parts.arguments, function, block);
            }
        }
    }
    let Parts {
        mut parameters,
        lengths,
        before,
        arguments,
        after,
        blocks,
    } = parts;
    parameters.push("int *ierror".to_owned());
    parameters.extend(lengths);
    let mut text = format!(
        "void {name}_({})\n{{\n    ENTER;\n{before}",
        parameters.join(", ")
    );
    let call = format!("{profiling}{}({})", function.name, arguments.join(", "));
    if blocks.is_empty() {
        let _ = writeln!(text, "    int code = {call};");
    } else if is_reduction {
        let [(contribution, _), (result, how)] = &blocks[..] else {
            panic!("{} has two buffers", function.name);
        };
        let how = how.replace(" | WRITTEN", "");
        let _ = write!(
            text,
            "    struct operands both = {{0}};\n    int code = open_operands(&both, {contribution}, {result}, \
             *count, Datatype_of(*datatype), Op_of(*op), {how});\n    if (code == MPI_SUCCESS)\n        code = \
             {call};\n    close_operands(&both);\n"
        );
    } else {
        text.push_str("    int code = MPI_SUCCESS;\n");
        for (block, how) in &blocks {
            text += &opened(function, block, how);
        }
        let _ = writeln!(text, "    if (code == MPI_SUCCESS)\n        code = {call};");
        for (block, how) in &blocks {
            let _ = writeln!(text, "    close_block(&{block}_b, {how});");
        }
    }
    let _ = writeln!(text, "{after}    DONE(code);\n}}");
    text
}

/// Adds a parameter that comes by its address.
fn pass(parts: &mut Parts, function: &FortranFunction, parameter: &Parameter) {
    let Parameter { name, kind } = *parameter;
    let of_c = |of: &str| format!("{name}_c{of}");
    let (declared, argument) = match kind {
        Kind::Choice(_) => (format!("void *{name}"), format!("address_of({name})")),
        Kind::Value(integer) => (format!("{} *{name}", integer.in_c()), format!("*{name}")),
        Kind::Place(integer, _) | Kind::Array(integer, _) => {
            (format!("{} *{name}", integer.in_c()), name.to_owned())
        }
        Kind::Triples => (format!("int (*{name})[3]"), name.to_owned()),
        Kind::Weights(_) => (format!("int *{name}"), format!("weights_of({name})")),
        Kind::Status(_) => (format!("int *{name}"), format!("status_of({name})")),
        Kind::Statuses => (format!("int *{name}"), format!("statuses_of({name})")),
        Kind::Codes => (format!("int *{name}"), format!("codes_of({name})")),
        Kind::Pointer => (format!("void *{name}"), name.to_owned()),
        Kind::Logical(Intent::In) => (format!("int *{name}"), format!("*{name} != 0")),
        Kind::Logical(_) => {
            let _ = writeln!(parts.before, "    int {name}_c = 0;");
            let _ = writeln!(parts.after, "    *{name} = logical_of({name}_c);");
            (format!("int *{name}"), format!("&{name}_c"))
        }
        Kind::Logicals(direction, length) => logicals(parts, name, direction, length),
        Kind::Index => {
            let _ = writeln!(parts.before, "    int {name}_c = MPI_UNDEFINED;");
            let _ = writeln!(
                parts.after,
                "    *{name} = {name}_c == MPI_UNDEFINED ? {name}_c : {name}_c + 1;"
            );
            (format!("int *{name}"), format!("&{name}_c"))
        }
        Kind::Indices => {
            parts.before += "    *outcount = MPI_UNDEFINED;\n";
            let _ = writeln!(
                parts.after,
                "    for (int nth = 0; *outcount != MPI_UNDEFINED && nth < *outcount; nth++)\n        {name}[nth]++;"
            );
            (format!("int *{name}"), name.to_owned())
        }
        Kind::Handle(kind, direction) => handle(parts, name, kind, direction),
        Kind::Handles(kind, direction, length) => {
            handles(parts, function, name, kind, direction, length)
        }
        Kind::TextIn => {
            parts.lengths.push(format!("size_t {name}_length"));
            let _ = writeln!(parts.before, "    TEXT_IN({name});");
            (format!("char *{name}"), of_c(""))
        }
        Kind::TextOut(room) => {
            parts.lengths.push(format!("size_t {name}_length"));
            let _ = writeln!(parts.before, "    char {name}_c[{room} + 1] = \"\";");
            let _ = writeln!(
                parts.after,
                "    if (code == MPI_SUCCESS)\n        give_text({name}, {name}_length, {name}_c);"
            );
            (format!("char *{name}"), of_c(""))
        }
        Kind::UserFunction(_) | Kind::Kept(_) | Kind::Texts(_) => {
            panic!("{} must be a special one for {name}", function.name)
        }
    };
    parts.parameters.push(declared);
    parts.arguments.push(argument);
}

fn logicals(parts: &mut Parts, name: &str, direction: Intent, length: &str) -> (String, String) {
    let length = match length {
        "dimensions(*comm)" => "bcs_fortran_dimensions(Comm_of(*comm))",
        other => other,
    };
    let _ = writeln!(parts.before, "    ARRAY_OF(int, {name}, {length});");
    let each = format!("    for (int nth = 0; nth < {name}_count; nth++)\n        ");
    match direction {
        Intent::In => {
            let _ = writeln!(parts.before, "{each}{name}_c[nth] = {name}[nth] != 0;");
        }
        _ => {
            let _ = writeln!(parts.before, "{each}{name}_c[nth] = {name}[nth] != 0;");
            let _ = writeln!(
                parts.after,
                "{each}{name}[nth] = logical_of({name}_c[nth]);"
            );
        }
    }
    let _ = writeln!(parts.after, "    FREE_ARRAY({name});");
    (format!("int *{name}"), format!("{name}_c"))
}

fn handle(parts: &mut Parts, name: &str, kind: &str, direction: Intent) -> (String, String) {
    let declared = format!("int *{name}");
    let (before, after) = match direction {
        Intent::In => return (declared, format!("{kind}_of(*{name})")),
        Intent::Out => ("0".to_owned(), "    if (code == MPI_SUCCESS)\n        "),
        Intent::InOut => (format!("{kind}_of(*{name})"), "    "),
    };
    let _ = writeln!(parts.before, "    MPI_{kind} {name}_c = {before};");
    let _ = writeln!(parts.after, "{after}*{name} = of_{kind}({name}_c);");
    (declared, format!("&{name}_c"))
}

fn handles(
    parts: &mut Parts,
    function: &FortranFunction,
    name: &str,
    kind: &str,
    direction: Intent,
    length: &str,
) -> (String, String) {
    let neighborhood = u8::from(function.name.contains("eighbor"));
    let length = match length {
        "receivers(*comm)" => format!("bcs_fortran_receivers(Comm_of(*comm), {neighborhood})"),
        "*count" | "*incount" | "*max_datatypes" => length.to_owned(),
        // With MPI_IN_PLACE no types of what is sent are looked at.
        _ => {
            let buffer = match function.has_choice() {
                true => "is_in_place(sendbuf) ? 0 : ",
                false => "",
            };
            format!("{buffer}bcs_fortran_senders(Comm_of(*comm), {neighborhood})")
        }
    };
    let _ = writeln!(parts.before, "    ARRAY_OF(MPI_{kind}, {name}, {length});");
    if direction != Intent::Out {
        let _ = writeln!(
            parts.before,
            "    {kind}s_of({name}_c, {name}, {name}_count);"
        );
    } else {
        // C fills as many as there are.
        let _ = writeln!(
            parts.before,
            "    memset({name}_c, 0, sizeof(*{name}_c) * (size_t){name}_count);"
        );
    }
    match direction {
        Intent::In => {}
        Intent::InOut => {
            let _ = writeln!(
                parts.after,
                "    of_{kind}s({name}, {name}_c, {name}_count);"
            );
        }
        Intent::Out => {
            let _ = writeln!(
                parts.after,
                "    for (int nth = 0; code == MPI_SUCCESS && nth < {name}_count && {name}_c[nth]; nth++)\n        \
                 {name}[nth] = of_{kind}({name}_c[nth]);"
            );
        }
    }
    let _ = writeln!(parts.after, "    FREE_ARRAY({name});");
    (format!("int *{name}"), format!("{name}_c"))
}

/// Adds a parameter that comes as a descriptor.
fn with_descriptor(parts: &mut Parts, function: &FortranFunction, parameter: &Parameter) {
    let name = parameter.name;
    let Kind::Choice(direction) = parameter.kind else {
        let _ = writeln!(
            parts.before,
            "    char *{name} = {name}_d->base;\n    size_t {name}_length = {name}_d->element;\n    TEXT_IN({name});"
        );
        parts
            .parameters
            .push(format!("struct descriptor *{name}_d"));
        parts.arguments.push(format!("{name}_c"));
        return;
    };
    let mut how = vec![match shape(function, name) {
        Shape::One => "ONE_BLOCK",
        Shape::Several => "BLOCKS",
        Shape::Unknown => "0",
    }];
    if !function.keeps_buffers() {
        how.push("COPY");
    }
    if direction != Intent::In {
        how.push("WRITTEN");
    }
    parts.parameters.push(format!("struct descriptor *{name}"));
    parts.arguments.push(format!("{name}_b.base"));
    parts.blocks.push((name.to_owned(), how.join(" | ")));
}

/// Returns the statements that open a buffer.
fn opened(function: &FortranFunction, block: &str, how: &str) -> String {
    if let Some([counts, places, types]) = names_of_each(function, block) {
        return format!(
            "    struct block {block}_b = {{0}};\n    struct each {block}_e = {{{types}_count, sizeof(*{counts}), \
             sizeof(*{places}), {counts}, {places}, {types}_c, NULL}};\n    if (code == MPI_SUCCESS)\n        \
             code = open_each(&{block}_b, {block}, &{block}_e, {how});\n"
        );
    }
    let (count, datatype) = block_of(function, block);
    format!(
        "    struct block {block}_b = {{0}};\n    if (code == MPI_SUCCESS)\n        code = \
         open_block(&{block}_b, {block}, {count}, {datatype}, {how});\n"
    )
}

/// Returns the names of the counts, places and datatypes of a buffer whose blocks have a datatype
/// each.
fn names_of_each(function: &FortranFunction, buffer: &str) -> Option<[&'static str; 3]> {
    let is_each = function.base().ends_with("lltoallw") || function.base().contains("lltoallw_");
    let names = match buffer {
        "sendbuf" => ["sendcounts", "sdispls", "sendtypes"],
        _ => ["recvcounts", "rdispls", "recvtypes"],
    };
    is_each.then_some(names)
}

/// Returns whether a function is a reduction whose two buffers have one count and one datatype.
fn is_reduction(function: &FortranFunction) -> bool {
    let has = |name: &str| function.parameters.iter().any(|of| of.name == name);
    has("op") && has("count") && has("datatype") && !has("win")
}

/// Makes a reduction use the operands that were opened.
fn describe_operands(arguments: &mut [String], function: &FortranFunction) {
    let mut buffers = ["both.contribution.base", "both.result.base"].into_iter();
    let cast = if function.is_large() { "" } else { "(int)" };
    for (argument, parameter) in arguments.iter_mut().zip(&function.parameters) {
        match (parameter.kind, parameter.name) {
            (Kind::Choice(_), _) => {
                *argument = buffers
                    .next()
                    .expect("a reduction has two buffers")
                    .to_owned();
            }
            (_, "count") => *argument = format!("{cast}both.count"),
            (_, "datatype") => *argument = "both.type".to_owned(),
            _ => {}
        }
    }
}

/// How the data of a call lie in a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// One after another: a count and a datatype describe all of them.
    One,
    /// In several blocks of one datatype.
    Several,
    /// No datatype can describe them.
    Unknown,
}

/// The names of the datatype and the count that belong to a buffer.
fn names_of(
    function: &FortranFunction,
    buffer: &str,
) -> Option<(&'static str, Option<&'static str>)> {
    let at = function
        .parameters
        .iter()
        .position(|of| of.name == buffer)?;
    let rest = &function.parameters[at + 1..];
    let datatype = rest.iter().position(|of| {
        matches!(
            of.kind,
            Kind::Handle("Datatype", Intent::In) | Kind::Choice(_)
        )
    })?;
    let Kind::Handle(..) = rest[datatype].kind else {
        return None;
    };
    let count = rest[..datatype].iter().find(|of| {
        matches!(of.kind, Kind::Value(Integer::Int | Integer::Count)) && of.name.contains("count")
    });
    let is_reduction = function.parameters.iter().any(|of| of.name == "op");
    let is_one_sided = function.parameters.iter().any(|of| of.name == "win");
    if is_reduction && !is_one_sided {
        return None;
    }
    Some((rest[datatype].name, count.map(|of| of.name)))
}

fn shape(function: &FortranFunction, buffer: &str) -> Shape {
    let base = function.base().to_lowercase();
    let is_any = |words: &[&str]| words.iter().any(|word| base.contains(word));
    match names_of(function, buffer) {
        None => Shape::Unknown,
        Some((_, None)) => Shape::Several,
        Some(_) if is_any(&["psend", "precv"]) => Shape::Several,
        Some(_) if buffer == "sendbuf" && is_any(&["scatter", "alltoall"]) => Shape::Several,
        Some(_) if buffer == "recvbuf" && is_any(&["gather", "alltoall"]) => Shape::Several,
        // Data are packed as they are described, but what they are packed into has no datatype.
        Some(_) => Shape::One,
    }
}

/// The count and the datatype of a buffer, as expressions of C.
fn block_of(function: &FortranFunction, buffer: &str) -> (String, String) {
    match names_of(function, buffer) {
        None => ("0".to_owned(), "MPI_DATATYPE_NULL".to_owned()),
        Some((datatype, count)) => {
            let count = count.map_or("0".to_owned(), |count| format!("*{count}"));
            (count, format!("Datatype_of(*{datatype})"))
        }
    }
}

/// Makes the call use the datatype and the count of an opened buffer.
fn describe(arguments: &mut [String], function: &FortranFunction, buffer: &str) {
    if let Some([counts, places, _]) = names_of_each(function, buffer) {
        for (argument, parameter) in arguments.iter_mut().zip(&function.parameters) {
            if parameter.name == counts {
                *argument = format!("{buffer}_e.counts");
            } else if parameter.name == places {
                *argument = format!("{buffer}_e.places");
            }
        }
        return;
    }
    let Some((datatype, count)) = names_of(function, buffer) else {
        return;
    };
    let place = |name: &str| function.parameters.iter().position(|of| of.name == name);
    if let Some(at) = place(datatype) {
        arguments[at] = format!("{buffer}_b.type");
    }
    let is_one = shape(function, buffer) == Shape::One;
    if let Some(at) = count.filter(|_| is_one).and_then(place) {
        let cast = if function.is_large() { "" } else { "(int)" };
        arguments[at] = format!("{cast}{buffer}_b.count");
    }
}

//! Calls each function of the standard and of the BCS API with random arguments, a million calls in
//! total. The calls may only return errors.
//!
//! The C program is generated from the standard's list of functions. The type and the name of each
//! parameter select a generator from `tests/random/random.h`. The calls of the BCS API are in
//! `tests/random/bcs_calls.h`. The same program is built with MPICH's header, for our library of
//! MPICH's ABI. `BCS_RANDOM_CALLS` and `BCS_RANDOM_SEED` set the number of calls and
//! the seed.

mod installed;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use installed::{installed, succeeded};
use toolchain::library::Abi;

/// Functions that end the program, or wait for ever, for any arguments.
const LEFT_OUT: [&str; 10] = [
    "MPI_Abort",
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Finalize",
    "MPI_Buffer_detach",
    "MPI_Buffer_flush",
    // The handler of a new window ends the job, and its memory is used by address. So the functions
    // on windows get only invalid handles.
    "MPI_Win_allocate",
    "MPI_Win_allocate_shared",
    "MPI_Win_create",
    "MPI_Win_create_dynamic",
];

/// Functions that may wait for ever on valid handles: they get only invalid handles.
const WAITS: [&str; 24] = [
    "MPI_Comm_detach_buffer",
    "MPI_Comm_disconnect",
    "MPI_Comm_flush_buffer",
    "MPI_Intercomm_create",
    "MPI_Intercomm_create_from_groups",
    "MPI_Mprobe",
    "MPI_Mrecv",
    "MPI_Probe",
    "MPI_Recv",
    "MPI_Rsend",
    "MPI_Send",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Session_detach_buffer",
    "MPI_Session_finalize",
    "MPI_Session_flush_buffer",
    "MPI_Ssend",
    "MPI_Bsend",
    "MPI_Wait",
    "MPI_Waitall",
    "MPI_Waitany",
    "MPI_Waitsome",
    "MPI_Comm_accept",
    "MPI_Comm_connect",
];

/// Returns the C expression that generates an argument.
fn maker(kind: &str, name: &str, waits: bool) -> String {
    let handle = |kind: &str| {
        let name = kind.trim_start_matches("MPI_").to_lowercase();
        [
            "Comm",
            "Datatype",
            "Group",
            "Info",
            "Message",
            "Op",
            "Request",
            "Session",
            "Errhandler",
            "Win",
            "File",
            "T_enum",
            "T_cvar_handle",
            "T_pvar_handle",
            "T_pvar_session",
            "T_event_registration",
            "T_event_instance",
        ]
        .contains(&kind.trim_start_matches("MPI_"))
        .then_some(name)
    };
    let kind = kind.trim_start_matches("const ");
    let (of, place, list) = if let Some(of) = kind.strip_suffix("[]") {
        (of.trim(), false, true)
    } else if let Some(of) = kind.strip_suffix('*') {
        (of.trim(), true, name.starts_with("array_of_"))
    } else {
        (kind, false, false)
    };
    if let Some(handle) = handle(of) {
        let no = if waits && ["comm", "request", "message", "session"].contains(&handle.as_str()) {
            "no_"
        } else {
            ""
        };
        return match (place, list) {
            (_, true) => format!("{no}{handle}_list()"),
            (true, false) if no.is_empty() => format!("{handle}_place()"),
            (true, false) => format!("{no}{handle}_list()"),
            _ => format!("{no}{handle}()"),
        };
    }
    let callback = |function: &str| format!("PERHAPS({function})");
    let keyval = name.contains("keyval");
    let counted = [
        "count",
        "size",
        "max",
        "len",
        "degree",
        "dims",
        "n",
        "nnodes",
        "partitions",
        "level",
    ];
    let is_count = counted
        .iter()
        .any(|word| name == *word || (word.len() > 1 && name.contains(word)));
    match (kind, name) {
        ("void *", "buffer") => "attached()".to_owned(),
        ("void *", "baseptr") => "base_place()".to_owned(),
        ("void *", "base") => "base()".to_owned(),
        ("void *", _) if name.ends_with("buf") => "data()".to_owned(),
        ("void *", _) => "address()".to_owned(),
        ("int *", _) if keyval => "keyval_place()".to_owned(),
        ("int", _) if keyval => "keyval()".to_owned(),
        ("int", _) if name.ends_with("_index") || name == "indx" => "index_of_some()".to_owned(),
        ("int", "var_class") => "var_class()".to_owned(),
        ("int", _) if is_count => "few()".to_owned(),
        ("int", _) => "any()".to_owned(),
        ("int *", _) if name.ends_with("weights") => "few_ints()".to_owned(),
        ("int *", _) => "int_place()".to_owned(),
        ("int[]", _) => "few_ints()".to_owned(),
        ("MPI_Fint *", _) => "(MPI_Fint *)statuses()".to_owned(),
        ("int[][3]", _) => "(int (*)[3])few_ints()".to_owned(),
        ("MPI_Count", _) if is_count => "few()".to_owned(),
        ("MPI_Aint", "size" | "outsize" | "insize") => "few()".to_owned(),
        ("MPI_Aint" | "MPI_Count" | "MPI_Offset", _) => "distance()".to_owned(),
        ("MPI_Count[]", _) if name.contains("displacement") || name.contains("displs") => {
            "distances()".to_owned()
        }
        ("MPI_Count[]", _) => "few_counts()".to_owned(),
        ("MPI_Aint[]", _) => "distances()".to_owned(),
        ("MPI_Aint *" | "MPI_Count *" | "MPI_Offset *", _) => "wide_place()".to_owned(),
        ("MPI_Status *", _) => "statuses()".to_owned(),
        ("MPI_Comm_copy_attr_function *" | "MPI_Copy_function *", _) => callback("copies"),
        ("MPI_Comm_delete_attr_function *" | "MPI_Delete_function *", _) => callback("deletes"),
        ("MPI_Type_copy_attr_function *", _) => callback("copies_of_type"),
        ("MPI_Type_delete_attr_function *", _) => callback("deletes_of_type"),
        ("MPI_Comm_errhandler_function *", _) => callback("handles_comm"),
        ("MPI_Session_errhandler_function *", _) => callback("handles_session"),
        ("MPI_User_function *", _) => callback("combines"),
        ("MPI_User_function_c *", _) => callback("combines_many"),
        ("MPI_Grequest_query_function *", _) => callback("asked"),
        ("MPI_Grequest_free_function *", _) => callback("freed"),
        ("MPI_Grequest_cancel_function *", _) => callback("cancels"),
        ("MPI_T_event_cb_function", _) => callback("happens"),
        ("MPI_T_event_free_cb_function", _) => callback("is_freed"),
        ("MPI_T_event_dropped_cb_function", _) => callback("is_dropped"),
        ("MPI_T_source_order *", _) => "(MPI_T_source_order *)int_place()".to_owned(),
        _ if kind.ends_with('*') || kind.ends_with(']') || kind.ends_with("function") => {
            "NULL".to_owned()
        }
        _ => format!("({kind})any()"),
    }
}

/// Returns the type and the name of a parameter: `const int ranks[]` is a `const int[]`.
fn parameter(text: &str) -> (String, &str) {
    let (declared, brackets) = text.split_at(text.find('[').unwrap_or(text.len()));
    let start = declared.rfind([' ', '*']).expect("a parameter has a type") + 1;
    let kind = format!("{}{brackets}", declared[..start].trim_end());
    (kind, &declared[start..])
}

fn is_text(text: &str) -> bool {
    text.starts_with("const char *") && !text.ends_with(']')
        || text.starts_with("const char ") && text.ends_with("[]")
}

/// Returns a C function that calls a function of MPI.
fn call(prototype: &str) -> Option<(String, String)> {
    let (head, rest) = prototype.split_once('(')?;
    let (returns, name) = head.rsplit_once(' ')?;
    let plain = name.strip_suffix("_c").unwrap_or(name);
    if LEFT_OUT.contains(&plain) {
        return None;
    }
    let waits = WAITS.contains(&plain);
    let parameters = rest.trim_end_matches(')').split(", ");
    let arguments: Vec<String> = parameters
        .filter(|of| !["void", "..."].contains(of))
        .map(|of| match of {
            _ if is_text(of) => "text()".to_owned(),
            _ if of.starts_with("char *") && !of.contains('[') => "text_place()".to_owned(),
            _ => {
                let (kind, name) = parameter(of);
                maker(&kind, name, waits)
            }
        })
        .collect();
    let mut text = format!("static int call_{name}(void) {{ ");
    let called = format!("{name}({})", arguments.join(", "));
    let _ = match returns {
        "int" => write!(text, "return {called}; }}"),
        _ => write!(text, "(void){called}; return 0; }}"),
    };
    Some((name.to_owned(), text))
}

fn program(abi: Abi) -> String {
    let calls: Vec<(String, String)> = toolchain::standard::FUNCTIONS
        .lines()
        .filter_map(call)
        .collect();
    let mut text = String::from("#include \"random.h\"\n");
    let of_bcs: Vec<String> = match abi {
        Abi::Standard => toolchain::bcs::functions().map(str::to_owned).collect(),
        Abi::Mpich => Vec::new(),
    };
    if !of_bcs.is_empty() {
        text += "#include \"bcs_calls.h\"\n";
    }
    for (_, call) in &calls {
        let _ = writeln!(text, "{call}");
    }
    text += "static const struct { const char *name; int (*call)(void); int makes_a_type; } all[] = {\n";
    let names = calls.into_iter().map(|(name, _)| name);
    for name in names.chain(of_bcs) {
        let _ = writeln!(
            text,
            "{{\"{name}\", call_{name}, {}}},",
            u8::from(name.starts_with("MPI_Type_"))
        );
    }
    text + "};\n#include \"main.h\"\n"
}

/// Compiles the program and runs it alone.
fn run_calls(folder: &Path, prefix: &Path, words: &[&str]) {
    let program = compiled(folder, &prefix.join("bin/mpicc_abi"), Abi::Standard, words);
    run(&mut Command::new(program));
}

/// Compiles the program by a compiler wrapper.
fn compiled(folder: &Path, wrapper: &Path, abi: Abi, words: &[&str]) -> PathBuf {
    let source = folder.join("calls.c");
    fs::write(&source, program(abi)).expect("there is room");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random");
    let program = folder.join("calls");
    let mut compile = Command::new(wrapper);
    compile
        .args(["-std=gnu11", "-Wall", "-Werror", "-O1", "-I"])
        .arg(tests)
        .args(words);
    succeeded(compile.arg("-o").arg(&program).arg(&source));
    program
}

/// Runs the program alone.
fn run(program: &mut Command) {
    let number = |name: &str, usual: &str| env::var(name).unwrap_or_else(|_| usual.to_owned());
    let calls = number("BCS_RANDOM_CALLS", "1000000");
    let seed = number("BCS_RANDOM_SEED", "1");
    // Leak detection is off: random calls free little.
    let program = program.args([&calls, &seed]);
    let said = succeeded(program.env("ASAN_OPTIONS", "detect_leaks=0"));
    assert!(said.starts_with(&format!("{calls} calls")), "{said}");
}

#[test]
fn random_calls() {
    let folder = tempfile::tempdir().expect("there is room");
    let prefix = folder.path().join("installed");
    installed(&prefix);
    run_calls(folder.path(), &prefix, &[]);
}

/// The program is built by MPICH's own wrapper, and our library takes the place of MPICH's.
#[test]
fn random_calls_of_mpichs_abi() {
    let peer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers/mpich");
    let wrapper = peer.join("bin/mpicc");
    if !wrapper.is_file() {
        let required = "BCS_REQUIRE_MPICH";
        assert!(
            env::var_os(required).is_none(),
            "MPICH is not installed, and {required} is set"
        );
        eprintln!("skipped: MPICH is not installed (cargo xtask peers)");
        return;
    }
    let folder = tempfile::tempdir().expect("there is room");
    let prefix = folder.path().join("installed");
    installed(&prefix);
    // The header marks some functions as deprecated, and its handles are integers.
    let words = ["-Wno-error", "-w"];
    let program = compiled(folder.path(), &wrapper, Abi::Mpich, &words);
    run(Command::new(program).env("LD_LIBRARY_PATH", prefix.join("lib/mpich")));
}

/// Builds the library and the program for AddressSanitizer, which needs a nightly toolchain, and
/// some minutes.
#[test]
fn random_calls_under_the_address_sanitizer() {
    const HOST: &str = "x86_64-unknown-linux-gnu";
    if env::var_os("BCS_ADDRESS_SANITIZER").is_none() {
        eprintln!("skipped: BCS_ADDRESS_SANITIZER is not set, and it needs a nightly toolchain");
        return;
    }
    let folder = tempfile::tempdir().expect("there is room");
    let prefix = folder.path().join("installed");
    installed(&prefix);
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/asan");
    let mut build = Command::new("cargo");
    build
        .args(["+nightly", "build", "-p", "standard-abi", "--target", HOST])
        .arg("--target-dir")
        .arg(&target)
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN");
    succeeded(&mut build);
    let archive = target.join(HOST).join("debug/libstandard_abi.a");
    let library = prefix.join("lib").join(toolchain::library::SONAME);
    toolchain::library::link_standard(&archive, &[], &library).expect("it can be linked");
    run_calls(folder.path(), &prefix, &["-fsanitize=address"]);
}

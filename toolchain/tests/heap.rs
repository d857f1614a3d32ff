//! Tests the heap that `bcs run` preloads (`heap-preload`) with C programs whose blocks lie in
//! slots (`tests/heap`), and with programs without it.

mod installed;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use installed::{installed, said, succeeded};

/// An installation, and built programs.
struct Heap {
    folder: tempfile::TempDir,
    bin: PathBuf,
}

impl Heap {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        let prefix = folder.path().join("prefix");
        installed(&prefix);
        let bin = prefix.join("bin");
        Self { folder, bin }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Builds a program of `tests/heap` with special options; `None` if the compiler does not
    /// support them.
    fn built_with(
        &self,
        compiler: &str,
        source: &str,
        name: &str,
        words: &[&str],
    ) -> Option<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/heap");
        let compiler = match compiler {
            "cc" => PathBuf::from("cc"),
            ours => self.bin.join(ours),
        };
        let program = self.at(name);
        let mut compile = Command::new(compiler);
        compile.args(["-std=gnu11", "-Wall", "-Wextra", "-O1", "-pthread"]);
        // The compiler must not treat the tested functions as built-ins.
        compile.args(["-fno-builtin", "-Wno-alloc-size-larger-than", "-o"]);
        compile.arg(&program).arg(folder.join(source)).args(words);
        let output = compile.output().expect("the compiler runs");
        if !output.status.success() {
            eprintln!("{compile:?}: {}", said(&output));
        }
        output.status.success().then_some(program)
    }

    fn built(&self, name: &str) -> PathBuf {
        let built = self.built_with("mpicc", &format!("{name}.c"), name, &[]);
        built.expect("the program compiles")
    }

    fn run(&self, options: &str, program: &[&str]) -> Command {
        let mut run = Command::new(self.bin.join("mpiexec"));
        run.args(["--timeout", "300s"]);
        run.args(options.split_whitespace()).args(program);
        run
    }

    /// Returns the additional output of `bcs run -v`.
    fn told(&self, options: &str, program: &[&str]) -> String {
        let mut run = self.run(&format!("-v {options}"), program);
        let Output { status, stderr, .. } = &run.output().expect("it runs");
        let told = String::from_utf8_lossy(stderr).into_owned();
        assert!(status.success(), "{run:?}: {status}\n{told}");
        told
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("names are ours")
}

const BOTH: &str = "2 of 2 ranks have their heap in a slot\n";
const HINT: &str = "is in no slot, so others of its node take longer to copy from and to it";

#[test]
fn c_programs_with_a_heap_in_slots() {
    let heap = Heap::new();
    let blocks = heap.built("blocks");
    let blocks = text(&blocks);
    let slots = succeeded(&mut heap.run("-n 3 --nodes 2", &[blocks]));
    assert_eq!(slots.matches("blocks are well").count(), 3, "{slots}");
    succeeded(&mut heap.run("-n 2 --heap own", &[blocks, "own"]));
    succeeded(heap.run("-n 2", &[blocks, "own"]).env("BCS_HEAP", "own"));
    // Checks that the tests can fail: this program expects a slot and has none.
    let misled = heap.run("-n 1 --heap own", &[blocks]).output();
    assert!(!misled.expect("it runs").status.success());

    succeeded(&mut heap.run("-n 2", &[text(&heap.built("threads"))]));
    succeeded(&mut heap.run("-n 2", &[text(&heap.built("children"))]));
    messages(&heap);
    wrappers(&heap);
    a_constructor_that_waits(&heap);
    with_what_the_user_preloads(&heap);
    not_into_everything(&heap);
    python(&heap);
    without_the_library(&heap);
}

#[test]
fn large_blocks_lie_in_huge_pages_where_the_machine_grants_a_mount() {
    let heap = Heap::new();
    let told = succeeded(&mut heap.run("-n 2", &[text(&heap.built("huge"))]));
    if told.contains("grants no mount") {
        return eprintln!("skipped: neither this user nor a namespace of his may mount a tmpfs");
    }
    assert_eq!(told.matches("huge pages").count(), 2, "{told}");
}

/// One node with either transport, and several nodes.
const ROADS: [&str; 4] = [
    "-n 3",
    "-n 3 --intranode nic",
    "-n 3 --nodes 2",
    "-n 3 --nodes 3 --fabric udp",
];

#[test]
fn what_is_mapped_over_the_heap_is_what_others_receive() {
    let heap = Heap::new();
    let remapped = heap.built("remapped");
    for road in ROADS {
        succeeded(&mut heap.run(road, &[text(&remapped)]));
    }
    // Without slots remapping has always worked.
    succeeded(&mut heap.run("-n 3 --copy-method kernel", &[text(&remapped)]));
    let children = heap.built("copies");
    let children = succeeded(&mut heap.run("-n 2", &[text(&children)]));
    assert!(children.contains("children are well"), "{children}");
    // Impossible cases are reported.
    let stack = heap.built("stack");
    let told = failed(&mut heap.run("-n 1", &[text(&stack)]));
    assert!(
        told.contains("a thread whose stack lies in the heap cannot fork"),
        "{told}"
    );
    succeeded(&mut heap.run("-n 1 --heap own", &[text(&stack)]));
}

#[test]
fn pages_of_the_heap_that_are_protected_are_not_sent() {
    let heap = Heap::new();
    let guarded = heap.built("guarded");
    let roads = ROADS.map(|road| {
        road.replace("-n 3", "-n 2")
            .replace("--nodes 3", "--nodes 2")
    });
    for road in &roads {
        for what in ["many", "grown", "freed"] {
            succeeded(&mut heap.run(road, &[text(&guarded), what]));
        }
        for what in ["send", "send_part", "receive", "bcast"] {
            let told = failed(&mut heap.run(road, &[text(&guarded), what]));
            let named = told.contains("not in its memory")
                || told.contains("not in this rank's memory")
                // When a rank copies by itself, it touches the page like any other code of the
                // program.
                || told.contains("rank 0 on node 0") && told.contains("SIGSEGV");
            assert!(named, "{road} {what}: {told}");
            assert!(!told.contains("went on"), "{road} {what}: {told}");
        }
    }
}

/// Returns the output of a failing job.
fn failed(run: &mut Command) -> String {
    let output = run.output().expect("it runs");
    let told = said(&output);
    assert!(!output.status.success(), "{run:?}: {told}");
    told
}

#[test]
fn what_is_mapped_without_the_heap_hearing_of_it_is_found_in_a_checked_job() {
    let heap = Heap::new();
    let unheard = heap.built("unheard");
    for road in ["-n 2", "-n 2 --intranode nic", "-n 2 --nodes 2"] {
        for what in ["send", "receive", "bcast"] {
            let options = format!("{road} --checked");
            let told = failed(&mut heap.run(&options, &[text(&unheard), what]));
            assert!(told.contains("the program has mapped there memory without a file (rw-p)"));
            assert!(told.contains("rank 0"), "{told}");
            assert!(told.contains("run with --heap own"), "{told}");
            let own = format!("{options} --heap own");
            succeeded(&mut heap.run(&own, &[text(&unheard), what]));
        }
    }
}

fn messages(heap: &Heap) {
    let messages = heap.built("messages");
    let messages = text(&messages);
    let slots = heap.told("-n 2", &[messages]);
    assert!(slots.contains(BOTH) && !slots.contains(HINT), "{slots}");
    let own = heap.told("-n 2 --heap own", &[messages]);
    assert!(own.contains(HINT), "{own}");
    let why = "0 of 2 ranks have their heap in a slot; rank 0 has not: only the memory of the MPI library lies in one: \
               --heap own leaves it where the program has it";
    assert!(own.contains(why), "{own}");
    // When a sender copies before its receiver does, it copies into its own slot.
    let beside = heap.built("beside");
    for options in ["-n 2", "-n 2 --heap own"] {
        let told = heap.told(options, &[text(&beside)]);
        assert!(!told.contains(HINT), "{options}: {told}");
    }
    // If no slot is available, the heap is the C library's, and the reason is printed.
    let line = format!("ulimit -v 60000000 && exec {messages}");
    let limited = heap.told("-n 2", &["sh", "-c", &line]);
    assert!(
        limited.contains("0 of 2 ranks") && limited.contains("RLIMIT_AS is limited"),
        "{limited}"
    );
}

/// Checks that the last program of a chain of wrappers gets the slot.
fn wrappers(heap: &Heap) {
    let messages = heap.at("messages");
    let messages = text(&messages);
    let script = heap.at("script");
    fs::write(&script, format!("#!/bin/sh\necho begins\n{messages}\n")).expect("it can be written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it is ours");
    for wrapped in [
        &["env", "FOO=1", messages][..],
        &["nice", messages],
        &["sh", "-c", messages],
        &["env", "nice", text(&script)],
    ] {
        let told = heap.told("-n 2", wrapped);
        assert!(
            told.contains(BOTH) && !told.contains(HINT),
            "{wrapped:?}: {told}"
        );
    }
}

fn a_constructor_that_waits(heap: &Heap) {
    let words = ["-DLIBRARY", "-shared", "-fPIC"];
    let library = heap.built_with("cc", "late.c", "late.so", &words);
    let library = library.expect("the library compiles");
    let program = heap.built("late");
    succeeded(&mut heap.run("-n 1", &[text(&program), text(&library)]));
}

fn with_what_the_user_preloads(heap: &Heap) {
    let source = "../tool/count.c";
    let tool = heap.built_with("mpicc_abi", source, "count.so", &["-shared", "-fPIC"]);
    let tool = tool.expect("the tool compiles");
    let preload = format!("LD_PRELOAD={}", tool.display());
    let messages = heap.at("messages");
    let mut run = heap.run("-n 2 -v --env", &[&preload, text(&messages)]);
    let output = run.output().expect("it runs");
    let said = said(&output);
    assert!(output.status.success() && said.contains(BOTH), "{said}");
    assert_eq!(said.matches("counted ").count(), 2, "{said}");
    // A malloc of the program itself has precedence.
    let told = heap.told("-n 2", &[text(&heap.built("own_malloc"))]);
    let why = "0 of 2 ranks have their heap in a slot; rank 0 has not: only the memory of the MPI library lies in one\n";
    assert!(told.contains(why), "{told}");
}

fn not_into_everything(heap: &Heap) {
    let fixed = heap.built_with("cc", "blocks.c", "static", &["-static"]);
    match &fixed {
        Some(program) => drop(succeeded(&mut heap.run("-n 2", &[text(program), "own"]))),
        None => eprintln!("skipped: there is no C library to link statically"),
    }
    let blocks = heap.at("blocks");
    let with_rights = heap.at("with rights");
    fs::copy(&blocks, &with_rights).expect("it can be copied");
    let mode = fs::Permissions::from_mode(0o4755);
    fs::set_permissions(&with_rights, mode).expect("it is ours");
    succeeded(&mut heap.run("-n 2", &[text(&with_rights), "own"]));
    for kind in ["address", "thread", "undefined"] {
        let name = format!("{kind} sanitized");
        let flag = format!("-fsanitize={kind}");
        let Some(program) = heap.built_with("mpicc", "blocks.c", &name, &[&flag]) else {
            eprintln!("skipped: the compiler has no {flag}");
            continue;
        };
        let runs = Command::new(&program).arg("--version").output();
        if kind == "thread" && runs.is_ok_and(|output| !said(&output).contains("does not hold")) {
            eprintln!("skipped: programs with {flag} do not run here");
            continue;
        }
        let mut command = heap.run("-n 1 --env", &["ASAN_OPTIONS=allocator_may_return_null=1"]);
        command.args(["--env", "TSAN_OPTIONS=allocator_may_return_null=1"]);
        succeeded(command.arg(&program).arg("own"));
    }
}

fn python(heap: &Heap) {
    let runs = Command::new("python3").arg("-V").output();
    if runs.is_err() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let script = heap.at("processes.py");
    let text_of_script = "
import multiprocessing, subprocess, sys

def square(number):
    return number * number

if __name__ == '__main__':
    assert 'libbcs_heap' in open('/proc/self/maps').read()
    for method in ['fork', 'spawn', 'forkserver']:
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert sum(pool.map(square, range(100))) == 328350
    assert subprocess.check_output(['echo', 'hello']) == b'hello\\n'
    print('python is well')
";
    fs::write(&script, text_of_script).expect("it can be written");
    let said = succeeded(&mut heap.run("-n 2", &["python3", text(&script)]));
    assert_eq!(said.matches("python is well").count(), 2, "{said}");
}

/// Checks an installation without the file, and one whose path the dynamic linker rejects.
fn without_the_library(heap: &Heap) {
    let lib = heap.at("prefix/lib").join(toolchain::HEAP);
    fs::remove_file(&lib).expect("it was installed");
    let blocks = heap.at("blocks");
    let told = heap.told("-n 1", &[text(&blocks), "own"]);
    assert!(told.contains("libbcs_heap.so is neither in"), "{told}");
}

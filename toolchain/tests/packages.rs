//! Tests what people do who have no checkout: `pip` installs the wheel into an environment, and
//! programs are compiled and run there; the archive is unpacked; Debian's tools read the package.
//!
//! If Python has no `venv`, or there is no `dpkg-deb`, that test is skipped. It fails instead if
//! `BCS_REQUIRE_PACKAGERS` is set, as in `.ci/run`.

mod installed;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use installed::{installed, succeeded};
use tempfile::TempDir;
use toolchain::archives::{self, Effort};

const REQUIRED: &str = "BCS_REQUIRE_PACKAGERS";

/// Returns whether a command that shows the presence of a tool succeeds.
fn has(tool: &str, words: &[&str]) -> bool {
    let output = Command::new(tool).args(words).output();
    let there = output.is_ok_and(|output| output.status.success());
    assert!(
        there || env::var_os(REQUIRED).is_none(),
        "{tool} {words:?} does not work, and {REQUIRED} is set"
    );
    if !there {
        eprintln!("skipped: {tool} {words:?} does not work");
    }
    there
}

/// A folder with an installation, and what is made of it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        installed(&folder.path().join("prefix"));
        Self { folder }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Compiles a program with the compiler of a folder, and runs it with the launcher there.
    /// No variable tells either where anything is.
    fn compiles_and_runs(&self, bin: &Path) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/ring.c");
        let ring = self.at("ring");
        succeeded(
            Command::new(bin.join("mpicc"))
                .arg("-o")
                .arg(&ring)
                .arg(&source),
        );
        succeeded(
            Command::new(bin.join("mpiexec"))
                .args(["-n", "3"])
                .arg(&ring),
        );
        succeeded(
            Command::new(bin.join("mpirun"))
                .args(["-np", "2", "--nodes", "2"])
                .arg(&ring),
        );
        // Names that are links elsewhere.
        for name in ["mpic++", "mpiCC", "mpif90", "mpif77"] {
            let flags = succeeded(Command::new(bin.join(name)).arg("--showme:version"));
            assert!(flags.starts_with(&format!("{name}: BCS-MPI ")), "{flags}");
        }
        // A world of one needs no launcher.
        succeeded(&mut Command::new(&ring));
    }
}

#[test]
fn an_environment_of_python_is_an_installation() {
    let works = ["-c", "import venv, ensurepip"];
    if !has("python3", &works) {
        return;
    }
    let place = Place::new();
    let wheel = archives::wheel::write(&place.at("prefix"), &place.at("out"), Effort::Quick)
        .expect("it is made");
    // Nothing is taken from where the wheel was made.
    fs::remove_dir_all(place.at("prefix")).expect("it is ours");
    let environment = place.at("env");
    succeeded(
        Command::new("python3")
            .args(["-m", "venv"])
            .arg(&environment),
    );
    let python = environment.join("bin/python");
    let pip = |words: &[&str]| {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "--disable-pip-version-check"]);
        pip.args(words);
        pip
    };
    succeeded(pip(&["install", "--no-index", "--no-deps"]).arg(&wheel));
    let listed = succeeded(&mut pip(&["list"]));
    assert!(listed.contains("bcs-mpi"), "{listed}");
    place.compiles_and_runs(&environment.join("bin"));
    let version = succeeded(Command::new(environment.join("bin/mpiexec")).arg("--version"));
    assert!(version.starts_with("mpiexec (BCS-MPI) "), "{version}");
    // An environment may be moved.
    let moved = place.at("moved");
    fs::rename(&environment, &moved).expect("it is ours");
    place.compiles_and_runs(&moved.join("bin"));
    fs::rename(&moved, &environment).expect("it is ours");
    succeeded(&mut pip(&["uninstall", "--yes", "bcs-mpi"]));
    for left in [
        "bin/mpiexec",
        "bin/bcs",
        "lib/libmpi_abi.so.1",
        "include/mpi.h",
    ] {
        assert!(!environment.join(left).exists(), "{left} is left");
    }
}

#[test]
fn an_archive_is_unpacked_and_works() {
    let place = Place::new();
    let prefix = place.at("prefix");
    let archive =
        archives::tarball::write(&prefix, &place.at("out"), Effort::Quick).expect("it is made");
    let again =
        archives::tarball::write(&prefix, &place.at("again"), Effort::Quick).expect("it is made");
    let [first, second] = [&archive, &again].map(|path| fs::read(path).expect("it is there"));
    assert!(first == second, "two archives of the same files differ");
    fs::remove_dir_all(&prefix).expect("it is ours");
    succeeded(
        Command::new("tar")
            .arg("-xzf")
            .arg(&archive)
            .arg("-C")
            .arg(place.folder.path()),
    );
    let name = archive
        .file_name()
        .and_then(|name| name.to_str())
        .expect("it has one");
    let folder = name.strip_suffix(".tar.gz").expect("it is compressed");
    place.compiles_and_runs(&place.at(folder).join("bin"));
}

#[test]
fn debian_reads_the_package() {
    if !has("dpkg-deb", &["--version"]) {
        return;
    }
    let place = Place::new();
    let package = archives::debian::write(&place.at("prefix"), &place.at("out"), Effort::Quick);
    let package = package.expect("it is made");
    let about = succeeded(Command::new("dpkg-deb").arg("--info").arg(&package));
    assert!(about.contains("Package: bcs-mpi"), "{about}");
    assert!(about.contains("Depends: libc6 (>= 2."), "{about}");
    // dpkg makes no folder that the package does not name.
    let listed = succeeded(Command::new("dpkg-deb").arg("--contents").arg(&package));
    let paths = listed
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    let paths: Vec<&str> = paths.collect();
    for path in &paths {
        let above = path.trim_end_matches('/').rfind('/');
        let folder = above.map_or("./", |end| &path[..=end]);
        assert!(
            folder == "./" || paths.contains(&folder),
            "{folder} of {path}"
        );
    }
    let root = place.at("root");
    succeeded(
        Command::new("dpkg-deb")
            .arg("--extract")
            .arg(&package)
            .arg(&root),
    );
    fs::remove_dir_all(place.at("prefix")).expect("it is ours");
    place.compiles_and_runs(&root.join("usr/lib/bcs-mpi/bin"));
    let link = fs::read_link(root.join("usr/bin/bcs")).expect("it is a link");
    assert!(
        root.join(link.strip_prefix("/").expect("from the root"))
            .is_file()
    );

    // The scripts, with the machine's tool replaced by one that says what it is asked for.
    let control = place.at("control");
    succeeded(
        Command::new("dpkg-deb")
            .arg("--control")
            .arg(&package)
            .arg(&control),
    );
    let tools = place.at("tools");
    fs::create_dir(&tools).expect("there is room");
    let tool = tools.join("update-alternatives");
    fs::write(&tool, "#!/bin/sh\necho \"$*\"\n").expect("there is room");
    succeeded(Command::new("chmod").arg("755").arg(&tool));
    let script = |name: &str, word: &str| {
        let path = format!("{}:/usr/bin:/bin", tools.display());
        succeeded(Command::new(control.join(name)).arg(word).env("PATH", path))
    };
    let entered = script("postinst", "configure");
    for path in entered
        .split_whitespace()
        .filter(|word| word.contains("/usr/lib/"))
    {
        assert!(
            root.join(path.trim_start_matches('/')).exists(),
            "{path} is not there"
        );
    }
    assert!(
        entered.contains("--slave /usr/bin/mpicxx mpicxx"),
        "{entered}"
    );
    assert_eq!(script("prerm", "remove").lines().count(), 2);
    assert_eq!(script("prerm", "upgrade"), "");
}

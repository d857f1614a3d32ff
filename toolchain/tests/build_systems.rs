//! Tests that build systems find the installation: CMake by its own `FindMPI` and by our package,
//! Meson by `dependency('mpi')`, each with our `mpicc` on `PATH`. It also tests that shells and
//! `man` find the files under `share`.
//!
//! If a tool is missing, its test is skipped. It fails instead if `BCS_REQUIRE_BUILD_SYSTEMS` is
//! set, as in `.ci/run`.

mod installed;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use installed::{installed, succeeded};
use tempfile::TempDir;

const REQUIRED: &str = "BCS_REQUIRE_BUILD_SYSTEMS";

/// Returns whether a tool is installed.
fn has(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok();
    assert!(
        there || env::var_os(REQUIRED).is_none(),
        "{tool} is not installed, and {REQUIRED} is set"
    );
    if !there {
        eprintln!("skipped: {tool} is not installed");
    }
    there
}

/// A folder with an installation and a project.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        installed(&folder.path().join("prefix"));
        let ring = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
        for file in ["ring.c", "bcs.c", "check.h"] {
            fs::copy(ring.join(file), folder.path().join(file)).expect("it can be copied");
        }
        Self { folder }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.at(file), text).expect("it can be written");
    }

    /// Makes a command in the project, with the installation first on `PATH`.
    fn command(&self, program: &str) -> Command {
        let mut path = OsString::from(self.at("prefix/bin"));
        path.push(":");
        path.push(env::var_os("PATH").expect("there is a PATH"));
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env("PATH", path);
        // Compiler settings of this machine must not affect these tests.
        for variable in ["MPICC", "CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH"] {
            command.env_remove(variable);
        }
        command
    }

    fn configure_and_build(&self, words: &[&str]) -> String {
        let said = succeeded(
            self.command("cmake")
                .args(["-S", ".", "-B", "build"])
                .args(words),
        );
        succeeded(self.command("cmake").args(["--build", "build"]));
        said
    }

    fn run(&self, program: &str) {
        let mut run = self.command("mpiexec");
        succeeded(run.args(["-n", "2"]).arg(self.at(program)));
    }
}

#[test]
fn cmake_finds_mpi_by_its_own_module() {
    if !has("cmake") {
        return;
    }
    let place = Place::new();
    place.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)\nproject(ring C CXX)\nfind_package(MPI 5.0 REQUIRED)\n\
         file(WRITE ${CMAKE_BINARY_DIR}/ring.cpp \"#include <bcs.h>\\nint main() { return bcs_barrier(MPI_COMM_WORLD) ? 0 : 1; }\\n\")\n\
         add_executable(ring ring.c)\ntarget_link_libraries(ring PRIVATE MPI::MPI_C)\n\
         add_executable(early ${CMAKE_BINARY_DIR}/ring.cpp)\ntarget_link_libraries(early PRIVATE MPI::MPI_CXX)\n\
         enable_testing()\n\
         add_test(NAME ring COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 $<TARGET_FILE:ring>)\n\
         add_test(NAME early COMMAND early)\n",
    );
    let said = place.configure_and_build(&[]);
    let library = place.at("prefix/lib/libmpi_abi.so");
    assert!(said.contains(&library.display().to_string()), "{said}");
    succeeded(
        place
            .command("ctest")
            .args(["--test-dir", "build", "--output-on-failure"]),
    );
}

/// A moved installation is found at its new place.
#[test]
fn cmake_finds_our_package() {
    if !has("cmake") {
        return;
    }
    let place = Place::new();
    fs::rename(place.at("prefix"), place.at("moved here")).expect("it can be moved");
    place.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)\nproject(ring C)\nfind_package(bcs-mpi 0.1 CONFIG REQUIRED)\n\
         find_package(bcs-mpi 99 CONFIG QUIET)\nif(bcs-mpi_FOUND)\n  message(FATAL_ERROR \"99 is not there\")\nendif()\n\
         add_executable(bcs bcs.c)\ntarget_link_libraries(bcs PRIVATE bcs-mpi::mpi)\n\
         enable_testing()\nadd_test(NAME bcs COMMAND bcs-mpi::mpiexec -n 2 $<TARGET_FILE:bcs>)\n",
    );
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", place.at("moved here").display());
    place.configure_and_build(&[&prefix]);
    succeeded(
        place
            .command("ctest")
            .args(["--test-dir", "build", "--output-on-failure"]),
    );
}

#[test]
fn meson_finds_mpi() {
    if !has("meson") || !has("ninja") {
        return;
    }
    let place = Place::new();
    place.write(
        "meson.build",
        "project('ring', 'c')\nmpi = dependency('mpi', language : 'c')\nexecutable('ring', 'ring.c', dependencies : mpi)\n",
    );
    succeeded(place.command("meson").args(["setup", "build"]));
    succeeded(place.command("ninja").args(["-C", "build"]));
    place.run("build/ring");
}

/// `man` and the shells search these folders next to a `bin` on `PATH`, or under a prefix.
#[test]
fn pages_and_completions_are_where_they_are_looked_for() {
    let place = Place::new();
    let share = |path: String| {
        let path = place.at("prefix/share").join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    for name in [
        "bcs", "bcs-run", "bcsrun", "mpiexec", "mpirun", "mpicc", "mpifort",
    ] {
        let page = share(format!("man/man1/{name}.1"));
        assert!(
            page.contains(".TH") && page.contains(".SH NAME"),
            "{name}: {page}"
        );
    }
    for name in ["mpicxx", "mpicc_abi", "mpicxx_abi"] {
        assert_eq!(share(format!("man/man1/{name}.1")), ".so man1/mpicc.1\n");
    }
    for name in ["mpif90", "mpif77"] {
        assert_eq!(share(format!("man/man1/{name}.1")), ".so man1/mpifort.1\n");
    }
    for name in ["bcs", "bcsrun", "mpiexec", "mpirun"] {
        share(format!("zsh/site-functions/_{name}"));
        share(format!("fish/vendor_completions.d/{name}.fish"));
        let script = format!("bash-completion/completions/{name}");
        let script = place.at("prefix/share").join(script);
        let mut bash = place.command("bash");
        bash.args(["--norc", "-c", "source \"$0\" && complete -p \"$1\""]);
        succeeded(bash.arg(script).arg(name));
    }
}

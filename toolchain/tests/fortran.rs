//! Tests programs in Fortran (`tests/fortran`), built by the installed `mpifort`: each without a
//! launcher, and under `mpiexec` with several numbers of ranks on one and two nodes; and what
//! `mpifort` itself does.
//!
//! Without gfortran they are skipped. They fail instead if `BCS_REQUIRE_FORTRAN` is set, as in
//! `.ci/run`.

mod installed;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use installed::{installed, said, succeeded};
use tempfile::TempDir;

const REQUIRED: &str = "BCS_REQUIRE_FORTRAN";

/// Layouts of 4 ranks: the default, and other paths than that.
const LAYOUTS: [&str; 5] = [
    "--nodes 1",
    "--nodes 2",
    "--intranode nic",
    "--copy-method queues",
    "--nodes 2 --fabric udp",
];

/// Returns whether programs of a name can be run.
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

/// An installation, and a folder for programs.
struct Place {
    folder: TempDir,
    prefix: &'static str,
}

impl Place {
    /// Installs everything, if gfortran and the other tools are there.
    fn new(tools: &[&str]) -> Option<Self> {
        if !has("gfortran") || !tools.iter().all(|tool| has(tool)) {
            return None;
        }
        let folder = tempfile::tempdir().expect("there is room");
        // Build systems do not know how to pass on a path with blanks.
        let prefix = match tools {
            [] => "installed here",
            _ => "prefix",
        };
        installed(&folder.path().join(prefix));
        Some(Self { folder, prefix })
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn prefix(&self) -> PathBuf {
        self.at(self.prefix)
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.at(file), text).expect("it can be written");
    }

    /// Makes a command in the folder, with the installation first on `PATH`, which no compiler
    /// settings of this machine affect.
    fn command(&self, program: &str) -> Command {
        let mut path = OsString::from(self.prefix().join("bin"));
        path.push(":");
        path.push(env::var_os("PATH").expect("there is a PATH"));
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env("PATH", path);
        let settings = [
            "FC", "BCS_FC", "MPICH_FC", "OMPI_FC", "I_MPI_FC", "MPICC", "MPIFC",
        ];
        for variable in settings
            .into_iter()
            .chain(["CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH"])
        {
            command.env_remove(variable);
        }
        command
    }

    fn mpifort(&self) -> Command {
        self.command("mpifort")
    }

    /// Compiles a source of this folder, and returns the program.
    fn program(&self, source: &str, words: &[&str]) -> PathBuf {
        let program = self.at("program");
        let mut compile = self.mpifort();
        compile
            .args(words)
            .arg("-o")
            .arg(&program)
            .arg(sources().join(source));
        succeeded(&mut compile);
        program
    }

    fn run(&self, ranks: u32, layout: &str, program: &Path) {
        let mut run = self.command("mpiexec");
        run.args(["-n", &ranks.to_string()])
            .args(layout.split(' '))
            .arg(program);
        let printed = succeeded(&mut run);
        assert_eq!(printed, "no errors\n", "{run:?}");
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fortran")
}

#[test]
fn programs_run_in_all_three_bindings() {
    let Some(place) = Place::new(&[]) else { return };
    for source in ["ring.f", "much.f90", "much_f08.f90"] {
        let program = place.program(source, &["-g", "-O1", "-w"]);
        assert_eq!(
            succeeded(&mut place.command(program.to_str().expect("text"))),
            "no errors\n"
        );
        for ranks in [1, 2, 3] {
            place.run(ranks, "--nodes 1", &program);
        }
        for layout in LAYOUTS {
            place.run(4, layout, &program);
        }
    }
    for source in ["profiled.f90", "missing.f90"] {
        place.run(1, "--nodes 1", &place.program(source, &[]));
    }
    let windows = place.program("windows.f90", &[]);
    for layout in ["--nodes 1", "--nodes 2"] {
        place.run(4, layout, &windows);
    }
    let object = place.at("languages_c.o");
    let mut compile = place.command("mpicc");
    compile.args(["-Wall", "-Werror", "-c", "-o"]).arg(&object);
    succeeded(compile.arg(sources().join("languages_c.c")));
    let object = object.to_str().expect("text").to_owned();
    place.run(1, "--nodes 1", &place.program("languages.f90", &[&object]));
    long_sections_are_described_and_not_copied(&place);
    names_of_other_compilers(&place);
    a_tool_in_c_sees_the_calls(&place);
    every_function_has_its_procedures(&place);
    places_of_calls_are_those_of_the_program(&place);
    no_module_is_needed_for_integers_of_another_length(&place);
}

/// A program with a `malloc` that counts sends and reduces sections of 2.4 MB.
fn long_sections_are_described_and_not_copied(place: &Place) {
    let object = place.at("counting.o");
    let mut compile = place.command("mpicc");
    compile.args(["-c", "-o"]).arg(&object);
    succeeded(compile.arg(sources().join("counting.c")));
    let object = object.to_str().expect("text").to_owned();
    let program = place.program("sections.f90", &["-O1", &object]);
    for ranks in [1, 2, 3] {
        place.run(ranks, "--nodes 1", &program);
    }
    for layout in LAYOUTS {
        place.run(4, layout, &program);
    }
}

/// A compiler may append one or two underscores to a name, or none.
fn names_of_other_compilers(place: &Place) {
    for form in ["-fsecond-underscore", "-fno-underscoring"] {
        for source in ["ring.f", "much.f90", "much_f08.f90"] {
            place.run(2, "--nodes 1", &place.program(source, &[form, "-w"]));
        }
    }
}

/// A library that stands before `MPI_Send` and `MPI_Waitall` in C sees the calls of Fortran.
fn a_tool_in_c_sees_the_calls(place: &Place) {
    let tool = place.at("count.so");
    let mut compile = place.command("mpicc_abi");
    compile.args(["-shared", "-fPIC", "-o"]).arg(&tool);
    succeeded(compile.arg(sources().join("../tool/count.c")));
    let program = place.program("much_f08.f90", &[]);
    let mut run = place.command("mpiexec");
    run.args(["-n", "2", "env"])
        .arg(format!("LD_PRELOAD={}", tool.display()));
    let said = succeeded(run.arg(program));
    // A send of `messages` and the wrong one of `functions`; the `MPI_Waitall` of `sections`.
    let counted = said.matches("counted 2 sends and 1 waits\n").count();
    assert_eq!(counted, 2, "{said}");
}

/// Compares the names of the library with the standard's list.
fn every_function_has_its_procedures(place: &Place) {
    let library = place.prefix().join("lib").join(toolchain::fortran::GLUE);
    let shown = succeeded(
        place
            .command("nm")
            .args(["-D", "--defined-only"])
            .arg(library),
    );
    let names: BTreeSet<&str> = shown
        .lines()
        .filter_map(|line| line.split(' ').nth(2))
        .collect();
    let only_c = [
        "_toint",
        "_fromint",
        "MPI_T_",
        "_c2f",
        "_f2c",
        "_fortran_booleans",
    ];
    let functions = toolchain::standard::FUNCTIONS.lines().filter_map(|line| {
        let head = line.split('(').next()?;
        head.split(' ')
            .next_back()
            .filter(|name| !only_c.iter().any(|part| name.contains(part)))
    });
    let mut count = 0;
    for function in functions {
        let lower = function.to_lowercase();
        for profiling in ["", "p"] {
            let expected = match function.ends_with("_c") {
                false => vec![
                    format!("{profiling}{lower}_"),
                    format!("{profiling}{lower}__"),
                    format!("{profiling}{lower}"),
                    format!("{profiling}{lower}").to_uppercase(),
                ],
                true => vec![],
            };
            let f08 = [
                format!("{profiling}{lower}_f08_"),
                format!("{profiling}{lower}_f08ts_"),
            ];
            assert!(
                f08.iter().any(|name| names.contains(name.as_str())),
                "{function} in mpi_f08"
            );
            for name in expected {
                assert!(names.contains(name.as_str()), "{name}");
            }
            count += 1;
        }
    }
    assert!(count > 1000, "only {count} procedures were compared");
}

/// A deadlock is reported with the line of Fortran, and not with a place of the glue.
fn places_of_calls_are_those_of_the_program(place: &Place) {
    for source in ["deadlock.f90", "deadlock_f08.f90"] {
        let text = fs::read_to_string(sources().join("wrong").join(source)).expect("it is there");
        let mut lines = (1..).zip(text.lines());
        let (line, _) = lines
            .find(|(_, line)| line.ends_with("! here"))
            .expect("a mark");
        let program = place.program(&format!("wrong/{source}"), &["-g"]);
        for nodes in ["1", "2"] {
            let mut run = place.command("mpiexec");
            run.args(["-n", "2", "--nodes", nodes]).arg(&program);
            let ended = run.output().expect("it runs");
            let says = said(&ended);
            assert_eq!(ended.status.code(), Some(123), "{says}");
            assert_eq!(
                says.matches(&format!("{source}:{line}")).count(),
                2,
                "{says}"
            );
        }
    }
}

fn no_module_is_needed_for_integers_of_another_length(place: &Place) {
    let mut compile = place.mpifort();
    let refused = compile
        .args(["-fdefault-integer-8", "-c", "x.f90"])
        .output()
        .expect("it runs");
    assert!(!refused.status.success(), "{}", said(&refused));
    assert!(
        said(&refused).contains("integers of 4 bytes"),
        "{}",
        said(&refused)
    );
}

#[test]
fn the_wrapper_says_what_it_does_and_takes_other_compilers() {
    let Some(place) = Place::new(&[]) else { return };
    let show = |words: &[&str]| succeeded(place.mpifort().args(words));
    let shown = show(&["-show", "-O2", "-c", "x.f90"]);
    assert!(
        shown.starts_with("gfortran -I") && shown.contains("-O2 -c x.f90"),
        "{shown}"
    );
    let compiled = show(&["-compile_info"]);
    assert!(
        compiled.starts_with("gfortran -I") && !compiled.contains("-lmpi_abi"),
        "{compiled}"
    );
    let linked = show(&["-link_info"]);
    assert!(
        linked
            .trim_end()
            .ends_with("-lbcs_modules -lbcs_fortran -lmpi_abi"),
        "{linked}"
    );
    assert_eq!(
        show(&["--showme:link"]),
        linked.trim_start_matches("gfortran ")
    );
    assert_eq!(
        show(&["--showme:compile"]),
        compiled.trim_start_matches("gfortran ")
    );
    let version = format!("mpifort: BCS-MPI {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(show(&["--showme:version"]), version);
    // The first of these that is set counts; a wrapper is no compiler for itself.
    place.write("other", "#!/bin/sh\nexec gfortran \"$@\"\n");
    fs::set_permissions(place.at("other"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let other = place.at("other");
    for variable in ["BCS_FC", "MPICH_FC", "OMPI_FC", "I_MPI_FC", "FC"] {
        let mut show = place.mpifort();
        let shown = succeeded(show.arg("-show").env("FC", "mpif90").env(variable, &other));
        assert!(
            shown.starts_with(other.to_str().expect("text")),
            "{variable}: {shown}"
        );
    }
    let shown = succeeded(
        place
            .mpifort()
            .args(["-show", "-fc=gfortran"])
            .env("BCS_FC", "none"),
    );
    assert!(shown.starts_with("gfortran "), "{shown}");
    let unknown = place
        .mpifort()
        .args(["-show", "-fc=none"])
        .output()
        .expect("it runs");
    assert!(
        said(&unknown).contains("there is no none here: install a compiler"),
        "{unknown:?}"
    );
    assert!(!unknown.status.success());
}

/// Old programs give one procedure of `mpif.h` data of several types. Since gfortran 10 that is an
/// error, from which MPICH's wrapper keeps its programs, too.
#[test]
fn one_procedure_takes_data_of_several_types() {
    let Some(place) = Place::new(&[]) else { return };
    place.write("types.f", SEVERAL_TYPES);
    succeeded(place.mpifort().args(["-o", "types", "types.f"]));
    let printed = succeeded(&mut place.command("./types"));
    assert_eq!(printed, "7 2.5\n");
}

const SEVERAL_TYPES: &str = "
      program types
      include 'mpif.h'
      integer ierr, i, j(1)
      double precision x, y(1)
      i = 7
      x = 2.5d0
      call MPI_INIT(ierr)
      call MPI_ALLREDUCE(i, j, 1, MPI_INTEGER, MPI_SUM,
     &  MPI_COMM_WORLD, ierr)
      call MPI_ALLREDUCE(x, y(1), 1, MPI_DOUBLE_PRECISION, MPI_SUM,
     &  MPI_COMM_WORLD, ierr)
      write (*, '(I0,1X,F0.1)') j(1), y(1)
      call MPI_FINALIZE(ierr)
      end
";

/// Several wrappers that need the modules at once get the same ones; where the installation cannot
/// be written, they lie in the user's cache.
#[test]
fn modules_are_compiled_once_where_there_is_room() {
    let Some(place) = Place::new(&[]) else { return };
    let cache = place.at("cache");
    place.write("ring.f90", RING);
    // Even root cannot make a folder where a file is.
    place.write("installed here/lib/fortran", "");
    let many = (0..4).map(|nth| {
        let mut compile = place.mpifort();
        compile
            .env("XDG_CACHE_HOME", &cache)
            .arg("-o")
            .arg(place.at(&format!("ring{nth}")));
        let compile = compile.arg("ring.f90");
        compile.spawn().expect("it runs")
    });
    let many: Vec<_> = many.collect();
    for mut compile in many {
        assert!(compile.wait().expect("it ends").success());
    }
    let made = fs::read_dir(cache.join("bcs-mpi/fortran")).expect("it was made");
    let made: Vec<_> = made
        .map(|entry| entry.expect("it can be read").file_name())
        .collect();
    // One folder, and the lock.
    assert_eq!(made.len(), 2, "{made:?}");
    place.run(2, "--nodes 1", &place.at("ring3"));
}

/// A compiler without descriptors of Fortran 2018 gets the other two bindings.
#[test]
fn a_compiler_without_descriptors_has_no_mpi_f08() {
    let Some(place) = Place::new(&[]) else { return };
    place.write(
        "old",
        "#!/bin/sh\ncase \"$*\" in *mpi_f08.f90*) echo no such type >&2; exit 1 ;; esac\nexec gfortran \"$@\"\n",
    );
    fs::set_permissions(place.at("old"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let old = format!("-fc={}", place.at("old").display());
    place.run(2, "--nodes 1", &place.program("much.f90", &[&old, "-w"]));
    let mut compile = place.mpifort();
    let refused = compile
        .args([&old, "-c"])
        .arg(sources().join("much_f08.f90"))
        .output();
    let refused = refused.expect("it runs");
    assert!(!refused.status.success());
    assert!(
        said(&refused).contains("use mpi, not mpi_f08"),
        "{}",
        said(&refused)
    );
}

const RING: &str = "program ring\n  use mpi_f08\n  integer :: rank\n  call MPI_Init()\n  \
                    call MPI_Comm_rank(MPI_COMM_WORLD, rank)\n  if (rank == 0) print '(A)', 'no errors'\n  \
                    call MPI_Finalize()\nend program\n";

#[test]
fn cmake_finds_all_three_bindings() {
    let Some(place) = Place::new(&["cmake"]) else {
        return;
    };
    place.write("ring.f90", RING);
    place.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)\nproject(ring Fortran)\n\
         find_package(MPI 5.0 REQUIRED COMPONENTS Fortran)\n\
         if(NOT MPI_Fortran_HAVE_F77_HEADER OR NOT MPI_Fortran_HAVE_F90_MODULE OR NOT MPI_Fortran_HAVE_F08_MODULE)\n  \
         message(FATAL_ERROR \"${MPI_Fortran_HAVE_F77_HEADER} ${MPI_Fortran_HAVE_F90_MODULE} ${MPI_Fortran_HAVE_F08_MODULE}\")\nendif()\n\
         add_executable(ring ring.f90)\ntarget_link_libraries(ring PRIVATE MPI::MPI_Fortran)\n\
         enable_testing()\nadd_test(NAME ring COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 $<TARGET_FILE:ring>)\n",
    );
    succeeded(place.command("cmake").args(["-S", ".", "-B", "build"]));
    succeeded(place.command("cmake").args(["--build", "build"]));
    succeeded(
        place
            .command("ctest")
            .args(["--test-dir", "build", "--output-on-failure"]),
    );
}

#[test]
fn meson_finds_mpi_for_fortran() {
    let Some(place) = Place::new(&["meson", "ninja"]) else {
        return;
    };
    place.write("ring.f90", RING);
    place.write(
        "meson.build",
        "project('ring', 'fortran')\nmpi = dependency('mpi', language : 'fortran')\n\
         executable('ring', 'ring.f90', dependencies : mpi)\n",
    );
    succeeded(place.command("meson").args(["setup", "build"]));
    succeeded(place.command("ninja").args(["-C", "build"]));
    place.run(2, "--nodes 1", &place.at("build/ring"));
}

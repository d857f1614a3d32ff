use super::*;

const ROOT: &str = "pub mod mpi;\npub use mpi::wtime;\npub use rust::Universe;";
const LIST: &str = "\
//! | function | untyped core | safe layer |
//! | `MPI_Barrier` | [`barrier`](crate::mpi::Comm::barrier) | [`barrier`](crate::Communicator::barrier) |
//! | `MPI_Waitall` | [`waitall`](crate::mpi::request::waitall) | - |
//! | `MPI_Wtime` | [`wtime`](crate::mpi::process::wtime) | [`wtime`](crate::wtime) |
";
const COMM: &str = "impl Comm { pub fn barrier(&self) -> Result<()> { todo!() } }";
const UNIVERSE: &str = "use crate::mpi::Comm;
impl Universe { pub fn world(&self) -> &Communicator { &self.world } }
impl Communicator { pub fn untyped(&self) -> &Comm { &self.0 } }";

/// Returns the functions that the tests in this text do not call.
fn uncalled(test: &str) -> Vec<String> {
    let files = [
        ("lib.rs", ROOT),
        ("manual/functions.rs", LIST),
        ("mpi/comm.rs", COMM),
        ("rust/universe.rs", UNIVERSE),
        (
            "tests/mod.rs",
            "fn run(ranks: usize, body: impl Fn(&crate::Universe) + Sync) {}",
        ),
        ("tests/some.rs", test),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let found = ManualCoverage::of(&files.into(), &Sources::new()).unwrap();
    assert_eq!(found.listed, 4);
    let names = found.uncalled.iter();
    names
        .map(|line| line.split(": ").last().unwrap().to_owned())
        .collect()
}

#[test]
fn what_is_called_is_told_from_what_is_only_mentioned() {
    let all = [
        "Communicator::barrier",
        "mpi::Comm::barrier",
        "mpi::waitall",
        "mpi::wtime",
    ];
    assert_eq!(
        uncalled("// world.barrier(), waitall(), wtime()\nfn none() {}"),
        all
    );
    let words = "fn none() { let name = \"world.barrier()\"; other.barrier(); }";
    assert_eq!(uncalled(words), all);
}

#[test]
fn a_call_counts_for_the_layer_that_it_is_of() {
    let safe = "use super::run;
fn safe() { run(2, |universe| { let world = universe.world(); assert!(world.barrier().is_ok()); }); }";
    assert!(!uncalled(safe).contains(&"Communicator::barrier".to_owned()));
    assert!(uncalled(safe).contains(&"mpi::Comm::barrier".to_owned()));
    let core = "use super::run;
fn core() { run(2, |universe| { for comm in [universe.world().untyped()] { comm.barrier(); } }); }";
    assert!(uncalled(core).contains(&"Communicator::barrier".to_owned()));
    assert!(!uncalled(core).contains(&"mpi::Comm::barrier".to_owned()));
}

#[test]
fn functions_are_known_by_their_paths() {
    let test = "use crate::mpi::request::waitall; use crate::wtime;
fn all() { let _ = (waitall(&mut []), [0].map(wtime)); }";
    assert_eq!(
        uncalled(test),
        ["Communicator::barrier", "mpi::Comm::barrier"]
    );
    let elsewhere = "fn waitall() {} fn wtime() {} fn all() { waitall(); wtime(); }";
    assert_eq!(uncalled(elsewhere).len(), 4);
}

#[test]
fn examples_in_the_documentation_are_tests_if_they_are_run() {
    let example = |kind: &str| {
        format!(
            "/// ```{kind}\n/// # use bcs_mpi::wtime;\n/// wtime();\n/// ```\nfn documented() {{}}"
        )
    };
    assert_eq!(uncalled(&example("")).len(), 3);
    assert_eq!(uncalled(&example("no_run")).len(), 4);
    assert_eq!(uncalled(&example("compile_fail,E0502")).len(), 4);
}

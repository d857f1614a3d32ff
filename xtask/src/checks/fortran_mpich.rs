//! Runs MPICH's tests of Fortran, built by our `mpifort`, over our library.
//!
//! The tests are not part of this repository. To run them, get MPICH's sources, copy the folder
//! `confdb` into `test/mpi` and `test/mpi/dtpools`, and `maint/version.m4` into `test/mpi`. Then
//! build `test/mpi`:
//!
//! ```sh
//! cargo xtask install --prefix $PREFIX
//! ./autogen.sh && mkdir build && cd build
//! PATH=$PREFIX/bin:$PATH ../configure --with-mpi=$PREFIX --disable-cxx --enable-fortran=all
//! for folder in dtpools util f77 f90 f08; do make -k -C $folder check TESTS=; done
//! BCS_MPICH_TESTS=$PWD BCS_MPICH_PREFIX=$PREFIX cargo xtask check fortran-mpich
//! ```
//!
//! Tests of files are left out, because there are no files.

use anyhow::Result;

use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use super::abi_mpich::{TestFolders, run_tests};

pub(super) const CHECK: Check = Check {
    name: "fortran-mpich",
    about: "97 % of MPICH's tests of Fortran pass, but for files, with one node and with two",
    about_time: false,
    quick: false,
    run,
};

const TESTS: TestFolders = TestFolders {
    names: &FOLDERS,
    layouts: &["--nodes 1", "--nodes 2"],
    leaves_out: false,
};

const FOLDERS: [&str; 41] = [
    "f77/attr",
    "f77/coll",
    "f77/comm",
    "f77/datatype",
    "f77/ext",
    "f77/info",
    "f77/init",
    "f77/profile",
    "f77/pt2pt",
    "f77/rma",
    "f77/spawn",
    "f77/topo",
    "f90/attr",
    "f90/coll",
    "f90/comm",
    "f90/datatype",
    "f90/ext",
    "f90/info",
    "f90/init",
    "f90/misc",
    "f90/profile",
    "f90/pt2pt",
    "f90/rma",
    "f90/spawn",
    "f90/timer",
    "f90/topo",
    "f08/attr",
    "f08/coll",
    "f08/comm",
    "f08/datatype",
    "f08/ext",
    "f08/info",
    "f08/init",
    "f08/misc",
    "f08/profile",
    "f08/pt2pt",
    "f08/rma",
    "f08/spawn",
    "f08/subarray",
    "f08/timer",
    "f08/topo",
];

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    run_tests(workspace, TESTS)
}

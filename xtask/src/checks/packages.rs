//! Packages work where there is neither a compiler nor anything else of this machine.
//!
//! Each is installed into a Debian that `debootstrap` makes, with its smallest set of packages. It
//! lies in `target/debian`. A run sees a copy of it in memory, in namespaces of its own: what it
//! changes there is gone when the run ends, and so is each process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::packages::{Packages, make};
use crate::process;
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "packages",
    about: "the wheel, the Debian package and the archive are at most 8 MB each, and work in an empty Debian",
    about_time: false,
    quick: false,
    run,
};

/// The bar for the size of each.
const MOST_BYTES: u64 = 8_000_000;

/// The release whose C library is as old as the wheel's tag asks for, or newer.
const RELEASE: &str = "bookworm";

const INSTALL_LIMIT: Duration = Duration::from_secs(900);

const LIMIT: Duration = Duration::from_secs(120);

/// Enters the Debian: `$1` is its folder, and `$2` the folder with packages and programs.
const ENTER: &str = r#"set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o "lowerdir=$1,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
mount -t proc proc /mnt/root/proc
mount --rbind /dev /mnt/root/dev
mount -t tmpfs tmpfs /mnt/root/dev/shm
mount -t tmpfs tmpfs /mnt/root/tmp
mkdir /mnt/root/packages
mount --bind "$2" /mnt/root/packages
exec chroot /mnt/root /bin/sh /packages/inside.sh
"#;

/// The script that runs inside. Each line that fails ends it.
const INSIDE: &str = r#"set -ex
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /packages
no() { if "$@"; then exit 1; fi; }
no command -v cc
dpkg --install ./*.deb
mpiexec -n 4 --nodes 2 hello
mpirun -n 3 ./ring
mpicc -show | grep -q lmpi_abi
mpicc -c ring.c 2>&1 | grep -q 'install a compiler'
test -e /usr/share/man/man1/bcs.1
useradd --create-home user
su user -c 'mpiexec -n 4 /packages/ring && bcs doctor'
update-alternatives --query mpirun | grep -q 'Value: /usr/lib/bcs-mpi/bin/mpirun'
dpkg --remove bcs-mpi
test -z "$(ls /usr/bin | grep -e '^mpi' -e '^bcs')"
no test -e /usr/lib/bcs-mpi
mkdir /opt/bcs
tar -xzf ./*.tar.gz -C /opt/bcs --strip-components=1
/opt/bcs/bin/mpiexec -n 4 --nodes 2 ./ring
test -z "$(ls /dev/shm /tmp | grep -v :)"
"#;

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let debian = debian(workspace)?;
    let stage = tempfile::tempdir().context("failed to make a temporary folder")?;
    let packages = stage.path().join("packages");
    make(workspace, &packages, Packages::All)?;
    let sizes = sizes(&packages)?;
    let environment = stage.path().join("environment");
    install_wheel(&packages, &environment)?;
    let source = workspace.root().join("toolchain/tests/c");
    for file in ["ring.c", "check.h"] {
        fs::copy(source.join(file), packages.join(file)).context("failed to copy a program")?;
    }
    let ring = packages.join("ring");
    let mut compile = Command::new(environment.join("bin/mpicc"));
    compile.arg("-o").arg(&ring).arg(packages.join("ring.c"));
    let mut launch = Command::new(environment.join("bin/mpiexec"));
    launch.args(["-n", "4", "--nodes", "2"]).arg(&ring);
    for command in [&mut compile, &mut launch] {
        process::run(command, LIMIT)?.succeeded()?;
    }
    fs::write(packages.join("inside.sh"), INSIDE).context("failed to write a script")?;
    let mut enter = Command::new("unshare");
    enter.args(["--mount", "--pid", "--fork", "sh", "-c", ENTER, "enter"]);
    process::run(enter.arg(&debian).arg(&packages), LIMIT)?.succeeded()?;
    let held = sizes.iter().all(|(_, bytes)| *bytes <= MOST_BYTES);
    let sizes: Vec<String> = sizes
        .iter()
        .map(|(name, bytes)| format!("{name} {bytes} bytes"))
        .collect();
    Ok(CheckOutcome::exact(
        held,
        sizes.join(", "),
        format!("at most {MOST_BYTES} bytes each, and they work"),
    ))
}

/// Returns the folder of the Debian, which it makes on the first call.
fn debian(workspace: &Workspace) -> Result<PathBuf> {
    if !rustix::process::geteuid().is_root() {
        let why = "only root can make and enter a Debian of its own";
        return Err(UnsuitableMachine(why.to_owned()).into());
    }
    let folder = workspace.target().join("debian");
    let stamp = folder.join("complete");
    if stamp.exists() {
        return Ok(folder);
    }
    let cannot = |error: anyhow::Error| {
        UnsuitableMachine(format!("debootstrap makes no Debian here: {error:#}"))
    };
    let mut make = Command::new("debootstrap");
    make.args(["--variant=minbase", RELEASE]).arg(&folder);
    process::run(&mut make, INSTALL_LIMIT)
        .and_then(process::ProcessResult::succeeded)
        .map_err(cannot)?;
    fs::write(stamp, "").context("failed to mark the Debian as complete")?;
    Ok(folder)
}

/// Returns the names and sizes of all packages.
fn sizes(packages: &Path) -> Result<Vec<(String, u64)>> {
    let mut sizes = Vec::new();
    for entry in fs::read_dir(packages).context("failed to list the packages")? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        sizes.push((name, entry.metadata()?.len()));
    }
    sizes.sort();
    Ok(sizes)
}

/// Installs the wheel into a new environment of Python.
fn install_wheel(packages: &Path, environment: &Path) -> Result<()> {
    let wheel = sizes(packages)?
        .into_iter()
        .find_map(|(name, _)| name.ends_with(".whl").then_some(name))
        .context("there is no wheel")?;
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(environment);
    process::run(&mut venv, INSTALL_LIMIT)
        .and_then(process::ProcessResult::succeeded)
        .map_err(|error| UnsuitableMachine(format!("Python makes no environment: {error:#}")))?;
    let mut pip = Command::new(environment.join("bin/pip"));
    pip.args(["install", "--quiet", "--no-index", "--no-deps"]);
    process::run(pip.arg(packages.join(wheel)), INSTALL_LIMIT)?.succeeded()?;
    Ok(())
}

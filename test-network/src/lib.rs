//! Hosts for tests of jobs on several machines, on one machine: network namespaces with an Ethernet
//! each.
//!
//! ```text
//!  namespace bcs-PID-N-0          namespace bcs-PID-N-switch           namespace bcs-PID-N-1
//!  ┌───────────────────┐          ┌────────────────────────┐          ┌───────────────────┐
//!  │ lo           eth0 ├── veth ──┤ port0            port1 ├── veth ──┤ eth0           lo │
//!  └───────────────────┘          │  a bridge of the       │          └───────────────────┘
//!                                 │  kernel, or the        │
//!                                 │  program lossy-switch  │
//!                                 └────────────────────────┘
//! ```
//!
//! The switch has a namespace, too, so nothing is ever added to the machine's own. This crate
//! contains:
//!
//! | folder or file | is |
//! |---|---|
//! | `network` | makes and removes the namespaces ([`TestNetwork`]) |
//! | `switch` | the lossy switch, a state machine: which frames leave by which port, and when ([`Switch`]) |
//! | `bin/lossy-switch` | the program around that state machine: sockets, the clock, standard input |
//!
//! A bridge is for speed: it leaves the offloads of veth on, so checksums and segments that nobody
//! reads are never made. The lossy switch is for faults: it costs two system calls a frame.

mod network;
mod switch;

pub use network::error::{NetworkError, NetworkUnavailable};
pub use network::namespaces::sweep;
pub use network::{NetworkKind, NetworkOptions, REQUIRED, TestNetwork};
pub use switch::Switch;
pub use switch::counts::{DatagramCounts, PairCounts, SwitchCounts};
pub use switch::faults::{SwitchCommand, SwitchFaults};
pub use switch::frame::finish_checksum;

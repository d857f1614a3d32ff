//! The transport by the NIC: descriptors in its memory, and their completions.
//!
//! ```text
//!  rank                              NIC memory                       NIC
//!  send ─────────── Outbox ── ring full? held back in rank memory ──► send ring ──────► BS
//!  receive, probe ── Outbox ───────────────────────────────────────► receive ring ───► BR
//!  collective ────── Outbox ───────────────────────────────────────► collective ring ► BS, BR
//!  take ◄── Requests ◄──────────────────────────────────────────── request slots ◄─── completion
//! ```
//!
//! A post never blocks (law 4) and requests slices by law 2 ([`demand`]). Nothing here waits, or
//! knows another transport. The owner of this [`NicTransport`] calls
//! [`progress`](NicTransport::progress) in every call.
//!
//! | file | is |
//! |---|---|
//! | `state.rs` | [`NicTransport`]: its state, and its progress |
//! | `requests.rs`, `outbox.rs`, `payload_slots.rs` | request slots, rings, eager payloads |
//! | `sending.rs`, `receiving.rs`, `probing.rs`, `probes.rs` | messages |
//! | `arrivals.rs` | collectives |
//! | `unpacking.rs` | how long packed messages are unpacked without the endpoint's lock |
//! | `demand.rs` | when a rank requests a slice |
//! | `leaks.rs` | what is left when the rank ends |

mod arrivals;
mod demand;
mod leaks;
mod one_sided;
mod outbox;
mod payload_slots;
mod probes;
mod probing;
mod receiving;
mod requests;
mod sending;
mod state;
mod transport_impl;
mod unpacking;

pub(crate) use arrivals::Arrival;
pub(crate) use state::NicTransport;
pub(crate) use unpacking::DeferredUnpack;

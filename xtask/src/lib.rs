//! Developer commands: `cargo xtask check` runs the acceptance checks. `cargo xtask soft-float`
//! measures the NIC's floating point in software. `cargo xtask peers` and `cargo xtask bench-peers`
//! install other MPI implementations and measure ours against them. `cargo xtask papers` measures
//! the tables and figures of the papers. `cargo xtask packages` makes what people install who have
//! no checkout.
//!
//! A check runs the finished programs from outside, and prints a figure and its bar. It reports
//! whether the bar was held, missed, or cannot be judged on this machine (exit codes 0, 1 and 77).
//! To add a check, write `checks/<name>.rs` with a `CHECK`, and add that to `checks::ALL`.
//!
//! Absolute times on shared machines mean nothing. A check about time therefore measures a ratio to
//! another program in the same run, in rounds that take turns ([`rounds`]). It judges the median by
//! a bootstrap interval ([`bootstrap`]) rather than by one number.

pub mod bare_datagrams;
pub mod bare_pingpong;
pub mod bare_round_trips;
pub mod bare_timer;
pub mod barriers;
pub mod bootstrap;
pub mod breakdown;
mod browser;
pub mod c_bench;
pub mod checks;
pub mod confinement;
pub mod contest;
pub mod hosts;
pub mod install;
pub mod job;
pub mod live_stranger;
pub mod network;
pub mod other_load;
pub mod packages;
pub mod papers;
pub mod peers;
pub mod primitives;
pub mod process;
pub mod rounds;
pub mod sage;
pub mod soft_float;
pub mod sweep3d;
pub mod test_output;
pub mod verdict;
pub mod wheel;
pub mod workspace;

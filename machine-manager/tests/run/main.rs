//! `bcs run` from outside, with real processes.

mod adoption;
mod bad_input;
mod bandwidth;
mod bench;
mod configuration;
mod conversation;
mod debugger;
mod dialect;
mod ending;
mod exit_codes;
mod foreign_mpi;
mod guidance;
mod hello;
mod hints;
mod honest;
mod hosts;
mod job;
mod kill;
mod launch_tree;
mod lines;
mod live;
mod live_clients;
mod lost_launcher;
mod manager;
mod mds;
mod mpmd;
mod names;
mod placing;
mod pmi;
#[path = "../programs/program.rs"]
mod program;
#[path = "../../../mds-reports/tests/sample_run/mod.rs"]
mod sample_run;
mod signals;
mod slurm;
mod slurm_cluster;
mod spawned;
mod ssh;
mod ssh_kills;
mod ssh_mistakes;
mod sshd;
mod streams;
mod surroundings;
mod tune;

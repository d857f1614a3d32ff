//! `bcs run` from outside, with real processes.

mod bad_input;
mod bench;
mod configuration;
mod conversation;
mod ending;
mod exit_codes;
mod guidance;
mod hello;
mod hints;
mod job;
mod kill;
mod lines;
mod manager;
mod mpmd;
mod names;
mod placing;
#[path = "../programs/program.rs"]
mod program;
mod signals;
mod streams;

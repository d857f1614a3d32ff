//! `bcs run` from outside, with real processes.

mod bad_input;
mod conversation;
mod ending;
mod exit_codes;
mod hello;
mod job;
mod kill;
mod lines;

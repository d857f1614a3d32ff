//! Real programs as jobs, with what can happen to them. They are examples and
//! fixtures of the workspace.

mod alone;
mod astray;
mod communicators;
mod crossed;
mod deadlocks;
mod departed;
mod examples;
mod hostile;
mod innocents;
mod near;
mod program;
mod sandbox;
mod slots;
mod unlucky;
mod unmapped;

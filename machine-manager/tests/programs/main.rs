//! Real programs as jobs, with what can happen to them. They are examples of the workspace.

mod astray;
mod communicators;
mod crossed;
mod examples;
mod hostile;
mod near;
mod program;
mod sandbox;
mod slots;
mod unlucky;

//! Real programs as jobs, and the events that may hit them. They are examples and fixtures of the
//! workspace.

mod alone;
mod astray;
mod checked;
mod communicators;
mod counted;
mod crossed;
mod deadlocks;
mod departed;
mod examples;
mod hostile;
mod hosts;
mod innocents;
mod laws;
mod left;
mod livelocks;
mod near;
mod program;
mod recorded;
mod sage;
mod sandbox;
mod slots;
mod slow;
mod unlucky;
mod unmapped;
mod waits;

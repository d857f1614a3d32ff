//! Handles of error handlers (MPI 5.0, 9.3).
//!
//! A query for the handler of an object gives a handle that the program has to free. If the program
//! still has a handle of this handler, it is given the same one again: programs compare the two.
//! Each handle is valid until it was freed as often as it was given.

use crate::c::MPI_Errhandler;
use crate::objects::{ERROR_HANDLERS, Handler, SessionHandler};
use bcs_mpi::mpi::ErrorHandler;
use std::sync::Arc;

/// An error handler, and how often the program was given its handle and has not freed it.
#[derive(Clone, Debug)]
pub struct ErrorHandlerEntry {
    handler: Handler,
    given: u32,
}

/// Returns a handle for a new error handler.
pub fn insert(handler: Handler) -> MPI_Errhandler {
    MPI_Errhandler(ERROR_HANDLERS.insert(ErrorHandlerEntry { handler, given: 1 }))
}

/// Returns the error handler of a handle, unless the handle is predefined.
pub fn get(handle: usize) -> Option<Handler> {
    ERROR_HANDLERS.with(handle, |entry| entry.handler.clone())
}

/// Returns a handle for the error handler of an object: the program's own if it has one.
pub fn give(handler: Handler) -> MPI_Errhandler {
    let known = ERROR_HANDLERS.find(|entry| is_same(&entry.handler, &handler));
    // Another thread may free it in between.
    let given = known.filter(|&handle| {
        let counted = ERROR_HANDLERS.with_mut(handle, |entry| {
            let is_valid = entry.given > 0;
            entry.given += u32::from(is_valid);
            is_valid
        });
        counted == Some(true)
    });
    given.map_or_else(|| insert(handler), MPI_Errhandler)
}

/// Frees a handle. Returns whether it was valid.
pub fn free(handle: usize) -> bool {
    let left = ERROR_HANDLERS.with_mut(handle, |entry| {
        entry.given = entry.given.saturating_sub(1);
        entry.given
    });
    if left == Some(0) {
        ERROR_HANDLERS.remove(handle);
    }
    left.is_some()
}

/// Returns whether two handlers are one.
fn is_same(one: &Handler, other: &Handler) -> bool {
    match (one, other) {
        (Handler::Comm(ErrorHandler::User(one)), Handler::Comm(ErrorHandler::User(other))) => {
            Arc::ptr_eq(one, other)
        }
        (
            Handler::Session(SessionHandler::User(one)),
            Handler::Session(SessionHandler::User(other)),
        ) => one.is_same(*other),
        (Handler::Win(one), Handler::Win(other)) => one.is_same(*other),
        (Handler::File(one), Handler::File(other)) => one.is_same(*other),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler() -> Handler {
        Handler::Comm(ErrorHandler::create(|_, _| {}))
    }

    #[test]
    fn a_handler_has_one_handle_until_all_that_were_given_are_freed() {
        let (first, other) = (handler(), handler());
        let created = insert(first.clone());
        assert_eq!(give(first.clone()), created);
        let another = give(other);
        assert_ne!(another, created);
        assert!(free(created.0));
        assert!(get(created.0).is_some(), "one of two is left");
        assert!(free(created.0));
        assert!(get(created.0).is_none());
        assert!(!free(created.0), "it is stale");
        // The object still has the handler, and the program no handle.
        let again = give(first);
        assert_ne!(again, created);
        assert!(free(again.0) && free(another.0));
    }
}

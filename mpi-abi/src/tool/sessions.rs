//! Sessions of performance variables, and their handles (MPI 5.0, 15.3.7). The caller has the turn
//! ([`super::interface`]), so a session and its handles stay consistent.

use super::binding::Binding;
use super::performance::PerformanceVariable;
use super::{Refusal, ToolOutcome};
use crate::c::*;
use crate::table::Table;

static SESSIONS: Table<()> = Table::new(12);

/// The handles, each with its session.
static HANDLES: Table<(MPI_T_pvar_session, Binding)> = Table::new(13);

/// Implements `MPI_T_pvar_session_create`.
pub fn create() -> MPI_T_pvar_session {
    MPI_T_pvar_session(SESSIONS.insert(()))
}

/// Checks that a session exists.
fn there(session: MPI_T_pvar_session) -> ToolOutcome {
    SESSIONS.get(session.0).ok_or(Refusal::InvalidSession)
}

/// Implements `MPI_T_pvar_session_free`. The session's handles become stale, too.
///
/// # Errors
/// If there is no such session.
pub fn free(session: MPI_T_pvar_session) -> ToolOutcome {
    SESSIONS.remove(session.0).ok_or(Refusal::InvalidSession)?;
    HANDLES.retain(|(of, _)| *of != session);
    Ok(())
}

/// Implements `MPI_T_pvar_handle_alloc`.
///
/// # Errors
/// If there is no such session.
pub fn bind(
    session: MPI_T_pvar_session,
    variable: &'static PerformanceVariable,
) -> ToolOutcome<MPI_T_pvar_handle> {
    there(session)?;
    let bound = (session, Binding::new(variable));
    Ok(MPI_T_pvar_handle(HANDLES.insert(bound)))
}

/// Implements `MPI_T_pvar_handle_free`.
///
/// # Errors
/// If there is no such session, or it has no such handle.
pub fn unbind(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> ToolOutcome {
    with(session, handle, |_| Ok(()))?;
    HANDLES.remove(handle.0);
    Ok(())
}

/// Runs a function on a variable of a session.
///
/// # Errors
/// If there is no such session, or it has no such handle; and those of `what`.
pub fn with<T>(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    what: impl FnOnce(&mut Binding) -> ToolOutcome<T>,
) -> ToolOutcome<T> {
    there(session)?;
    let done = HANDLES.with_mut(handle.0, |(of, binding)| {
        (*of == session).then(|| what(binding))
    });
    done.flatten().unwrap_or(Err(Refusal::InvalidHandle))
}

/// Runs a function on one variable of a session, or on all that count (`MPI_T_PVAR_ALL_HANDLES`).
///
/// # Errors
/// As [`with`]; for all variables `otherwise`, if any of them refuses.
pub fn with_any(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    otherwise: Refusal,
    what: impl Fn(&mut Binding) -> ToolOutcome,
) -> ToolOutcome {
    if handle != MPI_T_PVAR_ALL_HANDLES {
        return with(session, handle, what);
    }
    there(session)?;
    let mut refuses = false;
    HANDLES.each_mut(|(of, binding)| {
        if *of == session && binding.variable.class.counts() {
            refuses |= what(binding).is_err();
        }
    });
    match refuses {
        true => Err(otherwise),
        false => Ok(()),
    }
}

/// Ends all sessions and handles.
pub fn forget() {
    SESSIONS.retain(|()| false);
    HANDLES.retain(|_| false);
}

//! Sessions of performance variables, and their handles (MPI 5.0, 15.3.7). Whoever calls has the turn
//! ([`super::interface`]), so a session and its handles are looked at together.

use super::binding::Binding;
use super::performance::PerformanceVariable;
use super::{Outcome, Refusal};
use crate::c::*;
use crate::table::Table;

static SESSIONS: Table<()> = Table::new(12);

/// Each with its session.
static HANDLES: Table<(MPI_T_pvar_session, Binding)> = Table::new(13);

/// `MPI_T_pvar_session_create`.
pub fn create() -> MPI_T_pvar_session {
    MPI_T_pvar_session(SESSIONS.insert(()))
}

/// A session that is there.
fn there(session: MPI_T_pvar_session) -> Outcome {
    SESSIONS.get(session.0).ok_or(Refusal::InvalidSession)
}

/// `MPI_T_pvar_session_free`: its handles are stale, too.
///
/// # Errors
/// When there is no such session.
pub fn free(session: MPI_T_pvar_session) -> Outcome {
    SESSIONS.remove(session.0).ok_or(Refusal::InvalidSession)?;
    HANDLES.retain(|(of, _)| *of != session);
    Ok(())
}

/// `MPI_T_pvar_handle_alloc`.
///
/// # Errors
/// When there is no such session.
pub fn bind(
    session: MPI_T_pvar_session,
    variable: &'static PerformanceVariable,
) -> Outcome<MPI_T_pvar_handle> {
    there(session)?;
    let bound = (session, Binding::new(variable));
    Ok(MPI_T_pvar_handle(HANDLES.insert(bound)))
}

/// `MPI_T_pvar_handle_free`.
///
/// # Errors
/// When there is no such session, or it has no such handle.
pub fn unbind(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Outcome {
    with(session, handle, |_| Ok(()))?;
    HANDLES.remove(handle.0);
    Ok(())
}

/// Does something with a variable of a session.
///
/// # Errors
/// When there is no such session, or it has no such handle; and as `what` says.
pub fn with<T>(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    what: impl FnOnce(&mut Binding) -> Outcome<T>,
) -> Outcome<T> {
    there(session)?;
    let done = HANDLES.with_mut(handle.0, |(of, binding)| {
        (*of == session).then(|| what(binding))
    });
    done.flatten().unwrap_or(Err(Refusal::InvalidHandle))
}

/// Does something with one variable of a session that counts, or with all of them (`MPI_T_PVAR_ALL_HANDLES`).
///
/// # Errors
/// As [`with`]; of all `otherwise`, if any of them refuses.
pub fn with_any(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    otherwise: Refusal,
    what: impl Fn(&mut Binding) -> Outcome,
) -> Outcome {
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

/// All sessions and handles are over.
pub fn forget() {
    SESSIONS.retain(|()| false);
    HANDLES.retain(|_| false);
}

//! Windows of the program, with what the program keeps with them: attributes and an error handler.

use crate::answer::error;
use crate::c::*;
use crate::error_function::ErrorFunction;
use crate::keyvals::{Key, WIN_KEYS};
use crate::objects::stale;
use crate::table::Table;
use bcs_core::lockstep;
use bcs_mpi::mpi::window::{Window, WindowFlavor};
use bcs_mpi::mpi::{ErrorClass, Result};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub static WINDOWS: Table<Arc<WindowEntry>> = Table::new(11);

/// How many windows were removed from the table.
static REMOVED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The window of this thread's last call. Most calls are on the same window as the one before,
    /// and the lock of the table and the count of the window would take a fifth of a put.
    static LAST: Cell<Option<LastWindow>> = const { Cell::new(None) };
}

/// A window that was looked up.
struct LastWindow {
    handle: usize,
    /// [`REMOVED`] when it was looked up: it may not be in the table any more if that has changed.
    removed: u64,
    entry: Arc<WindowEntry>,
}

/// A window of the program.
#[derive(Debug)]
pub struct WindowEntry {
    pub window: Window,
    handler: Mutex<WindowHandler>,
    /// In the order in which they were set.
    attributes: Mutex<Vec<(Arc<Key<MPI_Win>>, usize)>>,
    predefined: PredefinedAttributes,
}

/// The treatment of a window's errors.
#[derive(Clone, Copy, Debug)]
pub enum WindowHandler {
    Fatal,
    Abort,
    Return,
    User(ErrorFunction<MPI_Win>),
}

/// The attributes of which a program gets the addresses (12.2.6).
#[derive(Debug)]
struct PredefinedAttributes {
    base: usize,
    size: MPI_Aint,
    disp_unit: c_int,
    flavor: c_int,
    model: c_int,
}

impl WindowEntry {
    pub fn new(window: Window) -> Self {
        let (base, size, disp_unit) = window.own_memory();
        let predefined = PredefinedAttributes {
            base: usize::try_from(base).unwrap_or(0),
            size: MPI_Aint::try_from(size).unwrap_or(MPI_Aint::MAX),
            disp_unit: c_int::try_from(disp_unit).unwrap_or(c_int::MAX),
            flavor: match window.flavor() {
                WindowFlavor::Create => MPI_WIN_FLAVOR_CREATE,
                WindowFlavor::Allocate => MPI_WIN_FLAVOR_ALLOCATE,
                WindowFlavor::Dynamic => MPI_WIN_FLAVOR_DYNAMIC,
                WindowFlavor::Shared => MPI_WIN_FLAVOR_SHARED,
            },
            model: MPI_WIN_UNIFIED,
        };
        Self {
            window,
            handler: Mutex::new(WindowHandler::Fatal),
            attributes: Mutex::default(),
            predefined,
        }
    }

    pub fn handler(&self) -> WindowHandler {
        *lockstep::lock(&self.handler)
    }

    pub fn set_handler(&self, handler: WindowHandler) {
        *lockstep::lock(&self.handler) = handler;
    }

    /// Returns the value of a predefined attribute, if the key is one: mostly an address.
    pub fn predefined(&self, keyval: c_int) -> Option<usize> {
        let own = &self.predefined;
        let address = |place: *const c_int| place.expose_provenance();
        Some(match keyval {
            MPI_WIN_BASE => own.base,
            MPI_WIN_SIZE => (&raw const own.size).expose_provenance(),
            MPI_WIN_DISP_UNIT => address(&raw const own.disp_unit),
            MPI_WIN_CREATE_FLAVOR => address(&raw const own.flavor),
            MPI_WIN_MODEL => address(&raw const own.model),
            _ => return None,
        })
    }

    /// Returns the value that is attached by a key.
    pub fn attached(&self, key: &Key<MPI_Win>) -> Option<usize> {
        let attributes = lockstep::lock(&self.attributes);
        let found = attributes.iter().find(|(known, _)| **known == *key);
        found.map(|(_, value)| *value)
    }

    /// Attaches a value.
    pub fn attach(&self, key: Arc<Key<MPI_Win>>, value: usize) {
        key.attach();
        lockstep::lock(&self.attributes).push((key, value));
    }

    /// Deletes a value, if the key's function agrees.
    ///
    /// # Errors
    /// If the program's function fails.
    pub fn delete(&self, of: MPI_Win, key: &Key<MPI_Win>, value: usize) -> Result<()> {
        let last = key.delete(of, value)?;
        lockstep::lock(&self.attributes).retain(|(known, _)| **known != *key);
        if last {
            WIN_KEYS.forget(key.number());
        }
        Ok(())
    }

    /// Deletes all attributes of a window that is freed, the last one set first.
    ///
    /// # Errors
    /// If a function of the program fails: its attribute and those set before stay.
    pub fn delete_all(&self, of: MPI_Win) -> Result<()> {
        loop {
            let last = lockstep::lock(&self.attributes).last().cloned();
            let Some((key, value)) = last else {
                return Ok(());
            };
            self.delete(of, &key, value)?;
        }
    }
}

/// Calls a function with the window of a handle.
///
/// # Errors
/// If the handle is invalid.
#[inline]
pub fn with_window<T>(handle: MPI_Win, call: impl FnOnce(&WindowEntry) -> T) -> Result<T> {
    let removed = REMOVED.load(Ordering::Acquire);
    let known = LAST.take();
    let known = known.filter(|last| last.handle == handle.0 && last.removed == removed);
    let last = match known {
        Some(last) => last,
        None => LastWindow {
            handle: handle.0,
            removed,
            entry: window(handle)?,
        },
    };
    let returned = call(&last.entry);
    LAST.set(Some(last));
    Ok(returned)
}

/// Removes the window of a handle, which was freed.
pub fn forget(handle: MPI_Win) {
    WINDOWS.remove(handle.0);
    REMOVED.fetch_add(1, Ordering::Release);
    LAST.set(None);
}

/// Returns the window of a handle.
///
/// # Errors
/// If the handle is invalid.
#[cold]
fn window(handle: MPI_Win) -> Result<Arc<WindowEntry>> {
    WINDOWS.get(handle.0).ok_or_else(|| {
        let reason = match handle {
            MPI_WIN_NULL => "the window is MPI_WIN_NULL".to_owned(),
            MPI_Win(number) => stale("window", number, WINDOWS.freed_by(number)),
        };
        error(ErrorClass::Win, reason)
    })
}

//! Attribute keys with functions of the program (MPI 5.0, 7.7).
//!
//! A freed key stays known as long as something is attached by it, so that a program which has kept
//! its number can still delete that.

use crate::answer::{call_user_function, error, failed_with};
use crate::c::{MPI_Comm, MPI_SUCCESS};
use bcs_core::lockstep;
use bcs_mpi::mpi::{ErrorClass, Keyval, Result};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr::{from_mut, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A function that computes the attribute of a duplicate.
pub type CopyFunction<O> = Option<
    unsafe extern "C" fn(O, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int,
>;

/// A function that is called before an attribute is deleted.
pub type DeleteFunction<O> =
    Option<unsafe extern "C" fn(O, c_int, *mut c_void, *mut c_void) -> c_int>;

/// The address of `MPI_COMM_DUP_FN` and similar functions. It cannot be called.
const DUPLICATE: usize = 1;

/// The next number of keys of all kinds. Predefined numbers are below.
static NEXT: AtomicI32 = AtomicI32::new(4096);

/// A key for one kind of object, whose functions get the object's handle.
#[derive(Debug)]
pub struct Key<O> {
    number: c_int,
    copy: CopyFunction<O>,
    delete: DeleteFunction<O>,
    extra: usize,
    attached: AtomicUsize,
    freed: AtomicBool,
}

impl<O> PartialEq for Key<O> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<O> Key<O> {
    /// Makes a key.
    ///
    /// # Errors
    /// If no numbers are left.
    pub fn new(
        copy: CopyFunction<O>,
        delete: DeleteFunction<O>,
        extra: *mut c_void,
    ) -> Result<Self> {
        let next = |last: c_int| last.checked_add(1);
        let number = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let number =
            number.map_err(|_| error(ErrorClass::Keyval, "there are no keys left to be made"))?;
        Ok(Self {
            number,
            copy,
            delete,
            extra: extra.expose_provenance(),
            attached: AtomicUsize::new(0),
            freed: AtomicBool::new(false),
        })
    }

    /// Returns the number by which the program knows the key.
    pub fn number(&self) -> c_int {
        self.number
    }

    /// Counts a value that is attached by the key.
    pub fn attach(&self) {
        self.attached.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the value for a duplicate of an object, if it gets one. The caller must hold no lock
    /// of ours.
    ///
    /// # Errors
    /// If the program's function fails.
    pub fn copy(&self, of: O, value: usize) -> Result<Option<usize>> {
        let Some(function) = self.copy else {
            return Ok(None);
        };
        if function as usize == DUPLICATE {
            self.attach();
            return Ok(Some(value));
        }
        let mut copied: *mut c_void = std::ptr::null_mut();
        let mut flag = 0;
        // SAFETY: the program's promise: it is a function of this type.
        let code = call_user_function(|_| unsafe {
            function(
                of,
                self.number,
                with_exposed_provenance_mut(self.extra),
                with_exposed_provenance_mut(value),
                from_mut(&mut copied).cast(),
                &raw mut flag,
            )
        });
        if code != MPI_SUCCESS {
            return Err(failed_with(code));
        }
        if flag == 0 {
            return Ok(None);
        }
        self.attach();
        Ok(Some(copied.expose_provenance()))
    }

    /// Deletes a value of an object. Returns whether the key must be forgotten now. The caller must
    /// hold no lock of ours.
    ///
    /// # Errors
    /// If the program's function fails.
    pub fn delete(&self, of: O, value: usize) -> Result<bool> {
        if let Some(function) = self.delete {
            // SAFETY: as above.
            let code = call_user_function(|_| unsafe {
                function(
                    of,
                    self.number,
                    with_exposed_provenance_mut(value),
                    with_exposed_provenance_mut(self.extra),
                )
            });
            if code != MPI_SUCCESS {
                return Err(failed_with(code));
            }
        }
        let last = self.attached.fetch_sub(1, Ordering::AcqRel) == 1;
        Ok(last && self.is_freed())
    }

    /// Returns whether the key was freed: nothing more can be attached by it.
    pub fn is_freed(&self) -> bool {
        self.freed.load(Ordering::Acquire)
    }

    /// Frees the key. Returns whether it must be forgotten now. While something is attached by it,
    /// programs may free copies of its number again (7.7.2 counts references), without effect.
    pub fn free(&self) -> bool {
        self.freed.store(true, Ordering::Release);
        self.attached.load(Ordering::Acquire) == 0
    }
}

/// The keys of one kind of object, by their numbers.
#[derive(Debug)]
pub struct Keys<K>(Mutex<BTreeMap<c_int, K>>);

impl<K: Clone> Keys<K> {
    /// Makes an empty table.
    #[expect(
        clippy::new_without_default,
        reason = "it is only made once of each kind"
    )]
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Makes a key known.
    pub fn add(&self, number: c_int, key: K) {
        lockstep::lock(&self.0).insert(number, key);
    }

    /// Returns the key of a number.
    ///
    /// # Errors
    /// If there is no such key.
    pub fn get(&self, number: c_int) -> Result<K> {
        let key = lockstep::lock(&self.0).get(&number).cloned();
        key.ok_or_else(|| {
            let reason = match number {
                crate::c::MPI_KEYVAL_INVALID => "the key is MPI_KEYVAL_INVALID".to_owned(),
                crate::c::MPI_TAG_UB..=crate::c::MPI_WIN_MODEL => {
                    format!("the key {number} is a predefined one")
                }
                _ => format!("{number} is no key of this kind of object"),
            };
            error(ErrorClass::Keyval, reason)
        })
    }

    /// Forgets a freed key by which nothing is attached any more.
    pub fn forget(&self, number: c_int) {
        let gone = lockstep::lock(&self.0).remove(&number);
        // The key's functions are dropped without the lock.
        drop(gone);
    }
}

/// A key of communicators, and the core's form of it.
#[derive(Clone, Debug)]
pub struct CommKey {
    pub key: Arc<Key<MPI_Comm>>,
    pub core: Keyval,
}

pub static COMM_KEYS: Keys<CommKey> = Keys::new();
pub static WIN_KEYS: Keys<Arc<Key<crate::c::MPI_Win>>> = Keys::new();
pub static TYPE_KEYS: Keys<Arc<Key<crate::c::MPI_Datatype>>> = Keys::new();

impl CommKey {
    /// Makes a key whose functions get the handle that the running call was given.
    pub fn new(key: Key<MPI_Comm>) -> Self {
        let key = Arc::new(key);
        let (copying, deleting) = (key.clone(), key.clone());
        let core = Keyval::create(
            move |_, _, value| copying.copy(crate::answer::current(), value),
            move |_, _, value| {
                if deleting.delete(crate::answer::current(), value)? {
                    COMM_KEYS.forget(deleting.number());
                }
                Ok(())
            },
        );
        Self { key, core }
    }
}

//! Info objects: hints between a program and the library, as pairs of strings (MPI 5.0, chapter
//! 10).

use super::Result;
use super::error::{ErrorClass, Operation};
use bcs_core::lockstep;
use std::sync::{Arc, Mutex};

/// `MPI_MAX_INFO_KEY`, without the zero at the end of a C string.
pub const MAX_INFO_KEY: usize = 255;

/// `MPI_MAX_INFO_VAL`, without the zero at the end of a C string.
pub const MAX_INFO_VAL: usize = 1023;

/// The hint of communicators and sessions about the kinds of memory that buffers may use (MPI 5.0,
/// 12.4.3).
pub const MEMORY_KINDS: &str = "mpi_memory_alloc_kinds";

/// Its default, and the only kinds that this library has: memory that MPI or the system allocates.
pub const DEFAULT_MEMORY_KINDS: &str = "mpi,system";

/// An info object. Clones are handles of the same one.
#[derive(Clone, Debug, Default)]
pub struct Info(Arc<Mutex<Vec<(String, String)>>>);

impl Info {
    /// `MPI_Info_create`: without any pairs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// `MPI_INFO_ENV` (10.1): returns how this process was started, as far as that is known.
    #[must_use]
    pub fn env(ranks: usize) -> Self {
        let mut words = std::env::args();
        let mut pairs = vec![("maxprocs".to_owned(), ranks.to_string())];
        let mut add = |key: &str, value: String| {
            if !value.is_empty() && value.len() <= MAX_INFO_VAL {
                pairs.push((key.to_owned(), value));
            }
        };
        add("command", words.next().unwrap_or_default());
        add("argv", words.collect::<Vec<_>>().join(" "));
        add("arch", std::env::consts::ARCH.to_owned());
        let directory = std::env::current_dir().unwrap_or_default();
        add("wdir", directory.display().to_string());
        let name = rustix::system::uname();
        add("host", name.nodename().to_string_lossy().into_owned());
        add("thread_level", "MPI_THREAD_MULTIPLE".to_owned());
        add(MEMORY_KINDS, DEFAULT_MEMORY_KINDS.to_owned());
        Self(Arc::new(Mutex::new(pairs)))
    }

    fn pairs<T>(&self, look: impl FnOnce(&mut Vec<(String, String)>) -> T) -> T {
        look(&mut lockstep::lock(&self.0))
    }

    /// `MPI_Info_dup`: another object with the same pairs in the same order.
    #[must_use]
    pub fn dup(&self) -> Self {
        Self(Arc::new(Mutex::new(self.pairs(|pairs| pairs.clone()))))
    }

    /// `MPI_Info_set`: sets a key, or gives it another value.
    ///
    /// # Errors
    /// When key or value are too long, or the key is empty.
    pub fn set(&self, key: &str, value: &str) -> Result<()> {
        let operation = Operation::plain("MPI_Info_set");
        checked_key(key, operation)?;
        if value.len() > MAX_INFO_VAL {
            let reason = format!(
                "the value of `{key}` has {} bytes, and may have {MAX_INFO_VAL}",
                value.len()
            );
            return Err(operation.error(ErrorClass::InfoValue, reason));
        }
        self.pairs(
            |pairs| match pairs.iter_mut().find(|(known, _)| known == key) {
                Some((_, known)) => value.clone_into(known),
                None => pairs.push((key.to_owned(), value.to_owned())),
            },
        );
        Ok(())
    }

    /// `MPI_Info_get_string`: the value of a key, if it is set.
    ///
    /// # Errors
    /// When the key is too long or empty.
    pub fn get(&self, key: &str) -> Result<Option<String>> {
        checked_key(key, Operation::plain("MPI_Info_get_string"))?;
        Ok(self.pairs(|pairs| {
            let found = pairs.iter().find(|(known, _)| known == key);
            found.map(|(_, value)| value.clone())
        }))
    }

    /// `MPI_Info_delete`: removes a key.
    ///
    /// # Errors
    /// When the key is not set.
    pub fn delete(&self, key: &str) -> Result<()> {
        let operation = Operation::plain("MPI_Info_delete");
        checked_key(key, operation)?;
        let place = self.pairs(|pairs| {
            let place = pairs.iter().position(|(known, _)| known == key);
            place.map(|place| pairs.remove(place))
        });
        place.map(|_| ()).ok_or_else(|| {
            let reason = format!("the key `{key}` is not set");
            operation.error(ErrorClass::InfoNokey, reason)
        })
    }

    /// `MPI_Info_get_nkeys`: returns the number of keys.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.pairs(|pairs| pairs.len())
    }

    /// `MPI_Info_get_nthkey`: keys are in the order in which they were set.
    ///
    /// # Errors
    /// When there are fewer keys.
    pub fn nth_key(&self, nth: usize) -> Result<String> {
        let keys = self.keys();
        let key = self.pairs(|pairs| pairs.get(nth).map(|(key, _)| key.clone()));
        key.ok_or_else(|| {
            let reason = format!("there is no key {nth} among {keys}");
            Operation::plain("MPI_Info_get_nthkey").error(ErrorClass::Arg, reason)
        })
    }
}

fn checked_key(key: &str, operation: Operation) -> Result<()> {
    if key.is_empty() || key.len() > MAX_INFO_KEY {
        let reason = format!(
            "the key has {} bytes, and must have 1 to {MAX_INFO_KEY}",
            key.len()
        );
        return Err(operation.error(ErrorClass::InfoKey, reason));
    }
    Ok(())
}

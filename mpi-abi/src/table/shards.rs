//! A table of objects that mostly the same thread makes and removes.
//!
//! Each message inserts and removes a request. Threads that do so at the same time must not wait
//! for each other, or for each other's cache lines. So each thread has a shard, whose lock costs
//! almost nothing for the first thread that used it. (An uncontended lock of the standard library
//! takes 10 ns, a tenth of a short message.)

use super::slots::Slots;
use super::{FIRST, handle, of_integer, parts, to_integer};
use bcs_core::wake::owner_lock::{OwnerGuard, OwnerLock, this_thread};
use std::mem::ManuallyDrop;
use std::sync::OnceLock;

/// The number of shards. More threads share them.
const SHARDS: usize = 16;

/// The objects of one kind that a program has made, by the threads that have made them. The lowest
/// part of an index is the shard.
#[derive(Debug)]
pub struct Shards<T> {
    kind: u8,
    shards: [OnceLock<OwnerLock<Slots<T>>>; SHARDS],
}

impl<T> Shards<T> {
    /// Makes an empty table for a kind that no other table has.
    pub const fn new(kind: u8) -> Self {
        Self {
            kind,
            shards: [const { OnceLock::new() }; SHARDS],
        }
    }

    #[inline(always)]
    fn lock(&self, shard: usize) -> OwnerGuard<'_, Slots<T>> {
        let slots = self.shards[shard].get_or_init(|| OwnerLock::new(Slots::new()));
        slots.lock()
    }

    /// Returns where the object of a handle is: its shard, its index there, and its generation.
    #[inline(always)]
    fn place(&self, handle: usize) -> Option<(usize, (usize, u32))> {
        let (index, generation) = parts(self.kind, handle)?;
        Some((index % SHARDS, (index / SHARDS, generation)))
    }

    #[inline(always)]
    fn handle(&self, shard: usize, (index, generation): (usize, u32)) -> usize {
        handle(self.kind, index * SHARDS + shard, generation)
    }

    /// Returns a handle for an object.
    #[inline(always)]
    pub fn insert(&self, value: T) -> usize {
        // A panic here ends the process, so the value need not be dropped by its address then. It
        // stays in registers until it is stored.
        let value = ManuallyDrop::new(value);
        let shard = usize::try_from(this_thread()).map_or(0, |number| number % SHARDS);
        let mut slots = self.lock(shard);
        let place = slots.reserve();
        slots.fill(place, Some(ManuallyDrop::into_inner(value)));
        self.handle(shard, place)
    }

    /// Opens the table for access to many handles in turn. The caller must not use the table
    /// otherwise meanwhile.
    #[inline]
    pub fn open(&self) -> OpenTable<'_, T> {
        OpenTable {
            of: self,
            locked: None,
        }
    }

    /// Calls a function on the object of a handle, if the handle is valid. The function must not
    /// use this table.
    pub fn with_mut<R>(&self, handle: usize, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.open().get_mut(handle).map(change)
    }

    /// Removes the object. Its handle is stale from now on.
    pub fn remove(&self, handle: usize) -> Option<T> {
        self.open().remove(handle)
    }

    /// Returns the number of valid handles.
    pub fn held(&self) -> usize {
        self.used().map(|slots| slots.held()).sum()
    }

    /// Changes all objects. The function must not use this table.
    pub fn each_mut(&self, mut change: impl FnMut(&mut T)) {
        self.used()
            .for_each(|mut slots| slots.iter_mut().for_each(&mut change));
    }

    /// Returns the shards that some thread has used, in turn. A reader does not become the owner.
    fn used(&self) -> impl Iterator<Item = OwnerGuard<'_, Slots<T>>> {
        let used = self.shards.iter().filter_map(OnceLock::get);
        used.map(OwnerLock::lock)
    }

    /// Returns the Fortran form of a handle; that of the null handle if the handle is invalid.
    pub fn to_integer(&self, handle: usize) -> Option<i32> {
        if handle >= FIRST {
            self.with_mut(handle, |_| ())?;
        }
        to_integer(handle)
    }

    /// Returns the handle of a Fortran form.
    pub fn of_integer(&self, integer: i32) -> Option<usize> {
        match of_integer(integer)? {
            Ok(index) => {
                let (shard, index) = (index % SHARDS, index / SHARDS);
                let generation = self.lock(shard).generation(index)?;
                Some(self.handle(shard, (index, generation)))
            }
            Err(predefined) => Some(predefined),
        }
    }
}

/// A table with one shard locked at a time: that of the last handle used.
#[derive(Debug)]
pub struct OpenTable<'a, T> {
    of: &'a Shards<T>,
    locked: Option<(usize, OwnerGuard<'a, Slots<T>>)>,
}

impl<T> OpenTable<'_, T> {
    #[inline(always)]
    fn shard(&mut self, shard: usize) -> &mut Slots<T> {
        if !matches!(self.locked, Some((locked, _)) if locked == shard) {
            self.locked = None; // Never lock two at a time: others may use the opposite order.
            self.locked = Some((shard, self.of.lock(shard)));
        }
        let (_, slots) = self.locked.as_mut().expect("it is locked");
        slots
    }

    /// Returns the object of a handle.
    #[inline]
    pub fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        let (shard, place) = self.of.place(handle)?;
        self.shard(shard).get_mut(place)
    }

    /// Removes the object. Its handle is stale from now on.
    #[inline]
    pub fn remove(&mut self, handle: usize) -> Option<T> {
        let (shard, place) = self.of.place(handle)?;
        self.shard(shard).remove(place)
    }

    /// Removes an object if `left` returns a value for it, and returns this value. The handle is
    /// stale then.
    #[inline]
    pub fn remove_if<R>(&mut self, handle: usize, left: impl FnOnce(&T) -> Option<R>) -> Option<R> {
        let (shard, place) = self.of.place(handle)?;
        self.shard(shard).remove_if(place, left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(shards: &Shards<i32>, handle: usize) -> Option<i32> {
        shards.with_mut(handle, |value| *value)
    }

    #[test]
    fn stale_foreign_and_random_handles_stand_for_nothing() {
        let (shards, other) = (Shards::new(1), Shards::new(2));
        let (first, theirs) = (shards.insert(1), other.insert(2));
        assert_eq!(
            (get(&shards, first), get(&other, theirs)),
            (Some(1), Some(2))
        );
        assert_eq!((get(&shards, theirs), get(&other, first)), (None, None));
        assert_eq!(
            (shards.remove(first), shards.remove(first)),
            (Some(1), None)
        );
        let second = shards.insert(3);
        assert_eq!(first & 0xffff_ffff, second & 0xffff_ffff, "its place again");
        assert_eq!((get(&shards, first), get(&shards, second)), (None, Some(3)));
        for random in [0, 1, FIRST - 1, FIRST, FIRST + 1, usize::MAX, second ^ 1] {
            assert_eq!(get(&shards, random), None, "{random:#x}");
        }
    }

    #[test]
    fn threads_have_shards_of_their_own_and_find_each_others_objects() {
        let shards = Shards::new(3);
        let insert = |value| {
            std::thread::scope(|scope| scope.spawn(|| shards.insert(value)).join().unwrap())
        };
        let handles: Vec<usize> = (0..40).map(insert).collect();
        let mut different = handles.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!((different.len(), shards.held()), (40, 40));
        let mut table = shards.open();
        for (&handle, value) in handles.iter().zip(0..) {
            assert_eq!(table.get_mut(handle).copied(), Some(value));
        }
        drop(table);
        shards.each_mut(|value| *value += 100);
        for (&handle, value) in handles.iter().zip(100..) {
            let integer = shards.to_integer(handle).unwrap();
            assert_eq!(shards.of_integer(integer), Some(handle));
            assert_eq!(shards.remove(handle), Some(value));
            assert_eq!(
                (shards.to_integer(handle), shards.of_integer(integer)),
                (None, None)
            );
        }
        assert_eq!(
            (shards.of_integer(7), shards.to_integer(7)),
            (Some(7), Some(7))
        );
        assert_eq!((shards.of_integer(-1), shards.held()), (None, 0));
    }

    #[test]
    fn an_object_that_is_not_wanted_any_more_leaves_what_it_says() {
        let shards = Shards::new(6);
        let [kept, gone] = [1, 2].map(|value| shards.insert(value));
        let even = |value: &i32| (value % 2 == 0).then_some(value * 10);
        let mut table = shards.open();
        let left = [kept, gone, gone].map(|handle| table.remove_if(handle, even));
        assert_eq!(left, [None, Some(20), None]);
        drop(table);
        assert_eq!((get(&shards, kept), get(&shards, gone)), (Some(1), None));
        assert_ne!(shards.insert(3), gone, "its handle is stale");
    }
}

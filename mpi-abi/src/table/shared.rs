//! A table of objects that all threads use. It knows the calls that have made and freed each.

use super::slots::Slots;
use super::{FIRST, handle, of_integer, parts, to_integer};
use crate::caller;
use std::sync::{PoisonError, RwLock};

/// The objects of one kind that a program has made.
#[derive(Debug)]
pub struct Table<T> {
    kind: u8,
    contents: RwLock<TableContents<T>>,
}

#[derive(Debug)]
struct TableContents<T> {
    slots: Slots<T>,
    /// The calls that have made and freed the last object of each index.
    origins: Vec<ObjectOrigin>,
}

/// The return addresses of the calls that have made and freed an object.
#[derive(Clone, Copy, Debug, Default)]
struct ObjectOrigin {
    generation: u32,
    made: u64,
    freed: Option<u64>,
}

impl<T> TableContents<T> {
    fn reserve(&mut self) -> (usize, u32) {
        let (index, generation) = self.slots.reserve();
        if self.origins.len() <= index {
            self.origins.resize(index + 1, ObjectOrigin::default());
        }
        self.origins[index] = ObjectOrigin {
            generation,
            made: caller::place(),
            freed: None,
        };
        (index, generation)
    }
}

impl<T> Table<T> {
    /// Makes an empty table for a kind that no other table has.
    pub const fn new(kind: u8) -> Self {
        Self {
            kind,
            contents: RwLock::new(TableContents {
                slots: Slots::new(),
                origins: Vec::new(),
            }),
        }
    }

    #[inline]
    fn read<R>(&self, look: impl FnOnce(&Slots<T>) -> R) -> R {
        let contents = self.contents.read();
        look(&contents.unwrap_or_else(PoisonError::into_inner).slots)
    }

    fn write<R>(&self, change: impl FnOnce(&mut Slots<T>) -> R) -> R {
        self.write_all(|contents| change(&mut contents.slots))
    }

    fn write_all<R>(&self, change: impl FnOnce(&mut TableContents<T>) -> R) -> R {
        let contents = self.contents.write();
        change(&mut contents.unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a handle for an object.
    pub fn insert(&self, value: T) -> usize {
        let (index, generation) = self.write_all(|contents| {
            let place = contents.reserve();
            contents.slots.fill(place, Some(value));
            place
        });
        handle(self.kind, index, generation)
    }

    /// Returns a handle for a future object. It is invalid until it is [filled](Self::fill).
    pub fn reserve(&self) -> usize {
        let (index, generation) = self.write_all(TableContents::reserve);
        handle(self.kind, index, generation)
    }

    /// Stores the object of a reserved handle. With `None` the handle becomes stale.
    pub fn fill(&self, handle: usize, value: Option<T>) {
        if let Some(parts) = parts(self.kind, handle) {
            self.write(|slots| slots.fill(parts, value));
        }
    }

    /// Calls a function on the object of a handle, if the handle is valid. The function must not
    /// use this table.
    #[inline]
    pub fn with<R>(&self, handle: usize, look: impl FnOnce(&T) -> R) -> Option<R> {
        let parts = parts(self.kind, handle)?;
        self.read(|slots| slots.get(parts).map(look))
    }

    /// Does the same, and changes the object.
    pub fn with_mut<R>(&self, handle: usize, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        let parts = parts(self.kind, handle)?;
        self.write(|slots| slots.get_mut(parts).map(change))
    }

    /// Returns the handle of the first object that is wanted. The function must not use this table.
    pub fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<usize> {
        let (index, generation) = self.read(|slots| slots.find(wanted))?;
        Some(handle(self.kind, index, generation))
    }

    /// Returns the number of valid and reserved handles.
    pub fn held(&self) -> usize {
        self.read(Slots::held)
    }

    /// Changes all objects. The function must not use this table.
    pub fn each_mut(&self, change: impl FnMut(&mut T)) {
        self.write(|slots| slots.iter_mut().for_each(change));
    }

    /// Keeps the objects that are wanted. The handles of the others are stale from now on.
    pub fn retain(&self, wanted: impl Fn(&T) -> bool) {
        self.write(|slots| slots.retain(wanted));
    }

    /// Removes the object. Its handle is stale from now on.
    pub fn remove(&self, handle: usize) -> Option<T> {
        let parts = parts(self.kind, handle)?;
        self.write_all(|contents| {
            let removed = contents.slots.remove(parts)?;
            contents.origins[parts.0].freed = Some(caller::place());
            Some(removed)
        })
    }

    /// Returns the return address of the call that has freed the object of a stale handle, as long
    /// as no other object has taken its place.
    pub fn freed_by(&self, handle: usize) -> Option<u64> {
        let (index, generation) = parts(self.kind, handle)?;
        let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
        let origin = contents.origins.get(index)?;
        origin.freed.filter(|_| origin.generation == generation)
    }

    /// Returns the value of a function for each object, with the return address of the call that
    /// has made the object. The function must not use this table.
    pub fn origins<R>(&self, look: impl Fn(&T) -> Option<R>) -> Vec<(R, u64)> {
        let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
        let each = contents.slots.iter().filter_map(|(index, value)| {
            let origin = contents.origins.get(index)?;
            Some((look(value)?, origin.made))
        });
        each.collect()
    }

    /// Returns the Fortran form of a handle; that of the null handle if the handle is invalid. A
    /// reserved handle has one, too: a program in Fortran gets it before its object exists.
    pub fn to_integer(&self, handle: usize) -> Option<i32> {
        if handle >= FIRST {
            let (index, generation) = parts(self.kind, handle)?;
            self.read(|slots| slots.generation(index).filter(|of| *of == generation))?;
        }
        to_integer(handle)
    }

    /// Returns the handle of a Fortran form.
    pub fn of_integer(&self, integer: i32) -> Option<usize> {
        match of_integer(integer)? {
            Ok(index) => {
                let generation = self.read(|slots| slots.generation(index))?;
                Some(handle(self.kind, index, generation))
            }
            Err(predefined) => Some(predefined),
        }
    }
}

impl<T: Clone> Table<T> {
    /// Returns the object of a handle.
    #[inline]
    pub fn get(&self, handle: usize) -> Option<T> {
        self.with(handle, T::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::super::KIND;
    use super::*;

    #[test]
    fn stale_foreign_and_random_handles_stand_for_nothing() {
        let (table, other) = (Table::new(1), Table::new(2));
        let first = table.insert("first");
        assert_eq!(table.get(first), Some("first"));
        let theirs = other.insert("theirs");
        assert_eq!((table.get(theirs), other.get(first)), (None, None));
        assert_eq!(table.remove(first), Some("first"));
        let second = table.insert("second");
        assert_eq!(
            first & 0xffff_ffff,
            second & 0xffff_ffff,
            "the place is taken again"
        );
        assert_eq!(
            (table.get(first), table.get(second)),
            (None, Some("second"))
        );
        assert_eq!(
            (table.remove(first), table.remove(second)),
            (None, Some("second"))
        );
        for random in [
            0,
            1,
            FIRST - 1,
            FIRST,
            FIRST + 1,
            usize::MAX,
            1 << KIND,
            second ^ 1,
        ] {
            assert_eq!(table.get(random), None, "{random:#x}");
        }
    }

    #[test]
    fn a_reserved_handle_stands_for_nothing_until_it_is_filled() {
        let table = Table::new(4);
        let (kept, lost) = (table.reserve(), table.reserve());
        assert_eq!((table.get(kept), table.get(lost)), (None, None));
        table.fill(kept, Some("kept"));
        table.fill(lost, None);
        assert_eq!(table.get(kept), Some("kept"));
        let next = table.insert("next");
        assert_eq!((table.get(lost), table.get(next)), (None, Some("next")));
    }

    #[test]
    fn handles_of_what_is_not_kept_are_stale() {
        let table = Table::new(5);
        let [one, two, three] = [1, 2, 3].map(|value| table.insert(value));
        table.retain(|value| value % 2 == 1);
        table.each_mut(|value| *value *= 10);
        assert_eq!(
            [one, two, three].map(|handle| table.get(handle)),
            [Some(10), None, Some(30)]
        );
        assert_eq!(table.held(), 2);
        let again = table.insert(4);
        assert_eq!((table.get(two), table.get(again)), (None, Some(4)));
    }

    #[test]
    fn a_handle_comes_back_from_its_integer() {
        let table = Table::new(3);
        let handle = table.insert(7);
        let integer = table.to_integer(handle).unwrap();
        assert_eq!(table.of_integer(integer), Some(handle));
        assert_eq!(table.find(|value| *value == 7), Some(handle));
        assert_eq!(table.find(|value| *value == 8), None);
        assert_eq!(
            table.to_integer(0x101),
            Some(0x101),
            "a predefined one is itself"
        );
        assert_eq!(table.of_integer(0x101), Some(0x101));
        table.remove(handle);
        assert_eq!(
            (table.to_integer(handle), table.of_integer(integer)),
            (None, None)
        );
        assert_eq!(table.of_integer(-1), None);
    }

    #[test]
    fn a_reserved_handle_has_its_integer_before_its_object() {
        let table = Table::new(3);
        let [kept, given_up] = [(); 2].map(|()| table.reserve());
        let integers = [kept, given_up].map(|handle| table.to_integer(handle).unwrap());
        assert_eq!(
            integers.map(|of| table.of_integer(of)),
            [Some(kept), Some(given_up)]
        );
        table.fill(kept, Some(7));
        table.fill(given_up, None);
        assert_eq!(integers.map(|of| table.of_integer(of)), [Some(kept), None]);
        assert_eq!(
            (table.get(kept), table.to_integer(given_up)),
            (Some(7), None)
        );
    }
}

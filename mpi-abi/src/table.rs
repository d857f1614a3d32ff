//! What handles stand for.
//!
//! A handle has a generation, a kind and an index. The Fortran form of it (`MPI_Comm_toint`) is the index alone, beyond
//! the numbers of the predefined ones: 4096 and more.

use bcs_core::wake::owner_lock::{OwnerGuard, OwnerLock};
use std::mem::ManuallyDrop;
use std::sync::OnceLock;

/// Predefined handles are below.
pub const FIRST: usize = 4096;

const KIND: u32 = 32;
const GENERATION: u32 = 40;

/// The objects of one kind that a program has made. Its lock costs the thread next to nothing that was the first to use
/// it, which in most programs is the only one: each request of a message is handed out and taken back.
#[derive(Debug)]
pub struct Table<T> {
    kind: u8,
    state: OnceLock<OwnerLock<State<T>>>,
}

#[derive(Debug)]
struct State<T> {
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
}

impl<T> State<T> {
    /// A slot with nothing in it, which is not free any more.
    #[inline(always)]
    fn vacant(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| self.another())
    }

    #[cold]
    fn another(&mut self) -> usize {
        self.slots.push(Slot {
            generation: 1,
            value: None,
        });
        self.slots.len() - 1
    }
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// A table while nobody else looks at it: for what is asked of many handles at once.
#[derive(Debug)]
pub struct Open<'a, T> {
    kind: u8,
    state: &'a mut State<T>,
}

impl<T> Open<'_, T> {
    /// What a handle stands for.
    #[inline]
    pub fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        let (index, generation) = parts(self.kind, handle)?;
        let slot = self.state.slots.get_mut(index)?;
        let value = slot.value.as_mut();
        value.filter(|_| slot.generation == generation)
    }

    /// The object, whose handle is stale from now on.
    #[inline]
    pub fn remove(&mut self, handle: usize) -> Option<T> {
        let (index, generation) = parts(self.kind, handle)?;
        let slot = self.state.slots.get_mut(index)?;
        let matches = slot.generation == generation;
        let value = slot.value.take_if(|_| matches)?;
        slot.pass();
        self.state.free.push(index);
        Some(value)
    }

    /// Something of an object that is not wanted any more, if `left` gives it. Its handle is stale then.
    #[inline]
    pub fn remove_if<R>(&mut self, handle: usize, left: impl FnOnce(&T) -> Option<R>) -> Option<R> {
        let (index, generation) = parts(self.kind, handle)?;
        let slot = self.state.slots.get_mut(index)?;
        let value = slot.value.as_ref();
        let left = left(value.filter(|_| slot.generation == generation)?)?;
        slot.value = None;
        slot.pass();
        self.state.free.push(index);
        Some(left)
    }
}

impl<T> Slot<T> {
    /// Handles of it are stale from now on. 0 is no generation: a handle that is only an index stands for nothing.
    fn pass(&mut self) {
        self.generation = (self.generation + 1) & 0x00ff_ffff;
        self.generation += u32::from(self.generation == 0);
    }
}

/// A handle of a kind.
pub const fn handle(kind: u8, index: usize, generation: u32) -> usize {
    let generation = (generation & 0x00ff_ffff) as usize;
    (generation << GENERATION) | ((kind as usize) << KIND) | (index + FIRST)
}

/// The index that a handle of this kind alleges, and its generation.
pub fn parts(kind: u8, handle: usize) -> Option<(usize, u32)> {
    let index = (handle & 0xffff_ffff).checked_sub(FIRST)?;
    let alleged = handle >> KIND & 0xff;
    let generation = u32::try_from(handle >> GENERATION).ok()?;
    (alleged == usize::from(kind)).then_some((index, generation))
}

impl<T> Table<T> {
    /// An empty one of a kind, which no other table has.
    pub const fn new(kind: u8) -> Self {
        Self {
            kind,
            state: OnceLock::new(),
        }
    }

    #[inline(always)]
    fn lock(&self) -> OwnerGuard<'_, State<T>> {
        let state = self.state.get_or_init(|| {
            OwnerLock::new(State {
                slots: Vec::new(),
                free: Vec::new(),
            })
        });
        state.lock()
    }

    fn handle(&self, index: usize, generation: u32) -> usize {
        handle(self.kind, index, generation)
    }

    fn parts(&self, handle: usize) -> Option<(usize, u32)> {
        parts(self.kind, handle)
    }

    /// A handle for an object.
    #[inline(always)]
    pub fn insert(&self, value: T) -> usize {
        // Nobody has to drop it by its address if this panics, which ends the process: so it stays in registers until
        // it is put where it belongs.
        let value = ManuallyDrop::new(value);
        let mut state = self.lock();
        let index = state.vacant();
        let slot = &mut state.slots[index];
        slot.value = Some(ManuallyDrop::into_inner(value));
        self.handle(index, slot.generation)
    }

    /// A handle for an object that is not there yet: until it is [filled](Self::fill) it stands for nothing.
    pub fn reserve(&self) -> usize {
        let mut state = self.lock();
        let index = state.vacant();
        self.handle(index, state.slots[index].generation)
    }

    /// The object of a handle that was reserved, or nothing: then it is stale.
    pub fn fill(&self, handle: usize, value: Option<T>) {
        let Some((index, generation)) = self.parts(handle) else {
            return;
        };
        let mut state = self.lock();
        let slot = &mut state.slots[index];
        debug_assert!(slot.value.is_none() && slot.generation == generation);
        match value {
            Some(value) => slot.value = Some(value),
            None => {
                slot.pass();
                state.free.push(index);
            }
        }
    }

    /// Looks at what a handle stands for, if it stands for anything. Nothing else may be asked of this table meanwhile.
    #[inline]
    pub fn with<R>(&self, handle: usize, look: impl FnOnce(&T) -> R) -> Option<R> {
        let (index, generation) = self.parts(handle)?;
        let state = self.lock();
        let slot = state.slots.get(index)?;
        let value = slot.value.as_ref();
        value.filter(|_| slot.generation == generation).map(look)
    }

    /// The same, and changes it.
    pub fn with_mut<R>(&self, handle: usize, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.open(|mut table| table.get_mut(handle).map(change))
    }

    /// Does something with many handles. Nothing else may be asked of this table meanwhile.
    pub fn open<R>(&self, change: impl FnOnce(Open<'_, T>) -> R) -> R {
        let (kind, mut state) = (self.kind, self.lock());
        change(Open {
            kind,
            state: &mut state,
        })
    }

    /// The handle of the first object that is wanted. Nothing else may be asked of this table meanwhile.
    pub fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<usize> {
        let state = self.lock();
        let is_it = |slot: &Slot<T>| slot.value.as_ref().is_some_and(&wanted);
        let index = state.slots.iter().position(is_it)?;
        Some(self.handle(index, state.slots[index].generation))
    }

    /// How many handles stand for something, or will.
    pub fn held(&self) -> usize {
        let state = self.lock();
        state.slots.len() - state.free.len()
    }

    /// Changes all objects. Nothing else may be asked of this table meanwhile.
    pub fn each_mut(&self, change: impl FnMut(&mut T)) {
        let mut state = self.lock();
        let slots = state.slots.iter_mut();
        slots
            .filter_map(|slot| slot.value.as_mut())
            .for_each(change);
    }

    /// Keeps the objects that are wanted. Handles of the others are stale from now on.
    pub fn retain(&self, wanted: impl Fn(&T) -> bool) {
        let State { slots, free } = &mut *self.lock();
        for (index, slot) in slots.iter_mut().enumerate() {
            if slot.value.take_if(|value| !wanted(value)).is_some() {
                slot.pass();
                free.push(index);
            }
        }
    }

    /// The object, whose handle is stale from now on.
    pub fn remove(&self, handle: usize) -> Option<T> {
        self.open(|mut table| table.remove(handle))
    }

    /// The Fortran form of a handle, which is that of nothing if it stands for nothing.
    pub fn to_integer(&self, handle: usize) -> Option<i32> {
        if handle < FIRST {
            return i32::try_from(handle).ok();
        }
        self.with(handle, |_| ())?;
        i32::try_from(handle & 0xffff_ffff).ok()
    }

    /// The handle of a Fortran form.
    pub fn of_integer(&self, integer: i32) -> Option<usize> {
        let number = usize::try_from(integer).ok()?;
        let Some(index) = number.checked_sub(FIRST) else {
            return Some(number);
        };
        let state = self.lock();
        let slot = state.slots.get(index)?;
        slot.value.as_ref()?;
        Some(self.handle(index, slot.generation))
    }
}

impl<T: Clone> Table<T> {
    /// What a handle stands for.
    #[inline]
    pub fn get(&self, handle: usize) -> Option<T> {
        self.with(handle, T::clone)
    }
}

#[cfg(test)]
mod tests {
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
    fn an_object_that_is_not_wanted_any_more_leaves_what_it_says() {
        let table = Table::new(6);
        let [kept, gone] = [1, 2].map(|value| table.insert(value));
        let even = |value: &i32| (value % 2 == 0).then_some(value * 10);
        let left =
            table.open(|mut open| [kept, gone, gone].map(|handle| open.remove_if(handle, even)));
        assert_eq!(left, [None, Some(20), None]);
        assert_eq!((table.get(kept), table.get(gone)), (Some(1), None));
        assert_ne!(table.insert(3), gone, "its handle is stale");
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
}

//! Objects by index and generation.

/// Objects, and the list of free places.
#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: Vec<HandleSlot<T>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct HandleSlot<T> {
    generation: u32,
    /// Whether it has an object, or is reserved for a future one.
    taken: bool,
    value: Option<T>,
}

impl<T> HandleSlot<T> {
    /// Advances the generation: handles of this place are stale from now on. 0 is no generation, so
    /// a handle with only an index is invalid.
    fn pass(&mut self) {
        self.generation = (self.generation + 1) & 0x00ff_ffff;
        self.generation += u32::from(self.generation == 0);
        self.taken = false;
    }
}

impl<T> Slots<T> {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Reserves an empty place, and returns its index and generation.
    #[inline(always)]
    pub(super) fn reserve(&mut self) -> (usize, u32) {
        let index = self.free.pop().unwrap_or_else(|| self.another());
        let slot = &mut self.slots[index];
        slot.taken = true;
        (index, slot.generation)
    }

    #[cold]
    fn another(&mut self) -> usize {
        self.slots.push(HandleSlot {
            generation: 1,
            taken: false,
            value: None,
        });
        self.slots.len() - 1
    }

    /// Stores the object of a reserved place. With `None` the place is free again.
    #[inline(always)]
    pub(super) fn fill(&mut self, (index, generation): (usize, u32), value: Option<T>) {
        let slot = &mut self.slots[index];
        debug_assert!(slot.value.is_none() && slot.generation == generation);
        if value.is_none() {
            slot.pass();
            self.free.push(index);
        }
        slot.value = value;
    }

    #[inline]
    pub(super) fn get(&self, (index, generation): (usize, u32)) -> Option<&T> {
        let slot = self.slots.get(index)?;
        let value = slot.value.as_ref();
        value.filter(|_| slot.generation == generation)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, (index, generation): (usize, u32)) -> Option<&mut T> {
        let slot = self.slots.get_mut(index)?;
        let value = slot.value.as_mut();
        value.filter(|_| slot.generation == generation)
    }

    #[inline]
    pub(super) fn remove(&mut self, (index, generation): (usize, u32)) -> Option<T> {
        let slot = self.slots.get_mut(index)?;
        let matches = slot.generation == generation;
        let value = slot.value.take_if(|_| matches)?;
        slot.pass();
        self.free.push(index);
        Some(value)
    }

    /// Removes an object if `left` returns a value for it, and returns this value.
    #[inline]
    pub(super) fn remove_if<R>(
        &mut self,
        (index, generation): (usize, u32),
        left: impl FnOnce(&T) -> Option<R>,
    ) -> Option<R> {
        let slot = self.slots.get_mut(index)?;
        let value = slot.value.as_ref();
        let left = left(value.filter(|_| slot.generation == generation)?)?;
        slot.value = None;
        slot.pass();
        self.free.push(index);
        Some(left)
    }

    /// Returns the first object that is wanted: its index and generation.
    pub(super) fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<(usize, u32)> {
        let is_it = |slot: &HandleSlot<T>| slot.value.as_ref().is_some_and(&wanted);
        let index = self.slots.iter().position(is_it)?;
        Some((index, self.slots[index].generation))
    }

    /// Returns all objects with their indices.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(index, slot)| Some((index, slot.value.as_ref()?)))
    }

    /// Returns the generation of the present or future object with this index.
    pub(super) fn generation(&self, index: usize) -> Option<u32> {
        let slot = self.slots.get(index)?;
        slot.taken.then_some(slot.generation)
    }

    /// Returns the number of used and reserved places.
    pub(super) fn held(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let slots = self.slots.iter_mut();
        slots.filter_map(|slot| slot.value.as_mut())
    }

    /// Keeps the objects that are wanted.
    pub(super) fn retain(&mut self, wanted: impl Fn(&T) -> bool) {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if slot.value.take_if(|value| !wanted(value)).is_some() {
                slot.pass();
                self.free.push(index);
            }
        }
    }
}

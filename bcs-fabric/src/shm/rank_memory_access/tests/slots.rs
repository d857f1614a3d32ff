//! Ranks with slots. If their process is [`NOBODY`], their memory is reached without the kernel.

use super::*;
use crate::shm::DescriptorLocation;
use bcs_core::limits::LEAST_WINDOW_BYTES;
use bcs_core::memory::slot::remapped_ranges::RemapFlags;
use bcs_core::memory::slot::{HEAP_BYTES, SLOT_BYTES};
use bcs_core::memory::{OwnSlot, Slot};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{Advice, MprotectFlags};
use std::ffi::c_void;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicUsize;

/// No process has this number.
const NOBODY: u32 = i32::MAX.cast_unsigned();

/// A rank's slot, which this process has made as a rank would have.
struct Heap(OwnSlot);

impl Heap {
    fn new() -> Self {
        /// Places that no other test uses: this process has one address space.
        static PLACES: AtomicUsize = AtomicUsize::new(110);
        Self(OwnSlot::make(PLACES.fetch_add(1, Ordering::Relaxed)).unwrap())
    }

    fn at(&self, offset: usize) -> u64 {
        (self.0.slot().base() + offset) as u64
    }

    fn put<T: Copy>(&self, offset: usize, values: &[T]) -> u64 {
        let start = std::ptr::with_exposed_provenance_mut(self.0.slot().base() + offset);
        // SAFETY: in the slot, which only this test knows.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), start, values.len()) };
        self.at(offset)
    }

    fn take<T: Copy + Default>(&self, offset: usize, count: usize) -> Vec<T> {
        let mut values = vec![T::default(); count];
        let start = std::ptr::with_exposed_provenance(self.0.slot().base() + offset);
        // SAFETY: as for `put`.
        unsafe { std::ptr::copy_nonoverlapping(start, values.as_mut_ptr(), count) };
        values
    }

    fn pages(&self, offset: usize) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.0.slot().base() + offset)
    }
}

/// Two ranks with these processes and slots.
fn ranks(of: [(u32, Option<&Heap>); 2]) -> RankMemoryAccess {
    let segment = Segment::private(1, 2).unwrap();
    for (rank, (process, heap)) in (0..2).zip(of) {
        if let Some(Heap(own)) = heap {
            let deposit = DescriptorLocation::for_descriptor(own.fd()).unwrap();
            segment.publish_slot(rank, own.slot(), deposit);
        }
        segment.pid(rank).unwrap().store(process, Ordering::Release);
    }
    RankMemoryAccess::new(segment, Arc::new(Vec::new()))
}

fn at(address: u64) -> Location {
    Location::contiguous(address)
}

const FAULTS: [Result<(), FabricError>; 2] = [
    Err(FabricError::SourceMemory),
    Err(FabricError::DestinationMemory),
];

#[test]
fn from_slot_to_slot_no_process_is_asked() {
    let (from, into) = (Heap::new(), Heap::new());
    let mut memory = ranks([(NOBODY, Some(&from)), (NOBODY, Some(&into))]);
    let data: Vec<u64> = (0..100_000).collect();
    // At the start, in the first window and beyond it, over its end, and at the very end.
    let bytes = data.len() * 8;
    let places = [
        0,
        LEAST_WINDOW_BYTES - 4096,
        5 * LEAST_WINDOW_BYTES,
        HEAP_BYTES - bytes,
    ];
    for (there, here) in places.into_iter().zip(places.into_iter().rev()) {
        let source = from.put(there, &data);
        let moved = get(&mut memory, at(source), at(into.at(here)), 0..bytes as u64);
        assert_eq!(moved, Ok(()));
        assert!(into.take::<u64>(here, data.len()) == data);
        let mut words = [0; 80];
        memory.read(0, source + 8, &mut words).unwrap();
        assert_eq!(words[..8], 1_u64.to_ne_bytes());
        memory.write(1, into.at(here) + 16, &[7; 8]).unwrap();
        assert_eq!(into.take::<u64>(here + 16, 1), [u64::from_ne_bytes([7; 8])]);
    }
    let mut memory = memory.with_settings(&Settings {
        road: CopyMethod::Kernel,
        ..Settings::default()
    });
    let moved = get(&mut memory, at(from.at(0)), at(into.at(0)), 0..8);
    assert_eq!(moved, FAULTS[0], "otherwise the kernel is");
}

/// The node manager of these ranks is another process.
#[test]
fn payload_slots_of_other_nodes_are_looked_into() {
    let heap = Heap::new();
    let mut memory = ranks([(NOBODY, None), (NOBODY, Some(&heap))]);
    let (descriptor, theirs) = NicMemory::create(DEFAULT_EAGER_LIMIT).unwrap();
    let deposit = DescriptorLocation::for_descriptor(&descriptor).unwrap();
    memory.segment.publish_nic_memory(0, deposit);
    theirs.write_payload(3, 0, b"an eager message");
    let mut bring = |offset, len| {
        let from = SourceSpan {
            rank: 0,
            payload: Payload::Slot {
                slot: 3,
                address: 4096,
            },
            offset,
            len,
        };
        let to = DestinationSpan {
            rank: 1,
            into: at(heap.at(0)),
            offset,
        };
        memory.copy(&from, &to)
    };
    assert_eq!(bring(3, 13), Ok(()));
    assert_eq!(heap.take::<u8>(3, 13), *b"eager message");
    let beyond = DEFAULT_EAGER_LIMIT as u64 - 4;
    assert_eq!(bring(beyond, 5), FAULTS[0]);
}

/// Layouts, too, lie in slots, and are looked up there.
#[test]
fn pieces_in_slots_go_from_one_to_the_other_and_no_process_is_asked() {
    const COUNT: u32 = 20_000;
    let count = COUNT as usize;
    let (from, into) = (Heap::new(), Heap::new());
    let mut memory = ranks([(NOBODY, Some(&from)), (NOBODY, Some(&into))]);
    // 12 of each 20 bytes go to 12 of each 16, backwards; and every other 100 to 100 side by side.
    let strides = [
        LayoutBuilder::block(4, 12)
            .repeat(u64::from(COUNT), 20)
            .unwrap(),
        LayoutBuilder::block(0, 12)
            .repeat(u64::from(COUNT), -16)
            .unwrap(),
    ];
    let [out, reversed] = strides.map(|strides| strides.finish(0));
    let source: Vec<u32> = (0..COUNT * 5).collect();
    let (data, words, last) = (1 << 20, 16, (count - 1) * 16);
    let source_at = from.put(data, &source);
    into.put(data, &vec![u32::MAX; count * 4]);
    let there = Location::from_words(source_at, from.put(words, out.words()), 12);
    let target_at = into.at(data + last);
    let here = Location::from_words(target_at, into.put(words, reversed.words()), 12);
    let len = u64::from(COUNT) * 12;
    // The chunks begin and end within pieces.
    for start in (0..len).step_by(100_001) {
        let end = len.min(start + 100_001);
        assert_eq!(get(&mut memory, there, here, start..end), Ok(()));
    }
    let found = into.take::<u32>(data, count * 4);
    for (nth, quad) in (0..COUNT).rev().zip(found.chunks(4)) {
        let first = nth * 5 + 1;
        assert_eq!(quad, [first, first + 1, first + 2, u32::MAX]);
    }
    // From and to contiguous memory.
    let packed = 2 << 20;
    assert_eq!(get(&mut memory, there, at(into.at(packed)), 0..len), Ok(()));
    let found = into.take::<u32>(packed, count * 3);
    let right = |(three, nth): (&[u32], u32)| three[0] == nth * 5 + 1;
    assert!(found.chunks(3).zip(0..).all(right));
    from.put(packed, &found);
    into.put(data, &vec![0_u32; count * 4]);
    assert_eq!(get(&mut memory, at(from.at(packed)), here, 0..len), Ok(()));
    let found = into.take::<u32>(data, count * 4);
    assert!(found.rchunks(4).zip(0..).all(right));
}

/// One side is on the stack, or belongs to a program without a slot.
#[test]
fn between_a_slot_and_other_memory_the_kernel_copies() {
    let heap = Heap::new();
    let me = std::process::id();
    let data: Vec<u64> = (0..300_000).collect();
    let len = data.len() as u64 * 8;
    let source = heap.put(4096, &data);
    let mut target = vec![0_u64; data.len()];
    let mut memory = ranks([(NOBODY, Some(&heap)), (me, None)]);
    let moved = get(&mut memory, at(source), at(address(&mut target)), 0..len);
    assert_eq!(moved, Ok(()));
    assert!(target == data);

    // Back, into every other eight bytes, by a layout that lies elsewhere.
    let every_other = LayoutBuilder::block(0, 8)
        .repeat(data.len() as u64, 16)
        .unwrap();
    let mut words = every_other.finish(0).words().to_vec();
    let heap = Heap::new();
    let layout = heap.put(0, &words);
    let mut memory = ranks([(me, None), (NOBODY, Some(&heap))]);
    let into = Location::from_words(heap.at(1 << 20), layout, 8);
    let from = at(address(&mut target));
    assert_eq!(get(&mut memory, from, into, 0..len), Ok(()));
    let found = heap.take::<u64>(1 << 20, data.len() * 2);
    assert!(found.chunks(2).zip(0..).all(|(pair, nth)| pair == [nth, 0]));
    let mut wide = vec![5_u64; data.len() * 2];
    let mut memory = ranks([(NOBODY, Some(&heap)), (me, None)]);
    let into = Location::from_words(address(&mut wide), address(&mut words), 8);
    let from = at(heap.put(1 << 30, &data));
    assert_eq!(get(&mut memory, from, into, 0..len), Ok(()));
    let wide = std::hint::black_box(wide);
    assert!(wide.chunks(2).zip(0..).all(|(pair, nth)| pair == [nth, 5]));
}

#[test]
fn what_does_not_lie_wholly_in_the_slot_of_its_rank_is_left_to_the_kernel() {
    let (from, into) = (Heap::new(), Heap::new());
    let mut memory = ranks([(NOBODY, Some(&from)), (NOBODY, Some(&into))]);
    let start = from.at(0);
    let end = start + HEAP_BYTES as u64;
    for (address, len) in [
        (start - 8, 16),
        (end - 8, 16),
        (end, 1),
        (start + SLOT_BYTES as u64 - 8, 8),
        (into.at(0), 8),
        (0, 8),
        (u64::MAX - 7, 8),
    ] {
        let good = into.at(4096);
        let moved = get(&mut memory, at(address), at(good), 0..len);
        assert_eq!(moved, FAULTS[0], "{address:#x} {len}");
        let from = SourceSpan {
            rank: 1,
            payload: Payload::Memory(at(good)),
            offset: 0,
            len,
        };
        let to = DestinationSpan {
            rank: 0,
            into: at(address),
            offset: 0,
        };
        assert_eq!(memory.copy(&from, &to), FAULTS[1], "{address:#x} {len}");
        let mut bytes = vec![0; usize::try_from(len).unwrap()];
        assert!(memory.read(0, address, &mut bytes).is_err());
        assert!(memory.write(0, address, &bytes).is_err());
    }
    // Strides that leave it, on either side, and come back in the arithmetic of 64 bits.
    for stride in [1_i64 << 40, -(1 << 40), i64::MAX, i64::MIN] {
        let leaving = LayoutBuilder::block(0, 8).repeat(3, stride);
        let Ok(leaving) = leaving else { continue };
        let layout = from.put(64, leaving.finish(0).words());
        let there = Location::from_words(from.at(4096), layout, 8);
        let moved = get(&mut memory, there, at(into.at(0)), 0..24);
        assert_eq!(moved, FAULTS[0], "{stride:#x}");
    }
}

#[test]
fn the_slot_of_a_rank_that_has_departed_is_not_reached() {
    let (from, into) = (Heap::new(), Heap::new());
    let mut memory = ranks([(NOBODY, Some(&from)), (NOBODY, Some(&into))]);
    let (source, target) = (at(from.put(0, &[1_u64])), at(into.at(0)));
    assert_eq!(get(&mut memory, source, target, 0..8), Ok(()));
    let pid = memory.segment.pid(1).unwrap();
    pid.store(0, Ordering::Release);
    assert_eq!(get(&mut memory, source, target, 0..8), FAULTS[1]);
    assert!(memory.read(1, target.address, &mut [0]).is_err());
    let pid = memory.segment.pid(0).unwrap();
    pid.store(0, Ordering::Release);
    assert_eq!(get(&mut memory, source, target, 0..8), FAULTS[0]);
}

/// The kernel copies what a rank reports as mapped elsewhere, and nothing around it.
#[test]
fn where_a_rank_has_other_memory_the_kernel_copies() {
    let me = std::process::id();
    let (from, into) = (Heap::new(), Heap::new());
    let [source, target] = [&from, &into].map(|heap| at(heap.put(0, &vec![7_u8; 3 * 4096])));
    let mut unreached = ranks([(NOBODY, Some(&from)), (NOBODY, Some(&into))]);
    let mut reached = ranks([(me, Some(&from)), (me, Some(&into))]);
    let all = 0..3 * 4096;
    assert_eq!(get(&mut unreached, source, target, all.clone()), Ok(()));
    for (heap, fault) in [(&from, FAULTS[0]), (&into, FAULTS[1])] {
        let table = heap.0.remapped();
        table.change(4096..8192, |_| RemapFlags::REPLACED);
        assert_eq!(get(&mut unreached, source, target, all.clone()), fault);
        for around in [0..4096, 8192..3 * 4096] {
            assert_eq!(get(&mut unreached, source, target, around), Ok(()));
        }
        from.put(0, &vec![8_u8; 3 * 4096]);
        into.put(0, &vec![1_u8; 3 * 4096]);
        assert_eq!(get(&mut reached, source, target, all.clone()), Ok(()));
        assert_eq!(into.take::<u8>(0, 3 * 4096), vec![8; 3 * 4096]);
        // A piece in it, and one whose gap lies there.
        let layout = LayoutBuilder::block(0, 8).repeat(2, 8192).unwrap();
        let layout = from.put(1 << 20, layout.finish(0).words());
        for base in [0, 4096] {
            let there = Location::from_words(from.at(base), layout, 8);
            from.put(base, &[base as u64 + 1]);
            let to = at(into.at(1 << 20));
            assert_eq!(get(&mut reached, there, to, 0..16), Ok(()));
            assert_eq!(into.take::<u64>(1 << 20, 1), [base as u64 + 1]);
        }
        table.change(4096..8192, |_| RemapFlags::NOT_FORKED);
        assert_eq!(get(&mut unreached, source, target, all.clone()), Ok(()));
        table.change(4096..8192, |_| RemapFlags::NONE);
        assert!(table.is_empty());
    }
}

/// The rank's own mappings do not matter here, nor do the pages that it takes out of the file.
#[test]
fn a_rank_that_pulls_its_memory_away_has_what_it_left() {
    let (from, into) = (Heap::new(), Heap::new());
    let mut memory = ranks([(NOBODY, Some(&from)), (NOBODY, Some(&into))]);
    let source = at(from.put(0, &vec![7_u8; 3 * 4096]));
    let target = at(into.put(0, &vec![1_u8; 3 * 4096]));
    let mut bring = || get(&mut memory, source, target, 0..3 * 4096);
    assert_eq!(bring(), Ok(()));
    // SAFETY: whole pages of a slot that only this test knows.
    unsafe { rustix::mm::madvise(from.pages(4096), 4096, Advice::LinuxRemove) }.unwrap();
    assert_eq!(bring(), Ok(()));
    let found = into.take::<u8>(0, 3 * 4096);
    let hole = |at: usize| (4096..2 * 4096).contains(&at);
    assert!(
        found
            .iter()
            .zip(0..)
            .all(|(&byte, at)| byte == if hole(at) { 0 } else { 7 })
    );
    // SAFETY: as above.
    unsafe { rustix::mm::mprotect(from.pages(0), 4096, MprotectFlags::empty()) }.unwrap();
    // SAFETY: as above.
    unsafe { rustix::mm::munmap(from.pages(8192), 4096) }.unwrap();
    // SAFETY: as above.
    unsafe { rustix::mm::mprotect(into.pages(0), 4096, MprotectFlags::READ) }.unwrap();
    into.put(4096, &[1_u8; 4096]);
    assert_eq!(bring(), Ok(()));
    let found = into.take::<u8>(0, 3 * 4096);
    assert!(
        found
            .iter()
            .zip(0..)
            .all(|(&byte, at)| byte == if hole(at) { 0 } else { 7 })
    );
}

/// Its node manager would have refused the file. A process that maps it would die of it.
#[test]
fn a_file_that_can_be_cut_off_is_no_slot() {
    let heap = Heap::new();
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("loose", flags).unwrap();
    rustix::fs::ftruncate(&file, SLOT_BYTES as u64).unwrap();
    let lodged = |seals| {
        rustix::fs::fcntl_add_seals(&file, seals).unwrap();
        let memory = ranks([(NOBODY, None), (NOBODY, Some(&heap))]);
        let deposit = DescriptorLocation::for_descriptor(file.as_fd()).unwrap();
        memory
            .segment
            .publish_slot(0, Slot::at_place(150).unwrap(), deposit);
        memory
    };
    let (source, target) = (at(151 << 39), at(heap.at(0)));
    let mut memory = lodged(SealFlags::empty());
    assert_eq!(get(&mut memory, source, target, 0..8), FAULTS[0]);
    let mut memory = lodged(SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL);
    assert_eq!(get(&mut memory, source, target, 0..8), Ok(()));
    assert!(rustix::fs::ftruncate(&file, 0).is_err());
}

/// A message to the sender itself whose buffers overlap has no meaning, but it ends.
#[test]
fn pieces_may_be_copied_over_themselves() {
    let heap = Heap::new();
    let mut memory = ranks([(NOBODY, Some(&heap)), (NOBODY, None)]);
    let pieces = LayoutBuilder::block(0, 100).repeat(1000, 101).unwrap();
    let layout = heap.put(0, pieces.finish(0).words());
    let data = heap.put(4096, &vec![3_u8; 101_000]);
    let in_pieces = Location::from_words(data, layout, 100);
    for (from, into) in [
        (in_pieces, at(data)),
        (at(data + 7), in_pieces),
        (in_pieces, in_pieces),
    ] {
        let from = SourceSpan {
            rank: 0,
            payload: Payload::Memory(from),
            offset: 0,
            len: 100_000,
        };
        let to = DestinationSpan {
            rank: 0,
            into,
            offset: 0,
        };
        assert_eq!(memory.copy(&from, &to), Ok(()));
        assert!(heap.take::<u8>(4096, 101_000).iter().all(|&byte| byte == 3));
    }
}

//! Ranks without slots, which the kernel reaches; those with slots are in `slots.rs`.

mod slots;

use super::*;
use bcs_core::layout::LayoutBuilder;
use std::process::Command;

/// This process as two ranks: the kernel lets a process read and write itself.
fn memory() -> RankMemoryAccess {
    let segment = Segment::private(1, 2).unwrap();
    for rank in 0..2 {
        let pid = segment.pid(rank).unwrap();
        pid.store(std::process::id(), Ordering::Release);
    }
    RankMemoryAccess::new(segment, Arc::new(Vec::new()))
}

fn address<T>(of: &mut [T]) -> u64 {
    of.as_mut_ptr().expose_provenance() as u64
}

fn get(
    memory: &mut RankMemoryAccess,
    from: Location,
    into: Location,
    range: std::ops::Range<u64>,
) -> Result<(), FabricError> {
    let from = SourceSpan {
        rank: 0,
        payload: Payload::Memory(from),
        offset: range.start,
        len: range.end - range.start,
    };
    let to = DestinationSpan {
        rank: 1,
        into,
        offset: range.start,
    };
    memory.copy(&from, &to)
}

/// More pieces than a call takes, more bytes than the bounce buffer, in chunks that begin and end
/// within pieces. The gaps stay as they are.
#[test]
fn pieces_go_where_they_belong_and_nowhere_else() {
    const COUNT: u32 = 30_000;
    let mut memory = memory();
    // 12 of each 20 bytes go to 12 of each 16.
    let out = LayoutBuilder::block(4, 12)
        .repeat(u64::from(COUNT), 20)
        .unwrap();
    let into = LayoutBuilder::block(0, 12)
        .repeat(u64::from(COUNT), 16)
        .unwrap();
    let (out, into) = (out.finish(0), into.finish(0));
    let mut source: Vec<u32> = (0..COUNT * 5).collect();
    let mut target = vec![u32::MAX; COUNT as usize * 4];
    let (mut out, mut into) = (out.words().to_vec(), into.words().to_vec());
    let from = Location::from_words(address(&mut source), address(&mut out), 12);
    let to = Location::from_words(address(&mut target), address(&mut into), 12);
    let len = u64::from(COUNT) * 12;
    let mut at = 0;
    while at < len {
        let next = (at + 100_001).min(len);
        assert_eq!(get(&mut memory, from, to, at..next), Ok(()));
        at = next;
    }
    for (nth, quad) in (0..COUNT).zip(target.chunks(4)) {
        let first = nth * 5 + 1;
        assert_eq!(quad, [first, first + 1, first + 2, u32::MAX]);
    }
    // The same from contiguous memory, and back.
    let mut packed = vec![0u32; COUNT as usize * 3];
    let side_by_side = Location::contiguous(address(&mut packed));
    assert_eq!(get(&mut memory, from, side_by_side, 0..len), Ok(()));
    assert!(
        packed
            .chunks(3)
            .zip(0..)
            .all(|(three, nth)| three[0] == nth * 5 + 1)
    );
}

/// This process stands for another one that got the process id of a program which a script had
/// started.
#[test]
fn nothing_is_written_into_a_process_that_got_the_number_of_a_dead_one() {
    let mut memory = memory();
    let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = libc::pid_t::try_from(sleeper.id()).unwrap();
    let file = super::super::memory_file(pid).unwrap();
    memory.segment.set_memory_file(1, file);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let mut bytes = [7_u8; 100];
    let place = address(&mut bytes);
    assert!(memory.write(1, place, &[8; 100]).is_err());
    let mut source = [8_u8; 100];
    let from = Location::contiguous(address(&mut source));
    let moved = get(&mut memory, from, Location::contiguous(place), 0..100);
    assert_eq!(moved, Err(FabricError::DestinationMemory));
    assert_eq!(std::hint::black_box(bytes), [7; 100]);
    memory.write(0, place, &[9; 100]).unwrap();
    assert_eq!(
        std::hint::black_box(bytes),
        [9; 100],
        "the other rank is this process"
    );
}

#[test]
fn a_layout_that_is_not_there_is_the_fault_of_its_rank() {
    let mut memory = memory();
    let mut bytes = vec![0u64; 64];
    let good = Location::contiguous(address(&mut bytes));
    let mut rubbish = [3, 8, 8, 0, 0, 4, 0, 0];
    let rubbish = [address(&mut rubbish), 8, u64::MAX];
    for layout in rubbish {
        let bad = Location::from_words(good.address, layout, 0);
        let from = get(&mut memory, bad, good, 0..16);
        assert_eq!(from, Err(FabricError::SourceMemory));
        let to = get(&mut memory, good, bad, 0..16);
        assert_eq!(to, Err(FabricError::DestinationMemory));
    }
}

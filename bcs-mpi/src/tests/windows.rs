//! Windows of the untyped core and of the safe layer: each function, on both transports.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

use super::run;
use crate::mpi::window::{LockKind, TargetData, Window};
use crate::mpi::{Buffer, Comm, Datatype, Info, Op};
use crate::rust::window::Epoch;
use bcs_core::reduction::Datatype as Elementary;

const LAYOUTS: [(usize, usize); 3] = [(2, 1), (2, 2), (4, 2)];

fn buffer(data: &mut [i64]) -> Buffer {
    // SAFETY: each is used until the epoch of its operations has ended, and stays.
    unsafe { Buffer::new(data.as_mut_ptr(), data.len(), Elementary::Int64) }
}

fn at(displacement: i64, datatype: &Datatype) -> TargetData<'_> {
    TargetData {
        displacement,
        count: 1,
        datatype,
    }
}

fn all_operations(window: &Window, target: i32) {
    let word = Datatype::from(Elementary::Int64);
    let (mut one, mut two, mut old) = ([1_i64], [2_i64], [0_i64]);
    let (one, two) = (buffer(&mut one), buffer(&mut two));
    window.lock(LockKind::Exclusive, target, 0).unwrap();
    window.put(&one, target, at(0, &word)).unwrap();
    window.flush(target).unwrap();
    window
        .accumulate(&two, target, at(0, &word), Op::Sum)
        .unwrap();
    window.flush_local(target).unwrap();
    window.get(&buffer(&mut old), target, at(0, &word)).unwrap();
    window.flush_all().unwrap();
    assert_eq!(old, [3]);
    window
        .get_accumulate(&one, &buffer(&mut old), target, at(0, &word), Op::Sum)
        .unwrap();
    window.flush_local_all().unwrap();
    assert_eq!(old, [3]);
    window
        .fetch_and_op(&two, &buffer(&mut old), target, 0, Op::Sum)
        .unwrap();
    window.flush(target).unwrap();
    assert_eq!(old, [4]);
    let (mut six, mut ten) = ([6_i64], [10_i64]);
    let pair = (&buffer(&mut ten), &buffer(&mut six));
    window
        .compare_and_swap(pair, &buffer(&mut old), target, 0)
        .unwrap();
    window.flush(target).unwrap();
    assert_eq!(old, [6]);
    let mut request = window
        .rget(&buffer(&mut old), target, at(0, &word))
        .unwrap();
    request.wait().unwrap();
    assert_eq!(old, [10]);
    let mut request = window.rput(&one, target, at(0, &word)).unwrap();
    request.wait().unwrap();
    let mut request = window
        .raccumulate(&two, target, at(0, &word), Op::Sum)
        .unwrap();
    request.wait().unwrap();
    let mut request = window
        .rget_accumulate(&two, &buffer(&mut old), target, at(0, &word), Op::Sum)
        .unwrap();
    request.wait().unwrap();
    assert_eq!(old, [3]);
    window.unlock(target).unwrap();
}

/// A fence leaves an epoch open, and the first put the target.
fn is_closed_when_freed(window: &Window, target: i32) {
    let word = Datatype::from(Elementary::Int64);
    let mut one = [1_i64];
    let one = buffer(&mut one);
    window.fence(0).unwrap();
    window.put(&one, target, at(0, &word)).unwrap();
    window.put(&one, target, at(0, &word)).unwrap();
    window.free().unwrap();
    assert!(window.put(&one, target, at(0, &word)).is_err());
}

fn all_epochs(world: &Comm, window: &Window) {
    let word = Datatype::from(Elementary::Int64);
    let (me, size) = (world.rank(), world.size());
    let mut own = [i64::from(me)];
    let own = buffer(&mut own);
    let next = (me + 1) % size;
    window.fence(0).unwrap();
    window.put(&own, next, at(0, &word)).unwrap();
    window.fence(0).unwrap();
    let everybody = window.group();
    window.post(&everybody, 0).unwrap();
    window.start(&everybody, 0).unwrap();
    window.put(&own, next, at(8, &word)).unwrap();
    window.complete().unwrap();
    window.wait().unwrap();
    window.post(&everybody, 0).unwrap();
    window.start(&everybody, 0).unwrap();
    window.complete().unwrap();
    while !window.test().unwrap() {}
    window.lock_all(0).unwrap();
    let mut got = [0_i64; 1];
    window.get(&buffer(&mut got), next, at(8, &word)).unwrap();
    window.sync().unwrap();
    window.unlock_all().unwrap();
    assert_eq!(got, [i64::from(me)]);
    world.barrier().unwrap();
}

#[test]
fn windows_of_all_kinds_take_all_operations_in_all_epochs() {
    for (ranks, nodes) in LAYOUTS {
        run(ranks, nodes, |universe| {
            let world = universe.world().untyped();
            let (me, size) = (world.rank(), world.size());
            let mut memory = [0_i64; 8];
            let info = Info::new();
            // SAFETY: the memory stays until the window is freed.
            let window = unsafe { world.win_create(memory.as_mut_ptr(), 64, 1, &info) }.unwrap();
            all_epochs(world, &window);
            is_closed_when_freed(&window, me);
            let window = world.win_allocate(64, 1, &info).unwrap();
            window.set_name("words");
            assert_eq!(window.name(), "words");
            window.set_info(&info).unwrap();
            let hints = window.info().unwrap();
            assert_eq!(hints.get("no_locks").unwrap().as_deref(), Some("false"));
            let own = window.shared_query(me).map(|own| own.size);
            assert!(own.is_ok_and(|size| size == 64 || size == 0));
            all_epochs(world, &window);
            all_operations(&window, me);
            world.barrier().unwrap();
            window.free().unwrap();
            let window = world.win_create_dynamic(&info).unwrap();
            // SAFETY: as above.
            unsafe { window.attach(memory.as_mut_ptr(), 64) }.unwrap();
            window.detach(memory.as_ptr()).unwrap();
            window.free().unwrap();
            // Threads of one process have no slots.
            let shared = world.win_allocate_shared(64, 1, &info);
            assert!(shared.is_ok() || size > 1);
            if let Ok(window) = shared {
                window.free().unwrap();
            }
        });
    }
}

fn use_epoch(epoch: &Epoch<'_, '_, i64>, values: (i64, usize), from: &'static [i64]) {
    let (expected, rank) = values;
    epoch.accumulate(from, Op::Sum, rank, 0).unwrap();
    epoch.flush(rank).unwrap();
    assert_eq!(epoch.read(rank, 0).unwrap(), expected);
}

#[test]
fn an_epoch_of_the_safe_layer_accumulates_and_reads() {
    run(2, 2, |universe| {
        let world = universe.world();
        let window = world.lock_window(1, 5_i64).unwrap();
        let me = world.rank();
        window
            .lock(LockKind::Exclusive, me, |epoch| {
                use_epoch(epoch, (12, me), &[7]);
                Ok(())
            })
            .unwrap();
        window.free().unwrap();
    });
}

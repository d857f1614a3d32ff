//! Measures the cost of the gate and of the check against the mark of used memory. It compares
//! allocations through the heap with the same calls of mimalloc, in the same slot, in turns.
//! `BCS_SLOT=0 cargo run --release -p slot-heap --example gate_cost`
#![expect(unsafe_code, reason = "calls allocators")]

use libmimalloc_sys as mi;
use slot_heap::heap;
use std::time::Instant;

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

const BLOCKS: usize = 64;
const TURNS: usize = 20_000;
const ROUNDS: usize = 41;

/// Takes and frees blocks of sizes from 16 to 1,000 bytes. Returns nanoseconds per block.
fn measure(take: impl Fn(usize) -> *mut u8, free: impl Fn(*mut u8, usize)) -> f64 {
    let start = Instant::now();
    let mut blocks = [std::ptr::null_mut(); BLOCKS];
    for turn in 0..TURNS {
        for (index, block) in blocks.iter_mut().enumerate() {
            *block = take(16 + (index * 16 + turn) % 984);
        }
        for (index, &block) in blocks.iter().enumerate() {
            // SAFETY: at least 16 bytes, just allocated: a program writes what it allocates.
            unsafe { block.write(1) };
            free(block, 16 + (index * 16 + turn) % 984);
        }
    }
    let blocks = u32::try_from(BLOCKS * TURNS).expect("some million");
    start.elapsed().as_secs_f64() * 1e9 / f64::from(blocks)
}

fn main() {
    match slot_heap::slot() {
        Some(Ok(_)) => {}
        other => println!("without a slot: {other:?}"),
    }
    let plain = || {
        measure(
            // SAFETY: no precondition.
            |size| unsafe { mi::mi_malloc(size) }.cast(),
            // SAFETY: a block of the call above.
            |block, _| unsafe { mi::mi_free(block.cast()) },
        )
    };
    let gated = || {
        measure(
            |size| heap::allocate_aligned(size, 8),
            // SAFETY: a block of the call above, of this size.
            |block, size| unsafe { heap::free_sized(block, size) },
        )
    };
    let mut rounds: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (plain(), gated())).collect();
    rounds.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let at = |index: usize| {
        let (plain, gated) = rounds[index];
        format!(
            "{plain:.2} ns plain, {gated:.2} ns here: x {:.3}",
            gated / plain
        )
    };
    println!(
        "a block taken and freed, median of {ROUNDS}: {}",
        at(ROUNDS / 2)
    );
    println!("lower quartile: {}", at(ROUNDS / 4));
    println!("upper quartile: {}", at(ROUNDS * 3 / 4));
}

//! Measures the cost of taking, filling and freeing a block again and again. The pages of such a
//! block should stay. `BCS_SLOT=0 cargo run --release -p slot-heap --example taken_again`
#![expect(unsafe_code, reason = "fills blocks")]

use slot_heap::heap;
use std::time::{Duration, Instant};

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

const FOR: Duration = Duration::from_secs(2);

fn take_fill_and_free(size: usize) {
    let block = heap::allocate(size);
    // SAFETY: all of the block.
    unsafe { block.write_bytes(1, size) };
    std::hint::black_box(block);
    // SAFETY: the block from above, of this size.
    unsafe { heap::free_sized(block, size) };
}

fn main() {
    for size in [1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20] {
        let start = Instant::now();
        let mut turns = 0_u32;
        while start.elapsed() < FOR {
            for _ in 0..64 {
                take_fill_and_free(size);
            }
            turns += 64;
        }
        let each = start.elapsed() / turns;
        println!("{:>5} KiB: {each:?}", size >> 10);
    }
}

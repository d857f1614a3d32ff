//! The heap in separate processes: each test runs itself again as a rank would run, with its place
//! in the environment.
#![expect(
    unsafe_code,
    reason = "limits and seccomp in children, fork, pages of the heap"
)]

mod core_dump;
mod fallbacks;
mod forks;
mod large_blocks;
mod purging;
mod rank;
mod remapping;
mod threads;

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

/// Without a place in the environment the heap is an ordinary one, and reports no error.
#[test]
fn a_process_that_is_no_rank_has_no_slot() {
    if std::env::var_os("BCS_SLOT").is_none() {
        assert!(slot_heap::slot().is_none());
        assert_eq!(slot_heap::high_water(), 0);
    }
}

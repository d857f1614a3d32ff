//! The `bcs` command. All its code is in the library.

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

fn main() -> std::process::ExitCode {
    machine_manager::main()
}

//! The rules that every road keeps, over the roads of this job. Run it with any layout, as
//! `bcs run -n 4 --nodes 2 conformance`. Names of rules that follow are left out.
//!
//! Rank 0 prints how many were kept.

use bcs_mpi::Universe;

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let without: Vec<String> = std::env::args().skip(1).collect();
    let without: Vec<&str> = without.iter().map(String::as_str).collect();
    let universe = Universe::init()?;
    let kept = universe.process().endpoint().bcs_conforms(&without)?;
    if universe.world().rank() == 0 {
        println!("{kept} rules");
    }
    Ok(universe.finalize()?)
}

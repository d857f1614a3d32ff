//! A hash table over the memory of all ranks. A rank inserts a key by a compare-and-swap of an
//! empty place, so no rank serves the table, and two ranks that want one place do not wait for each
//! other.

use bcs_mpi::{Epoch, LockKind, LockWindow, Op, Result, Universe};

bcs_mpi::slot_heap!();

/// The places at each rank, and the keys that each rank inserts.
const PLACES: usize = 1_024;
const KEYS: u64 = 400;
const EMPTY: u64 = 0;

/// Returns the place of a key in the whole table.
fn hash(key: u64, ranks: usize) -> usize {
    let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(mixed >> 33).expect("31 bits") % (ranks * PLACES)
}

/// Inserts a key. Returns how many places it has tried.
fn insert(table: &Epoch<'_, '_, u64>, key: u64, ranks: usize) -> Result<usize> {
    let first = hash(key, ranks);
    for tried in 0..ranks * PLACES {
        let place = (first + tried) % (ranks * PLACES);
        let found = table.compare_and_swap(EMPTY, key, place / PLACES, place % PLACES)?;
        if found == EMPTY || found == key {
            return Ok(tried + 1);
        }
    }
    panic!("the table is full");
}

/// Returns the keys at a rank.
fn keys_at(table: &LockWindow<u64>, rank: usize) -> Result<Vec<u64>> {
    let mut places = vec![EMPTY; PLACES];
    table.lock(LockKind::Shared, rank, |at| at.get(&mut places, rank, 0))?;
    places.retain(|&key| key != EMPTY);
    Ok(places)
}

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let (rank, ranks) = (world.rank(), world.size());
    let table = world.lock_window(PLACES, EMPTY)?;
    table.lock_all(|all| {
        for nth in 1..=KEYS {
            // Half of the keys are also those of the next rank.
            let owner = (rank as u64 + nth % 2) % ranks as u64;
            insert(all, owner * KEYS + nth, ranks)?;
        }
        Ok(())
    })?;
    world.barrier()?;
    let keys = keys_at(&table, rank)?;
    let mut sums = [0; 2];
    world.allreduce(&[keys.len() as u64, keys.iter().sum()], &mut sums, Op::Sum)?;
    let owners = ranks as u64;
    let all = (0..owners).flat_map(|owner| (1..=KEYS).map(move |nth| owner * KEYS + nth));
    assert_eq!(sums, [owners * KEYS, all.sum()], "every key is there once");
    table.free()?;
    if rank == 0 {
        println!("{ranks} ranks inserted {} keys", sums[0]);
    }
    universe.finalize()
}

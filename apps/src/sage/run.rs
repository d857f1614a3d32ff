//! A run: cycles until the deck's end.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use xxhash_rust::xxh3::Xxh3;

use super::checkpoint::{self, CheckpointError, Header};
use super::deck::{BoxEnd, Deck};
use super::error::SageError;
use super::exact_sum::{ExactSum, allreduce};
use super::gas::{BoxEnds, Conserved, Gas, ImpossibleState, Materials};
use super::heat::{Heat, MOST_ITERATIONS};
use super::initial::InitialState;
use super::mesh::halo::{FixedDoubles, HaloExchange};
use super::mesh::key::Key;
use super::mesh::migration::balance;
use super::mesh::partition::share;
use super::mesh::{Extent, Mesh, to_count};
use super::outcome::{SageArguments, SageCell, SageOutcome};
use super::report::SageReport;
use crate::MessagePassing;

/// Cycles between lines of the report.
const LINE_EVERY: u64 = 10;

/// Tag of the messages with cells for rank 0.
const RESULTS: i32 = 7;

/// Computes the problem of a deck; rank 0 prints the report to `out`.
///
/// All processes must call it with the same arguments.
///
/// # Errors
/// See [`SageError`]. All processes return the same error, except for failed messages.
pub fn run<P: MessagePassing>(
    mpi: &P,
    arguments: &SageArguments,
    out: &mut dyn Write,
) -> Result<SageOutcome, SageError> {
    let deck = &arguments.deck;
    deck.check()?;
    match (deck.dimensions(), deck.materials.len()) {
        (1, 1) => solve::<P, 1, 1>(mpi, arguments, out),
        (1, 2) => solve::<P, 1, 2>(mpi, arguments, out),
        (1, _) => solve::<P, 1, 3>(mpi, arguments, out),
        (2, 1) => solve::<P, 2, 1>(mpi, arguments, out),
        (2, 2) => solve::<P, 2, 2>(mpi, arguments, out),
        (2, _) => solve::<P, 2, 3>(mpi, arguments, out),
        (_, 1) => solve::<P, 3, 1>(mpi, arguments, out),
        (_, 2) => solve::<P, 3, 2>(mpi, arguments, out),
        (_, _) => solve::<P, 3, 3>(mpi, arguments, out),
    }
}

fn solve<P: MessagePassing, const D: usize, const M: usize>(
    mpi: &P,
    arguments: &SageArguments,
    out: &mut dyn Write,
) -> Result<SageOutcome, SageError> {
    let deck = &arguments.deck;
    let mut report = SageReport::new((mpi.rank() == 0).then_some(out), deck, mpi.size());
    let mut run = match &arguments.restart {
        None => SageRun::<P, D, M>::new(mpi, deck)?,
        Some(path) => SageRun::restored(mpi, deck, path)?,
    };
    let before = run.totals()?;
    agree_on_output(mpi, report.begins(run.mesh.cells))?;
    let start = Instant::now();
    let mut saved = None;
    while run.time < deck.end_time && run.cycle < deck.cycles {
        run.cycle()?;
        if let Some((path, every)) = &arguments.checkpoint
            && run.cycle.is_multiple_of(*every)
        {
            run.save(path)?;
            saved = Some(run.cycle);
        }
        if run.cycle.is_multiple_of(LINE_EVERY) {
            agree_on_output(mpi, report.cycle(run.cycle, run.time, run.mesh.cells))?;
        }
    }
    let elapsed_s = start.elapsed().as_secs_f64();
    if let Some((path, _)) = &arguments.checkpoint
        && saved != Some(run.cycle)
    {
        run.save(path)?;
    }
    let after = run.totals()?;
    let outcome = SageOutcome {
        cycles: run.cycle,
        time: run.time,
        masses: [before.masses.to_vec(), after.masses.to_vec()],
        energies: [before.energy, after.energy],
        momenta: [before.motion.to_vec(), after.motion.to_vec()],
        cells: run.mesh.cells,
        updates: run.updates,
        elapsed_s,
        digest: run.digest()?,
        mesh: if arguments.gather {
            run.gathered()?
        } else {
            Vec::new()
        },
    };
    agree_on_output(mpi, report.ends(&outcome))?;
    Ok(outcome)
}

/// Tells all ranks whether rank 0 has printed, so that they continue or stop together.
fn agree_on_output<P: MessagePassing>(mpi: &P, printed: io::Result<()>) -> Result<(), SageError> {
    let failed = failed_on_0(mpi, printed.is_err()).map_err(SageError::message_passing)?;
    match printed {
        Ok(()) if failed => Err(io::Error::other("rank 0 could not").into()),
        printed => Ok(printed?),
    }
}

/// Tells all ranks whether rank 0 has failed.
pub(crate) fn failed_on_0<P: MessagePassing>(mpi: &P, failed: bool) -> Result<bool, P::Error> {
    let mut word = [f64::from(u8::from(failed))];
    mpi.bcast(&mut word, 0)?;
    Ok(word != [0.0])
}

/// A run in progress.
struct SageRun<'a, P: MessagePassing, const D: usize, const M: usize> {
    mpi: &'a P,
    deck: &'a Deck,
    mesh: Mesh<D>,
    gas: Gas<D, M>,
    heat: Option<Heat>,
    exchange: HaloExchange<P::Request>,
    /// The fastest wave speed, in cells per unit of time.
    fastest: f64,
    time: f64,
    cycle: u64,
    updates: u64,
}

impl<'a, P: MessagePassing, const D: usize, const M: usize> SageRun<'a, P, D, M> {
    /// Refines the mesh until the initial state has every level that the deck allows.
    fn new(mpi: &'a P, deck: &'a Deck) -> Result<Self, SageError> {
        let extent = extent::<D>(deck);
        let materials = materials::<M>(deck);
        let ends = ends::<D>(deck);
        let mut own = level_0(mpi, extent.cells);
        let mut level = 0;
        let (mesh, gas) = loop {
            let mut filling = InitialState::new(deck, materials);
            filling
                .spread(mpi, &extent, &own)
                .map_err(SageError::message_passing)?;
            let cells: Result<Vec<Conserved<D, M>>, [f64; D]> =
                own.iter().map(|key| filling.cell(&extent, *key)).collect();
            let cells = agreed_fill(mpi, cells)?;
            let mut mesh = Mesh::new(mpi, extent, own).map_err(SageError::message_passing)?;
            let mut gas = Gas::new(&mesh, materials, ends, &cells);
            if level == deck.mesh.levels {
                break (mesh, gas);
            }
            let wishes = gas
                .wishes(mpi, &mut mesh, &deck.mesh)
                .map_err(SageError::message_passing)?;
            let Some(wishes) = wishes else {
                break (mesh, gas);
            };
            let (keys, contents) = gas.resized(&mesh, &wishes);
            (own, _) = balance(mpi, &keys, &contents).map_err(SageError::message_passing)?;
            level += 1;
        };
        Self::begun(mpi, deck, mesh, gas)
    }

    fn begun(mpi: &'a P, deck: &'a Deck, mesh: Mesh<D>, gas: Gas<D, M>) -> Result<Self, SageError> {
        let exchange = HaloExchange::default();
        let heat = deck.conduction.map(Heat::new);
        let mut run = Self {
            mpi,
            deck,
            mesh,
            gas,
            heat,
            exchange,
            fastest: 0.0,
            time: 0.0,
            cycle: 0,
            updates: 0,
        };
        run.check_state()?;
        Ok(run)
    }

    /// Restores a run from a checkpoint. Rank 0 reads it and sends the others their shares.
    fn restored(mpi: &'a P, deck: &'a Deck, path: &Path) -> Result<Self, SageError> {
        let read = match mpi.rank() {
            0 => Some(checkpoint::read(path, deck, Self::CELL)),
            _ => None,
        };
        let mut told = [0.0; 4];
        if let Some(Ok((header, _))) = &read {
            told = [
                1.0,
                header.cycle as f64,
                header.time(),
                header.updates as f64,
            ];
        }
        mpi.bcast(&mut told, 0)
            .map_err(SageError::message_passing)?;
        let [is_right, cycle, time, updates] = told;
        if is_right == 0.0 {
            let error = read
                .and_then(Result::err)
                .unwrap_or(CheckpointError::OfRank0);
            return Err(SageError::Restart(error));
        }
        let words = read
            .and_then(Result::ok)
            .map_or(Vec::new(), |(_, words)| words);
        let cells = words.chunks_exact(Self::CELL);
        let (keys, contents): (Vec<Key<D>>, Vec<Conserved<D, M>>) = cells
            .map(|cell| {
                (
                    Key::from_word(cell[0].to_bits()),
                    Conserved::take(&cell[1..]),
                )
            })
            .unzip();
        let (own, contents) = balance(mpi, &keys, &contents).map_err(SageError::message_passing)?;
        let mesh = Mesh::new(mpi, extent(deck), own).map_err(SageError::message_passing)?;
        let gas = Gas::new(&mesh, materials(deck), ends(deck), &contents);
        let mut run = Self::begun(mpi, deck, mesh, gas)?;
        (run.cycle, run.time, run.updates) =
            (to_count(cycle) as u64, time, to_count(updates) as u64);
        Ok(run)
    }

    /// Writes a checkpoint on rank 0; all ranks return the same result.
    fn save(&self, path: &Path) -> Result<(), SageError> {
        let words = gather(self.mpi, self.words()).map_err(SageError::message_passing)?;
        let header = Header::new(self.deck, self.cycle, self.time, self.updates);
        let written = match self.mpi.rank() {
            0 => checkpoint::write(path, header, &words),
            _ => Ok(()),
        };
        let failed = failed_on_0(self.mpi, written.is_err()).map_err(SageError::message_passing)?;
        if !failed {
            return Ok(());
        }
        Err(written.err().unwrap_or(CheckpointError::OfRank0).into())
    }

    /// Doubles of a cell with its key.
    const CELL: usize = 1 + <Conserved<D, M> as FixedDoubles>::WORDS;

    /// Returns the own cells: the key and the content of each.
    fn words(&self) -> Vec<f64> {
        let mut words = Vec::with_capacity(self.mesh.own.len() * Self::CELL);
        for place in self.mesh.own.clone() {
            words.push(f64::from_bits(self.mesh.keys[place].word()));
            self.gas.conserved[place].put(&mut words);
        }
        words
    }

    fn cycle(&mut self) -> Result<(), SageError> {
        let left = self.deck.end_time - self.time;
        let step = (self.deck.courant / self.fastest).min(left);
        self.step(step)?;
        self.time = if step == left {
            self.deck.end_time
        } else {
            self.time + step
        };
        self.cycle += 1;
        self.updates += self.mesh.cells as u64;
        if self.cycle.is_multiple_of(self.deck.mesh.every) && self.deck.mesh.levels > 0 {
            self.resize()?;
        }
        self.check_state()
    }

    fn step(&mut self, time: f64) -> Result<(), SageError> {
        let (mpi, mesh, gas) = (self.mpi, &mut self.mesh, &mut self.gas);
        let exchange = &mut self.exchange;
        if !self
            .deck
            .conduction
            .is_some_and(|conduction| conduction.only)
        {
            gas.step(mpi, mesh, time, exchange)
                .map_err(SageError::message_passing)?;
        }
        let Some(heat) = &mut self.heat else {
            return Ok(());
        };
        let converged = heat.step(mpi, mesh, gas, exchange, time);
        match converged.map_err(SageError::message_passing)? {
            true => Ok(()),
            false => Err(SageError::NotConverged {
                cycle: self.cycle,
                iterations: MOST_ITERATIONS,
            }),
        }
    }

    /// Chooses the levels again, and balances the load.
    fn resize(&mut self) -> Result<(), SageError> {
        let mpi = self.mpi;
        let wishes = self.gas.wishes(mpi, &mut self.mesh, &self.deck.mesh);
        let Some(wishes) = wishes.map_err(SageError::message_passing)? else {
            return Ok(());
        };
        let (keys, contents) = self.gas.resized(&self.mesh, &wishes);
        let (own, contents) = balance(mpi, &keys, &contents).map_err(SageError::message_passing)?;
        self.mesh = Mesh::new(mpi, self.mesh.extent, own).map_err(SageError::message_passing)?;
        self.gas.renew(&self.mesh, &contents);
        Ok(())
    }

    /// Checks all cells. The ranks agree on the fastest wave, or on the error.
    fn check_state(&mut self) -> Result<(), SageError> {
        let found = self.gas.look(&self.mesh);
        let rank = self.mpi.rank();
        // The lowest rank with an error broadcasts it.
        let mut agreed = match found {
            Ok(fastest) => [fastest, 0.0],
            Err(_) => [0.0, (self.mpi.size() - rank) as f64],
        };
        self.mpi
            .allreduce_max(&mut agreed)
            .map_err(SageError::message_passing)?;
        self.fastest = agreed[0];
        if agreed[1] == 0.0 {
            return Ok(());
        }
        let teller = self.mpi.size() - to_count(agreed[1]);
        self.report_impossible(found.err(), teller)
    }

    fn report_impossible(
        &self,
        found: Option<ImpossibleState>,
        teller: usize,
    ) -> Result<(), SageError> {
        let mut words = [0.0; 6];
        if let Some(found) = found {
            let key = self.mesh.keys[found.place];
            words[0] = f64::from(key.level());
            (words[1], words[2]) = (found.density, found.energy);
            words[3..3 + D].copy_from_slice(&self.mesh.extent.middle(key));
        }
        self.mpi
            .bcast(&mut words, teller)
            .map_err(SageError::message_passing)?;
        Err(SageError::Impossible {
            cycle: self.cycle,
            level: u8::try_from(to_count(words[0])).unwrap_or(u8::MAX),
            middle: words[3..3 + D].to_vec(),
            density: words[1],
            energy: words[2],
        })
    }

    /// Returns the sum over all cells, each component rounded once.
    fn totals(&self) -> Result<Conserved<D, M>, SageError> {
        let mut sums: [ExactSum; 8] = std::array::from_fn(|_| ExactSum::default());
        let mut words = Vec::new();
        for place in self.mesh.own.clone() {
            let volume = self.mesh.extent.volume(self.mesh.keys[place].level());
            words.clear();
            self.gas.conserved[place].times(volume).put(&mut words);
            // The shares come last, and are not needed.
            sums.iter_mut()
                .zip(&words)
                .for_each(|(sum, word)| sum.add(*word));
        }
        let sums =
            allreduce(self.mpi, sums, &mut Vec::new()).map_err(SageError::message_passing)?;
        let mut words = sums.to_vec();
        words.resize(Conserved::<D, M>::WORDS.max(words.len()), 0.0);
        Ok(Conserved::take(&words))
    }

    fn digest(&self) -> Result<u64, SageError> {
        // Halves of hashes, so that sums do not overflow.
        let mut halves = [0_i64; 2];
        let mut words = Vec::new();
        for place in self.mesh.own.clone() {
            words.clear();
            self.gas.conserved[place].put(&mut words);
            let mut hash = Xxh3::new();
            hash.update(&self.mesh.keys[place].word().to_le_bytes());
            words
                .iter()
                .for_each(|word| hash.update(&word.to_bits().to_le_bytes()));
            let hash = hash.digest().cast_signed();
            halves[0] += hash & 0xFFFF_FFFF;
            halves[1] += hash >> 32 & 0xFFFF_FFFF;
        }
        let summed = self.mpi.allreduce_sum_i64(&mut halves);
        summed.map_err(SageError::message_passing)?;
        Ok(halves[0].wrapping_add(halves[1] << 32).cast_unsigned())
    }

    /// Returns all cells on rank 0.
    fn gathered(&self) -> Result<Vec<SageCell>, SageError> {
        let all = gather(self.mpi, self.words()).map_err(SageError::message_passing)?;
        let cells = all.chunks_exact(Self::CELL);
        Ok(cells
            .map(|words| {
                let key = Key::<D>::from_word(words[0].to_bits());
                let state = self
                    .gas
                    .materials
                    .primitive(&Conserved::<D, M>::take(&words[1..]));
                SageCell {
                    middle: self.mesh.extent.middle(key).to_vec(),
                    edge: self.mesh.extent.edge(key.level()),
                    masses: state.masses.to_vec(),
                    velocity: state.motion.to_vec(),
                    pressure: state.energy,
                    shares: state.shares.to_vec(),
                }
            })
            .collect())
    }
}

/// Returns the words of all ranks on rank 0, in the order of ranks; elsewhere nothing.
fn gather<P: MessagePassing>(mpi: &P, mut words: Vec<f64>) -> Result<Vec<f64>, P::Error> {
    if mpi.rank() != 0 {
        mpi.send(&words, 0, RESULTS)?;
        return Ok(Vec::new());
    }
    for rank in 1..mpi.size() {
        let start = words.len();
        words.resize(start + mpi.probe(rank, RESULTS)?, 0.0);
        mpi.recv(&mut words[start..], rank, RESULTS)?;
    }
    Ok(words)
}

/// Returns the contents of the own cells, if every rank could fill its own.
fn agreed_fill<P: MessagePassing, T, const D: usize>(
    mpi: &P,
    cells: Result<Vec<T>, [f64; D]>,
) -> Result<Vec<T>, SageError> {
    let mut teller = [if cells.is_ok() {
        0.0
    } else {
        (mpi.size() - mpi.rank()) as f64
    }];
    mpi.allreduce_max(&mut teller)
        .map_err(SageError::message_passing)?;
    if teller == [0.0] {
        return cells.map_err(|_| unreachable!("nobody has found a point that is not filled"));
    }
    let mut point = cells.err().unwrap_or([0.0; D]);
    let teller = mpi.size() - to_count(teller[0]);
    mpi.bcast(&mut point, teller)
        .map_err(SageError::message_passing)?;
    Err(SageError::Unfilled {
        point: point.to_vec(),
    })
}

/// Returns a rank's share of the cells of level 0.
fn level_0<P: MessagePassing, const D: usize>(mpi: &P, cells: [u32; D]) -> Vec<Key<D>> {
    let edge = Key::<D>::new([0; D], 0).edge();
    // A deck has at most `MOST_CELLS`.
    let count: u32 = cells.iter().product();
    let place = |n: u32| {
        let mut rest = n;
        Key::new(
            cells.map(|cells| {
                let along = rest % cells;
                rest /= cells;
                along * edge
            }),
            0,
        )
    };
    let mut keys: Vec<Key<D>> = (0..count).map(place).collect();
    keys.sort_unstable();
    keys[share(keys.len(), mpi.rank(), mpi.size())].to_vec()
}

pub(super) fn extent<const D: usize>(deck: &Deck) -> Extent<D> {
    let mesh = &deck.mesh;
    let low = mesh.low.as_ref();
    let cells = std::array::from_fn(|d| mesh.cells[d]);
    Extent {
        low: std::array::from_fn(|d| low.map_or(0.0, |low| low[d])),
        cells,
        edge: mesh.size / f64::from(mesh.cells[0]),
    }
}

pub(super) fn ends<const D: usize>(deck: &Deck) -> BoxEnds<D> {
    let ends = deck.mesh.ends.as_ref();
    BoxEnds(std::array::from_fn(|d| {
        ends.map_or([BoxEnd::Wall; 2], |ends| ends[d])
    }))
}

pub(super) fn materials<const M: usize>(deck: &Deck) -> Materials<M> {
    let each =
        |of: fn(&super::deck::MaterialDeck) -> f64| std::array::from_fn(|m| of(&deck.materials[m]));
    Materials {
        inverse: each(|material| 1.0 / (material.gamma - 1.0)),
        capacity: each(|material| material.heat_capacity),
        conductivity: each(|material| material.conductivity),
    }
}

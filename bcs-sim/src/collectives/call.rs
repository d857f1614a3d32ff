//! A case as this rank calls it: its buffers, and their contents afterwards.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

use super::case::{Case, Collective, PlacedCommunicator};
use super::data::random;
use super::oracle::compose;
use bcs_mpi::mpi::{AnyOp, Blocks, Buffer, Datatype, Request, Result, UserOp};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// The byte where nothing may be written.
const UNTOUCHED: u8 = 0xe7;

/// The layout of blocks of different lengths in a buffer: in any order, with gaps.
#[derive(Clone, Debug, Default)]
struct GappedLayout {
    counts: Vec<i64>,
    /// In elements.
    displacements: Vec<i64>,
    elements: usize,
}

impl GappedLayout {
    fn scattered(counts: &[usize], random: &mut ChaCha8Rng) -> Self {
        let mut left: Vec<usize> = (0..counts.len()).collect();
        let mut displacements = vec![0; counts.len()];
        let mut elements = 0;
        while !left.is_empty() {
            let rank = left.swap_remove(random.random_range(0..left.len()));
            elements += random.random_range(0..4);
            displacements[rank] = as_i64(elements);
            elements += counts[rank];
        }
        Self {
            counts: counts.iter().map(|&count| as_i64(count)).collect(),
            displacements,
            elements: elements + 1,
        }
    }

    fn start(&self, rank: usize) -> usize {
        usize::try_from(self.displacements[rank]).expect("positive")
    }
}

fn as_i64(number: usize) -> i64 {
    i64::try_from(number).expect("small")
}

/// A case on this rank.
#[derive(Debug)]
pub(super) struct CheckedCollective {
    case: Case,
    me: usize,
    size: usize,
    input: Vec<u8>,
    output: Vec<u8>,
    expected: Vec<u8>,
    /// The layout of the output, or for scatters of the input, where blocks may be anywhere.
    places: GappedLayout,
    /// For alltoallw.
    types: Vec<Datatype>,
    bytes: GappedLayout,
    input_counts: Vec<i64>,
    input_displacements: Vec<i64>,
}

impl CheckedCollective {
    pub(super) fn new(case: Case, team: &PlacedCommunicator) -> Self {
        let mut call = Self {
            me: team.me,
            size: team.size,
            input: case.contribution(team.me, team.size),
            output: Vec::new(),
            expected: Vec::new(),
            places: GappedLayout::default(),
            types: vec![case.datatype.into(); team.size],
            bytes: GappedLayout::default(),
            input_counts: Vec::new(),
            input_displacements: Vec::new(),
            case,
        };
        call.fill(team);
        call.leave_gaps();
        call
    }

    /// Expects the gaps in pairs to stay as they are, if data are moved and not reduced.
    fn leave_gaps(&mut self) {
        let pair = self.case.datatype.pair();
        let Some(pair) = pair.filter(|_| !self.case.collective.reduces()) else {
            return;
        };
        let (value, place) = (pair.value.size(), pair.place_at());
        let is_gap = |at: usize| {
            let at = at % pair.size();
            (value..place).contains(&at) || at >= place + pair.place.size()
        };
        let bytes = self.expected.iter_mut().zip(&self.output).enumerate();
        for (_, (expected, before)) in bytes.filter(|&(at, _)| is_gap(at)) {
            *expected = *before;
        }
    }

    fn root(&self) -> usize {
        self.case.root % self.size
    }

    fn is_root(&self) -> bool {
        self.root() == self.me
    }

    fn unit(&self) -> usize {
        self.case.datatype.size()
    }

    /// Returns the block of one rank for another.
    fn block(&self, from: usize, to: usize) -> Vec<u8> {
        self.case.block(from, to, self.size)
    }

    /// Makes the output buffer and its expected contents.
    fn fill(&mut self, team: &PlacedCommunicator) {
        use Collective::{
            Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, Barrier, Bcast,
            Exscan, Gather, Gatherv, Reduce, ReduceScatter, ReduceScatterBlock, Scan, Scatter,
            Scatterv,
        };
        let in_place = self.case.in_place;
        match self.case.collective {
            Barrier => {}
            Bcast => {
                self.expected = self.case.contribution(self.root(), self.size);
                let mine = if self.is_root() {
                    &self.expected
                } else {
                    &self.input
                };
                self.output.clone_from(mine);
            }
            Reduce | Allreduce => {
                let wanted = self.case.collective == Allreduce || self.is_root();
                self.output = self.initial(self.input.len());
                self.expected = if wanted {
                    self.case.reduced(team)
                } else {
                    self.output.clone()
                };
            }
            ReduceScatterBlock | ReduceScatter => {
                let counts: Vec<usize> = (0..self.size)
                    .map(|rank| self.case.count_between(0, rank))
                    .collect();
                self.places.counts = counts.iter().map(|&count| as_i64(count)).collect();
                let before: usize = counts[..self.me].iter().sum();
                let range = before * self.unit()..(before + counts[self.me]) * self.unit();
                let len = if in_place {
                    self.input.len()
                } else {
                    range.len()
                };
                self.output = self.initial(len);
                self.expected = self.output.clone();
                let mine = &self.case.reduced(team)[range];
                self.expected[..mine.len()].copy_from_slice(mine);
            }
            Scan | Exscan => {
                let upto = self.me + usize::from(self.case.collective == Scan);
                let parts = (0..upto).map(|rank| self.case.contribution(rank, self.size));
                self.output = self.initial(self.input.len());
                self.expected = self.case.fold(parts).unwrap_or_else(|| self.output.clone());
            }
            Scatter | Scatterv => self.fill_scatter(),
            Gather | Gatherv | Allgather | Allgatherv | Alltoall | Alltoallv | Alltoallw => {
                self.fill_gather();
            }
        }
    }

    /// Returns the initial output buffer of a reduction: in place it holds the input.
    fn initial(&self, len: usize) -> Vec<u8> {
        if self.case.in_place && len == self.input.len() {
            self.input.clone()
        } else {
            vec![UNTOUCHED; len]
        }
    }

    fn fill_scatter(&mut self) {
        let root = self.root();
        let keeps = self.is_root() && self.case.in_place;
        let mine = self.block(root, self.me);
        self.output = vec![UNTOUCHED; mine.len()];
        self.expected = if keeps { self.output.clone() } else { mine };
        if self.case.collective == Collective::Scatterv && self.is_root() {
            let blocks: Vec<Vec<u8>> = (0..self.size).map(|to| self.block(root, to)).collect();
            (self.places, self.input) = self.laid_out(&blocks);
        }
    }

    fn fill_gather(&mut self) {
        use Collective::{Allgather, Alltoall, Alltoallv, Alltoallw, Gather, Gatherv};
        let collective = self.case.collective;
        if matches!(collective, Gather | Gatherv) && !self.is_root() {
            return;
        }
        let exchanges = matches!(collective, Alltoall | Alltoallv | Alltoallw);
        let blocks: Vec<Vec<u8>> = (0..self.size)
            .map(|from| match exchanges {
                true => self.block(from, self.me),
                false => self.case.contribution(from, self.size),
            })
            .collect();
        if matches!(collective, Gather | Allgather | Alltoall) {
            self.expected = blocks.concat();
            self.places = GappedLayout::default();
        } else {
            (self.places, self.expected) = self.laid_out(&blocks);
        }
        self.output = vec![UNTOUCHED; self.expected.len()];
        self.bytes = GappedLayout {
            counts: self.places.counts.clone(),
            displacements: self.scaled(&self.places.displacements),
            elements: 0,
        };
        // In place, this rank's data lie there already: for gathers its block, for exchanges all
        // that it sends.
        let (in_place, unit) = (self.case.in_place, self.unit());
        for from in (0..self.size).filter(|_| in_place) {
            let mine = match exchanges {
                true => self.block(self.me, from),
                false if from == self.me => self.input.clone(),
                false => continue,
            };
            let start = match self.places.displacements.is_empty() {
                true => from * self.case.count * unit,
                false => self.places.start(from) * unit,
            };
            self.output[start..start + mine.len()].copy_from_slice(&mine);
        }
        if exchanges {
            let counts = (0..self.size).map(|to| as_i64(self.case.count_between(self.me, to)));
            self.input_counts = counts.collect();
            let ends = self.input_counts.iter().scan(0, |end, count| {
                *end += count;
                Some(*end - count)
            });
            self.input_displacements = ends.collect();
            if collective == Alltoallw {
                self.input_displacements = self.scaled(&self.input_displacements);
            }
        }
    }

    fn scaled(&self, displacements: &[i64]) -> Vec<i64> {
        let unit = as_i64(self.unit());
        displacements
            .iter()
            .map(|elements| elements * unit)
            .collect()
    }

    /// Lays out blocks anywhere in a buffer.
    fn laid_out(&self, blocks: &[Vec<u8>]) -> (GappedLayout, Vec<u8>) {
        let unit = self.unit();
        let counts: Vec<usize> = blocks.iter().map(|block| block.len() / unit).collect();
        let mut random = random(self.case.seed, 2 << 40 | self.me as u64);
        let places = GappedLayout::scattered(&counts, &mut random);
        let mut buffer = vec![UNTOUCHED; places.elements * unit];
        for (rank, block) in blocks.iter().enumerate() {
            let start = places.start(rank) * unit;
            buffer[start..start + block.len()].copy_from_slice(block);
        }
        (places, buffer)
    }

    /// Calls the collective. Returns a request if the call does not block.
    pub(super) fn start(&mut self, team: &PlacedCommunicator) -> Result<Option<Request>> {
        let (comm, blocking) = (&team.comm, self.case.blocking);
        let op = self.operation();
        let root = i32::try_from(self.root()).expect("few");
        let counts = self.places.counts.clone();
        let (input, output) = (self.input_buffer(), self.output_buffer());
        let (from, to) = (self.input_blocks(), self.output_blocks());
        let in_place = self.case.in_place;
        let at_root = in_place && self.is_root();
        let unless = |in_place: bool| (!in_place).then(|| input.clone());
        macro_rules! call {
            ($now:ident, $later:ident, $($argument:expr),*) => {
                if blocking {
                    comm.$now($($argument),*).map(|()| None)
                } else {
                    comm.$later($($argument),*).map(Some)
                }
            };
        }
        let both = |in_place: bool| if in_place { &output } else { &input }.clone();
        let unless_blocks = (!in_place).then_some(from);
        match self.case.collective {
            Collective::Barrier if blocking => comm.barrier().map(|()| None),
            Collective::Barrier => comm.ibarrier().map(Some),
            Collective::Bcast => call!(bcast, ibcast, output, root),
            Collective::Reduce => call!(reduce, ireduce, both(at_root), output, op, root),
            Collective::Allreduce => call!(allreduce, iallreduce, both(in_place), output, op),
            Collective::ReduceScatterBlock => {
                let block = self.buffer_of(self.case.count);
                call!(
                    reduce_scatter_block,
                    ireduce_scatter_block,
                    unless(in_place),
                    block,
                    op
                )
            }
            Collective::ReduceScatter => {
                let mine = usize::try_from(counts[self.me]).expect("positive");
                let block = self.buffer_of(mine);
                let input = unless(in_place);
                call!(reduce_scatter, ireduce_scatter, input, block, &counts, op)
            }
            Collective::Scan => call!(scan, iscan, unless(in_place), output, op),
            Collective::Exscan => call!(exscan, iexscan, unless(in_place), output, op),
            Collective::Scatter => {
                let blocks = self.input_of(self.case.count);
                let output = (!at_root).then_some(output);
                call!(scatter, iscatter, blocks, output, root)
            }
            Collective::Scatterv => {
                // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
                let blocks = unsafe {
                    Blocks::read_only(
                        self.input.as_ptr(),
                        &self.places.counts,
                        &self.places.displacements,
                        self.case.datatype,
                    )
                };
                call!(
                    scatterv,
                    iscatterv,
                    blocks,
                    (!at_root).then_some(output),
                    root
                )
            }
            Collective::Gather => {
                let blocks = self.buffer_of(self.case.count);
                call!(gather, igather, unless(at_root), blocks, root)
            }
            Collective::Gatherv => call!(gatherv, igatherv, unless(at_root), to, root),
            Collective::Allgather => {
                let blocks = self.buffer_of(self.case.count);
                call!(allgather, iallgather, unless(in_place), blocks)
            }
            Collective::Allgatherv => call!(allgatherv, iallgatherv, unless(in_place), to),
            Collective::Alltoall => {
                let input = (!in_place).then(|| self.input_of(self.case.count));
                let blocks = self.buffer_of(self.case.count);
                call!(alltoall, ialltoall, input, blocks)
            }
            Collective::Alltoallv => call!(alltoallv, ialltoallv, unless_blocks, to),
            Collective::Alltoallw => call!(alltoallw, ialltoallw, unless_blocks, to),
        }
    }

    fn operation(&self) -> AnyOp {
        if let Some(op) = self.case.op {
            return op.into();
        }
        let unit = self.unit();
        let function = move |invec: *const u8, inoutvec: *mut u8, count: usize, _| {
            // SAFETY: the library passes two vectors of `count` elements.
            let first = unsafe { std::slice::from_raw_parts(invec, count * unit) };
            // SAFETY: as above.
            let both = unsafe { std::slice::from_raw_parts_mut(inoutvec, count * unit) };
            let composed = compose(first, both, unit);
            both.copy_from_slice(&composed);
        };
        // SAFETY: it accesses those elements and nothing else.
        unsafe { UserOp::create(function, false) }.into()
    }

    fn input_buffer(&self) -> Buffer {
        self.input_of(self.input.len() / self.unit())
    }

    fn input_of(&self, count: usize) -> Buffer {
        // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
        unsafe { Buffer::read_only(self.input.as_ptr(), count, self.case.datatype) }
    }

    fn output_buffer(&mut self) -> Buffer {
        self.buffer_of(self.output.len() / self.unit())
    }

    fn buffer_of(&mut self, count: usize) -> Buffer {
        // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
        unsafe { Buffer::new(self.output.as_mut_ptr(), count, self.case.datatype) }
    }

    fn input_blocks(&self) -> Blocks<'_> {
        let (counts, displacements) = (&self.input_counts, &self.input_displacements);
        let address = self.input.as_ptr();
        if self.case.collective == Collective::Alltoallw {
            // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
            return unsafe {
                Blocks::of_types(address.cast_mut(), counts, displacements, &self.types)
            };
        }
        // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
        unsafe { Blocks::read_only(address, counts, displacements, self.case.datatype) }
    }

    fn output_blocks(&self) -> Blocks<'_> {
        let address = self.output.as_ptr().cast_mut();
        if self.case.collective == Collective::Alltoallw {
            let (counts, displacements) = (&self.bytes.counts, &self.bytes.displacements);
            // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
            return unsafe { Blocks::of_types(address, counts, displacements, &self.types) };
        }
        let (counts, displacements) = (&self.places.counts, &self.places.displacements);
        // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
        unsafe { Blocks::new(address, counts, displacements, self.case.datatype) }
    }

    /// Checks the whole output.
    pub(super) fn check(&self) {
        if self.output == self.expected {
            return;
        }
        let differs = |(found, expected): (&u8, &u8)| found != expected;
        let at = self.output.iter().zip(&self.expected).position(differs);
        let at = at.unwrap_or(self.output.len().min(self.expected.len()));
        let around = |bytes: &[u8]| {
            let start = at - at % self.unit();
            bytes[start..bytes.len().min(start + self.unit())].to_vec()
        };
        panic!(
            "rank {} of {}: byte {at} of {} is wrong: {:x?} instead of {:x?} in {:?}",
            self.me,
            self.size,
            self.output.len(),
            around(&self.output),
            around(&self.expected),
            self.case
        );
    }
}

//! SS, the Strobe Sender: starts slices and microphases for the whole cluster (paper section 4.2).
//!
//! - **Owns** the slice number, the microstrobe number, and the time of the next regular strobe.
//! - **Takes** the requests for strobes in the machine page; verdicts of its Compare-And-Writes.
//! - **Emits** microstrobes to all SRs.
//! - **Invariants.** A microphase begins when all nodes have finished the one before. A microphase
//!   in which no node has work is skipped, after a Compare-And-Write that tests this. A slice in
//!   which no node has work is not struck. Fixed and auto: slices are struck at multiples of the
//!   time slice, and their numbers follow time. Elastic: each struck slice takes the next number.
//!   After a regular strobe SS polls at the next regular time even if nobody rings: while strobes
//!   follow each other, nobody has to wake it twice for one. Told to rest, it strikes what is
//!   wanted, and then no more: between two slices all that has been posted is where it belongs.

mod length_chooser;
mod strobe_clock;

use crate::blocks::Microstrobe;
use bcs_core::job::{Microphase, NodeSet, Placement, Settings, StrobeMode};
use bcs_core::wake::MachinePage;
use bcs_core::wake::machine_page::SliceLengths;
use bcs_fabric::{CompareAndWrite, Comparison, Event, Port, Ticket, Variable};
use length_chooser::LengthChooser;
use mds::dump::{NONE, StrobeRow};
use std::sync::Arc;
use strobe_clock::StrobeClock;
use zerocopy::IntoBytes;

/// The times of a slice and, if that is recorded, of its microphases on all nodes (paper Table
/// 5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceTimes {
    /// The slice.
    pub slice: u64,
    /// When it was due: by the clock, the multiple of the time slice; elastic, when it was
    /// requested.
    pub due_ns: u64,
    /// The length of slices when it was struck.
    pub length_ns: u64,
    /// When it was struck.
    pub struck_ns: u64,
    /// Whether somebody demanded it; otherwise the clock struck it.
    pub demanded: bool,
    /// How long each microphase took; `None` when it was skipped.
    pub phase_ns: [Option<u64>; 5],
    /// How often "have all nodes finished?" was false, by microphase.
    pub retries: [u64; 5],
    /// When it was over.
    pub over_ns: u64,
}

impl SliceTimes {
    /// Returns the recorded row of the slice.
    #[must_use]
    pub fn row(&self) -> StrobeRow {
        let took = |phase: Microphase| self.phase_ns[phase.index()].unwrap_or(NONE);
        let retries = |phase: Microphase| self.retries[phase.index()];
        StrobeRow {
            slice: self.slice,
            strobe_ns: self.struck_ns,
            getts_ns: NONE, // the recorder fills it in
            gtdem_ns: took(Microphase::Dem),
            gtmsm_ns: took(Microphase::Msm),
            gtts_ns: self.over_ns - self.struck_ns,
            usrsts: self.retries.iter().sum(),
            usrdem: retries(Microphase::Dem),
            usrmsm: retries(Microphase::Msm),
            demanded: u64::from(self.demanded),
            length_ns: self.length_ns,
        }
    }
}

/// The most slices that are struck for what is still wanted when the job is over. Ranks can leave
/// work for two: one for what they have posted, one for what that releases. But a descendant
/// process of a rank may request more for ever.
const MAX_SHUTDOWN_SLICES: u32 = 64;

/// Whether the job is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShutdownStage {
    /// The job is not over.
    None,
    /// The job is over, and at most this number of slices may still be struck.
    Near(u32),
    /// No slice is struck any more.
    Here,
}

#[derive(Debug)]
enum StrobeState {
    /// Between slices.
    Resting,
    /// The microstrobe of a microphase is in flight.
    Striking(Microphase, Ticket),
    /// All nodes work on it.
    Working(Microphase, Ticket),
    /// A Compare-And-Write asks whether any node needs this microphase.
    Asking(Microphase, Ticket),
}

/// The Strobe Sender.
#[derive(Debug)]
pub struct StrobeSender {
    settings: Arc<Settings>,
    page: MachinePage,
    nodes: NodeSet,
    beat: StrobeClock,
    /// The length chooser, with auto strobes.
    choice: Option<LengthChooser>,
    /// How many ranks reported that they were blocked when the slice was struck.
    blocked: u32,
    sequence: u64,
    /// When the next regular strobe is due, once it is wanted.
    due_ns: Option<u64>,
    /// Whether it polls at the next regular time without being armed.
    watches: bool,
    state: StrobeState,
    times: SliceTimes,
    /// Whether microphases are timed.
    is_recorded: bool,
    phase_began_ns: u64,
    /// The sequencer's retries when the microphase before was over.
    retries_seen: u64,
    alive: NodeSet,
    end: ShutdownStage,
}

impl StrobeSender {
    /// Creates the SS of a job; `now_ns` is the beginning of time.
    #[must_use]
    pub fn new(
        settings: Arc<Settings>,
        page: MachinePage,
        placement: &Placement,
        now_ns: u64,
    ) -> Self {
        let nodes = placement.nodes();
        let (set_ns, cores) = (settings.time_slice_ns, page.core_load().cores);
        let choice = (settings.strobe == StrobeMode::Auto)
            .then(|| LengthChooser::new(set_ns, placement.ranks(), cores, now_ns));
        let all_alike = SliceLengths {
            now_ns: set_ns,
            shortest_ns: set_ns,
            longest_ns: set_ns,
            changes: 0,
        };
        let chosen = choice.as_ref().map_or(&all_alike, LengthChooser::chosen);
        page.publish_slice_lengths(chosen);
        Self {
            beat: StrobeClock::new(now_ns, chosen.now_ns),
            settings,
            page,
            nodes: NodeSet::first_nodes(nodes),
            choice,
            blocked: 0,
            sequence: 0,
            due_ns: None,
            watches: false,
            state: StrobeState::Resting,
            times: SliceTimes::default(),
            is_recorded: false,
            phase_began_ns: now_ns,
            retries_seen: 0,
            alive: NodeSet::first_nodes(nodes),
            end: ShutdownStage::None,
        }
    }

    /// Creates the SS of a job whose slices are [recorded](SliceTimes::row).
    #[must_use]
    pub fn with_recording(self, is_recorded: bool) -> Self {
        Self {
            is_recorded,
            ..self
        }
    }

    /// Ends the job: SS strikes what is still wanted, and then no more.
    pub fn quiesce(&mut self) {
        if self.end == ShutdownStage::None {
            self.end = ShutdownStage::Near(MAX_SHUTDOWN_SLICES);
        }
    }

    /// Whether it was told to rest, and rests.
    #[must_use]
    pub fn has_quiesced(&self) -> bool {
        self.end == ShutdownStage::Here
    }

    /// Whether a slice is under way.
    #[must_use]
    pub fn in_slice(&self) -> bool {
        !matches!(self.state, StrobeState::Resting)
    }

    /// Whether a poll may find something to do. The clock is read only if that depends on it.
    #[must_use]
    pub fn has_work(&self, now_ns: impl FnOnce() -> u64) -> bool {
        if self.in_slice() {
            return true;
        }
        match self.end {
            ShutdownStage::None => {}
            ShutdownStage::Near(_) => return true,
            ShutdownStage::Here => return false,
        }
        let (armed, demanded) = self.wanted();
        (demanded && self.settings.strobe.is_elastic())
            || ((armed || demanded || self.watches)
                && self.due_ns.is_none_or(|due| now_ns() >= due))
    }

    /// Returns the number of the slice under way, or of the last one.
    #[must_use]
    pub fn slice(&self) -> u64 {
        self.times.slice
    }

    /// Returns the latest time at which to poll again, if nothing rings before.
    #[must_use]
    pub fn deadline_ns(&self) -> Option<u64> {
        if self.in_slice() || self.has_quiesced() {
            return None;
        }
        let (armed, demanded) = self.wanted();
        // A request without a due time needs a poll at once.
        (armed || demanded || self.watches).then(|| self.due_ns.unwrap_or(0))
    }

    /// Returns (armed, demanded) of the machine page. To measure slices, every slice counts as
    /// armed.
    fn wanted(&self) -> (bool, bool) {
        let (armed, demanded) = self.page.wanted();
        let all = self.settings.all_phases && self.end == ShutdownStage::None;
        (armed || all, demanded)
    }

    /// Whether the job is over and nothing is wanted any more.
    fn try_quiesce(&mut self) -> bool {
        if let ShutdownStage::Near(slices) = self.end
            && (slices == 0 || self.wanted() == (false, false))
        {
            self.end = ShutdownStage::Here;
        }
        self.has_quiesced()
    }

    /// Returns the first multiple of the time slice after the strobe was armed, and after the last
    /// slice.
    ///
    /// An idle core takes time to wake, and the multiple may have passed meanwhile: what was posted
    /// before it must not wait for the next. A rank wrote the time of arming, so a time more than a
    /// slice ago is not believed.
    fn next_regular_ns(&self, now_ns: u64) -> u64 {
        let slice = self.beat.length_ns();
        let armed_ns = match self.page.armed_at() {
            said if (now_ns.saturating_sub(slice)..now_ns).contains(&said) => said,
            _ => now_ns,
        };
        let after_ns = armed_ns.max(self.times.over_ns).max(self.times.due_ns);
        self.beat.next_strobe_ns(after_ns)
    }

    /// Advances as far as possible. `clock` returns nanoseconds; `retries` is the fabric's count of
    /// them. Returns whether anything moved, and the times of a slice that has just ended.
    pub fn poll(
        &mut self,
        clock: &dyn Fn() -> u64,
        retries: u64,
        port: &mut dyn Port,
    ) -> (bool, Option<SliceTimes>) {
        let mut progress = false;
        loop {
            match self.state {
                StrobeState::Resting => {
                    if !self.strike_if_wanted(clock, port) {
                        return (progress, None);
                    }
                }
                StrobeState::Striking(phase, ticket) => match port.test_event(ticket) {
                    Event::Pending => return (progress, None),
                    Event::Failed(_) => self.strike(phase, port),
                    _ => self.wait_for_all(phase, port),
                },
                StrobeState::Working(phase, ticket) => match port.test_event(ticket) {
                    Event::Pending => return (progress, None),
                    _ => {
                        if self.is_recorded {
                            let took_ns = clock() - self.phase_began_ns;
                            self.times.phase_ns[phase.index()] = Some(took_ns);
                            self.times.retries[phase.index()] = retries - self.retries_seen;
                            self.retries_seen = retries;
                        }
                        if self.next(phase, clock, port) {
                            return (true, Some(self.times));
                        }
                    }
                },
                StrobeState::Asking(phase, ticket) => match port.test_event(ticket) {
                    Event::Pending => return (progress, None),
                    Event::Verdict(true) => {
                        // Data that are not scheduled are not transmitted: without MSM the slice is
                        // over.
                        let last = if phase == Microphase::Msm {
                            Microphase::Rm
                        } else {
                            phase
                        };
                        if self.next(last, clock, port) {
                            return (true, Some(self.times));
                        }
                    }
                    _ => {
                        self.begin_phase(clock);
                        self.strike(phase, port);
                    }
                },
            }
            progress = true;
        }
    }

    fn strike_if_wanted(&mut self, clock: &dyn Fn() -> u64, port: &mut dyn Port) -> bool {
        let alive = port.alive();
        if alive != self.alive {
            self.page.arm(); // a node died: the survivors must hear of it
        }
        if self.try_quiesce() {
            return false;
        }
        let (mut armed, demanded) = self.wanted();
        if !(armed || demanded || self.watches) {
            self.due_ns = None;
            return false;
        }
        let now_ns = clock();
        // The clock runs on while nothing is struck: whatever arms the strobe, after however long a
        // rest or after an overrun, it falls on the next multiple.
        let regular = self.due_ns.unwrap_or_else(|| self.next_regular_ns(now_ns));
        self.due_ns = Some(regular);
        let at_once = self.settings.strobe.is_elastic() && demanded;
        if now_ns < regular && !at_once {
            return false;
        }
        self.due_ns = None;
        if let ShutdownStage::Near(slices) = &mut self.end {
            *slices -= 1;
        }
        if std::mem::take(&mut self.watches) && !(armed || demanded) {
            armed = !self.page.stop_watching();
            if !armed {
                return false;
            }
        }
        self.watches = !at_once;
        self.alive = alive;
        let due_ns = if at_once {
            now_ns.min(regular)
        } else {
            regular
        };
        let slice = match self.settings.strobe {
            StrobeMode::Elastic => self.times.slice + 1,
            StrobeMode::Fixed | StrobeMode::Auto => self.beat.slice(due_ns),
        };
        self.blocked = self.page.blocked();
        self.times = SliceTimes {
            slice,
            due_ns,
            length_ns: self.beat.length_ns(),
            struck_ns: now_ns,
            demanded: at_once,
            phase_ns: [None; 5],
            retries: [0; 5],
            over_ns: now_ns,
        };
        self.begin_phase(&|| now_ns);
        self.page.begin_slice(self.watches);
        self.page.number_slice(slice);
        self.strike(Microphase::Dem, port);
        true
    }

    fn begin_phase(&mut self, clock: &dyn Fn() -> u64) {
        if self.is_recorded {
            self.phase_began_ns = clock();
        }
    }

    fn strike(&mut self, phase: Microphase, port: &mut dyn Port) {
        if !matches!(self.state, StrobeState::Striking(..)) {
            self.sequence += 1;
        }
        let strobe = Microstrobe {
            sequence: self.sequence,
            slice: self.times.slice,
            phase,
            alive: self.alive,
            demanded: self.times.demanded,
        };
        let at = Microstrobe::address();
        let signal = Some(bcs_core::job::NicThreadId::StrobeReceiver);
        let words = &strobe.encode()[..Microstrobe::words_among(self.nodes.len())];
        let ticket = port.xfer_and_signal(&self.nodes, at, words.as_bytes(), signal);
        self.state = StrobeState::Striking(phase, ticket);
    }

    fn wait_for_all(&mut self, phase: Microphase, port: &mut dyn Port) {
        let ticket = port.compare_and_write(&CompareAndWrite {
            set: self.nodes,
            variable: Variable::Finished,
            comparison: Comparison::AtLeast,
            operand: self.sequence,
            write: None,
            wait: true,
        });
        self.state = StrobeState::Working(phase, ticket);
    }

    /// Chooses the length of the next slices, when a slice is over.
    fn choose_length(&mut self) {
        let Some(choice) = &mut self.choice else {
            return;
        };
        let SliceTimes {
            due_ns,
            struck_ns,
            over_ns,
            ..
        } = self.times;
        if choice.add_slice(self.blocked, struck_ns, over_ns) {
            self.page.publish_slice_lengths(choice.chosen());
            self.beat.change_length(due_ns, choice.chosen().now_ns);
        }
    }

    /// Goes on to the next microphase after one that was done or skipped. Returns true at the
    /// slice's end.
    fn next(&mut self, phase: Microphase, clock: &dyn Fn() -> u64, port: &mut dyn Port) -> bool {
        let Some(next) = phase.next() else {
            self.state = StrobeState::Resting;
            self.times.over_ns = clock();
            self.page.end_slice();
            self.choose_length();
            return true;
        };
        if self.settings.all_phases {
            self.state = StrobeState::Resting; // a new strobe, not a repeated one
            self.begin_phase(clock);
            self.strike(next, port);
            return false;
        }
        let ticket = port.compare_and_write(&CompareAndWrite {
            set: self.nodes,
            variable: Variable::Quiet(next),
            comparison: Comparison::AtLeast,
            operand: self.times.slice,
            write: None,
            wait: false,
        });
        self.state = StrobeState::Asking(next, ticket);
        false
    }
}

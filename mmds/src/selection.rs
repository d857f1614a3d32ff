//! The selection of what is recorded: `--mds-record`, `BCS_MDS_RECORD`.
//!
//! A selection is a list of recorders, separated by commas. Each recorder has options, with colons
//! before them:
//!
//! ```text
//! mmds,emds                                  both: the default
//! none                                       nothing
//! mmds:ranks=0-3+8:only=MPI_Send+MPI_Recv    some ranks and primitives
//! mmds:metrics=latency+sites                 some figures
//! mmds:digits=3:calls=1000:messages=0        finer histograms, the last 1,000 calls, no messages
//! emds:7500-12500                            rows of these slices
//! emds:rows=20000:nodes=0+2                  rows of the last 20,000 slices, on two nodes
//! ```
//!
//! A recorder that is not listed does not record. A recorder may be listed again to add options. A
//! [`Selection`] displays as text that parses to the same selection. Processes exchange it in this
//! form.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Primitive;
use crate::limits::{
    DEFAULT_DIGITS, DEFAULT_SLICE_ROWS, MOST_DIGITS, MOST_EVENTS, MOST_SLICE_ROWS,
};

/// The selection of data to record in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Selection {
    /// The selection for ranks; `None` if they do not record.
    pub mmds: Option<RankSelection>,
    /// The selection for NICs; `None` if they do not record.
    pub emds: Option<NodeSelection>,
}

/// The data that ranks record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankSelection {
    /// Which ranks, by their numbers in `MPI_COMM_WORLD`.
    pub ranks: NumberSet,
    /// Which calls.
    pub primitives: Choice<Primitive>,
    /// Which figures of the calls. Computation granularity and communication overhead are always
    /// recorded.
    pub metrics: Choice<Metric>,
    /// Significant digits of histograms.
    pub digits: u8,
    /// How many calls are kept: the last ones. `None`: the rank's share of the job's rows.
    pub calls: Option<u64>,
    /// How many messages are kept: the last ones. `None`: the rank's share of the job's rows.
    pub messages: Option<u64>,
}

/// The data that NICs record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSelection {
    /// Which nodes.
    pub nodes: NumberSet,
    /// The slices whose rows are kept. Distributions and totals cover all slices.
    pub window: SliceWindow,
}

/// The slices whose rows are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SliceWindow {
    /// This number of slices: the last ones that have rows.
    Last(u64),
    /// The slices between two numbers, both included.
    Between(u64, u64),
}

/// A figure of a rank that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Latency histograms of primitives.
    Latency,
    /// Size histograms of primitives.
    Size,
    /// Call sites.
    Sites,
    /// Messages and bytes by peers and transports.
    Peers,
    /// Messages, bytes and collectives by communicators.
    Communicators,
    /// The last calls.
    Calls,
    /// The last messages.
    Messages,
    /// Traffic by SMARTMAP, by slices.
    Near,
}

/// A name that an option may have as a value.
pub trait NamedOption: Copy + PartialEq + fmt::Debug + 'static {
    /// The word for such a name in a message.
    const KIND: &'static str;
    /// All values.
    const ALL: &'static [Self];

    /// Returns its name.
    fn name(self) -> &'static str;
}

impl NamedOption for Metric {
    const KIND: &'static str = "metric of ranks";
    const ALL: &'static [Self] = &[
        Self::Latency,
        Self::Size,
        Self::Sites,
        Self::Peers,
        Self::Communicators,
        Self::Calls,
        Self::Messages,
        Self::Near,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Size => "size",
            Self::Sites => "sites",
            Self::Peers => "peers",
            Self::Communicators => "communicators",
            Self::Calls => "calls",
            Self::Messages => "messages",
            Self::Near => "near",
        }
    }
}

impl NamedOption for Primitive {
    const KIND: &'static str = "primitive";
    const ALL: &'static [Self] = Primitive::ALL;

    fn name(self) -> &'static str {
        Primitive::name(self)
    }
}

/// All values of a kind, or some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice<T> {
    /// All.
    All,
    /// These, in the order of their list, each once.
    Only(Vec<T>),
}

impl<T: NamedOption> Choice<T> {
    /// Returns whether the choice contains a value.
    #[must_use]
    pub fn has(&self, one: T) -> bool {
        match self {
            Self::All => true,
            Self::Only(some) => some.contains(&one),
        }
    }

    fn parse(text: &str) -> Result<Self, SelectionError> {
        let mut chosen = Vec::new();
        for name in text.split('+') {
            let known = T::ALL.iter().find(|one| one.name() == name);
            chosen.push(*known.ok_or_else(|| SelectionError::Unknown {
                kind: T::KIND,
                found: name.to_owned(),
                known: names(T::ALL.iter().map(|one| one.name())),
            })?);
        }
        let in_order = T::ALL.iter().filter(|one| chosen.contains(one));
        Ok(Self::Only(in_order.copied().collect()))
    }
}

/// All numbers, or some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NumberSet {
    /// All.
    All,
    /// Ranges from the first number of a pair to its second, in rising order, not adjacent.
    Only(Vec<(u32, u32)>),
}

impl NumberSet {
    /// Returns whether the set contains a number.
    #[must_use]
    pub fn has(&self, number: u32) -> bool {
        match self {
            Self::All => true,
            Self::Only(some) => some
                .iter()
                .any(|&(first, last)| (first..=last).contains(&number)),
        }
    }

    fn parse(text: &str) -> Result<Self, SelectionError> {
        let mut some = Vec::new();
        for part in text.split('+') {
            some.push(range::<u32>(part)?);
        }
        some.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (first, last) in some {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last);
                }
                _ => joined.push((first, last)),
            }
        }
        Ok(Self::Only(joined))
    }
}

/// The reason why a text is no selection. Each message continues "failed to understand
/// --mds-record".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// A name that does not exist.
    #[error("there is no {kind} \"{found}\"; there are: {known}")]
    Unknown {
        /// The kind of name that was expected.
        kind: &'static str,
        /// The name that was found.
        found: String,
        /// The names that exist.
        known: String,
    },
    /// A value that is no number, or too large or too small.
    #[error("\"{found}\" is no {wanted}")]
    NoNumber {
        /// The text that was found.
        found: String,
        /// The value that was expected.
        wanted: String,
    },
    /// Two options that exclude each other.
    #[error("{0}")]
    Contradiction(&'static str),
}

const RECORDERS: [&str; 3] = ["mmds", "emds", "none"];
const RANK_OPTIONS: [&str; 6] = [
    "ranks=",
    "only=",
    "metrics=",
    "digits=",
    "calls=",
    "messages=",
];
const NODE_OPTIONS: [&str; 3] = ["FIRST-LAST", "rows=", "nodes="];

fn names(known: impl IntoIterator<Item = &'static str>) -> String {
    known.into_iter().collect::<Vec<_>>().join(", ")
}

fn unknown(kind: &'static str, found: &str, known: &[&'static str]) -> SelectionError {
    SelectionError::Unknown {
        kind,
        found: found.to_owned(),
        known: names(known.iter().copied()),
    }
}

/// Parses `3` or `3-5`.
fn range<T: FromStr + PartialOrd + Copy>(text: &str) -> Result<(T, T), SelectionError> {
    let refused = || SelectionError::NoNumber {
        found: text.to_owned(),
        wanted: "number, nor a range of numbers (first-last)".to_owned(),
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        _ => Err(refused()),
    }
}

fn number(text: &str, least: u64, most: u64) -> Result<u64, SelectionError> {
    let number = text.parse().ok();
    let fits = number.filter(|number| (least..=most).contains(number));
    fits.ok_or_else(|| SelectionError::NoNumber {
        found: text.to_owned(),
        wanted: format!("number from {least} to {most}"),
    })
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            mmds: Some(RankSelection::default()),
            emds: Some(NodeSelection::default()),
        }
    }
}

impl Default for RankSelection {
    fn default() -> Self {
        Self {
            ranks: NumberSet::All,
            primitives: Choice::All,
            metrics: Choice::All,
            digits: DEFAULT_DIGITS,
            calls: None,
            messages: None,
        }
    }
}

impl Default for NodeSelection {
    fn default() -> Self {
        Self {
            nodes: NumberSet::All,
            window: SliceWindow::default(),
        }
    }
}

impl Default for SliceWindow {
    fn default() -> Self {
        Self::Last(DEFAULT_SLICE_ROWS)
    }
}

impl SliceWindow {
    /// Returns whether rows of this slice are kept, as far as there is room for them.
    #[must_use]
    pub fn has(&self, slice: u64) -> bool {
        match *self {
            Self::Last(_) => true,
            Self::Between(first, last) => (first..=last).contains(&slice),
        }
    }

    /// Returns the largest number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        match *self {
            Self::Last(rows) => rows,
            Self::Between(first, last) => last.saturating_sub(first).saturating_add(1),
        }
    }
}

impl Selection {
    /// The selection that records nothing.
    pub const NONE: Self = Self {
        mmds: None,
        emds: None,
    };

    /// Returns the slices whose rows ranks keep: the same as those of NICs.
    #[must_use]
    pub fn window(&self) -> SliceWindow {
        self.emds
            .as_ref()
            .map_or_else(SliceWindow::default, |emds| emds.window)
    }

    /// Returns what this rank records.
    #[must_use]
    pub fn of_rank(&self, rank: u32) -> Option<&RankSelection> {
        self.mmds.as_ref().filter(|mmds| mmds.ranks.has(rank))
    }

    /// Returns what the NIC of this node records.
    #[must_use]
    pub fn of_node(&self, node: u32) -> Option<&NodeSelection> {
        self.emds.as_ref().filter(|emds| emds.nodes.has(node))
    }
}

impl RankSelection {
    fn option(&mut self, option: &str) -> Result<(), SelectionError> {
        let refused = || unknown("option of mmds", option, &RANK_OPTIONS);
        let (name, value) = option.split_once('=').ok_or_else(refused)?;
        match name {
            "ranks" => self.ranks = NumberSet::parse(value)?,
            "only" => self.primitives = Choice::parse(value)?,
            "metrics" => self.metrics = Choice::parse(value)?,
            "digits" => {
                let digits = number(value, 1, MOST_DIGITS.into())?;
                self.digits = u8::try_from(digits).unwrap_or(MOST_DIGITS);
            }
            "calls" => self.calls = Some(number(value, 0, MOST_EVENTS)?),
            "messages" => self.messages = Some(number(value, 0, MOST_EVENTS)?),
            _ => return Err(refused()),
        }
        Ok(())
    }
}

impl NodeSelection {
    fn option(&mut self, option: &str) -> Result<(), SelectionError> {
        let window = match option.split_once('=') {
            Some(("nodes", value)) => {
                self.nodes = NumberSet::parse(value)?;
                return Ok(());
            }
            Some(("rows", value)) => SliceWindow::Last(number(value, 1, MOST_SLICE_ROWS)?),
            None if option.starts_with(|c: char| c.is_ascii_digit()) => {
                let (first, last) = range(option)?;
                SliceWindow::Between(first, last)
            }
            _ => return Err(unknown("option of emds", option, &NODE_OPTIONS)),
        };
        if window.rows() > MOST_SLICE_ROWS {
            return Err(SelectionError::NoNumber {
                found: option.to_owned(),
                wanted: format!("window of at most {MOST_SLICE_ROWS} slices"),
            });
        }
        if self.window != SliceWindow::default() && self.window != window {
            return Err(SelectionError::Contradiction(
                "emds keeps rows of one window of slices, and two were named",
            ));
        }
        self.window = window;
        Ok(())
    }
}

impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        let mut selection = Self::NONE;
        let mut none = false;
        for item in text.split(',') {
            let mut parts = item.trim().split(':');
            match parts.next().unwrap_or_default() {
                "mmds" => {
                    let mmds = selection.mmds.get_or_insert_default();
                    parts.try_for_each(|option| mmds.option(option))?;
                }
                "emds" => {
                    let emds = selection.emds.get_or_insert_default();
                    parts.try_for_each(|option| emds.option(option))?;
                }
                "none" => {
                    none = true;
                    if let Some(option) = parts.next() {
                        return Err(unknown("option of none", option, &["no options"]));
                    }
                }
                other => return Err(unknown("recorder", other, &RECORDERS)),
            }
        }
        if none && selection != Self::NONE {
            return Err(SelectionError::Contradiction(
                "\"none\" stands beside a recorder: leave one of them out",
            ));
        }
        Ok(selection)
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.mmds, &self.emds) {
            (None, None) => f.write_str("none"),
            (Some(mmds), None) => write!(f, "mmds{mmds}"),
            (None, Some(emds)) => write!(f, "emds{emds}"),
            (Some(mmds), Some(emds)) => write!(f, "mmds{mmds},emds{emds}"),
        }
    }
}

/// Displays the options that differ from the defaults, each after a colon.
impl fmt::Display for RankSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let NumberSet::Only(some) = &self.ranks {
            write!(f, ":ranks={}", Joined(some))?;
        }
        if let Choice::Only(some) = &self.primitives {
            write!(f, ":only={}", plus(some))?;
        }
        if let Choice::Only(some) = &self.metrics {
            write!(f, ":metrics={}", plus(some))?;
        }
        if self.digits != DEFAULT_DIGITS {
            write!(f, ":digits={}", self.digits)?;
        }
        for (name, rows) in [("calls", self.calls), ("messages", self.messages)] {
            if let Some(rows) = rows {
                write!(f, ":{name}={rows}")?;
            }
        }
        Ok(())
    }
}

/// Displays the options that differ from the defaults, each after a colon.
impl fmt::Display for NodeSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.window {
            window if window == SliceWindow::default() => {}
            SliceWindow::Last(rows) => write!(f, ":rows={rows}")?,
            SliceWindow::Between(first, last) => write!(f, ":{first}-{last}")?,
        }
        match &self.nodes {
            NumberSet::All => Ok(()),
            NumberSet::Only(some) => write!(f, ":nodes={}", Joined(some)),
        }
    }
}

fn plus<T: NamedOption>(some: &[T]) -> String {
    let names: Vec<_> = some.iter().map(|one| one.name()).collect();
    names.join("+")
}

/// Ranges as they were read.
struct Joined<'a>(&'a [(u32, u32)]);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.0.iter().enumerate() {
            let plus = if index == 0 { "" } else { "+" };
            if first == last {
                write!(f, "{plus}{first}")?;
            } else {
                write!(f, "{plus}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for Selection {
    type Error = SelectionError;

    fn try_from(text: String) -> Result<Self, SelectionError> {
        text.parse()
    }
}

impl From<Selection> for String {
    fn from(selection: Selection) -> Self {
        selection.to_string()
    }
}

#[cfg(test)]
mod tests;

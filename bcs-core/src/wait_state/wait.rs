//! The wait state of a rank.

use super::communicator::CommunicatorProgress;
use super::context_name::{ContextName, UNIVERSE_CONTEXT};
use super::entered_collective::EnteredCollective;
use super::label::CommunicatorLabel;
use super::site::Site;
use crate::matching::Pattern;
use std::fmt;

/// A wait state: what one rank reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitState {
    /// Whether the reporting thread continues when any of `waits` has come, or only when all have.
    pub for_any: bool,
    /// Whether other threads of the rank may call MPI (`MPI_THREAD_SERIALIZED` and above).
    pub threads: bool,
    /// Whether the reporting thread asks for that again and again, in calls that do not wait.
    pub polls: bool,
    /// The events that the reporting thread waits for, as many as fit.
    pub waits: Vec<WaitReason>,
    /// The number of other waits, which do not fit.
    pub more: u32,
    /// The site of the call in the program, if that is known.
    pub site: Option<Site>,
    /// The site of the call that started the first of these operations, if this call completes it
    /// and the site is known.
    pub started: Option<Site>,
    /// Collectives that the rank has entered and not left: those it waits for first, then the
    /// oldest.
    pub entered: Vec<EnteredCollective>,
    /// Communicators that the rank knows: those it waits in first.
    pub communicators: Vec<CommunicatorProgress>,
    /// Labels of the first of those that are not the world.
    pub labels: Vec<CommunicatorLabel>,
    /// Messages of ranks of its node that it has not received, the oldest first.
    pub unmatched: Vec<MessagePeer>,
}

/// The event that a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// A message.
    Receive(MessagePeer),
    /// A message that is only probed for.
    Probe(MessagePeer),
    /// The receive of a message.
    Send(MessagePeer),
    /// A collective that it has entered: an index into [`WaitState::entered`].
    Collective(Option<u8>),
    /// A request about which nothing else is known.
    Request,
    /// In MPI_Finalize: the receipt of all sent messages.
    Sends,
    /// An operation that needs only NICs (a communicator is made or freed).
    Nic,
    /// The lock of a rank in a window: the context is that of the window's private communicator,
    /// the tag is the locked rank in the window, and the rank is the one that is in the way, if
    /// that is known.
    WindowLock(MessagePeer),
    /// The exposure epoch of a rank in a window (MPI_Win_post).
    WindowPost(MessagePeer),
    /// The end of an access epoch of a rank (MPI_Win_complete), or of any.
    WindowComplete(MessagePeer),
}

/// The other end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessagePeer {
    /// Context id of the communicator.
    pub context: u32,
    /// World rank; `None` for any.
    pub rank: Option<u32>,
    /// `None` for any.
    pub tag: Option<i32>,
}

/// Bits of a context that mark messages of the library: those of collectives,
pub const COLLECTIVE_MESSAGES: u32 = 1 << 31;
/// ... all messages of the library, also those by which ranks make a communicator together, and
/// those of partitioned operations;
pub const LIBRARY_MESSAGES: u32 = 15 << 28;

/// ... those in which the ranks of a checked job exchange their calls (communicators' contexts are
/// added);
pub const CALL_MESSAGES: u32 = 7 << 28;
/// ... and those in which they exchange their sends. No communicator has that context.
pub const SEND_CHECK_CONTEXT: u32 = CALL_MESSAGES | 0x00ff_ffff;

impl MessagePeer {
    /// Returns whether the program itself sends or receives the message.
    #[must_use]
    pub fn is_of_program(&self) -> bool {
        self.context & LIBRARY_MESSAGES == 0
    }

    /// Returns whether the message is part of a collective.
    #[must_use]
    pub fn is_of_collective(&self) -> bool {
        self.context & COLLECTIVE_MESSAGES != 0
    }
}

impl From<Pattern> for MessagePeer {
    fn from(pattern: Pattern) -> Self {
        Self {
            context: pattern.context,
            rank: pattern.source,
            tag: pattern.tag,
        }
    }
}

impl WaitState {
    /// Returns the wait state of a rank that waits for this alone.
    #[must_use]
    pub fn waiting_for(wait: WaitReason) -> Self {
        Self {
            waits: vec![wait],
            ..Self::default()
        }
    }

    /// Returns the collective that a wait is for.
    #[must_use]
    pub fn collective(&self, wait: WaitReason) -> Option<&EnteredCollective> {
        match wait {
            WaitReason::Collective(Some(which)) => self.entered.get(usize::from(which)),
            _ => None,
        }
    }

    /// Returns patterns of messages that may have come instead of the first one that the rank waits
    /// for: of the same sender with another tag or in another communicator, and of another sender.
    pub fn near_misses(&self) -> impl Iterator<Item = Pattern> {
        let first = self.waits.iter().find_map(|wait| match wait {
            WaitReason::Receive(peer) | WaitReason::Probe(peer) => Some(*peer),
            _ => None,
        });
        first
            .into_iter()
            .flat_map(|MessagePeer { context, rank, tag }| {
                let contexts = self.communicators.iter().map(|it| it.context);
                let of_sender = contexts.map(move |context| (context, rank, None));
                let all = of_sender.chain([(context, None, tag)]);
                all.map(|(context, source, tag)| Pattern {
                    context,
                    source,
                    tag,
                })
            })
    }

    /// Replaces the contexts in a text of this rank by the communicators' labels: in full, or
    /// without the places where they were made.
    #[must_use]
    pub fn with_labels(&self, text: String, in_full: bool) -> String {
        let titles = self.labels.iter();
        titles.fold(text, |text, title| title.put_into(&text, in_full))
    }

    /// Describes the wait: "a message from rank 1 with tag 5 in MPI_COMM_WORLD".
    #[must_use]
    pub fn describe(&self, wait: WaitReason) -> String {
        match (wait, self.collective(wait)) {
            (WaitReason::Receive(peer), _) if peer.context & LIBRARY_MESSAGES == CALL_MESSAGES => {
                let rank = peer
                    .rank
                    .map_or("a rank".to_owned(), |rank| format!("rank {rank}"));
                format!(
                    "{rank} to call the same collective of {}",
                    ContextName(peer.context)
                )
            }
            // The tag is the library's own.
            (WaitReason::Receive(peer), _)
                if peer.context & !LIBRARY_MESSAGES == UNIVERSE_CONTEXT =>
            {
                match peer.rank {
                    Some(rank) => format!(
                        "rank {rank} to make a communicator with it, after a spawn or by a port"
                    ),
                    None => "a rank that connects to its port".to_owned(),
                }
            }
            (WaitReason::Receive(peer), _) => format!("a message from {peer}"),
            (WaitReason::Probe(peer), _) => format!("a message from {peer} to probe"),
            (WaitReason::Send(peer), _) => format!("its message to be received by {peer}"),
            (WaitReason::Collective(_), Some(entered)) => format!("the others in {entered}"),
            (WaitReason::Collective(_), None) => "the others in a collective".to_owned(),
            (WaitReason::Request, _) => "a request".to_owned(),
            (WaitReason::Sends, _) => "its messages to be taken, in MPI_Finalize".to_owned(),
            (WaitReason::Nic, _) => "the NICs to make or free a communicator".to_owned(),
            (WaitReason::WindowLock(peer), _) => {
                let window = ContextName(peer.context);
                let target = peer.tag.unwrap_or_default();
                match peer.rank {
                    Some(rank) => {
                        format!(
                            "the lock of rank {target} in {window}, for which rank {rank} comes first"
                        )
                    }
                    None => format!("the lock of rank {target} in {window}, which others hold"),
                }
            }
            (WaitReason::WindowPost(peer), _) => {
                let who = rank_or_any(peer.rank);
                format!("{who} to post {}", ContextName(peer.context))
            }
            (WaitReason::WindowComplete(peer), _) => {
                let who = rank_or_any(peer.rank);
                format!(
                    "{who} to complete its epoch in {}",
                    ContextName(peer.context)
                )
            }
        }
    }
}

fn rank_or_any(rank: Option<u32>) -> String {
    rank.map_or_else(|| "others".to_owned(), |rank| format!("rank {rank}"))
}

impl fmt::Display for MessagePeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "rank {rank}")?,
            None => f.write_str("any rank")?,
        }
        match self.tag {
            Some(tag) => write!(f, " with tag {tag}")?,
            None => f.write_str(" with any tag")?,
        }
        write!(f, " in {}", ContextName(self.context))
    }
}

impl fmt::Display for WaitState {
    /// "waits for a message from rank 1 with tag 5 in MPI_COMM_WORLD, at src/main.rs:17"
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let acts = if self.polls { "polls" } else { "waits" };
        let how = match (self.waits.len() + self.more as usize, self.for_any) {
            (0, _) => return f.write_str(acts),
            (1, _) => " for ",
            (_, true) => " for any of: ",
            (_, false) => " for all of: ",
        };
        write!(f, "{acts}{how}")?;
        for (at, wait) in self.waits.iter().enumerate() {
            let comma = if at > 0 { "; " } else { "" };
            write!(f, "{comma}{}", self.describe(*wait))?;
        }
        if self.more > 0 {
            write!(f, "; and {} more", self.more)?;
        }
        if let Some(site) = &self.site {
            write!(f, ", at {site}")?;
        }
        match &self.started {
            Some(started) => write!(f, ", started at {started}"),
            None => Ok(()),
        }
    }
}

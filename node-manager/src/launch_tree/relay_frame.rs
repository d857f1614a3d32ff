//! Frames on a link to an agent that relays: frames of the parties, with the address to which they
//! go or the party from which they come.
//!
//! A link to an agent without children carries plain frames, as in a job without a tree. A relay
//! reads no frame of a party; it forwards the bytes.

use crate::frames::{self, FrameError, Greeting, KIND_NEWS, KIND_RELAYED, KIND_ROUTED, RawFrame};
use serde::{Deserialize, Serialize};

/// The parties that get a message of the launcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recipients {
    /// One.
    One(u32),
    /// Several.
    Several(Vec<u32>),
    /// All.
    All,
}

/// A report of the agent that has started a party.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentNews {
    /// The party.
    pub party: u32,
    /// Its event.
    pub what: AgentEvent,
}

/// An event of an agent, as seen by the agent that has started it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentEvent {
    /// Its process, or the command that starts it, has this id.
    Started(i32),
    /// It could not be started, with the reason.
    NotStarted(String),
    /// It has greeted, or its host's shell writes something else.
    Greeted(Greeting),
    /// Its command has written this to its standard error.
    StandardError(Vec<u8>),
    /// It has sent an invalid frame: its link was closed.
    Invalid(String),
    /// It has sent all that it had to send, and so have those below it. Its link may be closed.
    Leaving,
    /// Its process has ended.
    Ended(AgentEnd),
}

/// How a process has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentEnd {
    /// The signal that has killed it.
    pub signal: Option<i32>,
    /// Its exit code.
    pub code: Option<i32>,
}

/// A frame on the way up.
#[derive(Debug, PartialEq, Eq)]
pub enum Upward<'a> {
    /// A whole frame of a party.
    Relayed(u32, &'a [u8]),
    /// A report about one.
    News(AgentNews),
    /// A whole frame of the sender itself: it has not become a relay.
    Plain(&'a [u8]),
}

/// Returns the frame that carries a frame to its address.
///
/// # Panics
/// If the address is longer than any of a job.
#[must_use]
pub fn routed(address: &Recipients, frame: &[u8]) -> Vec<u8> {
    let address = postcard::to_stdvec(address).expect("an address can be encoded");
    frames::whole(KIND_ROUTED, &[&address, frame])
}

/// Returns the frame that carries a frame of a party.
#[must_use]
pub(crate) fn relayed(source: u32, frame: &[u8]) -> Vec<u8> {
    frames::whole(KIND_RELAYED, &[&source.to_le_bytes(), frame])
}

/// Returns the frame of a report.
#[must_use]
pub(crate) fn news(party: u32, what: AgentEvent) -> Vec<u8> {
    let news = AgentNews { party, what };
    let body = postcard::to_stdvec(&news).expect("a report can be encoded");
    frames::whole(KIND_NEWS, &[&body])
}

/// Reads a frame on the way down.
///
/// # Errors
/// [`FrameError`] if it is no routed frame.
pub(crate) fn downward(frame: &RawFrame) -> Result<(Recipients, &[u8]), FrameError> {
    match frame.kind() {
        KIND_ROUTED => Ok(postcard::take_from_bytes(frame.body())?),
        _ => Err(frame.misplaced()),
    }
}

/// Reads a frame on the way up.
///
/// # Errors
/// [`FrameError`] if it is too short, or a report that cannot be decoded.
pub fn upward(frame: &RawFrame) -> Result<Upward<'_>, FrameError> {
    match frame.kind() {
        KIND_RELAYED => match frame.body().split_first_chunk::<4>() {
            Some((&source, inner)) => Ok(Upward::Relayed(u32::from_le_bytes(source), inner)),
            None => Err(frame.misplaced()),
        },
        KIND_NEWS => Ok(Upward::News(postcard::from_bytes(frame.body())?)),
        KIND_ROUTED => Err(frame.misplaced()),
        _ => Ok(Upward::Plain(frame.bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{FrameReader, FrameWriter, FromManager};

    #[test]
    fn frames_come_out_as_they_went_in() {
        let inner = frames::encode(&FromManager::AllDone);
        let mut writer = FrameWriter::default();
        writer.append(&routed(&Recipients::Several(vec![3, 900]), &inner));
        writer.append(&relayed(7, &inner));
        writer.append(&news(9, AgentEvent::Leaving));
        writer.append(&inner);
        let mut reader = FrameReader::default();
        reader.feed(writer.unsent());
        let mut next = || reader.raw().unwrap().unwrap();
        let down = next();
        let expected = (Recipients::Several(vec![3, 900]), &inner[..]);
        assert_eq!(downward(&down).unwrap(), expected);
        assert!(upward(&down).is_err());
        let up = next();
        assert_eq!(upward(&up).unwrap(), Upward::Relayed(7, &inner));
        assert!(downward(&up).is_err());
        let what = AgentEvent::Leaving;
        let report = Upward::News(AgentNews { party: 9, what });
        assert_eq!(upward(&next()).unwrap(), report);
        assert_eq!(upward(&next()).unwrap(), Upward::Plain(&inner));
        assert!(reader.raw().unwrap().is_none());
        let mut short = FrameReader::default();
        short.feed(&frames::whole(KIND_RELAYED, &[&[1, 2]]));
        assert!(upward(&short.raw().unwrap().unwrap()).is_err());
    }
}

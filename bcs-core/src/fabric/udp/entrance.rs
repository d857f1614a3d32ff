//! Who is let in: of all that comes to the socket of a process, only what a process of the job has sent, and that once.
//!
//! What is not taken costs a look at its tag, and is counted by kind. Nothing else happens, and nothing is allocated.

use super::hub::Hub;
use super::link::Refused;
use super::seal::Opener;
use crate::job::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;

/// Datagrams that were not taken, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strays {
    /// Too short, or from no node of the job.
    pub foreign: u64,
    /// Their tag is wrong.
    pub bad_tag: u64,
    /// The tag is right, and the rest is not.
    pub malformed: u64,
    /// They have come before: the network may bring what it likes twice.
    pub repeated: u64,
    /// From where the last one came that the network alone cannot have made.
    pub from: Option<SocketAddr>,
}

impl Strays {
    /// All of them but those that have come before.
    #[must_use]
    pub fn suspicious(&self) -> u64 {
        self.foreign + self.bad_tag + self.malformed
    }
}

impl fmt::Display for Strays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            foreign,
            bad_tag,
            malformed,
            repeated,
            ..
        } = self;
        write!(
            f,
            "{foreign} from no node of it, {bad_tag} with a wrong tag, {malformed} malformed; {repeated} had come before"
        )
    }
}

/// See the module.
#[derive(Debug)]
pub struct Entrance {
    hub: Hub,
    /// By party.
    openers: Vec<Option<Opener>>,
    strays: Strays,
}

impl Entrance {
    /// The way into a hub, whose parties have these openers.
    #[must_use]
    pub fn new(hub: Hub, openers: Vec<Option<Opener>>) -> Self {
        Self {
            hub,
            openers,
            strays: Strays::default(),
        }
    }

    /// What was not taken so far.
    #[must_use]
    pub fn strays(&self) -> Strays {
        self.strays
    }

    /// A datagram has come.
    pub fn take(&mut self, from: SocketAddr, datagram: &mut [u8], now_ns: u64) {
        let strays = &mut self.strays;
        // Which node it is from is an allegation, until the tag of that node is right.
        let node = datagram.get(4..6).map(|node| {
            let node: [u8; 2] = node.try_into().expect("two bytes");
            NodeId(u16::from_le_bytes(node))
        });
        let party = node.and_then(|node| self.hub.party_of_node(node));
        let opener = party.and_then(|party| self.openers.get(party)?.as_ref());
        let count = match (party, opener) {
            (Some(party), Some(opener)) => match opener.open(datagram) {
                Err(_) => &mut strays.bad_tag,
                Ok(opened) => match self.hub.receive(party, opened, now_ns) {
                    Ok(()) => return,
                    Err(Refused::Repeated) => {
                        strays.repeated += 1;
                        return;
                    }
                    Err(Refused::Foreign) => &mut strays.foreign,
                    Err(Refused::Malformed(_)) => &mut strays.malformed,
                },
            },
            _ => &mut strays.foreign,
        };
        *count += 1;
        strays.from = Some(from);
    }
}

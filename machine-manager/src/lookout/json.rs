//! The graph for a program.

use super::graph::{Cause, Edge, Graph, State, Vertex};
use bcs_core::whereabouts::{Name, Peer, Wait, Whereabouts};
use serde_json::{Value, json};

/// Partners of one wait that are listed; of the others their number is.
const LISTED: usize = 64;

impl Graph {
    /// `bcs-deadlock`, version 1 (docs/launching.md).
    #[must_use]
    pub fn json(&self) -> Value {
        let ranks = self.ranks.iter().map(|(rank, vertex)| {
            let mut value = json!({ "rank": rank, "node": vertex.node.0 });
            if let (Value::Object(to), Value::Object(from)) = (&mut value, vertex.json()) {
                to.extend(from);
            }
            value
        });
        json!({
            "format": "bcs-deadlock",
            "version": 1,
            "causes": self.causes.iter().map(cause).collect::<Vec<_>>(),
            "ranks": ranks.collect::<Vec<_>>(),
        })
    }
}

impl Vertex {
    /// What the rank does, without its name.
    #[must_use]
    pub fn json(&self) -> Value {
        match &self.state {
            State::Waits { whereabouts, edges } => waits(whereabouts, edges),
            State::Finalized(_) => json!({ "state": "finalized" }),
            State::Ended => json!({ "state": "ended" }),
        }
    }
}

fn cause(cause: &Cause) -> Value {
    match cause {
        Cause::Cycle(ranks) => json!({ "kind": "cycle", "ranks": ranks }),
        Cause::Gone { rank, partners } => {
            json!({ "kind": "gone", "rank": rank, "for": partners })
        }
        Cause::Astray(one, other) => json!({ "kind": "astray", "ranks": [one, other] }),
        Cause::Different {
            context,
            one,
            other,
        } => json!({ "kind": "different", "context": context, "ranks": [one, other] }),
        Cause::Nobody(rank) => json!({ "kind": "nobody", "rank": rank }),
    }
}

fn waits(told: &Whereabouts, edges: &[Edge]) -> Value {
    let waits: Vec<Value> = edges.iter().map(|edge| wait(told, edge)).collect();
    json!({
        "state": "waits",
        "any": told.any,
        "waits": waits,
        "more": told.more,
        "site": told.site.as_ref().map(ToString::to_string),
        "unmatched": told.unmatched.iter().map(|it| peer_of(told, it)).collect::<Vec<_>>(),
    })
}

/// The other side of a message of which a rank says something.
fn peer_of(told: &Whereabouts, of: &Peer) -> Value {
    let mut value = peer(of);
    value["communicator"] = told.entitled(Name(of.context).to_string(), false).into();
    value
}

/// The other side of a message.
#[must_use]
pub fn peer(peer: &Peer) -> Value {
    json!({
        "peer": peer.rank,
        "tag": peer.tag,
        "context": peer.context,
        "communicator": Name(peer.context).to_string(),
    })
}

fn wait(told: &Whereabouts, edge: &Edge) -> Value {
    let (call, what) = match edge.wait {
        Wait::Receive(from) => ("receive", peer_of(told, &from)),
        Wait::Probe(from) => ("probe", peer_of(told, &from)),
        Wait::Send(to) => ("send", peer_of(told, &to)),
        Wait::Collective(_) => ("collective", collective(told, edge.wait)),
        Wait::Request => ("request", json!({})),
        Wait::Sends => ("finalize", json!({})),
        Wait::Nic => ("communicator", json!({})),
    };
    let listed = &edge.partners[..edge.partners.len().min(LISTED)];
    let mut value = json!({
        "call": call,
        "for": listed,
        "for_more": edge.partners.len() - listed.len(),
        "all": edge.all,
    });
    if let (Value::Object(to), Value::Object(from)) = (&mut value, what) {
        to.extend(from);
    }
    value
}

fn collective(told: &Whereabouts, wait: Wait) -> Value {
    told.collective(wait).map_or_else(
        || json!({}),
        |entered| {
            json!({
                "called": entered.called.to_string(),
                "number": entered.number,
                "context": entered.context,
                "communicator": told.entitled(Name(entered.context).to_string(), false),
            })
        },
    )
}

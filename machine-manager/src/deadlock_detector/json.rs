//! The graph for a program.

use super::wait_graph::{DeadlockCause, Edge, RankState, Vertex, WaitGraph};
use bcs_core::wait_state::{ContextName, MessagePeer, WaitReason, WaitState};
use serde_json::{Value, json};

/// The number of partners of one wait that are listed; the others are counted.
const LISTED: usize = 64;

impl WaitGraph {
    /// Returns the graph as `bcs-deadlock`, version 1 (docs/launching.md).
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
    /// Returns what the rank does, without its name.
    #[must_use]
    pub fn json(&self) -> Value {
        match &self.state {
            RankState::Waits { whereabouts, edges } => waits(whereabouts, edges),
            RankState::Finalized(_) => json!({ "state": "finalized" }),
            RankState::Ended => json!({ "state": "ended" }),
        }
    }
}

fn cause(cause: &DeadlockCause) -> Value {
    match cause {
        DeadlockCause::Cycle(ranks) => json!({ "kind": "cycle", "ranks": ranks }),
        DeadlockCause::Gone { rank, partners } => {
            json!({ "kind": "gone", "rank": rank, "for": partners })
        }
        DeadlockCause::MismatchedCollectives(one, other) => {
            json!({ "kind": "astray", "ranks": [one, other] })
        }
        DeadlockCause::DivergedCollectives {
            context,
            one,
            other,
        } => json!({ "kind": "different", "context": context, "ranks": [one, other] }),
        DeadlockCause::Nobody(rank) => json!({ "kind": "nobody", "rank": rank }),
    }
}

fn waits(told: &WaitState, edges: &[Edge]) -> Value {
    let waits: Vec<Value> = edges.iter().map(|edge| wait(told, edge)).collect();
    let mut value = json!({
        "state": "waits",
        "any": told.for_any,
        "waits": waits,
        "more": told.more,
        "site": told.site.as_ref().map(ToString::to_string),
        "unmatched": told.unmatched.iter().map(|it| peer_of(told, it)).collect::<Vec<_>>(),
    });
    if let Some(started) = &told.started {
        value["started"] = started.to_string().into();
    }
    value
}

/// Returns the peer of a message in a rank's wait state.
fn peer_of(told: &WaitState, of: &MessagePeer) -> Value {
    let mut value = peer(of);
    value["communicator"] = told
        .with_labels(ContextName(of.context).to_string(), false)
        .into();
    value
}

/// Returns the peer of a message.
#[must_use]
pub fn peer(peer: &MessagePeer) -> Value {
    json!({
        "peer": peer.rank,
        "tag": peer.tag,
        "context": peer.context,
        "communicator": ContextName(peer.context).to_string(),
    })
}

fn wait(told: &WaitState, edge: &Edge) -> Value {
    let (call, what) = match edge.wait {
        WaitReason::Receive(from) => ("receive", peer_of(told, &from)),
        WaitReason::Probe(from) => ("probe", peer_of(told, &from)),
        WaitReason::Send(to) => ("send", peer_of(told, &to)),
        WaitReason::Collective(_) => ("collective", collective(told, edge.wait)),
        WaitReason::Request => ("request", json!({})),
        WaitReason::Sends => ("finalize", json!({})),
        WaitReason::Nic => ("communicator", json!({})),
        WaitReason::WindowLock(at) => ("lock", peer_of(told, &at)),
        WaitReason::WindowPost(of) => ("post", peer_of(told, &of)),
        WaitReason::WindowComplete(of) => ("complete", peer_of(told, &of)),
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

fn collective(told: &WaitState, wait: WaitReason) -> Value {
    told.collective(wait).map_or_else(
        || json!({}),
        |entered| {
            json!({
                "called": entered.called.to_string(),
                "number": entered.ordinal(),
                "context": entered.context,
                "communicator": told.with_labels(ContextName(entered.context).to_string(), false),
            })
        },
    )
}

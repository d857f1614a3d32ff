//! Wait states survive encoding, and are described in words.

use super::*;
use crate::descriptor::CollectiveKind;
use proptest::prelude::*;

fn entered(number: u32, called: CalledCollective) -> EnteredCollective {
    EnteredCollective {
        context: 7,
        group: 9,
        number,
        called,
    }
}

const BARRIER: CalledCollective = CalledCollective::Nic {
    kind: CollectiveKind::Barrier,
    bytes: 0,
};

/// Ranks compare fingerprints, so programs that another compiler has built must compute the same.
#[test]
fn fingerprints_are_the_same_whoever_has_compiled_this() {
    assert_eq!(super::group_fingerprint(&[0, 1, 2]), 0x5def_8c1f);
}

#[test]
fn whereabouts_come_back_from_their_words() {
    let peer = MessagePeer {
        context: 2047,
        rank: Some(16_383),
        tag: Some(i32::MAX),
    };
    let any = MessagePeer {
        context: 0,
        rank: None,
        tag: None,
    };
    let waits = [
        WaitReason::Receive(peer),
        WaitReason::Probe(any),
        WaitReason::Send(peer),
        WaitReason::Collective(Some(0)),
        WaitReason::Collective(None),
        WaitReason::Request,
        WaitReason::Sends,
        WaitReason::Nic,
    ];
    let calls = [
        BARRIER,
        CalledCollective::Nic {
            kind: CollectiveKind::Broadcast { root: 16_383 },
            bytes: 12,
        },
        CalledCollective::Messages(MessageCollective::Neighbors, None),
        CalledCollective::Messages(MessageCollective::ReduceScatterBetween, None),
        CalledCollective::Messages(MessageCollective::Scatter, Some(16_383)),
    ];
    let entered: Vec<EnteredCollective> = (5..)
        .zip(calls)
        .map(|(n, called)| entered(n, called))
        .collect();
    let communicator = CommunicatorProgress {
        context: 3,
        group: 0x5def_8c1f,
        entered: u32::MAX,
        call_digest: 0xdead_beef,
        members: MemberRange::of([9, 6, 3].into_iter()),
    };
    for wait in waits {
        let told = WaitState {
            for_any: wait == WaitReason::Request,
            polls: true,
            threads: wait == WaitReason::Sends,
            waits: vec![wait, waits[0]],
            more: 3,
            site: Some(Site::Line(SourceLine::new("src/main.rs", 17))),
            started: Some(Site::Address(0x4711)),
            entered: entered.clone(),
            communicators: vec![communicator; 2],
            labels: vec![
                CommunicatorLabel::named(3, "rows"),
                CommunicatorLabel::made(4, "MPI_Comm_dup", "rows", None),
            ],
            unmatched: vec![peer, any],
        };
        assert_eq!(WaitState::decode(&told.encode()), Some(told));
    }
    let short = WaitState::waiting_for(waits[0]);
    assert_eq!(short.encode().len(), 16);
    assert_eq!(WaitState::decode(&short.encode()), Some(short));
    for (rank, called) in [0, 16_383]
        .into_iter()
        .flat_map(|rank| calls.map(|it| (rank, it)))
    {
        let told = ConflictingCall { rank, called };
        assert_eq!(ConflictingCall::unpack(told.pack()), Some(told));
    }
}

#[test]
fn what_does_not_fit_is_counted() {
    let wait = WaitReason::Receive(MessagePeer {
        context: 1,
        rank: Some(2),
        tag: Some(3),
    });
    let told = WaitState {
        waits: vec![wait; WaitState::WAITS + 5],
        more: 7,
        ..WaitState::default()
    };
    let words = told.encode();
    assert!(words.len() <= WAIT_STATE_WORDS);
    let said = WaitState::decode(&words).unwrap();
    assert_eq!((said.waits.len(), said.more), (WaitState::WAITS, 12));
    assert!(said.to_string().ends_with("; and 12 more"), "{said}");
}

#[test]
fn members_are_known_if_they_are_as_far_apart() {
    let ranks = |members: &[u32]| {
        let known = MemberRange::of(members.iter().copied()).ranks();
        known.map(Iterator::collect::<Vec<u32>>)
    };
    for known in [&[5][..], &[0, 1, 2], &[1, 4, 7, 10], &[3, 2, 1, 0]] {
        assert_eq!(ranks(known).as_deref(), Some(known));
    }
    assert_eq!(ranks(&[0, 1, 3]), None);
}

#[test]
fn only_collectives_with_the_same_number_contradict_each_other() {
    let gather = CalledCollective::Messages(MessageCollective::Gather, Some(0));
    let other_root = CalledCollective::Messages(MessageCollective::Gather, Some(1));
    assert!(entered(3, gather).contradicts(&entered(3, other_root)));
    assert!(entered(3, gather).contradicts(&entered(3, BARRIER)));
    assert!(!entered(3, gather).contradicts(&entered(3, gather)));
    assert!(!entered(3, gather).contradicts(&entered(4, BARRIER)));
    let elsewhere = EnteredCollective {
        group: 8,
        ..entered(3, BARRIER)
    };
    assert!(!entered(3, gather).contradicts(&elsewhere));
    let bcast = CalledCollective::Nic {
        kind: CollectiveKind::Broadcast { root: 0 },
        bytes: 8,
    };
    let nics = entered(3, BARRIER).contradicts(&entered(3, bcast));
    assert!(!nics, "NICs see to that");
}

#[test]
fn it_is_said_in_words() {
    let wait = WaitReason::Receive(MessagePeer {
        context: 0,
        rank: Some(1),
        tag: None,
    });
    let mut told = WaitState {
        waits: vec![wait],
        entered: vec![entered(
            2,
            CalledCollective::Messages(MessageCollective::Gather, Some(4)),
        )],
        ..WaitState::default()
    };
    let said = "waits for a message from rank 1 with any tag in MPI_COMM_WORLD";
    assert_eq!(told.to_string(), said);
    told.waits = vec![WaitReason::Collective(Some(0))];
    let said = "waits for the others in a gather to rank 4 (collective 3 of the communicator with \
                context 7)";
    assert_eq!(told.to_string(), said);
    told.waits = vec![wait, WaitReason::Request];
    told.for_any = true;
    let said = "waits for any of: a message from rank 1 with any tag in MPI_COMM_WORLD; a request";
    assert_eq!(told.to_string(), said);
}

/// The library chooses the tags by which groups meet. No user knows them.
#[test]
fn a_rank_that_has_spawned_waits_for_ranks_and_not_for_a_tag() {
    let told = |rank| {
        let peer = MessagePeer {
            context: UNIVERSE_CONTEXT | 1 << 28,
            rank,
            tag: Some(1 << 29),
        };
        WaitState {
            waits: vec![WaitReason::Receive(peer)],
            ..WaitState::default()
        }
        .to_string()
    };
    let said = "waits for rank 2 to make a communicator with it, after a spawn or by a port";
    assert_eq!(told(Some(2)), said);
    assert_eq!(told(None), "waits for a rank that connects to its port");
}

proptest! {
    #[test]
    fn rubbish_is_decoded_or_refused(
        mut words in proptest::collection::vec(any::<u64>(), 0..WAIT_STATE_WORDS + 2),
        counts in proptest::array::uniform4(0_u8..20),
    ) {
        if let Some(first) = words.first_mut() {
            let [waits, entered, known, unmatched] = counts;
            *first = u64::from_le_bytes([waits, entered, known, unmatched, 0, 0, 0, 0]);
        }
        if let Some(told) = WaitState::decode(&words) {
            prop_assert!(told.entered.len() <= WaitState::ENTERED);
            prop_assert!(!told.to_string().is_empty());
        }
    }
}

//! Whereabouts come back, and are said in words.

use super::*;
use crate::descriptor::CollectiveKind;
use proptest::prelude::*;

fn entered(number: u32, called: Called) -> Entered {
    Entered {
        context: 7,
        group: 9,
        number,
        called,
    }
}

const BARRIER: Called = Called::Nic {
    kind: CollectiveKind::Barrier,
    bytes: 0,
};

/// Ranks compare them: those that another compiler has built must find the same.
#[test]
fn fingerprints_are_the_same_whoever_has_compiled_this() {
    assert_eq!(super::fingerprint(&[0, 1, 2]), 0x5def_8c1f);
}

#[test]
fn whereabouts_come_back_from_their_words() {
    let peer = Peer {
        context: 2047,
        rank: Some(16_383),
        tag: Some(i32::MAX),
    };
    let any = Peer {
        context: 0,
        rank: None,
        tag: None,
    };
    let waits = [
        Wait::Receive(peer),
        Wait::Probe(any),
        Wait::Send(peer),
        Wait::Collective(Some(0)),
        Wait::Collective(None),
        Wait::Request,
        Wait::Sends,
        Wait::Nic,
    ];
    let calls = [
        BARRIER,
        Called::Nic {
            kind: CollectiveKind::Broadcast { root: 16_383 },
            bytes: 12,
        },
        Called::Messages(Exchange::Neighbors, None),
        Called::Messages(Exchange::ReduceScatterBetween, None),
        Called::Messages(Exchange::Scatter, Some(16_383)),
    ];
    let entered: Vec<Entered> = (5..)
        .zip(calls)
        .map(|(n, called)| entered(n, called))
        .collect();
    let communicator = Communicator {
        context: 3,
        group: 0x5def_8c1f,
        entered: u32::MAX,
        called: 0xdead_beef,
        members: Members::of([9, 6, 3].into_iter()),
    };
    for wait in waits {
        let told = Whereabouts {
            any: wait == Wait::Request,
            threads: wait == Wait::Sends,
            waits: vec![wait, waits[0]],
            more: 3,
            site: Some(Site::Line(Source::new("src/main.rs", 17))),
            entered: entered.clone(),
            communicators: vec![communicator; 2],
            titles: vec![
                Title::named(3, "rows"),
                Title::made(4, "MPI_Comm_dup", "rows", None),
            ],
            unmatched: vec![peer, any],
        };
        assert_eq!(Whereabouts::decode(&told.encode()), Some(told));
    }
    let short = Whereabouts::of(waits[0]);
    assert_eq!(short.encode().len(), 16);
    assert_eq!(Whereabouts::decode(&short.encode()), Some(short));
    for (rank, called) in [0, 16_383]
        .into_iter()
        .flat_map(|rank| calls.map(|it| (rank, it)))
    {
        let told = Objection { rank, called };
        assert_eq!(Objection::unpack(told.pack()), Some(told));
    }
}

#[test]
fn what_does_not_fit_is_counted() {
    let wait = Wait::Receive(Peer {
        context: 1,
        rank: Some(2),
        tag: Some(3),
    });
    let told = Whereabouts {
        waits: vec![wait; Whereabouts::WAITS + 5],
        more: 7,
        ..Whereabouts::default()
    };
    let words = told.encode();
    assert!(words.len() <= WORDS);
    let said = Whereabouts::decode(&words).unwrap();
    assert_eq!((said.waits.len(), said.more), (Whereabouts::WAITS, 12));
    assert!(said.to_string().ends_with("; and 12 more"), "{said}");
}

#[test]
fn members_are_known_if_they_are_as_far_apart() {
    let ranks = |members: &[u32]| {
        let known = Members::of(members.iter().copied()).ranks();
        known.map(Iterator::collect::<Vec<u32>>)
    };
    for known in [&[5][..], &[0, 1, 2], &[1, 4, 7, 10], &[3, 2, 1, 0]] {
        assert_eq!(ranks(known).as_deref(), Some(known));
    }
    assert_eq!(ranks(&[0, 1, 3]), None);
}

#[test]
fn only_collectives_with_the_same_number_contradict_each_other() {
    let gather = Called::Messages(Exchange::Gather, Some(0));
    let other_root = Called::Messages(Exchange::Gather, Some(1));
    assert!(entered(3, gather).contradicts(&entered(3, other_root)));
    assert!(entered(3, gather).contradicts(&entered(3, BARRIER)));
    assert!(!entered(3, gather).contradicts(&entered(3, gather)));
    assert!(!entered(3, gather).contradicts(&entered(4, BARRIER)));
    let elsewhere = Entered {
        group: 8,
        ..entered(3, BARRIER)
    };
    assert!(!entered(3, gather).contradicts(&elsewhere));
    let bcast = Called::Nic {
        kind: CollectiveKind::Broadcast { root: 0 },
        bytes: 8,
    };
    let nics = entered(3, BARRIER).contradicts(&entered(3, bcast));
    assert!(!nics, "NICs see to that");
}

#[test]
fn it_is_said_in_words() {
    let wait = Wait::Receive(Peer {
        context: 0,
        rank: Some(1),
        tag: None,
    });
    let mut told = Whereabouts {
        waits: vec![wait],
        entered: vec![entered(2, Called::Messages(Exchange::Gather, Some(4)))],
        ..Whereabouts::default()
    };
    let said = "waits for a message from rank 1 with any tag in MPI_COMM_WORLD";
    assert_eq!(told.to_string(), said);
    told.waits = vec![Wait::Collective(Some(0))];
    let said = "waits for the others in a gather to rank 4 (collective 2 of the communicator with \
                context 7)";
    assert_eq!(told.to_string(), said);
    told.waits = vec![wait, Wait::Request];
    told.any = true;
    let said = "waits for any of: a message from rank 1 with any tag in MPI_COMM_WORLD; a request";
    assert_eq!(told.to_string(), said);
}

proptest! {
    #[test]
    fn rubbish_is_decoded_or_refused(
        mut words in proptest::collection::vec(any::<u64>(), 0..WORDS + 2),
        counts in proptest::array::uniform4(0_u8..20),
    ) {
        if let Some(first) = words.first_mut() {
            let [waits, entered, known, unmatched] = counts;
            *first = u64::from_le_bytes([waits, entered, known, unmatched, 0, 0, 0, 0]);
        }
        if let Some(told) = Whereabouts::decode(&words) {
            prop_assert!(told.entered.len() <= Whereabouts::ENTERED);
            prop_assert!(!told.to_string().is_empty());
        }
    }
}

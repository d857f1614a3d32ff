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
        Wait::Collective,
        Wait::Any,
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
    for wait in waits {
        let entered = (5..).zip(calls).map(|(n, called)| entered(n, called));
        let told = Whereabouts {
            wait,
            entered: entered.collect(),
        };
        assert_eq!(Whereabouts::decode(&told.encode()), Some(told));
    }
    for (rank, called) in [0, 16_383]
        .into_iter()
        .flat_map(|rank| calls.map(|it| (rank, it)))
    {
        let told = Objection { rank, called };
        assert_eq!(Objection::unpack(told.pack()), Some(told));
    }
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
        wait,
        entered: vec![entered(2, Called::Messages(Exchange::Gather, Some(4)))],
    };
    let said = "waits for a message from rank 1 with any tag in MPI_COMM_WORLD";
    assert_eq!(told.to_string(), said);
    told.wait = Wait::Collective;
    let said = "waits in a gather to rank 4 (collective 2 of the communicator with context 7)";
    assert_eq!(told.to_string(), said);
}

proptest! {
    #[test]
    fn rubbish_is_decoded_or_refused(words in proptest::array::uniform27(any::<u64>()), count in 0_u64..10) {
        let mut words = words;
        words[2] = count;
        if let Some(told) = Whereabouts::decode(&words) {
            prop_assert!(told.entered.len() <= Whereabouts::ENTERED);
            prop_assert!(!told.to_string().is_empty());
        }
    }
}

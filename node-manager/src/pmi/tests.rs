//! The server without sockets: bytes in, events out.

use super::server::{PmiEvent, PmiJob, PmiServer};
use crate::limits::PMI_SPACE_BYTES;
use crate::pmi_messages::{PmiAnswer, PmiRequest};
use bcs_core::job::NodeId;
use bcs_core::pmi::LINE_BYTES;

/// A server with two nodes, of which the first has ranks 0 and 1, in a job of these ranks.
fn server(ranks: usize) -> PmiServer {
    let job = PmiJob {
        space: "s".to_owned(),
        ranks,
        mapping: "(vector,(0,2,2))".to_owned(),
    };
    let local =
        (0..ranks.min(4)).map(|rank| (u32::try_from(rank).unwrap(), NodeId::from_index(rank / 2)));
    PmiServer::new(job, local)
}

fn ask(server: &mut PmiServer, index: usize, line: &str) -> Vec<PmiEvent> {
    server.receive(index, format!("{line}\n").as_bytes())
}

/// Returns the only reply to a line.
fn reply(server: &mut PmiServer, index: usize, line: &str) -> String {
    let events = ask(server, index, line);
    match &events[..] {
        [PmiEvent::Reply(to, text)] if *to == index => text.clone(),
        other => panic!("{line}: {other:?}"),
    }
}

fn replies(events: &[PmiEvent]) -> Vec<usize> {
    let to = events.iter().map(|event| match event {
        PmiEvent::Reply(index, line) if line.starts_with("cmd=barrier_out rc=0") => *index,
        other => panic!("{other:?}"),
    });
    let mut to: Vec<usize> = to.collect();
    to.sort_unstable();
    to
}

#[test]
fn a_client_learns_what_it_needs_to_begin() {
    let mut server = server(4);
    let events = ask(&mut server, 1, "cmd=init pmi_version=1 pmi_subversion=1");
    let line = "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=2";
    let expected = [PmiEvent::Reply(1, line.to_owned()), PmiEvent::Joined(1)];
    assert_eq!(events, expected);
    for (asked, expected) in [
        (
            "get_maxes",
            "maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024",
        ),
        ("get_universe_size", "universe_size rc=0 size=4"),
        ("get_appnum", "appnum rc=0 appnum=0"),
        ("get_my_kvsname", "my_kvsname rc=0 kvsname=s"),
        (
            "get kvsname=s key=PMI_process_mapping",
            "get_result rc=0 value=(vector,(0,2,2))",
        ),
        ("get key=universeSize kvsname=s", "get_result rc=0 value=4"),
        ("get kvsname=s key=k", "get_result rc=1 msg=no_such_key"),
        (
            "get kvsname=t key=k",
            "get_result rc=-1 msg=no_such_kvsname",
        ),
        ("dance now=1", "dance_result rc=-1 msg=unknown_command"),
    ] {
        let expected = format!("cmd={expected}");
        assert_eq!(reply(&mut server, 1, &format!("cmd={asked}")), expected);
    }
    let line = reply(&mut server, 0, "cmd=init pmi_version=2 pmi_subversion=0");
    assert!(line.contains("rc=-1"), "{line}");
    assert_eq!(server.traffic().gets, 4);
}

#[test]
fn puts_travel_with_the_barrier_and_fill_the_cache() {
    let mut server = server(6);
    for (index, key) in [(0, "a"), (3, "b")] {
        let put = format!("cmd=put kvsname=s key={key} value=v{key}");
        assert_eq!(reply(&mut server, index, &put), "cmd=put_result rc=0");
    }
    for index in [2, 0, 3] {
        assert_eq!(ask(&mut server, index, "cmd=barrier_in"), []);
    }
    let events = ask(&mut server, 1, "cmd=barrier_in");
    let pair = |key: &str| (key.to_owned(), format!("v{key}"));
    let expected = PmiRequest::Barrier {
        group: String::new(),
        members: 6,
        entered: 4,
        pairs: vec![pair("a"), pair("b")],
    };
    assert_eq!(events, [PmiEvent::Upward(expected)]);
    let released = PmiAnswer::Released {
        group: String::new(),
        pairs: ["a", "b", "c"].map(pair).to_vec(),
    };
    assert_eq!(replies(&server.answer(released)), [0, 1, 2, 3]);
    let found = reply(&mut server, 1, "cmd=get kvsname=s key=c");
    assert_eq!(found, "cmd=get_result rc=0 value=vc");
    assert_eq!((server.traffic().gets, server.traffic().upward), (1, 1));
}

#[test]
fn barriers_of_groups_let_their_ranks_go_and_no_others() {
    let mut server = server(6);
    assert_eq!(ask(&mut server, 2, "cmd=barrier_in group=NODE:7"), []);
    assert_eq!(ask(&mut server, 0, "cmd=barrier_in group=NODE:7"), []);
    let events = ask(&mut server, 1, "cmd=barrier_in group=NODE:7");
    assert_eq!(replies(&events), [0, 1]);
    assert_eq!(
        events[0],
        PmiEvent::Reply(0, "cmd=barrier_out rc=0 tag=7".to_owned())
    );
    assert_eq!(
        replies(&ask(&mut server, 3, "cmd=barrier_in group=NODE:7")),
        [2, 3]
    );
    assert_eq!(ask(&mut server, 1, "cmd=barrier_in group=1-2"), []);
    assert_eq!(
        replies(&ask(&mut server, 2, "cmd=barrier_in group=1-2")),
        [1, 2]
    );
    let events = ask(&mut server, 3, "cmd=barrier_in group=3,5");
    let expected = PmiRequest::Barrier {
        group: "3,5".to_owned(),
        members: 2,
        entered: 1,
        pairs: Vec::new(),
    };
    assert_eq!(events, [PmiEvent::Upward(expected)]);
    let released = |group: &str| PmiAnswer::Released {
        group: group.to_owned(),
        pairs: Vec::new(),
    };
    assert_eq!(server.answer(released("4,5")), []);
    assert_eq!(replies(&server.answer(released("3,5"))), [3]);
    for group in ["0-9", "x", "2-1", "0-4294967295"] {
        let line = reply(&mut server, 0, &format!("cmd=barrier_in group={group}"));
        assert!(line.contains("rc=-1 msg=no_such_group"), "{group}: {line}");
    }
    let line = reply(&mut server, 0, "cmd=barrier_in group=1,2");
    assert!(line.contains("rc=-1"), "{line}");
}

#[test]
fn names_are_asked_of_bcs_run() {
    let mut server = server(4);
    for (line, answer, expected) in [
        (
            "publish_name service=n port=p",
            Ok("p"),
            "publish_result rc=0",
        ),
        (
            "lookup_name service=n",
            Ok("p"),
            "lookup_result rc=0 port=p",
        ),
        (
            "lookup_name service=n",
            Err("unknown"),
            "lookup_result rc=1 msg=unknown",
        ),
        ("unpublish_name service=n", Ok("p"), "unpublish_result rc=0"),
    ] {
        let events = ask(&mut server, 2, &format!("cmd={line}"));
        assert!(matches!(&events[..], [PmiEvent::Upward(_)]), "{events:?}");
        let port = answer.map(str::to_owned).map_err(str::to_owned);
        let events = server.answer(PmiAnswer::Name { rank: 2, port });
        assert_eq!(events, [PmiEvent::Reply(2, format!("cmd={expected}"))]);
    }
    let unasked = PmiAnswer::Name {
        rank: 2,
        port: Ok("p".to_owned()),
    };
    assert_eq!(server.answer(unasked), []);
}

#[test]
fn ends_are_reported_and_spawn_is_refused() {
    let mut server = server(4);
    assert_eq!(
        ask(&mut server, 3, "cmd=abort exitcode=7"),
        [PmiEvent::Aborted(3, 7)]
    );
    assert_eq!(ask(&mut server, 3, "cmd=abort"), [PmiEvent::Aborted(3, 1)]);
    let events = ask(&mut server, 0, "cmd=finalize");
    let line = "cmd=finalize_ack rc=0".to_owned();
    assert_eq!(events, [PmiEvent::Reply(0, line), PmiEvent::Finalized(0)]);
    for line in ["mcmd=spawn", "nprocs=2", "execname=cmd=abort", "arg1=a b"] {
        assert_eq!(ask(&mut server, 0, line), []);
    }
    let line = reply(&mut server, 0, "endcmd");
    assert!(line.starts_with("cmd=spawn_result rc=-1 msg="), "{line}");
    assert!(reply(&mut server, 0, "cmd=get_appnum").contains("rc=0"));
}

#[test]
fn requests_are_understood_wherever_the_stream_is_cut() {
    let text =
        b"cmd=put kvsname=s key=k value=v\ncmd=barrier_in group=NODE\ncmd=get kvsname=s key=k\n";
    for cut in 0..=text.len() {
        let mut server = server(1);
        let mut events = server.receive(0, &text[..cut]);
        events.extend(server.receive(0, &text[cut..]));
        let lines = [
            "put_result rc=0",
            "barrier_out rc=0 tag=0",
            "get_result rc=0 value=v",
        ];
        let expected = lines.map(|line| PmiEvent::Reply(0, format!("cmd={line}")));
        assert_eq!(events, expected, "cut at {cut}");
    }
}

#[test]
fn a_rank_that_sends_nonsense_is_named_once() {
    for bytes in [
        [b'x'; LINE_BYTES + 2].as_slice(),
        b"cmd=\xff\n",
        b"hello\n",
        &[b"cmd=barrier_in\n".as_slice(), &[b'\n'; LINE_BYTES + 1]].concat(),
    ] {
        let mut server = server(4);
        let events = server.receive(1, bytes);
        assert!(
            matches!(&events[..], [PmiEvent::Malformed(1, _)]),
            "{events:?}"
        );
        assert_eq!(server.receive(1, bytes), []);
        assert!(
            reply(&mut server, 0, "cmd=get_appnum").contains("rc=0"),
            "others go on"
        );
    }
}

#[test]
fn what_a_rank_puts_is_bounded() {
    let mut server = server(4);
    let mut put = |key: &str, value: &str| {
        let line = format!("cmd=put kvsname=s key={key} value={value}");
        reply(&mut server, 0, &line).contains("rc=0")
    };
    assert!(put(&"k".repeat(63), &"v".repeat(1023)));
    assert!(!put(&"k".repeat(64), "v") && !put("", "v") && !put("k", &"v".repeat(1024)));
    assert!(!put("PMI_process_mapping", "mine"), "it is reserved");
    let value = "v".repeat(1000);
    let taken = (0..PMI_SPACE_BYTES).take_while(|number| put(&number.to_string(), &value));
    let taken = taken.count();
    assert!(
        taken * 1000 <= PMI_SPACE_BYTES / 4 && taken * 1100 > PMI_SPACE_BYTES / 4,
        "{taken}"
    );
    let line = reply(&mut server, 1, "cmd=put kvsname=s key=k value=v");
    assert!(
        line.contains("rc=0"),
        "another rank has its own part: {line}"
    );
}

//! Sockets over the loopback. Datagrams come soon and in order, but not at once: a test waits for
//! what it expects.

use std::net::{Ipv4Addr, Ipv6Addr};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;
use crate::udp::path::{longest_datagram, mtu_of};

/// A time that is longer than any operation.
const LONG: Timespec = Timespec {
    tv_sec: 20,
    tv_nsec: 0,
};

fn any_port(address: IpAddr) -> Result<Socket, BindError> {
    Socket::bind(address, 0..=0)
}

/// Pairs of sockets of IPv4 and, if the machine has it, of IPv6.
fn pairs() -> impl Iterator<Item = [Socket; 2]> {
    let four = IpAddr::from(Ipv4Addr::LOCALHOST);
    let six = IpAddr::from(Ipv6Addr::LOCALHOST);
    let has_six = UdpSocket::bind((six, 0)).is_ok();
    let addresses = [Some(four), has_six.then_some(six)];
    let pair = |address| [address, address].map(|address| any_port(address).unwrap());
    addresses.into_iter().flatten().map(pair)
}

/// Receives at least `count` datagrams.
fn receive(socket: &mut Socket, count: usize) -> Vec<(SocketAddr, Vec<u8>)> {
    let mut got = Vec::new();
    while got.len() < count {
        let mut ready = [PollFd::new(&*socket, PollFlags::IN)];
        assert_eq!(poll(&mut ready, Some(&LONG)), Ok(1), "{} came", got.len());
        let before = got.len();
        let mut each = |from, datagram: &mut [u8]| got.push((from, datagram.to_vec()));
        let told = socket.receive(usize::MAX, &mut each).unwrap();
        assert_eq!(told, got.len() - before);
    }
    got
}

/// Makes datagrams of these lengths, no two alike.
fn datagrams(lens: &[usize]) -> Vec<Vec<u8>> {
    let byte = |number: usize, at: usize| (number * 31 + at * 7 + (at >> 8)).to_le_bytes()[0];
    let datagram = |(number, len): (usize, &usize)| (0..*len).map(|at| byte(number, at)).collect();
    lens.iter().enumerate().map(datagram).collect()
}

/// Fronts and bytes lie apart, as in a batch.
#[test]
fn datagrams_that_lie_in_pieces_come_whole() {
    for [mut here, mut there] in pairs() {
        let to = there.local_addr();
        for (count, each, last) in [(1, 1_472, 1_472), (40, 1_472, 1_472), (7, 1_400, 33)] {
            let lens = [vec![each; count - 1], vec![last]].concat();
            let sent = datagrams(&lens);
            let mut places = ScatterList::with_capacity(2 * count);
            for datagram in &sent {
                let (front, bytes) = datagram.split_at(20);
                places.add_read(front);
                places.add_read(bytes);
            }
            let all: usize = lens.iter().sum();
            if !here.send_pieces(to, &places, (all, each)) {
                // Without GSO they go in one piece.
                here.send(to, &sent.concat(), each).unwrap();
            }
            let got = receive(&mut there, count).into_iter();
            let got: Vec<Vec<u8>> = got.map(|(_, datagram)| datagram).collect();
            assert_eq!(got, sent);
        }
        let too_many = datagrams(&[1; 2_000]);
        let mut places = ScatterList::with_capacity(too_many.len());
        too_many.iter().for_each(|one| places.add_read(one));
        assert!(!here.send_pieces(to, &places, (too_many.len(), 1)));
    }
}

#[test]
fn datagrams_of_any_length_come_whole() {
    for [mut here, mut there] in pairs() {
        let lens: Vec<usize> = (0..300).map(|n| 1 + n * 7919 % 9000).collect();
        let sent = datagrams(&lens);
        // Some at a time, so that the buffer holds them on every machine.
        for few in sent.chunks(10) {
            for datagram in few {
                let to = there.local_addr();
                here.send(to, datagram, datagram.len()).unwrap();
            }
            let got = receive(&mut there, few.len());
            let expected = few
                .iter()
                .map(|datagram| (here.local_addr(), datagram.clone()));
            assert_eq!(got, expected.collect::<Vec<_>>());
        }
        let traffic = |counted: &SocketTraffic| (counted.datagrams, counted.bytes);
        let all = (300, lens.iter().sum::<usize>() as u64);
        assert_eq!(traffic(&here.counters().sent), all);
        assert_eq!(here.counters().sent.calls, 300);
        assert_eq!(traffic(&there.counters().received), all);
    }
}

#[test]
fn a_batch_comes_as_the_datagrams_that_it_is_of() {
    for [mut here, mut there] in pairs() {
        // More than a call takes, by number and by bytes; the last is shorter; a single one; none.
        for (count, len, last) in [(200, 100, 1), (80, 1_400, 700), (3, 40_000, 9), (1, 1, 1)] {
            let mut lens = vec![len; count];
            lens[count - 1] = last;
            let sent = datagrams(&lens);
            here.send(there.local_addr(), &sent.concat(), len).unwrap();
            let got = receive(&mut there, count);
            assert!(got.iter().all(|(from, _)| *from == here.local_addr()));
            let got: Vec<_> = got.into_iter().map(|(_, datagram)| datagram).collect();
            assert_eq!(got, sent);
        }
        let SocketCounters { sent, .. } = *here.counters();
        assert_eq!(sent.datagrams, 284);
        let has_offload = here.offload.max_gso_segments() > 1;
        assert_eq!(sent.calls, if has_offload { 4 + 2 + 3 + 1 } else { 284 });
        here.send(there.local_addr(), &[], 1).unwrap();
        assert_eq!(here.counters().sent, sent);
    }
}

#[test]
fn nothing_has_come_before_it_was_sent() {
    for [_, mut there] in pairs() {
        let received = there.receive(usize::MAX, &mut |_, _| panic!("nothing was sent"));
        assert_eq!(received.unwrap(), 0);
        assert_eq!(*there.counters(), SocketCounters::default());
    }
}

#[test]
fn what_a_full_buffer_does_not_hold_is_lost_and_nobody_waits() {
    for [mut here, mut there] in pairs() {
        sockopt::set_socket_recv_buffer_size(&there, 1 << 16).unwrap();
        let to = there.local_addr();
        let batch = vec![1; 50 * 1_000];
        for _ in 0..40 {
            here.send(to, &batch, 1_000).unwrap();
        }
        let mut count = 0;
        while there.receive(usize::MAX, &mut |_, _| ()).unwrap() > 0 {}
        // There is room again: this one comes, whatever came late before it.
        here.send(to, &[2], 1).unwrap();
        while receive(&mut there, 1).iter().all(|(_, got)| got[..] != [2]) {
            count += 1;
        }
        assert!(count < 2_000);
        let received = there.counters().received.datagrams;
        assert!((1..2_000).contains(&received), "{received} came");
        assert_eq!(here.counters().sent.datagrams, 2_001);
    }
}

#[test]
fn the_buffer_holds_what_it_says_in_datagrams_as_the_network_has_them() {
    for [mut here, mut there] in pairs() {
        // A small one, so that this is quick.
        sockopt::set_socket_recv_buffer_size(&there, 200_000).unwrap();
        for len in [1_400, 8_900] {
            let batch = vec![3; 200_000 / len * len];
            here.send(there.local_addr(), &batch, len).unwrap();
            let got = receive(&mut there, batch.len() / len);
            assert_eq!(got.len(), batch.len() / len);
        }
        assert!(here.receive_bytes() >= 100_000);
    }
}

#[test]
fn a_peer_that_is_not_there_is_no_error() {
    for [mut here, _] in pairs() {
        // The discard port (RFC 863): no other test uses it.
        let nobody = (here.local_addr().ip(), 9).into();
        for _ in 0..10 {
            here.send(nobody, &[1; 100], 50).unwrap();
            assert_eq!(here.receive(usize::MAX, &mut |_, _| ()).unwrap(), 0);
        }
    }
}

#[test]
fn a_datagram_that_is_too_long_for_its_path_is_told() {
    for [mut here, mut there] in pairs() {
        let (local, to) = (here.local_addr().ip(), there.local_addr());
        let longest = longest_datagram(mtu_of(local, to).unwrap(), local);
        let batch = vec![1; longest + 1];
        here.send(to, &batch[1..], longest).unwrap();
        assert_eq!(receive(&mut there, 1)[0].1.len(), longest);
        // The MTU of the loopback may be larger than the longest datagram of IPv4.
        if longest < MAX_UDP_PAYLOAD_BYTES {
            let unsent = here.send(to, &batch, longest + 1).unwrap_err();
            assert!(matches!(unsent.why, SendFailureReason::TooLong), "{unsent}");
            assert_eq!((unsent.sent, here.counters().too_long), (0, 1));
        }
    }
}

#[test]
fn what_the_kernel_says_has_an_answer() {
    let mut counters = SocketCounters::default();
    let mut answer = |errno: Errno| counters.handle_send_error(errno.into(), 3);
    assert!(matches!(answer(Errno::AGAIN), Err(SendFailureReason::Full)));
    assert!(matches!(
        answer(Errno::NOBUFS),
        Err(SendFailureReason::Busy)
    ));
    assert!(matches!(
        answer(Errno::MSGSIZE),
        Err(SendFailureReason::TooLong)
    ));
    assert!(matches!(
        answer(Errno::AFNOSUPPORT),
        Err(SendFailureReason::Failed(_))
    ));
    for errno in [Errno::CONNREFUSED, Errno::PERM, Errno::HOSTUNREACH] {
        assert!(answer(errno).is_ok(), "{errno}");
    }
    let expected = SocketCounters {
        full: 1,
        busy: 1,
        too_long: 1,
        refused: 1,
        forbidden: 3,
        unreachable: 3,
        ..SocketCounters::default()
    };
    assert_eq!(counters, expected);
}

#[test]
fn the_first_free_port_of_a_range_is_taken_and_a_range_without_one_is_named() {
    let address = IpAddr::from(Ipv4Addr::LOCALHOST);
    let first = any_port(address).unwrap();
    let port = first.local_addr().port();
    assert!(
        Socket::bind(address, port..=u16::MAX)
            .unwrap()
            .local_addr()
            .port()
            > port
    );
    let error = Socket::bind(address, port..=port).unwrap_err().to_string();
    let names = format!("of 127.0.0.1: none from {port} to {port} is free");
    assert!(error.contains(&names), "{error}");
    // An address for documentation (RFC 5737), so this machine does not have it.
    let foreign = IpAddr::from(Ipv4Addr::new(203, 0, 113, 7));
    let error = Socket::bind(foreign, 4_000..=5_000)
        .unwrap_err()
        .to_string();
    assert!(error.contains("UDP port 4000 of 203.0.113.7"), "{error}");
}

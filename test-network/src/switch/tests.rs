//! The switch in virtual time.

use std::collections::BTreeSet;
use std::num::NonZeroU64;

use etherparse::{EtherType, Ethernet2Header, PacketBuilder, SlicedPacket, TransportSlice};

use super::frame::udp_checksum;
use super::frame_queue::MAX_QUEUED_FRAMES;
use super::*;

const MAC: [[u8; 6]; 3] = [[2, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
const ALL: [u8; 6] = [0xff; 6];
const US: u64 = 1_000;

/// The frames that leave, with their ports.
type Sent = Vec<(usize, Vec<u8>)>;

fn udp_v4(from: usize, to: usize, carried: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(MAC[from], MAC[to])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(1111, 2222)
        .write(&mut frame, carried)
        .unwrap();
    frame
}

fn udp_v6(from: usize, to: usize, carried: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(MAC[from], MAC[to])
        .ipv6([1; 16], [2; 16], 64)
        .udp(1111, 2222)
        .write(&mut frame, carried)
        .unwrap();
    frame
}

fn tcp(from: usize, to: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(MAC[from], MAC[to])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(1111, 2222, 3, 4)
        .write(&mut frame, b"abc")
        .unwrap();
    frame
}

fn ping(from: usize, to: usize) -> Vec<u8> {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(MAC[from], MAC[to])
        .ipv6([1; 16], [2; 16], 64)
        .icmpv6_echo_request(1, 2)
        .write(&mut frame, b"abc")
        .unwrap();
    frame
}

/// Makes a frame that is not UDP, such as one of ARP.
fn other(from: usize, to: [u8; 6]) -> Vec<u8> {
    let header = Ethernet2Header {
        source: MAC[from],
        destination: to,
        ether_type: EtherType(0x88b5),
    };
    [&header.to_bytes()[..], b"abc"].concat()
}

/// Returns the number of a datagram of [`numbered`].
fn number(frame: &[u8]) -> u32 {
    let last = frame.last_chunk().unwrap();
    u32::from_be_bytes(*last)
}

fn numbered(number: u32) -> Vec<u8> {
    udp_v4(0, 1, &number.to_be_bytes())
}

/// Makes a switch with three ports that has learned the address behind each.
fn acquainted(faults: SwitchFaults) -> Switch {
    let mut switch = Switch::new(3);
    for port in 0..3 {
        take(&mut switch, 0, port, &other(port, ALL));
    }
    switch.set_faults(faults);
    switch
}

fn take(switch: &mut Switch, now_ns: u64, from: usize, frame: &[u8]) -> Sent {
    let mut sent = Sent::new();
    switch.take(now_ns, from, frame, &mut |to, frame| {
        sent.push((to, frame.to_vec()));
    });
    sent
}

/// Returns the frames that leave, one after the other, until none waits, with their times.
fn rest(switch: &mut Switch) -> Vec<(u64, Vec<u8>)> {
    let mut sent = Vec::new();
    while let Some(next_ns) = switch.next_ns() {
        switch.release(next_ns, &mut |_, frame| {
            sent.push((next_ns, frame.to_vec()))
        });
    }
    sent
}

/// Sends `count` datagrams from 0 to 1, a microsecond apart. Returns all that leave.
fn stream(switch: &mut Switch, count: u32) -> Sent {
    let mut sent = Sent::new();
    for nth in 0..count {
        sent.extend(take(switch, u64::from(nth) * US, 0, &numbered(nth)));
    }
    sent.extend(rest(switch).into_iter().map(|(_, frame)| (1, frame)));
    sent
}

/// Makes faults of all kinds, at rates that are neither rare nor usual.
fn all_faults(seed: u64) -> SwitchFaults {
    SwitchFaults {
        seed,
        loss_permille: 100,
        duplication_permille: 100,
        reordering_permille: 100,
        delay_permille: 200,
        delay_us: 20,
        jitter_us: 30,
        corruption_permille: 100,
        ..SwitchFaults::NONE
    }
}

#[test]
fn frames_go_where_their_address_was_seen() {
    let mut switch = Switch::new(3);
    let unknown = other(0, MAC[1]);
    let to_both = vec![(1, unknown.clone()), (2, unknown.clone())];
    assert_eq!(take(&mut switch, 0, 0, &unknown), to_both);
    let answer = other(1, MAC[0]);
    assert_eq!(take(&mut switch, 0, 1, &answer), [(0, answer)]);
    assert_eq!(take(&mut switch, 0, 0, &unknown), [(1, unknown.clone())]);
    let for_all = other(0, ALL);
    assert_eq!(take(&mut switch, 0, 0, &for_all).len(), 2);
    // The host has moved to another port.
    take(&mut switch, 0, 2, &other(1, ALL));
    assert_eq!(take(&mut switch, 0, 0, &unknown), [(2, unknown)]);
    // Both addresses are behind one port: the frame is there already.
    assert_eq!(take(&mut switch, 0, 2, &other(2, MAC[1])), []);
    assert_eq!(take(&mut switch, 0, 0, &[0; 13]), [], "half an address");
    // The switch need not see an address that it was given.
    let mut switch = Switch::new(3);
    switch.learn(MAC[1], 1);
    let frame = udp_v4(0, 1, b"abc");
    assert_eq!(take(&mut switch, 0, 0, &frame), [(1, frame)]);
}

#[test]
fn without_faults_all_leave_at_once_as_they_came() {
    let mut switch = acquainted(SwitchFaults::NONE);
    for nth in 0..1000 {
        let frame = numbered(nth);
        assert_eq!(take(&mut switch, 0, 0, &frame), [(1, frame)]);
    }
    assert_eq!(switch.next_ns(), None);
}

#[test]
fn the_same_seed_makes_the_same_fates_and_another_seed_others() {
    let run = |seed| {
        let mut switch = acquainted(all_faults(seed));
        (stream(&mut switch, 2000), switch.counts())
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).0, run(8).0);
}

#[test]
fn fates_depend_on_the_number_within_the_pair_and_on_nothing_else() {
    let faults = SwitchFaults {
        loss_permille: 500,
        corruption_permille: 0,
        ..all_faults(3)
    };
    let numbers = |sent: Sent| -> BTreeSet<u32> {
        let to_1 = sent.iter().filter(|(to, _)| *to == 1);
        to_1.map(|(_, frame)| number(frame)).collect()
    };
    let alone = numbers(stream(&mut acquainted(faults), 500));
    // At other times, among other traffic, and with additional faults.
    let faults = SwitchFaults {
        delay_permille: 0,
        duplication_permille: 900,
        ..faults
    };
    let mut switch = acquainted(faults);
    let mut sent = Sent::new();
    for nth in 0..500 {
        let now_ns = u64::from(nth) * 77 * US;
        take(&mut switch, now_ns, 2, &udp_v6(2, 1, b"between"));
        take(&mut switch, now_ns, 0, &tcp(0, 1));
        let to_1 = take(&mut switch, now_ns, 0, &numbered(nth));
        let of_0 = |(_, frame): &(usize, Vec<u8>)| frame[6..12] == MAC[0];
        sent.extend(to_1.into_iter().filter(of_0));
    }
    sent.extend(rest(&mut switch).into_iter().map(|(_, frame)| (1, frame)));
    assert!(sent.len() > alone.len(), "many leave twice");
    assert_eq!(numbers(sent), alone);
}

/// Each fault happens at its rate, to five standard deviations.
#[test]
fn faults_have_their_rates() {
    const COUNT: u32 = 20_000;
    let mut switch = acquainted(all_faults(11));
    stream(&mut switch, COUNT);
    let found = switch.counts().all;
    let lost = 0.1;
    let left = (1.0 - lost) * 1.1;
    let rates = [
        ("lost", found.lost, lost),
        ("repeated", found.repeated, (1.0 - lost) * 0.1),
        ("reordered", found.reordered, left * 0.1),
        ("delayed", found.delayed, left * 0.2),
        ("corrupted", found.corrupted, left * 0.1),
    ];
    for (what, found, rate) in rates {
        let expected = f64::from(COUNT) * rate;
        let found = f64::from(u32::try_from(found).unwrap());
        assert!(
            (found - expected).abs() < 5.0 * expected.sqrt(),
            "{what}: {found}, not {expected}"
        );
    }
    assert_eq!(found.datagrams, u64::from(COUNT));
    assert_eq!((found.held, found.overflowed), (0, 0));
}

#[test]
fn nothing_but_udp_meets_faults() {
    let faults = SwitchFaults {
        loss_permille: 1000,
        ..SwitchFaults::NONE
    };
    let mut switch = acquainted(faults);
    let damaged = {
        let mut frame = udp_v4(0, 1, b"abc");
        frame.truncate(frame.len() - 1);
        frame
    };
    for frame in [tcp(0, 1), ping(0, 1), other(0, MAC[1]), damaged] {
        assert_eq!(take(&mut switch, 0, 0, &frame), [(1, frame)]);
    }
    for frame in [udp_v4(0, 1, b"abc"), udp_v6(0, 1, b"abc")] {
        assert_eq!(take(&mut switch, 0, 0, &frame), []);
    }
    let counts = switch.counts();
    assert_eq!((counts.all.datagrams, counts.all.lost), (2, 2));
    let [pair] = counts.pairs[..] else {
        panic!("{counts:?}");
    };
    assert_eq!((pair.from, pair.to, pair.tally), (0, 1, counts.all));
}

#[test]
fn a_changed_datagram_has_one_other_byte_and_a_right_checksum() {
    let faults = SwitchFaults {
        corruption_permille: 1000,
        ..SwitchFaults::NONE
    };
    let mut switch = acquainted(faults);
    let mut places = BTreeSet::new();
    for nth in 0_u8..200 {
        let carried = [nth; 41];
        for frame in [udp_v4(0, 1, &carried), udp_v6(0, 1, &carried)] {
            let sent = take(&mut switch, 0, 0, &frame);
            let [(1, changed)] = &sent[..] else {
                panic!("{sent:?}");
            };
            let packet = SlicedPacket::from_ethernet(changed).unwrap();
            let Some(TransportSlice::Udp(udp)) = packet.transport else {
                panic!("{packet:?}");
            };
            assert_eq!(Some(udp.checksum()), udp_checksum(changed));
            let others = udp.payload().iter().enumerate();
            let others: Vec<usize> = others
                .filter_map(|(place, byte)| (*byte != nth).then_some(place))
                .collect();
            assert_eq!(others.len(), 1);
            places.extend(others);
        }
    }
    assert!(places.len() > 35, "they are all over: {places:?}");
    // An empty datagram has no byte to change.
    let empty = udp_v4(0, 1, b"");
    assert_eq!(take(&mut switch, 0, 0, &empty), [(1, empty)]);
    assert_eq!(switch.counts().all.corrupted, 400);
}

#[test]
fn who_sends_no_checksum_gets_none() {
    let faults = SwitchFaults {
        corruption_permille: 1000,
        ..SwitchFaults::NONE
    };
    let mut frame = udp_v4(0, 1, b"abc");
    let checksum = frame.len() - 5..frame.len() - 3;
    frame[checksum.clone()].fill(0);
    let sent = take(&mut acquainted(faults), 0, 0, &frame);
    assert_ne!(sent[0].1, frame);
    assert_eq!(sent[0].1[checksum], [0, 0]);
}

#[test]
fn fragments_are_lost_and_not_changed() {
    let mut frame = udp_v4(0, 1, &[7; 64]);
    // More fragments follow. A switch does not check the header's checksum.
    frame[20] |= 0x20;
    let faults = |loss_permille| SwitchFaults {
        loss_permille,
        corruption_permille: 1000,
        ..SwitchFaults::NONE
    };
    let mut switch = acquainted(faults(0));
    assert_eq!(take(&mut switch, 0, 0, &frame), [(1, frame.clone())]);
    assert_eq!(switch.counts().all.corrupted, 0);
    assert_eq!(take(&mut acquainted(faults(1000)), 0, 0, &frame), []);
}

#[test]
fn who_is_held_back_leaves_behind_those_that_overtake_it() {
    let faults = SwitchFaults {
        reordering_permille: 1000,
        reordering_behind: 2,
        reordering_hold_us: 50,
        ..SwitchFaults::NONE
    };
    let mut switch = acquainted(faults);
    assert_eq!(take(&mut switch, 0, 0, &numbered(0)), []);
    assert_eq!(take(&mut switch, 0, 0, &numbered(1)), []);
    switch.set_faults(SwitchFaults::NONE);
    assert_eq!(take(&mut switch, 10, 0, &numbered(2)).len(), 1);
    // A datagram of another pair does not count as overtaking.
    assert_eq!(take(&mut switch, 10, 2, &udp_v4(2, 1, b"abc")).len(), 1);
    let sent = take(&mut switch, 10, 0, &numbered(3));
    let numbers: Vec<u32> = sent.iter().map(|(_, frame)| number(frame)).collect();
    assert_eq!(numbers, [3, 0, 1]);
    assert_eq!(switch.next_ns(), None);
    // No datagram comes: its time is over.
    switch.set_faults(faults);
    assert_eq!(take(&mut switch, 100 * US, 0, &numbered(4)), []);
    assert_eq!(rest(&mut switch), [(150 * US, numbered(4))]);
    assert_eq!(switch.counts().all.reordered, 3);
}

#[test]
fn delays_are_between_the_least_and_the_least_with_the_jitter() {
    let faults = SwitchFaults {
        delay_permille: 1000,
        delay_us: 100,
        jitter_us: 50,
        ..SwitchFaults::NONE
    };
    let mut switch = acquainted(faults);
    for nth in 0..1000 {
        assert_eq!(take(&mut switch, 0, 0, &numbered(nth)), []);
    }
    let left = rest(&mut switch);
    let times: Vec<u64> = left.iter().map(|(at_ns, _)| *at_ns).collect();
    assert_eq!(times.len(), 1000);
    assert!(times.is_sorted());
    assert!(times.iter().all(|ns| (100 * US..=150 * US).contains(ns)));
    assert!(times[0] < 101 * US && times[999] > 149 * US);
    let order: Vec<u32> = left.iter().map(|(_, frame)| number(frame)).collect();
    assert!(!order.is_sorted(), "jitter changes the order");
}

#[test]
fn a_bandwidth_lets_so_many_bytes_pass_in_order() {
    let frame = numbered(0);
    let bandwidth = frame.len() as u64 * 1_000_000;
    let faults = SwitchFaults {
        bandwidth_bytes_per_s: NonZeroU64::new(bandwidth),
        ..SwitchFaults::NONE
    };
    let mut switch = acquainted(faults);
    for nth in 0..100 {
        assert_eq!(take(&mut switch, 0, 0, &numbered(nth)), []);
    }
    let left = rest(&mut switch);
    let expected = (0..100).map(|nth| (u64::from(nth + 1) * US, numbered(nth)));
    assert!(left.into_iter().eq(expected), "one a microsecond");
}

#[test]
fn what_waits_has_a_bound() {
    let faults = SwitchFaults {
        delay_permille: 1000,
        delay_us: 1,
        ..SwitchFaults::NONE
    };
    let mut switch = acquainted(faults);
    let frame = numbered(0);
    for _ in 0..MAX_QUEUED_FRAMES + 3 {
        assert_eq!(take(&mut switch, 0, 0, &frame), []);
    }
    let counts = switch.counts().all;
    assert_eq!(
        (counts.held, counts.overflowed),
        (MAX_QUEUED_FRAMES as u64, 3)
    );
    assert_eq!(rest(&mut switch).len(), MAX_QUEUED_FRAMES);
}

#[test]
fn a_checksum_that_was_left_to_the_device_is_the_right_one() {
    for carried in [&b"even"[..], b"odd", b""] {
        let right = udp_v4(0, 1, carried);
        let header = 14 + 20;
        let mut frame = right.clone();
        // The kernel puts this there: the sum of the addresses, the protocol and the length.
        let length = u16::try_from(8 + carried.len()).unwrap();
        let sum = 0x0a00 + 0x0001 + 0x0a00 + 0x0002 + 17 + length;
        frame[header + 6..header + 8].copy_from_slice(&sum.to_be_bytes());
        assert!(frame::finish_checksum(&mut frame, header, 6));
        assert_eq!(frame, right);
    }
    let mut short = [0; 10];
    assert!(!frame::finish_checksum(&mut short, 4, 5));
    assert!(!frame::finish_checksum(&mut short, 11, 0));
}

#[test]
fn orders_are_lines() {
    use super::faults::SwitchCommand;
    assert_eq!(
        "counts\n".parse::<SwitchCommand>().unwrap(),
        SwitchCommand::Counts
    );
    let faults = all_faults(1);
    let line = serde_json::to_string(&faults).unwrap();
    assert_eq!(
        line.parse::<SwitchCommand>().unwrap(),
        SwitchCommand::Faults(faults)
    );
    let short = "{\"loss_permille\": 5}".parse::<SwitchFaults>().unwrap();
    assert_eq!((short.loss_permille, short.reordering_behind), (5, 3));
    assert!("{\"los_permille\": 5}".parse::<SwitchCommand>().is_err());
    let counts = acquainted(faults).counts();
    let line = serde_json::to_string(&counts).unwrap();
    assert_eq!(serde_json::from_str::<SwitchCounts>(&line).unwrap(), counts);
}

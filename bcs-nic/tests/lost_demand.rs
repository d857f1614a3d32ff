//! A NIC thread that forgets to demand a slice: the deadlock detector can report what it holds.

use bcs_core::check_bits::CheckBits;
use bcs_core::descriptor::{Payload, ReceiveDescriptor, ReceiveKind, SendDescriptor};
use bcs_core::job::{Cores, NicThreading, NodeId, Placement, Settings};
use bcs_core::layout::Location;
use bcs_core::memory::NicMemory;
use bcs_core::memory::ring::Producer;
use bcs_core::request::{RequestFailure, RequestId};
use bcs_core::wake::MachinePage;
use bcs_fabric::shm::Segment;
use bcs_nic::bounds::Bounds;
use bcs_nic::bug::PlantedBug;
use bcs_nic::driver::{NicHost, NicHostConfig};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Four slices' budget of the job below, at least.
const LONG: usize = 1 << 20;

const REQUEST: RequestId = RequestId {
    slot: 1,
    generation: 1,
};

fn send(bytes: &[u8]) -> [u64; SendDescriptor::WORDS] {
    let send = SendDescriptor {
        request: REQUEST,
        needs_completion: true,
        context: 0,
        destination: 1,
        tag: 7,
        len: bytes.len() as u64,
        check_bits: CheckBits::NONE,
        payload: Payload::Memory(Location::contiguous(bytes.as_ptr() as u64)),
        one_sided: None,
    };
    send.encode()
}

fn receive(into: &mut [u8]) -> [u64; ReceiveDescriptor::WORDS] {
    let kind = ReceiveKind::Receive {
        into: Location::contiguous(into.as_mut_ptr() as u64),
        capacity: into.len() as u64,
        shared: false,
    };
    let receive = ReceiveDescriptor {
        request: REQUEST,
        context: 0,
        source: Some(0),
        tag: Some(7),
        kind,
    };
    receive.encode()
}

/// A message takes several slices, and BR demands only every other one of them.
#[test]
fn what_a_nic_holds_and_has_forgotten_to_ask_for_is_told_and_a_slice_moves_it_on() {
    let settings = Settings {
        driver: NicThreading::Shared,
        link_bandwidth: 500_000_000,
        ..Settings::default()
    };
    let memories = [0, 1].map(|_| NicMemory::private(settings.eager_limit).unwrap());
    let page = MachinePage::private(2, 2).unwrap();
    let segment = Segment::private(2, 2).unwrap();
    for rank in 0..2 {
        let pid = segment.pid(rank).unwrap();
        pid.store(std::process::id(), Ordering::Release);
    }
    let host = NicHost::start(
        NicHostConfig {
            placement: Placement::block(2, 2).unwrap(),
            settings,
            bounds: Bounds::default(),
            bug: Some(PlantedBug::LoseDemand),
            nodes: vec![NodeId(0), NodeId(1)],
            strobe_sender: true,
            segment,
            page: page.clone(),
            nic_memory: Arc::new(memories.iter().cloned().map(Some).collect()),
            cores: Cores::default(),
            emds: None,
            far: None,
        },
        |news| panic!("{news:?}"),
    )
    .unwrap();
    let (sent, mut received) = (vec![7; LONG], vec![0; LONG]);
    let mut receives = Producer::new(memories[1].words(), NicMemory::receive_ring());
    receives.push(&receive(&mut received)).unwrap();
    let mut sends = Producer::new(memories[0].words(), NicMemory::send_ring());
    sends.push(&send(&sent)).unwrap();
    page.demand();
    let mut forgotten = 0;
    let completion = loop {
        if let Some(completion) = memories[1].completion(REQUEST) {
            break completion;
        }
        // Two polls that see the same number of sleeps: nothing has moved in between.
        let naps = host.sleep_count();
        if naps.is_some()
            && let Some(held) = host.stalled_work()
            && host.sleep_count() == naps
        {
            let said = held.to_string();
            assert_eq!(said, "BR of node 1 holds transfers that move in slices");
            forgotten += 1;
            host.demand_slice();
        }
        std::thread::yield_now();
    };
    assert_eq!(completion.failure, RequestFailure::None);
    assert!(received == sent);
    assert!(forgotten > 0, "the planted bug has not struck");
    let _recordings = host.stop();
}

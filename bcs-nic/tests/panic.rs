//! The panic of a NIC thread is noticed, whatever OS thread runs it.

use bcs_core::job::{Cores, NicThreadId, NicThreading, NodeId, Placement, Settings};
use bcs_core::memory::NicMemory;
use bcs_core::wake::MachinePage;
use bcs_fabric::shm::Segment;
use bcs_nic::bounds::Bounds;
use bcs_nic::bug::PlantedBug;
use bcs_nic::driver::{NicHost, NicHostConfig, NicHostEvent};
use bcs_nic::failure::NicFailure;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Returns the first failure reported of a job of two ranks on two nodes, in which every microphase
/// of every slice is struck.
fn first_failure(driver: NicThreading, bug: Option<PlantedBug>) -> Option<NicFailure> {
    let placement = Placement::block(2, 2).unwrap();
    let settings = Settings {
        driver,
        all_phases: true,
        ..Settings::default()
    };
    let memory = || NicMemory::private(settings.eager_limit).map(Some);
    let nic_memory: Result<Vec<_>, _> = (0..2).map(|_| memory()).collect();
    let page = MachinePage::private(2, 2).unwrap();
    let config = NicHostConfig {
        placement,
        settings,
        bounds: Bounds::default(),
        bug,
        nodes: vec![NodeId(0), NodeId(1)],
        strobe_sender: true,
        segment: Segment::private(2, 2).unwrap(),
        page: page.clone(),
        nic_memory: Arc::new(nic_memory.unwrap()),
        cores: Cores::default(),
        emds: None,
        far: None,
    };
    let (reported, failures) = mpsc::channel();
    let host = NicHost::start(config, move |news| {
        let NicHostEvent::Failed(failure) = news else {
            panic!("nobody told them to rest");
        };
        // After the first failure nobody listens.
        let _ignored = reported.send(failure);
    });
    page.demand();
    let wait = if bug.is_some() { 60_000 } else { 100 };
    let failure = failures.recv_timeout(Duration::from_millis(wait)).ok();
    let recordings = host.unwrap().stop();
    assert_eq!(recordings.left_over, []);
    failure
}

#[test]
fn a_nic_thread_that_panics_ends_the_job_and_is_named() {
    for driver in [
        NicThreading::Shared,
        NicThreading::Coprocessor,
        NicThreading::Dedicated,
    ] {
        assert_eq!(first_failure(driver, None), None);
        for thread in NicThreadId::ALL {
            let failure = first_failure(driver, Some(PlantedBug::Panic(thread)));
            let failure =
                failure.unwrap_or_else(|| panic!("{driver:?}: nobody noticed {thread:?}"));
            assert_eq!(failure.rank(), None);
            let named = format!("NIC thread {} panicked: planted", thread.name());
            let said = failure.to_string();
            assert!(said.contains(&named), "{driver:?}: {said}");
        }
    }
}

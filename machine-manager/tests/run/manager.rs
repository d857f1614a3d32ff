//! A node manager alone, with the test as its launcher: its messages and their order, and what it
//! writes into the segment.

use super::job::{GONE_WITHIN, signal};
use bcs_core::job::handshake::PROTOCOL_VERSION;
use bcs_core::job::{Cores, NodeId, Placement, Settings};
use bcs_core::wake::{MachinePage, Profile};
use bcs_fabric::shm::Segment;
use node_manager::control::{
    Application, Frame, FrameReadOutcome, FrameReader, FrameWriter, FromManager, InputReader,
    JobStart, RankFailureKind, Stream, ToManager,
};
use node_manager::rank_cores::RankCores;
use node_manager::spawn::{Image, Setup, SpawnedProcess, Spawner};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Signal, WaitOptions, waitpid};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a test waits for events without a promised time.
const PATIENCE: Duration = Duration::from_secs(30);

/// A node manager of one node.
struct Manager {
    child: SpawnedProcess,
    control: OwnedFd,
    reader: FrameReader,
    segment: Segment,
}

impl Manager {
    /// Starts one, whose ranks run a script.
    fn start(ranks: usize, script: &str) -> Self {
        let (page_fd, _page) = MachinePage::create(1, 4, Profile::UNKNOWN).unwrap();
        let (segment_fd, segment) = Segment::create(1, ranks).unwrap();
        let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
        let (control, far) = socketpair(AddressFamily::UNIX, kind, flags, None).unwrap();
        let null = OFlags::RDWR | OFlags::CLOEXEC;
        let null = rustix::fs::open("/dev/null", null, Mode::empty()).unwrap();
        let bcs = env!("CARGO_BIN_EXE_bcs");
        let image = Image::new(bcs.as_ref(), &["bcs", "node-manager"], [], None).unwrap();
        let setup = Setup {
            standard: [null.as_fd(), null.as_fd(), rustix::stdio::stderr()],
            inherited: &[far.as_fd(), page_fd.as_fd(), segment_fd.as_fd()],
            dies_with_parent: false,
            open_files: None,
            cores: &[],
            variables: &[],
        };
        let child = Spawner::default().spawn(&image, &setup).unwrap();
        let start = JobStart {
            job: "a test".to_owned(),
            placement: Placement::block(ranks, 1).unwrap(),
            settings: Settings::default(),
            nodes: vec![NodeId(0)],
            strobe_sender: true,
            cores: Cores::default(),
            applications: vec![Application {
                ranks,
                program: "/bin/sh".into(),
                arguments: ["sh", "-c", script].map(Into::into).to_vec(),
                environment: Vec::new(),
                directory: None,
            }],
            input: InputReader::None,
            output_dir: None,
            rank_cores: RankCores::All,
            kill_delay: Duration::from_secs(20),
            verbose: false,
            mds: None,
            record: mds::Selection::default(),
            preload: false,
            far: None,
            universe_size: None,
        };
        let manager = Self {
            child,
            control,
            reader: FrameReader::default(),
            segment,
        };
        manager.tell(&ToManager::Start(Box::new(start)));
        manager
    }

    /// Sends it a message for which its socket has room.
    fn tell(&self, message: &ToManager) {
        let mut writer = FrameWriter::default();
        writer.message(message);
        writer.send(&self.control).unwrap();
        assert_eq!(writer.waiting(), 0);
    }

    /// Returns its next message; `None` when it has ended.
    fn hear(&mut self) -> Option<Frame<FromManager>> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(frame) = self.reader.frame().unwrap() {
                return Some(frame);
            }
            let left = end.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::new(&self.control, PollFlags::IN)];
            let ready = poll(&mut fds, Some(&left.try_into().unwrap())).unwrap();
            assert!(ready > 0, "the node manager says nothing");
            let mut buffer = vec![0; 1 << 16];
            if self.reader.receive(&self.control, &mut buffer) == Ok(FrameReadOutcome::End) {
                return None;
            }
        }
    }

    /// Skips all its messages up to this one.
    fn wait_for(&mut self, what: impl Fn(&Frame<FromManager>) -> bool) -> Frame<FromManager> {
        loop {
            let frame = self.hear().expect("the node manager has not ended");
            if what(&frame) {
                return frame;
            }
        }
    }
}

impl Drop for Manager {
    /// Closes its socket: it ends all its descendants when its launcher is gone.
    fn drop(&mut self) {
        let _ = rustix::net::shutdown(&self.control, rustix::net::Shutdown::Both);
        let start = Instant::now();
        while waitpid(Some(self.child.pid), WaitOptions::NOHANG).is_ok_and(|end| end.is_none()) {
            if start.elapsed() > GONE_WITHIN {
                signal(self.child.pid.as_raw_nonzero().get(), Signal::KILL);
            }
            std::thread::yield_now();
        }
    }
}

fn lines(rank: u32) -> impl Fn(&Frame<FromManager>) -> bool {
    move |frame| matches!(frame, Frame::Output { rank: of, .. } if *of == rank)
}

fn failure(frame: &Frame<FromManager>) -> bool {
    matches!(frame, Frame::Message(FromManager::ProcessFail(_)))
}

/// Returns the time that a process has used, if it sleeps.
fn idle(pid: i32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<String> = stat
        .rsplit_once(") ")
        .unwrap()
        .1
        .split(' ')
        .map(str::to_owned)
        .collect();
    (fields[0] == "S").then(|| fields[11..13].to_vec())
}

/// Nobody reads the output until its rank is killed: then its pipe is full, and paused. If the
/// launcher got the news first, and killed the node manager after that, the output would be lost.
#[test]
fn what_a_rank_wrote_comes_before_the_news_of_its_death() {
    let script = "echo $$; while :; do echo full of words; done";
    let mut manager = Manager::start(1, script);
    let Frame::Output { bytes, .. } = manager.wait_for(lines(0)) else {
        unreachable!("it is output");
    };
    let first = String::from_utf8(bytes).unwrap();
    let pid: i32 = first.lines().next().unwrap().parse().unwrap();
    // Wait until both have slept for a while: the rank because its pipe is full, the node manager
    // because its socket is. If they do not, the test is only easier to pass.
    let (mut before, mut unchanged, start) = (None, 0, Instant::now());
    while unchanged < 2_000 && start.elapsed() < PATIENCE / 3 {
        let manager = manager.child.pid.as_raw_nonzero().get();
        let now = idle(pid).zip(idle(manager));
        unchanged = if now.is_some() && now == before {
            unchanged + 1
        } else {
            0
        };
        before = now;
        std::thread::yield_now();
    }
    signal(pid, Signal::KILL);
    // The news must be there before there is room for anything: reading as usual would hide the
    // order.
    let start = Instant::now();
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        assert!(start.elapsed() < PATIENCE, "the dead rank is not reaped");
        std::thread::yield_now();
    }
    let Frame::Message(FromManager::ProcessFail(news)) = manager.wait_for(failure) else {
        unreachable!("it is a failure");
    };
    assert!(matches!(
        news.what,
        RankFailureKind::Killed { signal: 9, .. }
    ));
    manager.tell(&ToManager::Terminate);
    let mut late = 0;
    while let Some(frame) = manager.hear() {
        if let Frame::Output {
            stream: Stream::Out,
            bytes,
            ..
        } = frame
        {
            late += bytes.len();
        }
    }
    // The last line may be a part, and before the end nobody can know that there is no more of it.
    assert!(late < 20, "{late} bytes come after the news of the death");
}

/// Other ranks may take their time to end. If they wrote by the id then, they would write into
/// another process.
#[test]
fn the_pid_of_a_dead_rank_is_withdrawn_from_the_segment_while_others_go_on() {
    // Hello, as postcard encodes it.
    let script = format!(
        "trap '' TERM; printf '\\000\\{PROTOCOL_VERSION:03o}\\000' >&3; \
         dd bs=1000 count=1 <&3 >/dev/null 2>&1; echo received; \
         test $BCS_SLOT = 0 && kill -KILL $$; while :; do sleep 1000; done"
    );
    let mut manager = Manager::start(2, &script);
    let word = |manager: &Manager, rank| manager.segment.pid(rank).unwrap().load(Ordering::Acquire);
    let (mut goes_on, mut is_dead) = (false, false);
    while !goes_on || !is_dead {
        let frame = manager.hear().expect("the node manager has not ended");
        goes_on |= lines(1)(&frame);
        is_dead |= failure(&frame);
    }
    manager.tell(&ToManager::Terminate);
    assert_eq!(word(&manager, 0), 0, "rank 0 is dead");
    assert_ne!(word(&manager, 1), 0, "rank 1 goes on");
}

//! A node manager of another host whose input ends: it ends within two seconds with all processes
//! that it has started, whatever it does at that time. The test is the launcher, and ssh: there are
//! pipes between them, or a socket.

use super::job::{GONE_WITHIN, Job, Process, bcs, signal};
use bcs_core::job::{Cores, NodeId, Placement, Settings};
use bcs_fabric::udp::{Crypto, JobKey};
use node_manager::control::{
    Application, Frame, FrameReadOutcome, FrameReader, FrameWriter, FromManager, Greeting,
    HandshakeReply, HandshakeRequest, InputReader, JobStart, MultiHostStart, ToManager,
};
use node_manager::rank_cores::RankCores;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Ranks with children of all kinds.
const SCRIPT: &str = "sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &) ; wait";

/// The connection between a node manager and the test.
#[derive(Clone, Copy, Debug)]
enum Between {
    Pipes,
    Socket,
}

struct Far {
    job: Job,
    to: OwnedFd,
    from: OwnedFd,
    reader: FrameReader,
}

impl Far {
    fn start(between: Between) -> Self {
        let mut command = bcs("far-node-manager");
        let (to, from, theirs) = match between {
            Between::Pipes => {
                let (input, to) =
                    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
                let (from, output) =
                    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
                (to, from, (input, output))
            }
            Between::Socket => {
                let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
                let ours: (OwnedFd, OwnedFd) = (ours.try_clone().unwrap().into(), ours.into());
                (
                    ours.0,
                    ours.1,
                    (theirs.try_clone().unwrap().into(), theirs.into()),
                )
            }
        };
        command.stdin(Stdio::from(theirs.0));
        let job = Job::spawn_with_output(command, Stdio::from(theirs.1));
        let reader = FrameReader::default();
        Self {
            job,
            to,
            from,
            reader,
        }
    }

    fn tell(&self, message: &ToManager) {
        let mut writer = FrameWriter::default();
        writer.message(message);
        while writer.waiting() > 0 {
            writer.send(&self.to).unwrap();
        }
    }

    /// Waits until `find` has found something in its messages.
    fn hear<T>(&mut self, find: impl Fn(&mut FrameReader) -> Option<T>) -> T {
        loop {
            if let Some(found) = find(&mut self.reader) {
                return found;
            }
            let patience = Duration::from_secs(30).try_into().unwrap();
            let mut fds = [PollFd::new(&self.from, PollFlags::IN)];
            assert!(
                poll(&mut fds, Some(&patience)).unwrap() > 0,
                "it says nothing"
            );
            let arrived = self.reader.receive(&self.from, &mut vec![0; 1 << 16]);
            assert_ne!(arrived, Ok(FrameReadOutcome::End));
        }
    }

    fn hear_greeting(&mut self) {
        let version = self.hear(|reader| match reader.greeting() {
            Greeting::Version(version) => Some(version),
            _ => None,
        });
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }

    fn meet(&mut self) -> HandshakeReply {
        self.hear_greeting();
        self.tell(&ToManager::Handshake(Box::new(HandshakeRequest {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            key: JobKey::random().unwrap(),
            crypto: Crypto::Tag,
            epoch: 7,
            nodes: 1,
            ranks: 2,
            interface: Some("127.0.0.1".to_owned()),
            ports: (0, 0),
            directory: PathBuf::from("/"),
        })));
        self.hear(|reader| match reader.frame::<FromManager>().unwrap() {
            Some(Frame::Message(FromManager::HandshakeReply(met))) => Some(*met),
            Some(other) => panic!("{other:?}"),
            None => None,
        })
    }

    fn start_ranks(&mut self, output_dir: Option<&Path>) {
        let met = self.meet();
        self.tell(&ToManager::Start(Box::new(JobStart {
            job: "a test".to_owned(),
            placement: Placement::block(2, 1).unwrap(),
            settings: Settings::default(),
            nodes: vec![NodeId(0)],
            strobe_sender: true,
            cores: Cores::default(),
            applications: vec![Application {
                ranks: 2,
                program: "/bin/sh".into(),
                arguments: ["sh", "-c", SCRIPT].map(Into::into).to_vec(),
                environment: Vec::new(),
                directory: None,
            }],
            input: InputReader::None,
            output_dir: output_dir.map(Path::to_owned),
            rank_cores: RankCores::All,
            kill_delay: Duration::from_secs(20),
            verbose: false,
            mds: None,
            record: mds::Selection::default(),
            preload: false,
            universe_size: None,
            far: Some(MultiHostStart {
                parties: vec![vec![NodeId(0)]],
                me: 0,
                on_this_host: 1,
                machines: vec![vec![NodeId(0)]],
                beside_first: Vec::new(),
                leader: None,
                addresses: vec![met.address],
                receive_bytes: vec![met.receive_bytes],
                node_timeout: Duration::from_secs(3),
            }),
        })));
    }

    /// Ends its input. It may write on, whether or not anybody still reads.
    fn end_input(mut self, between: Between) {
        match between {
            Between::Pipes => drop(self.to),
            Between::Socket => {
                rustix::net::shutdown(self.to.as_fd(), rustix::net::Shutdown::Write).unwrap();
            }
        }
        let begin = Instant::now();
        let _said = self.job.output();
        let took = begin.elapsed();
        assert!(took < GONE_WITHIN, "{took:?}");
        assert_eq!(self.job.left(), [], "nothing that it has started is left");
    }
}

fn at_each(stage: impl Fn(&mut Far)) {
    for between in [Between::Pipes, Between::Socket] {
        let mut far = Far::start(between);
        stage(&mut far);
        far.end_input(between);
    }
}

fn is_sleep(process: &Process) -> bool {
    process.line.starts_with("sleep 1000")
}

#[test]
fn before_it_has_heard_anything() {
    at_each(|_| ());
    at_each(Far::hear_greeting);
}

#[test]
fn while_it_waits_for_the_others() {
    at_each(|far| drop(far.meet()));
}

#[test]
fn while_its_ranks_run() {
    at_each(|far| {
        far.start_ranks(None);
        far.job.find_all(6, is_sleep);
    });
}

/// The output of rank 1 goes to a named pipe without a reader. The node manager waits for a reader
/// before it can start the rank, and does not poll meanwhile. Rank 0 runs.
#[test]
fn while_it_starts_ranks() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("rank.1.out");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    at_each(|far| {
        far.start_ranks(Some(directory.path()));
        far.job.find_all(3, is_sleep);
    });
}

/// Only the supervisor ends what the ranks of a killed node manager have started. Only the node
/// manager itself notices that its supervisor was killed.
#[test]
fn a_keeper_or_a_node_manager_that_is_killed_leaves_nothing() {
    for victim_is_keeper in [true, false] {
        let mut far = Far::start(Between::Pipes);
        far.start_ranks(None);
        far.job.find_all(6, is_sleep);
        let keeper = far.job.pid();
        let manager = far.job.find(|process| process.parent == keeper);
        let victim = if victim_is_keeper {
            keeper
        } else {
            manager.pid
        };
        signal(victim, Signal::KILL);
        let begin = Instant::now();
        let output = far.job.output();
        assert_eq!(
            output.status.signal(),
            Some(9),
            "it ends as the node manager does"
        );
        far.job.wait_until_gone();
        assert!(begin.elapsed() < GONE_WITHIN, "{:?}", begin.elapsed());
    }
}

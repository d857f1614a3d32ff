//! Starts ranks, and reports those that cannot be started.

use crate::control::{
    Application, FromManager, InputReader, JobStart, SpawnStart, Stream, application_of,
};
use crate::input_pipes::InputPipes;
use crate::library_path;
use crate::limits::{DESCRIPTORS_PER_RANK, OWN_DESCRIPTORS};
use crate::output::OutputPipe;
use crate::pmi::{PmiConnection, PmiStage};
use crate::preload::{self, PreloadChoice};
use crate::rank_connection::RankConnection;
use crate::rank_process::{RankProcess, RankStage, SlotState};
use crate::recorder::RankRecorder;
use crate::shortage::advice;
use crate::slot_folder;
use crate::spawn::{Image, Setup, SpawnError, Spawner};
use bcs_core::job::handshake::{NODE_NAME_VARIABLE, SOCKET_VARIABLE, host_name, node_name};
use bcs_core::job::{NodeId, SpawnedGroup};
use bcs_core::mapped_code::MappedCode;
use bcs_core::memory::MapError;
use bcs_core::memory::slot::{SLOT_FOLDER_VARIABLE, SLOT_VARIABLE};
use bcs_core::pmi::{PMI_FD, PMI_RANK, PMI_SIZE};
use rustix::fs::{Mode, OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// The rank finds its socket at this descriptor: the first one after the standard ones.
const RANK_SOCKET: &str = "3";

/// A program of another MPI finds its PMI socket at this descriptor.
const RANK_PMI_SOCKET: &str = "4";

/// The rank finds its [`slot_folder`] at this descriptor.
const RANK_SLOT_FOLDER: &str = "5";

/// A rank could not be started.
pub(crate) enum RankStartError {
    Spawn(SpawnError),
    OutputFile(PathBuf, Errno),
    Recorder(MapError),
}

impl From<SpawnError> for RankStartError {
    fn from(error: SpawnError) -> Self {
        Self::Spawn(error)
    }
}

pub(crate) fn not_started(
    start: &JobStart,
    node: NodeId,
    rank: u32,
    error: &RankStartError,
) -> FromManager {
    let application = &start.applications[start.application_of(rank)];
    FromManager::NotStarted {
        rank,
        node,
        message: reason(start, application, error),
    }
}

/// Returns why a rank of this application could not be started.
pub(crate) fn reason(
    start: &JobStart,
    application: &Application,
    error: &RankStartError,
) -> String {
    match error {
        RankStartError::Spawn(error) => not_spawned(start, application, *error),
        RankStartError::OutputFile(path, errno) => {
            format!("{} cannot be written: {errno}", path.display())
        }
        RankStartError::Recorder(error) => format!("it cannot record (--mds): {error}"),
    }
}

fn not_spawned(start: &JobStart, application: &Application, error: SpawnError) -> String {
    let program = application.program.display();
    match (error.step, error.errno) {
        ("execve", Errno::NOEXEC) => format!(
            "{program} is not in a format that can be executed: if it is a script, \
             its first line must name the interpreter (#!/bin/sh)"
        ),
        ("execve", Errno::NOENT) => {
            let elsewhere = match start.far {
                Some(_) => ": a program has the same path on all hosts",
                None => "",
            };
            format!("{program} or the interpreter that it names is missing{elsewhere}")
        }
        ("execve", errno) => format!("{program} cannot be executed: {errno}"),
        ("chdir", errno) => {
            let directory = application.directory.as_deref().unwrap_or("".as_ref());
            format!("it cannot run in {}: {errno}", directory.display())
        }
        (step, errno) => format!("{step}: {errno}{}", advice(errno)),
    }
}

/// A starter of ranks.
pub(crate) struct RankSpawner<'a> {
    start: &'a JobStart,
    applications: &'a [Application],
    /// The ranks to start, if they are spare ones.
    spawned: Option<SpawnedGroup>,
    spawner: Spawner,
    /// One per application.
    images: Vec<Image>,
    /// One per application.
    preloads: Vec<PreloadChoice>,
    null: BorrowedFd<'a>,
    /// The folder in which ranks make their slots, if there is one.
    slot_folder: Option<OwnedFd>,
    open_files: Option<(u64, u64)>,
    /// The name of this host.
    host: String,
}

impl<'a> RankSpawner<'a> {
    /// Makes a starter of the `ranks` that start with the job.
    pub(crate) fn new(
        start: &'a JobStart,
        null: BorrowedFd<'a>,
        ranks: usize,
    ) -> Result<Self, RankStartError> {
        let here = start.nodes.iter();
        let spare = here.map(|&node| {
            let all = start.placement.ranks_of(node).count();
            all - start.placement.starting_on(node).count()
        });
        // The memory of a spare rank takes a part of the descriptors of a rank.
        let ranks = ranks + spare.sum::<usize>();
        Self::of(start, &start.applications, None, null, ranks)
    }

    /// Makes a starter of spare ranks.
    pub(crate) fn of_spare(
        start: &'a JobStart,
        spawn: &'a SpawnStart,
        null: BorrowedFd<'a>,
        ranks: usize,
    ) -> Result<Self, RankStartError> {
        Self::of(start, &spawn.applications, Some(spawn.group), null, ranks)
    }

    fn of(
        start: &'a JobStart,
        applications: &'a [Application],
        spawned: Option<SpawnedGroup>,
        null: BorrowedFd<'a>,
        ranks: usize,
    ) -> Result<Self, RankStartError> {
        let preloads = applications.iter();
        let preloads: Vec<PreloadChoice> = preloads
            .map(|one| preload::choose_preload(start, one))
            .collect();
        let images = applications.iter().zip(&preloads);
        let images = images.map(|(application, preload)| {
            let socket = (SOCKET_VARIABLE.into(), RANK_SOCKET.into());
            let pmi = (PMI_FD.into(), RANK_PMI_SOCKET.into());
            let size = (PMI_SIZE.into(), start.placement.ranks().to_string().into());
            // The processes of another MPI that speak PMI are those that start with the job.
            let own = match spawned {
                None => vec![socket, pmi, size],
                Some(_) => vec![socket],
            };
            let variables = application.environment.iter().cloned().chain(own);
            let variables = variables.chain(preload.variable.clone());
            let variables = variables.chain(library_path::library_variable(application));
            let directory = application.directory.as_deref();
            Image::new(
                &application.program,
                &application.arguments,
                variables,
                directory,
            )
        });
        Ok(Self {
            start,
            applications,
            spawned,
            spawner: Spawner::default(),
            images: images.collect::<Result<_, _>>()?,
            preloads,
            null,
            slot_folder: slot_folder::make(),
            open_files: make_room_for_files(ranks),
            host: host_name(),
        })
    }

    pub(crate) fn spawn_rank(
        &mut self,
        node: NodeId,
        rank: u32,
        input: &mut InputPipes,
    ) -> Result<RankProcess, RankStartError> {
        let failed = |step| move |errno| SpawnError { step, errno };
        let (conversation, rank_end) = RankConnection::open().map_err(failed("socketpair"))?;
        let (pmi, pmi_end) = PmiConnection::open().map_err(failed("socketpair"))?;
        let pmi_rank = CString::new(format!("{PMI_RANK}={rank}")).expect("no NUL byte in it");
        let (stdout, stdout_end) = self.output(rank, Stream::Out)?;
        let (stderr, stderr_end) = self.output(rank, Stream::Err)?;
        let stdin = std::io::stdin();
        let input_reader = match self.spawned {
            None => self.start.input,
            Some(_) => InputReader::None,
        };
        let shared = match input_reader {
            InputReader::All => Some(input_pipe().map_err(failed("pipe"))?),
            InputReader::Through(reader) if reader == rank => {
                Some(input_pipe().map_err(failed("pipe"))?)
            }
            InputReader::Rank(_) | InputReader::Through(_) | InputReader::None => None,
        };
        let place = self
            .start
            .placement
            .ranks_of(node)
            .position(|of| of == rank);
        let place = place.map_or(String::new(), |place| place.to_string());
        let slot = CString::new(format!("{SLOT_VARIABLE}={place}")).expect("no NUL byte in it");
        let nodes = match &self.start.far {
            Some(far) => far.on_this_host,
            None => self.start.placement.nodes(),
        };
        let name = node_name(&self.host, node, nodes);
        let name = CString::new(format!("{NODE_NAME_VARIABLE}={name}")).expect("no name has one");
        let folder = self.slot_folder.as_ref();
        let number = folder.map_or("", |_| RANK_SLOT_FOLDER);
        let named = CString::new(format!("{SLOT_FOLDER_VARIABLE}={number}"));
        let named = named.expect("no NUL byte in it");
        let inherited: Vec<BorrowedFd<'_>> = [rank_end.as_fd(), pmi_end.as_fd()]
            .into_iter()
            .chain(folder.map(AsFd::as_fd))
            .collect();
        let own: [&CStr; 4] = [&slot, &named, &name, &pmi_rank];
        let setup = Setup {
            standard: [
                match (input_reader, &shared) {
                    (_, Some((theirs, _))) => theirs.as_fd(),
                    (InputReader::Rank(reader), None) if reader == rank => stdin.as_fd(),
                    _ => self.null,
                },
                stdout_end.as_fd(),
                stderr_end.as_fd(),
            ],
            inherited: &inherited,
            dies_with_parent: true,
            open_files: self.open_files,
            cores: self.start.rank_cores.cores_of(rank),
            variables: match self.spawned {
                None => &own,
                Some(_) => &own[..3],
            },
        };
        let first = self.spawned.map_or(0, |group| group.first);
        let application = application_of(self.applications, (rank - first) as usize);
        let image = &self.images[application];
        let child = self.spawner.spawn(image, &setup)?;
        if let Some((_, ours)) = shared {
            input.add(ours);
        }
        Ok(RankProcess {
            rank,
            node,
            pid: child.pid,
            pidfd: Some(child.pidfd),
            elsewhere: None,
            conversation,
            stage: RankStage::Started,
            pmi,
            pmi_stage: PmiStage::Unknown,
            slot: SlotState::Unknown,
            no_preload: self.preloads[application].refused.clone(),
            recorder: self.recorder(rank)?,
            ended_ns: None,
            output: [
                OutputPipe::new(stdout, Stream::Out),
                OutputPipe::new(stderr, Stream::Err),
            ],
            code: MappedCode::default(),
            last_call_at: None,
            left: None,
            foreign_mpi: None,
            has_written: false,
            failed: false,
            application: u32::try_from(application).expect("fewer than ranks"),
            spawned: self.spawned,
            asks: false,
            dismissed: false,
        })
    }

    /// Makes the recorder of a rank, if it records.
    fn recorder(&self, rank: u32) -> Result<Option<RankRecorder>, RankStartError> {
        let ranks = self.start.placement.capacity();
        if self.start.mds.is_none() {
            return Ok(None);
        }
        RankRecorder::new(&self.start.record, rank, ranks).map_err(RankStartError::Recorder)
    }

    /// Opens the output of a rank: returns our end, if we read it, and the rank's.
    fn output(
        &self,
        rank: u32,
        stream: Stream,
    ) -> Result<(Option<OwnedFd>, OwnedFd), RankStartError> {
        let Some(directory) = &self.start.output_dir else {
            let (ours, theirs) = output_pipe().map_err(|errno| SpawnError {
                step: "pipe",
                errno,
            })?;
            return Ok((Some(ours), theirs));
        };
        let ending = match stream {
            Stream::Out => "out",
            Stream::Err => "err",
        };
        let path = directory.join(format!("rank.{rank}.{ending}"));
        // Append, so that all processes of a rank write after what is there.
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::APPEND | OFlags::CLOEXEC;
        match rustix::fs::open(&path, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => Ok((None, file)),
            Err(errno) => Err(RankStartError::OutputFile(path, errno)),
        }
    }
}

/// Makes a pipe whose write end does not block. Returns the rank's end, and ours.
fn input_pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&writer, OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

/// Makes a pipe whose read end does not block. The other end blocks, as the rank expects.
fn output_pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

/// Raises the limit of open files if the ranks need it. Returns the limit that the ranks should
/// keep.
fn make_room_for_files(ranks: usize) -> Option<(u64, u64)> {
    let needed = ranks as u64 * DESCRIPTORS_PER_RANK + OWN_DESCRIPTORS;
    let limit = getrlimit(Resource::Nofile);
    let (soft, hard) = (limit.current?, limit.maximum.unwrap_or(u64::MAX));
    if soft >= needed {
        return None;
    }
    let raised = Rlimit {
        current: Some(hard.min(needed)),
        maximum: limit.maximum,
    };
    // If that is refused or too little, the call that runs out of descriptors reports it.
    setrlimit(Resource::Nofile, raised).ok()?;
    Some((soft, hard))
}

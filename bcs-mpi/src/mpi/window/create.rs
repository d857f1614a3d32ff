//! How windows come and go (MPI 5.0, 12.2).
#![expect(unsafe_code, reason = "what ranks tell each other is named by address")]

use super::control_block::ControlBlock;
use super::direct_targets::DirectTargets;
use super::epoch_state::Epochs;
use super::memory::WindowMemory;
use super::posted_operations::Outstanding;
use super::races::RaceDetector;
use super::state::{Window, WindowFlavor, WindowPart, WindowState};
use crate::call_site;
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::{Buffer, Comm, Info};
use crate::recording::{CallTiming, Primitive, Site};
use bcs_core::lockstep;
use bcs_core::reduction::Datatype;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The words that each rank tells the others when a window is made.
const TOLD_WORDS: usize = 7;

/// The part of a window that a rank brings.
#[derive(Debug)]
struct Contribution {
    base: u64,
    size: u64,
    disp_unit: u64,
    memory: Option<WindowMemory>,
    /// The rank whose process has allocated the memory.
    owner: usize,
}

impl Comm {
    /// `MPI_Win_create`: makes a window of memory that each rank has.
    ///
    /// # Safety
    /// The memory stays until the window is freed. Other ranks may read and write it as the
    /// program's epochs allow.
    ///
    /// # Errors
    /// When an argument is wrong, or there are no more context ids.
    #[track_caller]
    pub unsafe fn win_create<T>(
        &self,
        base: *mut T,
        size: i64,
        disp_unit: i64,
        info: &Info,
    ) -> Result<Window> {
        let operation = Operation::plain("MPI_Win_create");
        let address = base.expose_provenance() as u64;
        self.window((operation, WindowFlavor::Create, info), |_| {
            let (size, disp_unit) = checked((size, disp_unit), operation)?;
            if address == 0 && size > 0 {
                let reason = format!("the window has {size} bytes but its address is 0");
                return Err(operation.error(ErrorClass::Base, reason));
            }
            Ok(Contribution {
                base: address,
                size,
                disp_unit,
                memory: None,
                owner: self.0.group.me,
            })
        })
    }

    /// `MPI_Win_allocate`: makes a window with new memory.
    ///
    /// # Errors
    /// When an argument is wrong, or there is no memory, or there are no more context ids.
    #[track_caller]
    pub fn win_allocate(&self, size: i64, disp_unit: i64, info: &Info) -> Result<Window> {
        let operation = Operation::plain("MPI_Win_allocate");
        self.window((operation, WindowFlavor::Allocate, info), |_| {
            let (size, disp_unit) = checked((size, disp_unit), operation)?;
            let memory = allocated(size, operation)?;
            Ok(Contribution {
                base: memory.address(),
                size,
                disp_unit,
                memory: Some(memory),
                owner: self.0.group.me,
            })
        })
    }

    /// `MPI_Win_create_dynamic`: makes a window without memory. Ranks attach theirs later, and
    /// displacements are addresses.
    ///
    /// # Errors
    /// When there are no more context ids.
    #[track_caller]
    pub fn win_create_dynamic(&self, info: &Info) -> Result<Window> {
        let operation = Operation::plain("MPI_Win_create_dynamic");
        self.window((operation, WindowFlavor::Dynamic, info), |_| {
            Ok(Contribution {
                base: 0,
                size: 0,
                disp_unit: 1,
                memory: None,
                owner: self.0.group.me,
            })
        })
    }

    /// `MPI_Win_allocate_shared`: makes a window with new memory that all ranks can load and store.
    /// Rank 0 allocates it for all, so that the parts lie side by side, unless the hint
    /// `alloc_shared_noncontig` is `true`.
    ///
    /// # Errors
    /// When an argument is wrong, or the ranks cannot share memory: they are on several nodes, or
    /// their heaps lie in no slots.
    #[track_caller]
    pub fn win_allocate_shared(&self, size: i64, disp_unit: i64, info: &Info) -> Result<Window> {
        let operation = Operation::plain("MPI_Win_allocate_shared");
        let apart = info.get("alloc_shared_noncontig")?;
        let apart = apart.is_some_and(|apart| apart == "true");
        self.window((operation, WindowFlavor::Shared, info), |private| {
            let (size, disp_unit) =
                private.all_or_none(checked((size, disp_unit), operation), operation)?;
            let own = private.shared_part(size, apart, operation)?;
            Ok(Contribution {
                base: own.base,
                size,
                disp_unit,
                memory: own.memory,
                owner: own.owner,
            })
        })
    }

    /// Makes a window, when `contribute` has made this rank's part of it.
    #[track_caller]
    fn window(
        &self,
        (operation, flavor, info): (Operation, WindowFlavor, &Info),
        contribute: impl FnOnce(&Self) -> Result<Contribution>,
    ) -> Result<Window> {
        let site = Site::here();
        let _at = call_site::enter(site);
        let call = (Primitive::WinCreate, CallTiming::Waits);
        self.record_call(call, &operation, |_| {
            self.usable(&operation)?;
            if self.is_inter() {
                let reason = "a window cannot be made of an intercommunicator";
                return Err(operation.error(ErrorClass::Comm, reason));
            }
            // The private communicator comes first: an error of this rank is told on it.
            let private = self.congruent(operation.call)?;
            private.is_window_of(operation.call, self, site);
            let contribution = private.all_or_none(contribute(&private), operation)?;
            let control = ControlBlock::new(private.members().len());
            let checks = private.process().checked();
            let races = checks.map(|checks| RaceDetector::new(checks, private.members()));
            let log = races.as_ref().map_or(0, |races| races.log.address());
            let releases = checks.map_or(0, |checks| checks.order.address_of_releases());
            let library = [control.address(), log, releases];
            let parts = private.tell_parts(&contribution, library, operation)?;
            let direct = self.process().endpoint().direct_access();
            let window = Window(Arc::new(WindowState {
                comm: private,
                flavor,
                parts,
                control,
                memory: contribution.memory,
                direct,
                direct_targets: DirectTargets::new(self.members().len()),
                epochs: Epochs::default(),
                outstanding: Outstanding::default(),
                races: races.map(Box::new),
                attached: Mutex::default(),
                info: Mutex::new(info.dup()),
                name: Mutex::default(),
                freed: AtomicBool::new(false),
            }));
            if self.process().is_checked() {
                let made = Arc::downgrade(&window.0);
                self.process().checked_windows.add(made);
            }
            Ok(window)
        })
    }

    /// Tells all ranks what this one brings into a window, with the addresses of the library's own
    /// words, and returns what all bring.
    fn tell_parts(
        &self,
        own: &Contribution,
        [control, log, releases]: [u64; 3],
        operation: Operation,
    ) -> Result<Vec<WindowPart>> {
        let (base, size, disp_unit) = (own.base, own.size, own.disp_unit);
        let owner = own.owner as u64;
        let told = [base, size, disp_unit, control, owner, log, releases];
        let all = self.gather_words(&told, operation)?;
        let ranks = self.members().len();
        let parts = all.chunks_exact(TOLD_WORDS).map(|words| {
            let owner = usize::try_from(words[4]).unwrap_or(ranks);
            WindowPart {
                base: words[0],
                size: words[1],
                disp_unit: words[2],
                control: words[3],
                log: words[5],
                releases: words[6],
                owner: owner.min(ranks - 1),
            }
        });
        Ok(parts.collect())
    }

    /// Collects words of all ranks.
    pub(super) fn gather_words(&self, own: &[u64], operation: Operation) -> Result<Vec<u64>> {
        let mut all = vec![0u64; own.len() * self.members().len()];
        // SAFETY: it stays until the call returns, and the call has what it needs of it by then.
        let input = unsafe { Buffer::read_only(own.as_ptr(), own.len(), Datatype::Uint64) };
        // SAFETY: the same, with as many words of each rank.
        let output = unsafe { Buffer::new(all.as_mut_ptr(), own.len(), Datatype::Uint64) };
        self.allgather(Some(input), output).map_err(|mut error| {
            error.operation = operation;
            error
        })?;
        Ok(all)
    }

    /// Returns a value if no rank has failed. Otherwise all ranks get an error.
    pub(super) fn all_or_none<T>(&self, own: Result<T>, operation: Operation) -> Result<T> {
        let mut words = [u64::from(own.is_err())];
        self.allreduce_or(&mut words, operation)?;
        let own = own?;
        match words {
            [0] => Ok(own),
            _ => {
                let reason = "another rank has failed in this call";
                Err(operation.error(ErrorClass::Other, reason))
            }
        }
    }
}

/// Checks size and displacement unit of a window.
fn checked((size, disp_unit): (i64, i64), operation: Operation) -> Result<(u64, u64)> {
    let Ok(bytes) = u64::try_from(size) else {
        let reason = format!("the window has {size} bytes");
        return Err(operation.error(ErrorClass::Size, reason));
    };
    match u64::try_from(disp_unit) {
        Ok(unit) if unit > 0 => Ok((bytes, unit)),
        _ => {
            let reason = format!("the displacement unit is {disp_unit}");
            Err(operation.error(ErrorClass::Disp, reason))
        }
    }
}

/// Allocates memory of a window.
pub(super) fn allocated(bytes: u64, operation: Operation) -> Result<WindowMemory> {
    let memory = usize::try_from(bytes).ok().and_then(WindowMemory::allocate);
    memory.ok_or_else(|| {
        let reason = format!("there are no {bytes} bytes");
        operation.error(ErrorClass::NoMem, reason)
    })
}

impl Window {
    /// Records that its communicator stays open to the end. For a window that the program leaks and
    /// that is reported: otherwise its communicator would be reported as another leak.
    pub fn keep_communicator(&self) {
        let comm = &self.0.comm;
        comm.process().endpoint().bcs_keeps(comm.0.context);
    }

    /// `MPI_Win_free`: waits until all ranks have called it. The window's memory is gone then, if
    /// the library has allocated it.
    ///
    /// # Errors
    /// When an epoch is open, or an operation has failed.
    #[track_caller]
    pub fn free(&self) -> Result<()> {
        let operation = Operation::plain("MPI_Win_free");
        let site = Site::here();
        let _at = call_site::enter(site);
        self.record((Primitive::WinFree, CallTiming::Waits), &operation, || {
            self.usable(operation)?;
            self.check_at_rest(operation)?;
            let ended = self.complete_all();
            self.0.comm.barrier_of_window(operation.call, site)?;
            self.0.freed.store(true, Ordering::Relaxed);
            // The memory of others goes. So no operation of another handle may end at once there.
            drop(self.0.epochs.lock());
            lockstep::lock(&self.0.attached).clear();
            self.0.comm.free()?;
            ended
        })
    }

    /// Checks that the window could be freed now.
    ///
    /// # Errors
    /// When an epoch is open.
    pub fn may_be_freed(&self) -> Result<()> {
        let operation = Operation::plain("MPI_Win_free");
        self.usable(operation)?;
        self.check_at_rest(operation)
    }

    /// Makes a call, which is recorded if calls are.
    #[inline]
    #[track_caller]
    pub(super) fn record<T>(
        &self,
        call: (Primitive, CallTiming),
        operation: &Operation,
        body: impl FnOnce() -> T,
    ) -> T {
        self.0.comm.record_call(call, operation, |_| body())
    }
}

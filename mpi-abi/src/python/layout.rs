//! The layouts of CPython's frames, and which of them this interpreter has.

use super::api::{Api, LockedApi, PyObject};
use super::own_memory::OwnMemory;
use std::ffi::CStr;

/// How a thread's state leads to its innermost frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameLink {
    /// At this offset is its address.
    Direct(usize),
    /// At the first offset is the address of a record, which has that of the frame at the second.
    Nested(usize, usize),
}

/// How a frame says which instruction of its code it executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InstructionField {
    /// A number (an `int`) of units of this many bytes.
    Number { offset: usize, unit: i32 },
    /// An address.
    Address { offset: usize },
}

/// The offsets, in bytes, that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameLayout {
    pub(super) innermost: FrameLink,
    /// In a frame: its code object, and the frame that has called it.
    pub(super) code: usize,
    pub(super) caller: usize,
    pub(super) instruction: InstructionField,
    /// In a code object: the strings of its file and its name, and its first line.
    pub(super) file: usize,
    pub(super) name: usize,
    pub(super) first_line: usize,
    /// In a code object: its instructions, where frames have addresses. Measured.
    pub(super) instructions: usize,
    /// In a string of ASCII: its bytes. Measured.
    pub(super) ascii: usize,
    /// The attribute that `name` is.
    name_attribute: &'static CStr,
}

/// References to objects that are marked have the marks in these bits, from version 3.14 on.
pub(super) const MARKS: usize = 7;

/// The length of a string's header that its length is in.
pub(super) const TEXT_LENGTH: usize = 16;

const UNMEASURED: usize = 0;

/// CPython 3.8 and 3.9; also 3.10, but for the instruction.
const FRAME_OBJECTS: FrameLayout = FrameLayout {
    innermost: FrameLink::Direct(24),
    code: 32,
    caller: 24,
    instruction: InstructionField::Number {
        offset: 104,
        unit: 1,
    },
    file: 104,
    name: 112,
    first_line: 40,
    instructions: UNMEASURED,
    ascii: UNMEASURED,
    name_attribute: c"co_name",
};

/// CPython 3.12.
const FRAMES_ON_A_STACK: FrameLayout = FrameLayout {
    innermost: FrameLink::Nested(56, 0),
    code: 0,
    caller: 8,
    instruction: InstructionField::Address { offset: 56 },
    file: 112,
    name: 128,
    first_line: 68,
    instructions: UNMEASURED,
    ascii: UNMEASURED,
    name_attribute: c"co_qualname",
};

/// The layouts of CPython 3.8 to 3.13, from its headers. That of 3.13 may be that of later ones:
/// where a thread's state has the frame is searched for.
fn known() -> impl Iterator<Item = FrameLayout> {
    let v3_10 = FrameLayout {
        instruction: InstructionField::Number {
            offset: 96,
            unit: 2,
        },
        ..FRAME_OBJECTS
    };
    let v3_11 = FrameLayout {
        innermost: FrameLink::Nested(56, 8),
        code: 32,
        caller: 48,
        first_line: 72,
        ..FRAMES_ON_A_STACK
    };
    let searched = (24..256).step_by(8).map(|offset| FrameLayout {
        innermost: FrameLink::Direct(offset),
        ..FRAMES_ON_A_STACK
    });
    [FRAME_OBJECTS, v3_10, v3_11, FRAMES_ON_A_STACK]
        .into_iter()
        .chain(searched)
}

/// Returns this interpreter's layout, if it is a known one.
pub(super) fn find(api: &Api) -> Option<FrameLayout> {
    let memory = OwnMemory::open()?;
    let thread = api.thread()?;
    api.with_lock(|locked| {
        if locked.has_exception() {
            return None; // It is the program's, and an error here would replace it.
        }
        let frame = ObservedFrame::of(locked, locked.frame()?)?;
        let caller = locked
            .attribute(frame.object, c"f_back")
            .and_then(|caller| Some((ObservedFrame::of(locked, caller.object)?, caller)));
        known().find_map(|layout| {
            let at = layout.innermost(thread, |address| memory.word(address))?;
            let measured = layout.measured(locked, &memory, at, &frame)?;
            if let Some((caller, _keeps)) = &caller {
                let at = memory.word(at + layout.caller)?;
                (measured.measured(locked, &memory, at, caller)? == measured).then_some(())?;
            }
            Some(measured)
        })
    })
}

/// A frame as public functions describe it.
struct ObservedFrame {
    object: PyObject,
    code: usize,
    /// The bytes of instructions before the one that it executes.
    instruction: i64,
}

impl ObservedFrame {
    fn of(locked: &LockedApi<'_>, object: PyObject) -> Option<Self> {
        Some(Self {
            object,
            // The frame keeps it alive.
            code: locked.attribute(object, c"f_code")?.object as usize,
            instruction: locked.number(object, c"f_lasti")?,
        })
    }
}

impl FrameLayout {
    /// Returns the address of the innermost frame of a thread.
    pub(super) fn innermost(
        &self,
        thread: usize,
        word: impl Fn(usize) -> Option<usize>,
    ) -> Option<usize> {
        let frame = match self.innermost {
            FrameLink::Direct(offset) => word(thread + offset)?,
            FrameLink::Nested(outer, inner) => word(word(thread + outer)? + inner)?,
        };
        (frame != 0).then_some(frame)
    }

    /// Compares the frame at an address with what is known of it. Returns the layout with what was
    /// measured, if all agrees.
    fn measured(
        self,
        locked: &LockedApi<'_>,
        memory: &OwnMemory,
        at: usize,
        frame: &ObservedFrame,
    ) -> Option<Self> {
        let code = memory.word(at.checked_add(self.code)?)? & !MARKS;
        (code == frame.code).then_some(())?;
        let object = code as PyObject;
        let file = locked.attribute(object, c"co_filename")?.object;
        let name = locked.attribute(object, self.name_attribute)?.object;
        (memory.word(code + self.file)? == file as usize).then_some(())?;
        (memory.word(code + self.name)? == name as usize).then_some(())?;
        let first_line = locked.number(object, c"co_firstlineno")?;
        (i64::from(memory.int(code + self.first_line)?) == first_line).then_some(())?;
        let instructions = match self.instruction {
            InstructionField::Number { offset, unit } => {
                let number = memory.int(at + offset)?.checked_mul(unit)?;
                (i64::from(number) == frame.instruction).then_some(self.instructions)?
            }
            InstructionField::Address { offset } => {
                let before = usize::try_from(frame.instruction).ok()?;
                let first = memory.word(at + offset)?.checked_sub(before)?;
                let offset = first.checked_sub(code)?;
                (self.name < offset && offset < 512).then_some(offset)?
            }
        };
        let bytes = locked.ascii_bytes(name)?.checked_sub(name as usize)?;
        (TEXT_LENGTH < bytes && bytes < 128).then_some(())?;
        Some(Self {
            instructions,
            ascii: bytes,
            ..self
        })
    }
}

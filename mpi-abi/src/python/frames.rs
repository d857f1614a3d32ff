//! Reads the frames of this thread, without the interpreter's lock.

use super::api::{Api, PyObject};
use super::layout::{self, FrameLayout, InstructionField, MARKS, TEXT_LENGTH};
use super::own_memory::OwnMemory;

/// The longest name that is read, in characters.
const LONGEST: usize = 4096;

/// The interpreter of this process.
pub(super) struct Interpreter {
    api: Api,
    layout: FrameLayout,
}

/// A frame of this thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct PythonFrame {
    at: usize,
    pub(super) site: FrameSite,
}

/// The instruction that a frame executes, with enough to recognize it when it is executed again. A
/// code object may be made where another one was, so its address alone is not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameSite {
    code: usize,
    /// The bytes of instructions before this one.
    instruction: i32,
    first_line: i32,
    file: usize,
    name: usize,
}

/// The line of a frame.
pub(super) struct FrameLine {
    pub(super) file: String,
    pub(super) function: String,
    pub(super) line: u32,
}

impl FrameSite {
    /// No frame executes this.
    pub(super) const NONE: Self = Self {
        code: 0,
        instruction: 0,
        first_line: 0,
        file: 0,
        name: 0,
    };

    /// Returns a number that differs between calls in a function, and between most functions.
    pub(super) fn hash(self) -> usize {
        (self.code >> 4) ^ (self.instruction.cast_unsigned() as usize >> 1)
    }
}

/// Reads a word of this process.
///
/// # Safety
/// The interpreter has a value of this length at the address.
unsafe fn read<T>(address: usize) -> T {
    // SAFETY: the caller's promise.
    unsafe { (address as *const T).read() }
}

impl Interpreter {
    pub(super) fn find() -> Option<Self> {
        let api = Api::find()?;
        let layout = layout::find(&api)?;
        Some(Self { api, layout })
    }

    /// Returns this thread's innermost frame, if the thread executes Python.
    pub(super) fn innermost(&self) -> Option<PythonFrame> {
        // SAFETY: it may be called at any time, and returns NULL for threads that are not Python's.
        let thread = unsafe { (self.api.this_thread)() } as usize;
        (thread != 0).then_some(())?;
        // SAFETY: these are the fields that lead to a frame, as was measured.
        let at = self
            .layout
            .innermost(thread, |address| Some(unsafe { read(address) }))?;
        self.frame(at)
    }

    /// Reads a frame. Some frames of the interpreter itself have no code.
    fn frame(&self, at: usize) -> Option<PythonFrame> {
        let layout = &self.layout;
        // SAFETY: a frame of this thread, which does not change during the thread's call. Its code
        // is an object, with the type in the second word.
        let code = unsafe { read::<usize>(at + layout.code) } & !MARKS;
        (code != 0).then_some(())?;
        // SAFETY: as above.
        let kind = unsafe { read::<usize>(code + size_of::<usize>()) };
        (kind == self.api.code_type as usize).then_some(())?;
        // SAFETY: as above.
        let instruction = match layout.instruction {
            InstructionField::Number { offset, unit } => {
                let number = unsafe { read::<i32>(at + offset) };
                number.checked_mul(unit)?
            }
            InstructionField::Address { offset } => {
                let now = unsafe { read::<usize>(at + offset) };
                let first = code + layout.instructions;
                i32::try_from(now.wrapping_sub(first).cast_signed()).ok()?
            }
        };
        // SAFETY: these are fields of a code object.
        unsafe {
            let site = FrameSite {
                code,
                instruction,
                first_line: read(code + layout.first_line),
                file: read(code + layout.file),
                name: read(code + layout.name),
            };
            Some(PythonFrame { at, site })
        }
    }

    /// Returns the frame that has called this one.
    pub(super) fn caller(&self, frame: PythonFrame) -> Option<PythonFrame> {
        // SAFETY: a frame of this thread, as in `frame`.
        let at = unsafe { read::<usize>(frame.at + self.layout.caller) };
        (at != 0).then(|| self.frame(at))?
    }

    /// Returns the line that a frame executes.
    pub(super) fn line(&self, site: FrameSite) -> Option<FrameLine> {
        let memory = OwnMemory::open()?;
        let text = |string| text(&memory, string, self.layout.ascii);
        // SAFETY: it reads the table of a code object, which does not change.
        let line = unsafe { (self.api.line)(site.code as PyObject, site.instruction) };
        Some(FrameLine {
            file: text(site.file)?,
            function: text(site.name)?,
            line: u32::try_from(line).ok()?,
        })
    }
}

impl FrameLine {
    /// Returns whether it belongs to mpi4py or to the interpreter itself.
    pub(super) fn is_of_binding(&self) -> bool {
        self.file.contains("/mpi4py/") || self.file.starts_with("<frozen")
    }
}

/// Reads a string whose bytes begin at `ascii` if all its characters are ASCII. Else two more words
/// of its header come first (three in old versions), and its characters have one, two or four
/// bytes.
fn text(memory: &OwnMemory, string: usize, ascii: usize) -> Option<String> {
    let len = memory.word(string + TEXT_LENGTH)?;
    (0 < len && len <= LONGEST).then_some(())?;
    let word = size_of::<usize>();
    let starts = [(ascii, 1), (ascii + 2 * word, 1), (ascii + 3 * word, 1)];
    let wide = [2, 4].map(|width| [(ascii + 2 * word, width), (ascii + 3 * word, width)]);
    let mut forms = starts.into_iter().chain(wide.into_iter().flatten());
    forms.find_map(|(start, width)| {
        // A 0 follows the last character.
        let bytes = memory.bytes(string + start, (len + 1) * width)?;
        let mut characters = bytes.chunks_exact(width).map(|bytes| {
            let mut four = [0; 4];
            four[..width].copy_from_slice(bytes);
            char::from_u32(u32::from_le_bytes(four)).filter(|it| *it == '\0' || !it.is_control())
        });
        let text: String = characters.by_ref().take(len).collect::<Option<_>>()?;
        let is_one = !text.contains('\0') && characters.next()? == Some('\0');
        (is_one && (start > ascii || text.is_ascii())).then_some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A string as an interpreter lays it out, with this many more words before characters that
    /// are not ASCII.
    fn string(text: &str, width: usize, ascii: usize, words: usize) -> Vec<u8> {
        let mut bytes = vec![0xee; ascii + words * size_of::<usize>()];
        let len = text.chars().count();
        bytes[TEXT_LENGTH..][..size_of::<usize>()].copy_from_slice(&len.to_ne_bytes());
        for character in text.chars().chain(['\0']) {
            bytes.extend_from_slice(&u32::from(character).to_le_bytes()[..width]);
        }
        bytes.extend([0xee; 64]);
        bytes
    }

    #[test]
    fn a_string_of_each_kind_is_read() {
        let memory = OwnMemory::open().unwrap();
        for (name, width) in [("work", 1), ("größe", 1), ("長さ", 2), ("🐍.py", 4)] {
            for (ascii, words) in [(40, 2), (48, 3)] {
                let words = if name.is_ascii() { 0 } else { words };
                let bytes = string(name, width, ascii, words);
                let found = text(&memory, bytes.as_ptr().addr(), ascii);
                assert_eq!(found.as_deref(), Some(name), "{ascii}");
            }
        }
    }

    #[test]
    fn what_is_no_name_is_not_read() {
        let memory = OwnMemory::open().unwrap();
        for name in ["a\x1b[2J", "", &"x".repeat(LONGEST + 1)] {
            let bytes = string(name, 1, 40, 0);
            assert_eq!(text(&memory, bytes.as_ptr().addr(), 40), None);
        }
        assert_eq!(text(&memory, 16, 40), None, "nothing is there");
    }
}

//! Reads the frames of this thread, without the interpreter's lock.

use super::api::{Api, PyObject};
use super::layout::{self, FrameLayout, InstructionField, MARKS, TEXT_LENGTH};
use super::own_memory::OwnMemory;
use std::iter;

/// The longest name that is read, in characters.
const LONGEST_NAME: usize = 4096;

/// The interpreter of this process.
pub(super) struct Interpreter {
    api: Api,
    layout: FrameLayout,
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

    /// Returns the frames of this thread, the innermost one first; none if it does not execute
    /// Python.
    pub(super) fn frames(&self) -> impl Iterator<Item = FrameSite> {
        let addresses = iter::successors(self.innermost(), |&at| self.caller(at));
        addresses.filter_map(|at| self.frame(at))
    }

    fn innermost(&self) -> Option<usize> {
        let thread = self.api.thread()?;
        // SAFETY: these are the fields that lead to a frame, as was measured.
        self.layout
            .innermost(thread, |address| Some(unsafe { read(address) }))
    }

    /// Reads a frame. Where C code has called Python, there is a frame without code, from version
    /// 3.12 on.
    fn frame(&self, at: usize) -> Option<FrameSite> {
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
            Some(FrameSite {
                code,
                instruction,
                first_line: read(code + layout.first_line),
                file: read(code + layout.file),
                name: read(code + layout.name),
            })
        }
    }

    /// Returns the address of the frame that has called this one.
    fn caller(&self, at: usize) -> Option<usize> {
        // SAFETY: a frame of this thread, as in `frame`.
        let at = unsafe { read::<usize>(at + self.layout.caller) };
        (at != 0).then_some(at)
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
    /// Returns whether it belongs to the program, and neither to mpi4py nor to the interpreter.
    pub(super) fn is_of_program(&self) -> bool {
        !self.file.contains("/mpi4py/") && !self.file.starts_with("<frozen")
    }
}

/// Reads a string whose bytes begin at `ascii` if all its characters are ASCII. Else two more words
/// of its header come first (three in old versions), and its characters have one, two or four
/// bytes.
fn text(memory: &OwnMemory, string: usize, ascii: usize) -> Option<String> {
    let len = memory.word(string + TEXT_LENGTH)?;
    (0 < len && len <= LONGEST_NAME).then_some(())?;
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
        for name in ["a\x1b[2J", "", &"x".repeat(LONGEST_NAME + 1)] {
            let bytes = string(name, 1, 40, 0);
            assert_eq!(text(&memory, bytes.as_ptr().addr(), 40), None);
        }
        assert_eq!(text(&memory, 16, 40), None, "nothing is there");
    }
}

//! Says in the file of a program that its heap is this one, so that none is preloaded into it: the
//! program's own way to the heap is shorter.
//!
//! An ELF note: `bcs run` reads it before it starts the program (`node-manager/src/program_file`).

/// What stands before the name of a note: the lengths of name and description, and the kind.
#[repr(C, align(4))]
struct Note {
    name_bytes: u32,
    description_bytes: u32,
    kind: u32,
    name: [u8; 4],
}

#[used]
#[unsafe(link_section = ".note.bcs.heap")]
#[expect(unsafe_code, reason = "a section of its own")]
static NOTE: Note = Note {
    name_bytes: 4,
    description_bytes: 0,
    kind: 1,
    name: *b"BCS\0",
};

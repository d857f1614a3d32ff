//! Says in the file of a program that its heap is this one, so that none is preloaded into it: the
//! program's own way to the heap is shorter.
//!
//! An ELF note: `bcs run` reads it before it starts the program (`node-manager/src/program_file`). It comes into a
//! program with the heap's first allocation, which names it: one that only depends on this crate, as by `bcs-mpi`, has
//! another heap.

/// What stands before the name of a note: the lengths of name and description, and the kind.
#[repr(C, align(4))]
pub(crate) struct ElfNote {
    name_bytes: u32,
    description_bytes: u32,
    kind: u32,
    name: [u8; 4],
}

#[unsafe(link_section = ".note.bcs.heap")]
#[expect(unsafe_code, reason = "a section of its own")]
pub(crate) static NOTE: ElfNote = ElfNote {
    name_bytes: 4,
    description_bytes: 0,
    kind: 1,
    name: *b"BCS\0",
};

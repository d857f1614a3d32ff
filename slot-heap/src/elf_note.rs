//! An ELF note in a program's file that its heap is this one. No heap is then preloaded into the
//! program: the program's own path to its heap is shorter.
//!
//! `bcs run` reads the note before it starts the program (`node-manager/src/program_file`). The
//! linker includes the note together with the heap's first allocation, which refers to it. A
//! program that only depends on this crate, for example through `bcs-mpi`, has another heap and no
//! note.

/// The header of a note before its name: the lengths of name and description, and the kind.
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

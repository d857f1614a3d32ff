//! The names that a shared library exports.

use std::fmt::Write as _;

/// An exported function, and the function in Rust that does its work.
#[derive(Clone, Copy, Debug)]
pub struct EntryPoint<'a> {
    /// The exported name: `PMPI_Send`.
    pub name: &'a str,
    /// A second, weak name, which a tool may replace: `MPI_Send`.
    pub weak: Option<&'a str>,
    /// The prefix of the symbol of the function in Rust.
    pub prefix: &'a str,
}

/// Generates entry points. Each stores the address that it is called from in the variable of this
/// thread that `mpi-abi/src/caller.rs` defines, and continues in Rust.
pub fn entry_points<'a>(targets: impl IntoIterator<Item = EntryPoint<'a>>) -> String {
    let mut text = String::from(".text\n");
    targets
        .into_iter()
        .for_each(|target| text += &entry_point(target));
    text
}

fn entry_point(EntryPoint { name, weak, prefix }: EntryPoint) -> String {
    let mut text = String::from(".p2align 4\n");
    let mut begin = |binding: &str, name: &str| {
        let _ = writeln!(text, ".{binding} {name}\n.type {name}, @function\n{name}:");
    };
    weak.iter().for_each(|name| begin("weak", name));
    begin("globl", name);
    let _ = writeln!(
        text,
        "    lea rax, [rip + bcs_caller@tlsdesc]\n    call qword ptr [rax + bcs_caller@tlscall]\n    \
         mov r11, qword ptr [rsp]\n    mov qword ptr fs:[rax], r11\n    jmp {prefix}{name}"
    );
    for name in weak.into_iter().chain([name]) {
        let _ = writeln!(text, ".size {name}, . - {name}");
    }
    text
}

//! The `bcs` command. All of it is in the library.

fn main() -> std::process::ExitCode {
    machine_manager::main()
}

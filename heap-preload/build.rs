//! Makes this library describe its own `malloc`. Without this flag, in a program that has another
//! `malloc`, the linker would resolve the name to that one.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    println!("cargo::rerun-if-changed=build.rs");
}

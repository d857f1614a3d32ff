//! What this library says of its `malloc` is its own, also where the program has another one, which the linker would take
//! for it.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    println!("cargo::rerun-if-changed=build.rs");
}

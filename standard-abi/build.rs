//! Generates the names of the standard's functions, and of the BCS API.

use abi_lists::{EntryPoint, Prototype, bcs_functions, entry_points, functions};
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let names: Vec<String> = functions().map(|of| format!("P{}", of.name)).collect();
    let standard = names.iter().map(|name| EntryPoint {
        name,
        weak: Some(&name[1..]),
        prefix: "entry_",
    });
    let declared = bcs_functions();
    let of_bcs = declared.iter().map(|line| EntryPoint {
        name: Prototype::parse(line).name,
        weak: None,
        prefix: "entry_",
    });
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let text = entry_points(standard.chain(of_bcs));
    fs::write(Path::new(&out).join("names.s"), text).expect("OUT_DIR can be written");
}

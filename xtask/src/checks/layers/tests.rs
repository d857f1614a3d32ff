use super::*;

fn sources(files: &[(&str, &str)]) -> Sources {
    let files = files.iter();
    files
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

fn layers(files: &[(&str, &str)]) -> LayerFindings {
    LayerFindings::of(&sources(files), &[]).unwrap()
}

/// Returns the imports between files, each once.
fn imports(files: &[(&str, &str)]) -> Vec<String> {
    let mentions = mentions::of(&Tree::of(&sources(files)).unwrap());
    let items = mentions.iter().filter(|mention| mention.item);
    let mut imports: Vec<String> = items
        .map(|mention| format!("{} {}", mention.from, mention.to))
        .collect();
    imports.sort();
    imports.dedup();
    imports
}

#[test]
fn two_files_that_import_each_other_are_a_circle_with_an_example_each() {
    let found = layers(&[
        ("lib.rs", "mod bell;\nmod ring;"),
        ("bell.rs", "use crate::ring::Ring;\npub struct Bell;\n"),
        (
            "ring.rs",
            "//! Rings.\n\nuse super::bell::{self, Bell};\npub struct Ring;",
        ),
    ]);
    assert!(!found.holds());
    assert_eq!(
        found.outcome("core").figure.lines().collect::<Vec<_>>(),
        [
            "core: 3 files, 2 imports; 2 files in 1 circles; 0 circles of folders",
            "            circle of files: bell.rs, ring.rs",
            "              bell.rs:1 → ring.rs: crate::ring::Ring",
            "              ring.rs:3 → bell.rs: super::bell::Bell",
        ]
    );
}

#[test]
fn who_imports_what_is_re_exported_imports_the_file_that_defines_it() {
    let files = [
        ("lib.rs", "mod memory;\npub use memory::Slot;"),
        (
            "memory/mod.rs",
            "mod own;\nmod slot;\npub use own::Own;\npub use slot::*;",
        ),
        ("memory/own.rs", "use super::Slot;\npub struct Own(Slot);"),
        ("memory/slot.rs", "pub struct Slot;"),
    ];
    assert_eq!(imports(&files), ["memory/own.rs memory/slot.rs"]);
    assert!(layers(&files).holds());

    let mut circle = files;
    circle[3].1 = "pub struct Slot;\nimpl Slot { fn own(self) -> crate::memory::Own { todo!() } }";
    let found = layers(&circle);
    assert_eq!(
        found.of_files[0].members,
        ["memory/own.rs", "memory/slot.rs"]
    );
}

#[test]
fn a_parent_that_uses_what_its_child_makes_of_it_is_a_circle() {
    let found = layers(&[
        ("lib.rs", "mod slot;"),
        (
            "slot/mod.rs",
            "mod own;\npub struct Error;\nfn own() { own::make() }",
        ),
        (
            "slot/own.rs",
            "use super::Error;\npub fn make() -> Result<(), Error> { Ok(()) }",
        ),
    ]);
    assert_eq!(found.of_files[0].members, ["slot/mod.rs", "slot/own.rs"]);
}

#[test]
fn names_are_followed_through_globs_functions_macros_and_modules() {
    let files = |text| {
        imports(&[
            (
                "lib.rs",
                "mod a;\nmod b;\nmod prelude { pub use crate::b::*; }",
            ),
            ("a.rs", text),
            (
                "b.rs",
                "pub struct B;\npub enum E { One }\npub fn b() {}\nthread_local! { pub static T: u8 = 0; }",
            ),
        ])
    };
    for text in [
        "use crate::b::*;\nfn a(b: B) {}",
        "use crate::prelude::*;\nfn a(b: B) {}",
        "use crate::b as c;\nfn a() { c::b() }",
        "use super::b;\nfn a() { b::b() }",
        "fn a() { crate::b::b() }",
        "fn a() { use crate::b::E::One; One }",
        "fn a() -> Vec<super::b::B> { Vec::new() }",
        "fn a() { crate::b::T.with(|it| it) }",
        "fn a() { assert_eq!(1, crate::b::E::One as u8) }",
        "macro_rules! a { () => { $crate::b::b() } }",
        "impl crate::b::B { fn a() {} }",
        "fn a() { <u8 as crate::b::B>::x() }",
    ] {
        assert_eq!(files(text), ["a.rs b.rs"], "{text}");
    }
    for text in [
        "use crate::b;",
        "use crate::b::*;",
        "pub(crate) use crate::b::B;",
        "pub(in crate::b) fn a(b: B) {}",
        "fn a(a: A) { a.b(); a.crate_b }",
        "use std::b::B;\nfn a(b: B) {}",
    ] {
        assert!(files(text).is_empty(), "{text}");
    }
}

#[test]
fn what_only_tests_name_is_not_imported() {
    let files = [
        ("lib.rs", "mod a;\n#[cfg(test)]\nmod tests;\nmod b;\nmod c;"),
        (
            "a.rs",
            "use crate::b::B;\npub struct A;\n#[cfg(all(test, not(loom)))]\nmod tests { use crate::b::B; }",
        ),
        (
            "b.rs",
            "#[cfg(test)]\nuse crate::a::A;\npub struct B { #[cfg(test)] a: crate::a::A }\n\
             #[cfg(not(test))]\nuse crate::c::C;",
        ),
        ("c.rs", "pub struct C;"),
        ("tests.rs", "use crate::a::A;"),
    ];
    assert_eq!(imports(&files), ["a.rs b.rs", "b.rs c.rs"]);
}

#[test]
fn folders_that_import_each_other_are_a_circle_where_no_file_is_in_one() {
    let found = layers(&[
        ("lib.rs", "mod near;\nmod far;"),
        ("near/mod.rs", "pub mod deep;\npub mod queue;"),
        ("near/deep/mod.rs", "pub mod one;\npub mod two;"),
        (
            "near/deep/one.rs",
            "use super::super::queue::Queue;\npub struct One;",
        ),
        ("near/deep/two.rs", "pub struct Two;"),
        (
            "near/queue.rs",
            "use crate::near::deep::two::Two;\npub struct Queue;",
        ),
        (
            "far.rs",
            "mod one;\nmod two;\nuse crate::near::queue::Queue;\npub(crate) struct Far;",
        ),
        (
            "far/one.rs",
            "use crate::near::queue::Queue;\nuse super::Far;\npub struct One;",
        ),
        ("far/two.rs", "use super::one::One;"),
    ]);
    assert!(found.of_files.is_empty());
    let [(folder, circle)] = found.of_folders.as_slice() else {
        panic!("{:?}", found.of_folders);
    };
    assert_eq!(folder, "near");
    assert_eq!(circle.members, ["deep/", "queue.rs"]);
    assert_eq!(
        circle.edges[0].to_string(),
        "deep/ → queue.rs: near/deep/one.rs:1 → near/queue.rs: super::super::queue::Queue"
    );
}

#[test]
fn strangers_do_not_even_name_a_module_of_each_other() {
    let tree = |text| {
        sources(&[
            ("lib.rs", "mod roads;"),
            ("roads/mod.rs", "pub mod near;\nmod nic;\npub struct Road;"),
            ("roads/near.rs", text),
            ("roads/nic.rs", "use super::Road;"),
        ])
    };
    let acquainted = |text, strangers| {
        let layers = LayerFindings::of(&tree(text), &[strangers]).unwrap();
        layers.acquainted.len()
    };
    let roads = ["roads/nic", "roads/near"];
    assert_eq!(acquainted("use super::Road;", roads), 0);
    assert_eq!(acquainted("use super::nic;", roads), 1);
    assert_eq!(acquainted("", ["roads/near", "roads/gone"]), 1);
}

#[test]
fn bcs_core_has_layers() {
    let workspace = Workspace::find().unwrap();
    assert!(
        crates(workspace.root())
            .unwrap()
            .contains(&"bcs-core".to_owned())
    );
    let layers = LayerFindings::read(workspace.root(), "bcs-core", &[]).unwrap();
    assert!(layers.holds(), "{}", layers.outcome("bcs-core"));
}

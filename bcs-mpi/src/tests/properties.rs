//! Properties of communicators: attributes, info, error handlers; and the program's own errors.

use super::run;
use crate::mpi::error_codes::ERR_LASTCODE;
use crate::mpi::{ErrorHandler, Info, Keyval};
use crate::{ErrorClass, Result};
use std::sync::{Arc, Mutex};

/// Returns a key whose functions record their arguments. Duplicates get the value plus one, and
/// values above 100 may not be deleted.
fn noting(notes: &Arc<Mutex<Vec<String>>>) -> Keyval {
    let (copies, deletions) = (notes.clone(), notes.clone());
    Keyval::create(
        move |comm, _, value| {
            copies
                .lock()
                .unwrap()
                .push(format!("copy {value} of {}", comm.name()));
            Ok((value < 50).then_some(value + 1))
        },
        move |comm, key, value| {
            if value > 100 {
                comm.attr(key)?; // no lock is held
                return refused(comm);
            }
            deletions.lock().unwrap().push(format!("delete {value}"));
            Ok(())
        },
    )
}

/// Makes an error for the handler.
fn refused(comm: &crate::mpi::Comm) -> Result<()> {
    comm.process().error_string(-7).map(|_| ())
}

#[test]
fn attributes_are_copied_replaced_and_deleted_by_their_keys() {
    run(2, 2, |universe| {
        let world = universe.world().untyped();
        let notes = Arc::new(Mutex::new(Vec::new()));
        let taken = || std::mem::take(&mut *notes.lock().unwrap());
        let (key, other) = (noting(&notes), Keyval::copied());
        assert_eq!(world.attr(&key).unwrap(), None);
        world.set_attr(&key, 7).unwrap();
        world.set_attr(&key, 8).unwrap();
        world.set_attr(&other, 99).unwrap();
        assert_eq!(taken(), ["delete 7"]);
        // The handle is another one, but the world is the same.
        assert_eq!(world.process().world().attr(&key).unwrap(), Some(8));
        let copy = world.dup().unwrap();
        assert_eq!(taken(), ["copy 8 of MPI_COMM_WORLD"]);
        assert_eq!(
            (copy.attr(&key).unwrap(), copy.attr(&other).unwrap()),
            (Some(9), Some(99))
        );
        // Other new communicators get none.
        let part = world.split(Some(0), 0).unwrap().unwrap();
        assert_eq!(part.attr(&other).unwrap(), None);
        // No more values can be attached by a freed key, but attached ones stay.
        key.free().unwrap();
        assert_eq!(key.free().unwrap_err().class, ErrorClass::Keyval);
        assert_eq!(
            part.set_attr(&key, 1).unwrap_err().class,
            ErrorClass::Keyval
        );
        copy.free().unwrap();
        assert_eq!(taken(), ["delete 9"]);
        assert_eq!(copy.attr(&key).unwrap_err().class, ErrorClass::Comm);
        world.delete_attr(&key).unwrap();
        assert_eq!(taken(), ["delete 8"]);
        assert_eq!(
            world.delete_attr(&key).unwrap_err().class,
            ErrorClass::Keyval
        );
    });
}

#[test]
fn an_attribute_that_will_not_go_stays() {
    run(1, 1, |universe| {
        let comm = universe.world().untyped().dup().unwrap();
        let notes = Arc::new(Mutex::new(Vec::new()));
        let key = noting(&notes);
        comm.set_attr(&key, 101).unwrap();
        assert!(comm.set_attr(&key, 1).is_err());
        assert!(comm.delete_attr(&key).is_err());
        assert!(comm.free().is_err(), "nor can the communicator be freed");
        assert_eq!(comm.attr(&key).unwrap(), Some(101));
    });
}

#[test]
fn finalize_deletes_what_is_attached_to_the_rank_itself_the_last_first() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let seen = notes.clone();
    run(1, 1, move |universe| {
        let itself = universe.world().untyped().process().itself();
        itself.set_attr(&noting(&notes), 1).unwrap();
        itself.set_attr(&noting(&notes), 2).unwrap();
    });
    // Each job of `run` has added its notes.
    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty() && seen.chunks(2).all(|pair| pair == ["delete 2", "delete 1"]));
}

#[test]
fn predefined_attributes_say_what_is() {
    run(3, 1, |universe| {
        let process = universe.world().untyped().process().clone();
        let attributes = process.predefined_attributes();
        assert_eq!(
            (attributes.tag_ub, attributes.universe_size),
            (i32::MAX, None)
        );
        assert_eq!(attributes.last_used_code, ERR_LASTCODE);
        process.add_error_class().unwrap();
        assert_eq!(
            process.predefined_attributes().last_used_code,
            ERR_LASTCODE + 1
        );
    });
}

#[test]
fn threads_are_told_apart() {
    run(1, 1, |universe| {
        let process = universe.world().untyped().process().clone();
        assert_eq!(process.thread_level(), crate::mpi::ThreadLevel::Multiple);
        let elsewhere = process.clone();
        let is_main = std::thread::spawn(move || elsewhere.is_main_thread());
        assert!(!is_main.join().unwrap());
    });
}

#[test]
fn info_objects_hold_pairs_in_order() {
    let info = Info::new();
    info.set("one", "1").unwrap();
    info.set("two", "2").unwrap();
    let copy = info.dup();
    info.set("one", "eins").unwrap();
    assert_eq!(info.clone().get("one").unwrap().as_deref(), Some("eins"));
    assert_eq!(copy.get("one").unwrap().as_deref(), Some("1"));
    assert_eq!((info.keys(), info.nth_key(1).unwrap().as_str()), (2, "two"));
    info.delete("one").unwrap();
    assert_eq!(info.delete("one").unwrap_err().class, ErrorClass::InfoNokey);
    assert_eq!(info.get("one").unwrap(), None);
    assert_eq!(info.nth_key(1).unwrap_err().class, ErrorClass::Arg);
    assert_eq!(info.set("", "").unwrap_err().class, ErrorClass::InfoKey);
    assert_eq!(
        info.get(&"k".repeat(256)).unwrap_err().class,
        ErrorClass::InfoKey
    );
    assert_eq!(
        info.set("k", &"v".repeat(1024)).unwrap_err().class,
        ErrorClass::InfoValue
    );
    let env = Info::env(4);
    assert_eq!(env.get("maxprocs").unwrap().as_deref(), Some("4"));
    assert!(env.get("host").unwrap().is_some());
}

#[test]
fn communicators_are_told_things() {
    run(2, 1, |universe| {
        let world = universe.world().untyped();
        let info = Info::new();
        info.set("mpi_assert_no_any_tag", "true").unwrap();
        world.set_info(&info);
        info.delete("mpi_assert_no_any_tag").unwrap();
        // The hint that each communicator has does not count.
        let told = |comm: &crate::mpi::Comm| comm.info().keys() - 1;
        assert_eq!((told(world), told(&world.dup().unwrap())), (1, 1));
        assert_eq!(told(&world.dup_with_info(&info).unwrap()), 0);
    });
}

#[test]
fn error_handlers_are_inherited_and_asked() {
    run(2, 1, |universe| {
        let world = universe.world().untyped();
        assert!(matches!(world.error_handler(), ErrorHandler::Fatal));
        let notes = Arc::new(Mutex::new(Vec::new()));
        let seen = notes.clone();
        world
            .set_error_handler(ErrorHandler::create(move |comm, error| {
                let mut notes = notes.lock().unwrap();
                notes.push((comm.name(), error.class));
            }))
            .unwrap();
        let part = world.split(Some(0), 0).unwrap().unwrap();
        part.set_name("part");
        let wrong = part.probe(9, 0);
        assert_eq!(part.handle(wrong).unwrap_err().class, ErrorClass::Rank);
        assert_eq!(part.handle(Ok(3)).unwrap(), 3);
        part.set_error_handler(ErrorHandler::Return).unwrap();
        let wrong = part.probe(9, 0);
        assert!(part.handle(wrong).is_err());
        assert_eq!(
            *seen.lock().unwrap(),
            [("part".to_owned(), ErrorClass::Rank)]
        );
    });
}

#[test]
fn programs_have_errors_of_their_own() {
    run(1, 1, |universe| {
        let process = universe.world().untyped().process().clone();
        let class = process.add_error_class().unwrap();
        let code = process.add_error_code(class).unwrap();
        let of_ours = process.add_error_code(ErrorClass::Io.code()).unwrap();
        assert_eq!(
            [class, code, of_ours],
            [1, 2, 3].map(|more| ERR_LASTCODE + more)
        );
        process.add_error_string(code, "too hot").unwrap();
        assert_eq!(process.error_string(code).unwrap(), "too hot");
        assert_eq!(process.error_string(class).unwrap(), "");
        assert_eq!(
            process.error_string(ErrorClass::Tag.code()).unwrap(),
            "MPI_ERR_TAG: a wrong tag"
        );
        assert_eq!(process.error_class(code).unwrap(), class);
        assert_eq!(process.error_class(of_ours).unwrap(), ErrorClass::Io.code());
        assert_eq!(process.error_class(5).unwrap(), 5);
        assert!(process.error_class(ERR_LASTCODE).is_err());
        assert!(process.add_error_code(code).is_err(), "a code is no class");
        assert!(
            process.add_error_string(3, "x").is_err(),
            "nor are ours theirs"
        );
        assert!(process.remove_error_code(class).is_err(), "it has a code");
        let left = process.remove_error_code(code).unwrap_err();
        assert!(left.to_string().contains("has a string left"), "{left}");
        for own in [code, class] {
            process.add_error_string(own, "").unwrap();
            process.remove_error_code(own).unwrap();
        }
        assert!(process.error_string(code).is_err());
        assert_eq!(
            process.add_error_class().unwrap(),
            ERR_LASTCODE + 4,
            "numbers are not used again"
        );
    });
}

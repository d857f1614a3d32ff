//! Storing measurements, with a fake measurement.

use super::measurement::DISTURBED_FOR;
use super::*;
use std::ffi::OsString;
use std::fs;
use std::sync::Barrier;
use std::time::Duration;

fn machine(kernel: &str) -> Machine {
    Machine {
        machine: "node/7".into(),
        kernel: kernel.into(),
        processor: "one".into(),
        cores: None,
        mitigations: String::new(),
    }
}

fn never() -> LinkBandwidth {
    panic!("what is remembered is not measured")
}

fn rate(bytes_per_second: u64) -> LinkBandwidth {
    LinkBandwidth { bytes_per_second }
}

#[test]
fn a_machine_is_measured_once_and_another_kernel_anew() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a/b/c.json");
    let first = remembered(&path, &machine("6.1"), || rate(42));
    assert_eq!(
        (first.found.bytes_per_second, first.file.unwrap()),
        (42, path.clone())
    );
    let again = remembered(&path, &machine("6.1"), never);
    assert_eq!(again.found.bytes_per_second, 42);
    assert!(again.measured <= first.measured, "with the date of then");
    let other = remembered(&path, &machine("6.2"), || rate(43));
    assert_eq!(other.found.bytes_per_second, 43);
    assert_eq!(
        remembered(&path, &machine("6.2"), never)
            .found
            .bytes_per_second,
        43
    );
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing else is left: {names:?}");
}

#[test]
fn what_cannot_be_used_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("c.json");
    remembered(&path, &machine("6.1"), || rate(42));
    let good = fs::read_to_string(&path).unwrap();
    let broken = |from: &str, to: &str| {
        let text = good.replace(from, to);
        assert_ne!(text, good, "{from}");
        text
    };
    for text in [
        String::new(),
        "rubbish".into(),
        good[..good.len() / 2].into(),
        broken("bcs-link-bandwidth", "bcs-other"),
        broken("\"version\": 2", "\"version\": 3"),
        broken(": 42", ": 0"),
        broken(": 42", ": -1"),
        broken(": 42", ": 18446744073709551615"),
        broken(
            "\"measured_unix_s\": 1",
            "\"measured_unix_s\": 999999999999",
        ),
        " ".repeat(1 << 20) + &good,
    ] {
        fs::write(&path, &text).unwrap();
        let anew = remembered(&path, &machine("6.1"), || rate(7));
        assert_eq!(anew.found.bytes_per_second, 7, "{text:.200}");
        let kept = remembered(&path, &machine("6.1"), never);
        assert_eq!(kept.found.bytes_per_second, 7, "{text:.200}");
    }
}

#[test]
fn where_nothing_can_be_written_it_is_measured_each_time_and_said_why() {
    let home = tempfile::tempdir().unwrap();
    // A file in the place of a directory, a directory in the place of the file.
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.join("c.json"), home.path().to_owned()] {
        let unkept = remembered(&path, &machine("6.1"), || rate(5));
        assert_eq!(unkept.found.bytes_per_second, 5);
        let why = unkept.file.unwrap_err().to_string();
        assert!(why.starts_with(&format!("failed to write {}: ", path.display())));
    }
    let left = fs::read_dir(home.path()).unwrap().count();
    assert_eq!(left, 1, "the file");
}

#[test]
fn several_starts_at_once_agree() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("c.json");
    let (starts, barrier) = (8, Barrier::new(8));
    let rates: Vec<u64> = std::thread::scope(|scope| {
        let start = |rate| {
            let (path, barrier) = (&path, &barrier);
            // Threads are one process, and each needs a file name of its own.
            scope.spawn(move || {
                let own = MeasurementFile::new(
                    machine("6.1"),
                    super::tests::rate(rate),
                    SystemTime::now(),
                );
                barrier.wait();
                own.keep_as(path, &rate.to_string()).unwrap()
            })
        };
        let started: Vec<_> = (1..=starts).map(start).collect();
        let kept = started.into_iter().map(|start| start.join().unwrap());
        kept.map(|kept| {
            kept.measurement(Err(ProfileStoreError::NoPlace))
                .found
                .bytes_per_second
        })
        .collect()
    });
    assert!(rates.iter().all(|rate| *rate == rates[0]), "{rates:?}");
    let remembered = remembered(&path, &machine("6.1"), never)
        .found
        .bytes_per_second;
    assert_eq!(remembered, rates[0]);
}

#[test]
fn the_place_follows_the_variables_and_the_name_of_the_machine() {
    let place = |variables: &[(&str, &str)]| {
        let lookup = |name: &str| {
            let found = variables.iter().find(|(of, _)| *of == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let path = measurement_file::path::<LinkBandwidth>(&machine("6.1"), lookup)?;
        Some(path.display().to_string())
    };
    let file = "bcs/link-bandwidth-node_7.json";
    assert_eq!(
        place(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]),
        Some(format!("/c/{file}"))
    );
    for relative in ["", "c"] {
        let found = place(&[("XDG_CACHE_HOME", relative), ("HOME", "/h")]);
        assert_eq!(found, Some(format!("/h/.cache/{file}")));
    }
    assert_eq!(place(&[]), None);
}

fn figures(undisturbed: bool) -> WaitCosts {
    WaitCosts {
        yield_ns: 680,
        shared_yield_ns: 2_400,
        wake_ns: 58_000,
        switch_ns: 3_500,
        undisturbed,
    }
}

/// A disturbed measurement is used for a while and then repeated; other cores count as another
/// machine.
#[test]
fn what_was_disturbed_is_measured_anew_after_a_while() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("c.json");
    let now = SystemTime::now();
    let keep = |undisturbed, age| {
        let _none_yet = fs::remove_file(&path);
        let record = MeasurementFile::new(machine("6.1"), figures(undisturbed), now - age);
        record.store(&path).unwrap();
    };
    let is_known = || MeasurementFile::<WaitCosts>::read(&path, &machine("6.1")).is_some();
    let (long, short) = (2 * DISTURBED_FOR, DISTURBED_FOR / 2);
    for (undisturbed, age, known) in [
        (true, long, true),
        (true, short, true),
        (false, long, false),
        (false, short, true),
    ] {
        keep(undisturbed, age);
        assert_eq!(is_known(), known, "{undisturbed}, {age:?}");
    }
    let four_cores = Machine {
        cores: Some(4),
        ..machine("6.1")
    };
    assert!(MeasurementFile::<WaitCosts>::read(&path, &four_cores).is_none());
    let found = MeasurementFile::<WaitCosts>::read_of_any_machine(&path).expect("of any machine");
    assert_eq!(
        found.measurement(Err(ProfileStoreError::NoPlace)).found,
        figures(false)
    );
}

#[test]
fn figures_that_cannot_be_true_are_not_believed() {
    let believed = |change: fn(&mut WaitCosts)| {
        let mut figures = self::figures(true);
        change(&mut figures);
        figures.are_credible(Duration::ZERO)
    };
    assert!(believed(|_| ()));
    assert!(!believed(|figures| figures.yield_ns = 0));
    assert!(!believed(|figures| figures.wake_ns = u32::MAX));
    assert!(!believed(|figures| figures.shared_yield_ns = 1));
    assert!(!believed(|figures| figures.switch_ns = 2_000_000_000));
}

#[test]
fn a_file_that_the_user_names_is_used_or_refused() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("c.json");
    let refused = said_by(path.clone()).unwrap_err().to_string();
    assert!(refused.contains(&path.display().to_string()), "{refused}");
    let record = MeasurementFile::new(machine("9.9"), figures(false), SystemTime::UNIX_EPOCH);
    record.store(&path).unwrap();
    assert_eq!(said_by(path).unwrap().found, figures(false));
}

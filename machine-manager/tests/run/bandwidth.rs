//! The link bandwidth of a job: measured once, unless the user gives it.

use super::job::{Job, bcs, text};
use mds::dump::read_dir;
use std::path::Path;

/// Returns what `-v` prints about the links.
fn links(cache: &Path, options: &str) -> String {
    let mut command = bcs(&format!("run -v {options} hello"));
    command.env("XDG_CACHE_HOME", cache);
    let output = Job::spawn(command).finish();
    assert!(output.status.success(), "{output:?}");
    let stderr = text(&output.stderr);
    let links = stderr.split("links of ").nth(1).expect(&stderr);
    links.split(", NIC").next().unwrap().to_owned()
}

#[test]
fn all_starts_have_the_bandwidth_that_the_first_has_measured() {
    let cache = tempfile::tempdir().unwrap();
    let at_once: Vec<String> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| links(cache.path(), "")))
            .collect();
        started.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let dumps = cache.path().join("dumps");
    let recorded = links(cache.path(), &format!("--mds {}", dumps.display()));
    assert!(at_once.iter().all(|one| *one == recorded), "{at_once:?}");
    assert!(recorded.contains("/s (measured 2"), "{recorded}");
    let run = read_dir(&dumps).unwrap().run.unwrap();
    assert!(run.bandwidth_measured_unix_s.is_some());

    let mut doctor = bcs("doctor --time-slice 50us");
    doctor.env("XDG_CACHE_HOME", cache.path());
    let doctor = text(&Job::spawn(doctor).finish().stdout);
    let (rate, date) = recorded.split_once(" (").unwrap();
    let found = format!(
        "ok    link bandwidth     {rate}, {}",
        date.trim_end_matches(')')
    );
    assert!(doctor.contains(&found), "{doctor}");
}

#[test]
fn a_bandwidth_that_is_said_wins_and_nothing_is_measured() {
    let cache = tempfile::tempdir().unwrap();
    let dumps = cache.path().join("dumps");
    let options = format!("--link-bandwidth 2GB/s --mds {}", dumps.display());
    assert_eq!(links(cache.path(), &options), "2.0 GB/s");
    let remembered = std::fs::read_dir(cache.path().join("bcs")).unwrap();
    let names = remembered.map(|file| file.unwrap().file_name().into_string().unwrap());
    let of_bandwidth = names.filter(|name| name.starts_with("link-bandwidth"));
    assert_eq!(
        of_bandwidth.count(),
        0,
        "only what waiting costs is remembered"
    );
    let run = read_dir(&dumps).unwrap().run.unwrap();
    assert_eq!(
        (run.bandwidth, run.bandwidth_measured_unix_s),
        (2_000_000_000, None)
    );
}

#[test]
fn a_start_that_can_remember_nothing_measures() {
    let measured = links(Path::new("/dev/null"), "");
    assert!(measured.contains("/s (measured 2"), "{measured}");
}

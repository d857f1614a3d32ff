//! The page of a run of 64 ranks.

mod sample_run;

use mds_reports::page;
use sample_run::Size;

/// The largest size of a page (the promise).
const MOST_BYTES: usize = 5_000_000;

fn of(size: Size) -> String {
    page::page(&sample_run::dumps_of(size), &["a fault".to_owned()]).unwrap()
}

fn data(page: &str) -> serde_json::Value {
    let (_, from) = page.split_once("const run = ").unwrap();
    let (data, _) = from.split_once(";\n").unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_page_of_64_ranks_is_small_and_holds_all_slices() {
    let steps = 1_500;
    let page = of(Size { ranks: 64, steps });
    assert!(page.len() < MOST_BYTES, "{} bytes", page.len());
    let data = data(&page);
    let slices = &data["slices"];
    assert_eq!(slices["neighbours"], 7, "13,500 slices by at most 2,000");
    let points = slices["numbers"].as_array().unwrap().len();
    for column in slices["columns"].as_array().unwrap() {
        assert_eq!(column["figures"].as_array().unwrap().len(), points);
    }
    assert_eq!(data["ranks"].as_array().unwrap().len(), 64);
    assert_eq!(data["matrix"]["who"], "rank");
    assert_eq!(data["matrix"]["cells"].as_array().unwrap().len(), 64);
    assert_eq!(data["faults"][0], "a fault");
    assert_eq!(
        data["timeline"]["levels"],
        serde_json::json!([1_024, 4_096])
    );
    assert!(
        data["diagnosis"]["sentences"][1]
            .as_str()
            .unwrap()
            .contains("slices")
    );
    assert_eq!(data["wait_matrix"]["who"], "rank");
    // A variable names a file for viewing the page in a browser.
    if let Some(path) = std::env::var_os("PAGE") {
        std::fs::write(path, page).unwrap();
    }
}

#[test]
fn many_ranks_are_shown_by_nodes() {
    let data = data(&of(Size {
        ranks: 200,
        steps: 2,
    }));
    assert_eq!(data["matrix"]["who"], "node");
    assert_eq!(data["matrix"]["numbers"].as_array().unwrap().len(), 100);
}

/// A page to try a browser with:
/// `PAGE=big.html cargo test -p mds-reports --test page -- --ignored`.
#[test]
#[ignore = "takes a minute, and is for eyes"]
fn a_page_of_64_ranks_with_100_000_calls_each() {
    let page = of(Size {
        ranks: 64,
        steps: 25_000,
    });
    if let Some(path) = std::env::var_os("PAGE") {
        std::fs::write(path, &page).unwrap();
    }
    assert!(page.len() < 60_000_000, "{} bytes", page.len());
}

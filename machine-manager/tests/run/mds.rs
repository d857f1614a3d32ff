//! `bcs mds`: its reports about a recorded job.

use super::job::{run, text};
use super::sample_run;
use mds::dump::{RunDump, read_dir};
use std::fs;
use std::path::Path;
use std::process::Output;

/// Records two ranks on two nodes.
fn recorded(directory: &Path) {
    let line = format!(
        "run -n 2 --nodes 2 --strobe fixed --time-slice 1ms --mds {} hello",
        directory.display()
    );
    let output = run(&line, "");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stderr), "");
}

fn mds(arguments: &str, directory: &Path) -> Output {
    run(
        &format!("mds {arguments}").replace("DIR", &directory.display().to_string()),
        "",
    )
}

fn shown(arguments: &str, directory: &Path) -> String {
    let output = mds(arguments, directory);
    assert_eq!(text(&output.stderr), "", "{arguments}");
    assert_eq!(output.status.code(), Some(0), "{arguments}");
    text(&output.stdout)
}

#[test]
fn a_run_leaves_its_header() {
    let directory = tempfile::tempdir().unwrap();
    recorded(directory.path());
    let dumps = read_dir(directory.path())
        .unwrap()
        .require_complete()
        .unwrap();
    let run = dumps.run.unwrap();
    let expected = RunDump {
        job: dumps.nodes[0].job.clone(),
        command: vec!["hello".to_owned()],
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ranks: 2,
        nodes: 2,
        time_slice_ns: 1_000_000,
        strobe: "fixed".to_owned(),
        intranode: "smartmap".to_owned(),
        eager_limit: 4096,
        ..run.clone()
    };
    assert_eq!(run, expected);
    assert!(run.began_ns < run.ended_ns && run.bandwidth > 0 && run.began_unix_ns > 0);
    for rank in &dumps.ranks {
        let ended_ns = rank.began_ns + rank.run_ns;
        assert!(
            run.began_ns < rank.began_ns && ended_ns < run.ended_ns,
            "one clock"
        );
    }
}

#[test]
fn every_command_shows_something_of_a_real_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    recorded(path);
    let report = shown("report DIR", path);
    assert!(report.starts_with("MPI takes "), "{report}");
    for line in [
        "command     hello",
        "ranks       2 on 2 nodes",
        "Timeline\nEach letter",
        "Primitives (Table 5.3)",
        "Comp Granularity",
        "Nodes and slices (Tables 5.1 and 5.2)",
        "GETTS          global elapsed time",
    ] {
        assert!(report.contains(line), "{line:?} in {report}");
    }
    assert!(shown("report DIR --rank 1", path).contains("sums over 1 rank)"));
    let json: serde_json::Value = serde_json::from_str(&shown("report DIR --json", path)).unwrap();
    assert_eq!(json["run"]["command"][0], "hello");
    assert_eq!(json["ranks"].as_array().unwrap().len(), 2);
    assert!(shown("hist DIR computation", path).contains("figures, from each line to the next"));
    assert!(shown("slices DIR", path).contains("struck slices"));
    assert!(shown("matrix DIR", path).contains("by all transports"));
    assert!(shown("compare DIR DIR", path).contains("figures did not change"));
    assert!(shown("blame DIR", path).starts_with("Waited in blocking calls"));
    let page = path.join("run.html");
    shown(&format!("html DIR -o {}", page.display()), path);
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .contains("\"command\":[\"hello\"]")
    );
}

#[test]
fn a_column_of_slices_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    sample_run::write(path, &sample_run::dumps());
    let picture = path.join("gaps.svg");
    let command = format!(
        "slices DIR --columns GETTS --node 1 --plot {}",
        picture.display()
    );
    assert_eq!(shown(&command, path), "");
    let picture = fs::read_to_string(picture).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("GETTS by time slice, on node 1"));
    let slices = usize::try_from(sample_run::STEPS * 9).unwrap();
    assert_eq!(
        picture.matches("<circle").count(),
        slices - 1,
        "a point for each gap"
    );
    // An operation that no rank did gives no picture.
    let refused = mds("slices DIR --columns LTRM --plot x.svg", path);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(
        text(&refused.stderr),
        "bcs: failed to draw LTRM: no slice of the window has a figure in this column\n"
    );
}

/// Parquet's crates are built only with the feature.
#[test]
fn parquet_is_written_or_refused_with_how_to_build_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    sample_run::write(path, &sample_run::dumps());
    let tables = path.join("tables");
    let command = format!("export DIR --format parquet -o {}", tables.display());
    if cfg!(feature = "parquet") {
        assert_eq!(shown(&command, path).lines().count(), 5);
        let calls = fs::read(tables.join("calls.parquet")).unwrap();
        assert!(calls.starts_with(b"PAR1") && calls.ends_with(b"PAR1"));
        return;
    }
    let refused = mds(&command, path);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("--features parquet"), "{said}");
}

#[test]
fn exports_are_files_for_other_programs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    recorded(path);
    let trace = path.join("trace.json");
    let command = format!("export DIR --format chrome-trace -o {}", trace.display());
    assert_eq!(shown(&command, path), "");
    let trace: serde_json::Value = serde_json::from_slice(&fs::read(trace).unwrap()).unwrap();
    assert!(!trace["traceEvents"].as_array().unwrap().is_empty());
    let packed = path.join("part.json.gz");
    let command = format!(
        "export DIR --format chrome-trace --from 0s --to 1s -o {}",
        packed.display()
    );
    assert_eq!(shown(&command, path), "");
    assert!(
        fs::read(&packed).unwrap().starts_with(&[0x1f, 0x8b]),
        "gzip"
    );
    let paraver = path.join("run.prv");
    let command = format!("export DIR --format paraver -o {}", paraver.display());
    assert_eq!(shown(&command, path).lines().count(), 3);
    assert!(
        fs::read_to_string(paraver)
            .unwrap()
            .starts_with("#Paraver (")
    );
    let all: serde_json::Value =
        serde_json::from_str(&shown("export DIR --format json", path)).unwrap();
    assert!(all["ranks"][0]["calls"]["begun_ns"].is_array());
    let tables = path.join("tables");
    let files = shown(
        &format!("export DIR --format csv -o {}", tables.display()),
        path,
    );
    assert_eq!(files.lines().count(), 8);
    for file in files.lines() {
        assert!(fs::read_to_string(file).unwrap().contains(','), "{file}");
    }
    let refused = mds("export DIR --format csv", path);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn what_there_is_none_of_is_refused_with_what_there_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    recorded(path);
    for (arguments, expected) in [
        (
            "hist DIR MPI_Isned",
            "bcs: there is no metric \"MPI_Isned\"; there are GETTS, GTDEM, ",
        ),
        (
            "hist DIR GETTS --rank 1",
            "bcs: GETTS is a figure of each node: choose one with --node\n",
        ),
        (
            "slices DIR --columns NDEM",
            "bcs: there is no column \"NDEM\"; there are GETTS, ",
        ),
        (
            "report DIR --rank 7",
            "bcs: failed to report on rank 7: it left no dump; there are dumps of 2 ranks",
        ),
        ("report DIR/none", "bcs: failed to read "),
        (
            "export DIR --format chrome-trace --from 99999999",
            "bcs: no slice from number 99999999 on has a row of its strobe: the last one is ",
        ),
        (
            "export DIR --format json --from 1s",
            "bcs: --from and --to need --format chrome-trace: the other formats hold the whole run",
        ),
    ] {
        let output = mds(arguments, path);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        let stderr = text(&output.stderr);
        assert!(stderr.starts_with(expected), "{arguments}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{arguments}: {stderr}");
    }
}

#[test]
fn what_is_broken_is_named_and_the_rest_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    recorded(path);
    let node = path.join("node-0001.json");
    let whole = fs::read(&node).unwrap();
    fs::write(&node, &whole[..whole.len() / 2]).unwrap();
    fs::remove_file(path.join("rank-00001.json")).unwrap();
    let output = mds("report DIR", path);
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("node-0001.json: it breaks off after"),
        "{stderr}"
    );
    assert!(
        stderr.contains("failed to find dumps of rank 1 in"),
        "{stderr}"
    );
    let report = text(&output.stdout);
    assert!(
        report.contains("sums over 1 rank)") && report.contains("node 0"),
        "{report}"
    );
}

#[test]
fn a_header_that_cannot_be_written_changes_no_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    // A directory is in the place of the file.
    fs::create_dir(directory.path().join("run.json")).unwrap();
    let line = format!("run --mds {} hello", directory.path().display());
    let output = run(&line, "");
    let stderr = text(&output.stderr);
    assert!(
        stderr.starts_with("bcs: failed to write the MDS dump"),
        "{stderr}"
    );
    assert!(stderr.contains("run.json"), "{stderr}");
    assert_eq!(output.status.code(), Some(0));
    let shown = mds("report DIR", directory.path());
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
    assert!(text(&shown.stdout).contains("Primitives (Table 5.3)"));
}

//! The page of a run opens in a browser.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "page",
    about: "bcs mds html of 64 ranks is below 5 MB and opens in Chromium, wide and narrow, without a word of complaint",
    about_time: false,
    quick: false,
    run,
};

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

const MOST_BYTES: usize = 5_000_000;

/// A desktop and a phone, in pixels.
const WIDTHS: [&str; 2] = ["1280,900", "390,844"];

/// A script that chooses the last slice, rank and range, like a user with a keyboard.
const PRESS_KEYS: &str = "<script>for (const id of ['timeline', 'balance', 'histogram']) {
  const picture = document.getElementById(id);
  picture.focus();
  if (document.activeElement !== picture) console.error(id + ' cannot be reached by keyboard');
  picture.dispatchEvent(new KeyboardEvent('keydown', {key: 'End', bubbles: true}));
}</script>";

/// The expected text of the lines below the pictures then.
const SAID: [&str; 2] = [">Rank 63 on node ", ">From "];

const LIMIT: Duration = Duration::from_secs(60);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let browser = BROWSERS.into_iter().find(|browser| {
        let found = process::run(Command::new(browser).arg("--version"), LIMIT);
        found.is_ok_and(|finished| finished.status.success())
    });
    let browser = browser.ok_or_else(|| {
        UnsuitableMachine(format!(
            "there is none of {} on this machine",
            BROWSERS.join(", ")
        ))
    })?;
    let dir = tempfile::tempdir().context("failed to make a directory for the dump")?;
    let (dumps, page) = (dir.path().join("dumps"), dir.path().join("run.html"));
    let mut record = workspace.bcs(["run", "-n", "64", "--nodes", "8", "--mds"])?;
    record.arg(&dumps).arg("hello");
    process::run(&mut record, LIMIT)?.succeeded()?;
    let mut html = workspace.bcs(["mds", "html"])?;
    html.arg(&dumps).arg("-o").arg(&page);
    process::run(&mut html, LIMIT)?.succeeded()?;
    let text = fs::read_to_string(&page).context("failed to read the page")?;
    let bytes = text.len();
    // Keys also work without a pointer.
    fs::write(&page, text + PRESS_KEYS).context("failed to write the page")?;
    let complaints = WIDTHS.map(|width| complaints(browser, width, &page));
    let complaints: Vec<Vec<String>> = complaints.into_iter().collect::<Result<_>>()?;
    let complaints = complaints.concat();
    let figure = match complaints.as_slice() {
        [] => format!("{bytes} bytes, no complaint"),
        complaints => format!("{bytes} bytes, {}", complaints.join("; ")),
    };
    let held = bytes < MOST_BYTES && complaints.is_empty();
    Ok(CheckOutcome::exact(
        held,
        figure,
        "below 5 MB, no complaint",
    ))
}

/// Returns the browser's console messages. The page must have drawn all of its pictures.
fn complaints(browser: &str, width: &str, page: &Path) -> Result<Vec<String>> {
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        "--virtual-time-budget=5000",
        "--dump-dom",
    ]);
    command.arg(format!("--window-size={width}"));
    command.arg(format!("file://{}", page.display()));
    let finished = process::run(&mut command, LIMIT)?.succeeded()?;
    for picture in ["balance", "histogram", "causes"] {
        let drawn = finished.stdout.split_once(&format!("id=\"{picture}\""));
        let drawn = drawn.and_then(|(_, from)| from.split_once("</svg>"));
        ensure!(
            drawn.is_some_and(|(shapes, _)| shapes.contains("<rect")),
            "the picture {picture} is empty at {width}"
        );
    }
    for said in SAID {
        let heard = finished.stdout.contains(said);
        ensure!(
            heard,
            "keys choose nothing at {width}: no \"{said}\" below a picture"
        );
    }
    let lines = finished.stderr.lines();
    let complaints = lines.filter(|line| line.contains("CONSOLE"));
    Ok(complaints.map(str::to_owned).collect())
}

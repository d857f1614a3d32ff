//! Figures 5.3 to 5.5 of the BCS-MPI paper: the strobe, and a barrier every nine slices.

use anyhow::Result;
use mds_reports::figures::{Series, column};
use mds_reports::plot::plot;

use super::Section;
use super::content::{PaperContent, PaperTable};
use super::published::{self, PublishedResult};
use super::run::PaperRun;
use crate::barriers::{BarrierSpacing, WINDOW, record};

pub(super) const SECTION: Section = Section {
    name: "figures-5.3-5.5",
    heading: "BCS-MPI, Figures 5.3 to 5.5: the time slices and the barriers in them",
    fill,
};

/// "A randomly chosen node".
const NODE: u32 = 1;

const FIGURES: [(&str, &str, &str); 3] = [
    (
        "figure-5.3",
        "GETTS",
        "Figure 5.3: elapsed time from the previous time slice",
    ),
    (
        "figure-5.4",
        "NCOLLDEM",
        "Figure 5.4: collectives processed in the DEM microphase",
    ),
    (
        "figure-5.5",
        "NCOLLMSM",
        "Figure 5.5: collectives scheduled in the MSM microphase",
    ),
];

fn fill(run: &PaperRun<'_>, content: &mut PaperContent) -> Result<()> {
    let published = PublishedResult::of(&published::FIGURES_5_3_TO_5_5)?;
    content.published(&published);
    let barriers = run.workspace.fixture_program("barriers")?;
    let dumps = record(run.workspace, &barriers)?;
    let series = Series::of(&dumps, Some(NODE), *WINDOW.start(), *WINDOW.end());
    for (file, name, caption) in FIGURES {
        content.svg(file, caption, plot(&series, &column(name)?, caption)?);
    }
    let experiment = BarrierSpacing::from_dumps(&dumps.nodes)?;
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let (shortest, longest) = (
        published.number("shortest_us")?,
        published.number("longest_us")?,
    );
    let apart = published.number("slices_between_barriers")?;
    let mut table = PaperTable::new(["", "the paper", "ours"]);
    table.line([
        "slices apart".to_owned(),
        format!("{shortest} to {longest} us"),
        format!(
            "the median is {} off {shortest} us; {} are at most 8 % off, {} at most 20 %",
            percent(experiment.median_off),
            percent(experiment.within_8_percent),
            percent(experiment.within_20_percent)
        ),
    ]);
    table.line([
        format!("barriers {apart} slices apart"),
        "all, with negligible deviations".to_owned(),
        percent(experiment.apart),
    ]);
    content.table(table);
    content.text(
        "*Why they differ.* The experiment is the paper's, with two ranks on two nodes of one machine. The paper's \
        strobes are struck by a network card that does nothing else; ours by an OS thread whose core computing ranks \
        and other programs want, so single slices are late, and the next one is then as much shorter, since strobes keep to \
        multiples of the slice.",
    );
    Ok(())
}

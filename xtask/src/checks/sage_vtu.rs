//! The library that defines the format reads SAGE's output.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::verdict::CheckOutcome;
use crate::wheel::Wheel;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "sage-vtu",
    about: "VTK reads SAGE's .vtu files: as many cells and as much mass as SAGE says, in one, two and three dimensions",
    about_time: false,
    quick: false,
    run,
};

const VTK: Wheel = Wheel {
    name: "vtk",
    requirement: "vtk==9.7.2",
    program: "bin/python3",
};

/// Decks of all dimensions, with one material and with three, and numbers of ranks.
const RUNS: [(&str, &str); 4] = [
    ("-n 2", "--deck sod"),
    ("-n 3 --nodes 2", "--deck sedov --cycles 60"),
    ("-n 4 --nodes 2", "--deck triple_point --cycles 40"),
    ("-n 2 --nodes 2", "--deck timing_h --cycles 20"),
];

/// Prints the number of cells, and their mass.
const READ: &str = "
import math, sys
from vtkmodules.vtkFiltersVerdict import vtkCellSizeFilter
from vtkmodules.vtkIOXML import vtkXMLUnstructuredGridReader
reader = vtkXMLUnstructuredGridReader()
reader.SetFileName(sys.argv[1])
sizes = vtkCellSizeFilter()
sizes.SetInputConnection(reader.GetOutputPort())
sizes.Update()
grid = sizes.GetOutput()
data = grid.GetCellData()
extents = [data.GetArray(name) for name in ('Length', 'Area', 'Volume')]
density = data.GetArray('density')
def mass(cell):
    return density.GetValue(cell) * sum(extent.GetValue(cell) for extent in extents)
cells = grid.GetNumberOfCells()
print(cells, repr(math.fsum(mass(cell) for cell in range(cells))))
";

/// The sizes of cells are products and differences of rounded coordinates.
const TOLERANCE: f64 = 1e-12;

const LIMIT: Duration = Duration::from_secs(300);

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let python = VTK.program_under(workspace.target())?;
    let outcomes = RUNS.map(|(layout, arguments)| read(workspace, &python, layout, arguments));
    let outcomes = outcomes
        .into_iter()
        .collect::<Result<Vec<CheckOutcome>>>()?;
    Ok(CheckOutcome::of_all(&outcomes))
}

fn read(
    workspace: &Workspace,
    python: &Path,
    layout: &str,
    arguments: &str,
) -> Result<CheckOutcome> {
    let folder = tempfile::tempdir().context("failed to make a directory for the dump")?;
    let file = folder.path().join("cells.vtu");
    let mut sage = workspace.bcs(["run"])?;
    sage.args(layout.split_whitespace()).arg("sage");
    sage.args(arguments.split_whitespace())
        .arg("--dump")
        .arg(&file);
    let said = process::run(&mut sage, LIMIT)?.succeeded()?.stdout;
    let (cells, mass) = told(&said).with_context(|| format!("SAGE's report: {said}"))?;
    let mut reader = Command::new(python);
    reader.args(["-c", READ]).arg(&file);
    let found = process::run(&mut reader, LIMIT)?.succeeded()?.stdout;
    let mut words = found.split_whitespace();
    let found_cells: usize = words.next().context("VTK says nothing")?.parse()?;
    let found_mass: f64 = words.next().context("VTK says no mass")?.parse()?;
    ensure!(found_mass.is_finite(), "VTK finds a mass of {found_mass}");
    let off = (found_mass / mass - 1.0).abs();
    Ok(CheckOutcome::exact(
        found_cells == cells && off <= TOLERANCE,
        format!(
            "{arguments}: {found_cells} cells of {cells}, mass {found_mass:e} of {mass:e}, off by {off:.1e}"
        ),
        format!("all cells, at most {TOLERANCE:e} off"),
    ))
}

/// Returns the cells at the end and the mass of all materials together.
fn told(said: &str) -> Option<(usize, f64)> {
    let end = said.lines().find(|line| line.contains(" cycles, time "))?;
    let cells = end.strip_suffix(" cells")?.rsplit(' ').next()?;
    let masses = said.lines().filter(|line| line.starts_with("mass "));
    let masses = masses.map(|line| line.split_whitespace().last()?.parse::<f64>().ok());
    Some((
        cells.parse().ok()?,
        masses.collect::<Option<Vec<_>>>()?.iter().sum(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_masses_are_read() {
        let said = "  10 2.0e-2 2.0e-3 100 300.1\n5 cycles, time 2.3e-2, 100 cells\ntotal x y\n\
                    mass 1 5.0e-1 5.5e-1\nmass 2 1.0e0 2.0e0\nenergy 1 1\n";
        assert_eq!(told(said), Some((100, 2.55)));
        assert_eq!(told("5 cycles, time 2, many cells\nmass 1 1 1\n"), None);
    }
}

//! Cells as an unstructured grid of VTK (`.vtu`), for ParaView.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::outcome::SageCell;

/// Writes the cells of a run.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, cells: &[SageCell], time: f64) -> io::Result<()> {
    let mut out = io::BufWriter::new(fs::File::create(path)?);
    let dimensions = cells.first().map_or(1, |cell| cell.middle.len());
    // The corners are in the order of VTK's lines, pixels and voxels: the first direction runs
    // fastest.
    let corners = 1_usize << dimensions;
    let kind = [3_u8, 8, 11][dimensions - 1];
    writeln!(out, r#"<?xml version="1.0"?>"#)?;
    writeln!(
        out,
        r#"<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64">"#
    )?;
    writeln!(out, "<UnstructuredGrid>\n<FieldData>")?;
    floats(&mut out, "TimeValue", r#"NumberOfTuples="1""#, [time])?;
    let (points, count) = (cells.len() * corners, cells.len());
    writeln!(
        out,
        "</FieldData>\n<Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{count}\">\n<Points>"
    )?;
    let places = cells.iter().flat_map(|cell| {
        (0..corners).flat_map(move |corner| {
            [0, 1, 2].map(|d| match cell.middle.get(d) {
                Some(middle) if corner >> d & 1 == 1 => middle + cell.edge / 2.0,
                Some(middle) => middle - cell.edge / 2.0,
                None => 0.0,
            })
        })
    });
    floats(&mut out, "Points", r#"NumberOfComponents="3""#, places)?;
    writeln!(out, "</Points>\n<Cells>")?;
    integers(&mut out, "connectivity", 0..points as u64)?;
    integers(
        &mut out,
        "offsets",
        (1..=count).map(|n| (n * corners) as u64),
    )?;
    array(&mut out, "UInt8", "types", "", &vec![kind; count])?;
    writeln!(out, "</Cells>\n<CellData Scalars=\"density\">")?;
    floats(&mut out, "density", "", cells.iter().map(SageCell::density))?;
    floats(
        &mut out,
        "pressure",
        "",
        cells.iter().map(|cell| cell.pressure),
    )?;
    let velocities = cells
        .iter()
        .flat_map(|cell| [0, 1, 2].map(|d| cell.velocity.get(d).copied().unwrap_or(0.0)));
    floats(
        &mut out,
        "velocity",
        r#"NumberOfComponents="3""#,
        velocities,
    )?;
    for material in 0..cells.first().map_or(0, |cell| cell.shares.len()) {
        let name = format!("share {}", material + 1);
        floats(
            &mut out,
            &name,
            "",
            cells.iter().map(|cell| cell.shares[material]),
        )?;
    }
    writeln!(
        out,
        "</CellData>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>"
    )?;
    out.flush()
}

fn floats(
    out: &mut impl Write,
    name: &str,
    more: &str,
    values: impl IntoIterator<Item = f64>,
) -> io::Result<()> {
    let bytes: Vec<u8> = values.into_iter().flat_map(f64::to_le_bytes).collect();
    array(out, "Float64", name, more, &bytes)
}

fn integers(out: &mut impl Write, name: &str, values: impl Iterator<Item = u64>) -> io::Result<()> {
    let bytes: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
    array(out, "UInt64", name, "", &bytes)
}

/// Writes an array: its length and its bytes, each as base64.
fn array(out: &mut impl Write, kind: &str, name: &str, more: &str, bytes: &[u8]) -> io::Result<()> {
    let mut all = (bytes.len() as u64).to_le_bytes().to_vec();
    all.extend(bytes);
    let text = STANDARD.encode(all);
    writeln!(
        out,
        "<DataArray type=\"{kind}\" Name=\"{name}\" {more} format=\"binary\">{text}</DataArray>"
    )
}

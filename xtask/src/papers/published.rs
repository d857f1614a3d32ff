//! The published results, from the data files in `published`: tables, points of figures that the
//! text gives, laws that relate a figure to the number of nodes, and statements.
//!
//! The papers are available as text only. These files contain no number that was read off a
//! picture.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

/// The result of one table or figure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedResult {
    /// Title of the paper.
    pub(super) paper: String,
    /// The table or figure in the paper.
    pub(super) place: String,
    /// Its content, from its caption or the text.
    pub(super) caption: String,
    /// The table, if there is one.
    pub(super) table: Option<PublishedTable>,
    /// Points of curves that the text gives.
    #[serde(default, rename = "point")]
    pub(super) points: Vec<PublishedPoint>,
    /// Figures that are functions of the number of nodes.
    #[serde(default, rename = "law")]
    pub(super) laws: Vec<ScalingLaw>,
    /// Numbers that are parameters of a measurement here, or are compared with it.
    #[serde(default)]
    numbers: BTreeMap<String, f64>,
    /// Statements of the text about it.
    #[serde(default)]
    pub(super) says: Vec<String>,
}

/// A printed table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedTable {
    /// The heads of its columns.
    pub(super) heads: Vec<String>,
    /// Its lines.
    pub(super) lines: Vec<Vec<String>>,
}

/// A point of a curve.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedPoint {
    /// The picture of the figure that has the point.
    pub(super) panel: String,
    /// The name of the curve.
    pub(super) curve: String,
    /// The position of the point.
    pub(super) at: (f64, f64),
}

/// How a figure depends on the number of nodes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScalingLaw {
    /// The network.
    pub(super) network: String,
    /// The column of the table.
    pub(super) of: String,
    /// The factor before `grows`.
    pub(super) factor: f64,
    /// The growth.
    pub(super) grows: Growth,
}

/// The growth of a quantity with the number of nodes n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Growth {
    /// Constant.
    #[serde(rename = "1")]
    Constant,
    /// Logarithmic, like the steps of a binary tree.
    #[serde(rename = "log2 n")]
    Logarithm,
    /// Proportional.
    #[serde(rename = "n")]
    Linear,
}

impl ScalingLaw {
    /// Returns the figure at this number of nodes.
    pub(super) fn at(&self, nodes: f64) -> f64 {
        self.factor
            * match self.grows {
                Growth::Constant => 1.0,
                Growth::Logarithm => nodes.log2(),
                Growth::Linear => nodes,
            }
    }
}

impl PublishedResult {
    /// Parses a data file.
    ///
    /// # Errors
    ///
    /// The file is invalid.
    pub(super) fn of(file: &DataFile) -> Result<Self> {
        toml::from_str(file.text).with_context(|| format!("failed to read {}", file.path))
    }

    /// Returns a number by its name.
    ///
    /// # Errors
    ///
    /// There is no such number.
    pub(super) fn number(&self, name: &str) -> Result<f64> {
        let number = self.numbers.get(name).copied();
        number.with_context(|| format!("{} of {} has no number {name}", self.place, self.paper))
    }

    /// Returns the points of a panel by curve.
    pub(super) fn curves(&self, panel: &str) -> BTreeMap<&str, Vec<(f64, f64)>> {
        let mut curves: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for point in self.points.iter().filter(|point| point.panel == panel) {
            curves.entry(&point.curve).or_default().push(point.at);
        }
        curves
    }
}

/// A file of `published`.
#[derive(Debug)]
pub(super) struct DataFile {
    /// The path, for messages.
    pub(super) path: &'static str,
    text: &'static str,
}

macro_rules! data_files {
    ($($name:ident $file:literal,)*) => {
        $(pub(super) const $name: DataFile = DataFile {
            path: concat!("xtask/src/papers/published/", $file),
            text: include_str!(concat!("published/", $file)),
        };)*

        #[cfg(test)]
        const ALL: &[DataFile] = &[$($name,)*];
    };
}

data_files! {
    TABLE_2_1 "table_2_1.toml",
    TABLE_5_3 "table_5_3.toml",
    FIGURES_5_3_TO_5_5 "figures_5_3_to_5_5.toml",
    FIGURE_6_1 "figure_6_1.toml",
    FIGURES_6_2_AND_6_3 "figures_6_2_and_6_3.toml",
    TABLE_6_1 "table_6_1.toml",
    SMARTMAP_FIGURE_1 "smartmap_figure_1.toml",
    SMARTMAP_FIGURE_2 "smartmap_figure_2.toml",
    SMARTMAP_FIGURE_3 "smartmap_figure_3.toml",
    COLLECTIVES_FIGURE_1 "collectives_figure_1.toml",
    COLLECTIVES_HIERARCHICAL "collectives_hierarchical.toml",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_data_file_is_read_and_says_where_it_is_from() {
        for file in ALL {
            let published = PublishedResult::of(file).unwrap();
            assert!(published.paper.len() > 10, "{}", file.path);
            let place = &published.place;
            assert!(
                place.contains("Table") || place.contains("igure"),
                "{place}"
            );
            let table = published.table.iter();
            let ragged = |table: &PublishedTable| {
                let mut lines = table.lines.iter();
                lines.any(|line| line.len() != table.heads.len())
            };
            assert_eq!(table.filter(|table| ragged(table)).count(), 0, "{place}");
            let says_something = published.table.is_some() || !published.says.is_empty();
            assert!(says_something, "{place}");
        }
    }

    #[test]
    fn laws_grow_as_they_say() {
        let law = |grows| ScalingLaw {
            network: String::new(),
            of: String::new(),
            factor: 46.0,
            grows,
        };
        assert_eq!(law(Growth::Constant).at(8.0), 46.0);
        assert_eq!(law(Growth::Logarithm).at(8.0), 138.0);
        assert_eq!(law(Growth::Linear).at(8.0), 368.0);
    }

    #[test]
    fn what_is_misspelt_or_missing_is_an_error() {
        let file = |text| DataFile { path: "it", text };
        let error = PublishedResult::of(&file("paper = 'A'\nplase = 'B'\n")).unwrap_err();
        assert!(format!("{error:#}").contains("plase"), "{error:#}");
        let text = "paper = 'A'\nplace = 'B'\ncaption = 'C'\n";
        let published = PublishedResult::of(&file(text)).unwrap();
        let error = published.number("slowdown").unwrap_err().to_string();
        assert_eq!(error, "B of A has no number slowdown");
    }
}

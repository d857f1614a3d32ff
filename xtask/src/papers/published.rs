//! What the papers published, from the data files in `published`: a table, points of figures that the text gives,
//! laws by which a figure follows from the number of nodes, and what is said in words.
//!
//! The papers are here as text. What a figure shows beyond that is not known, and no number was read off one.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

/// What was published in one place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedResult {
    /// Title of the paper.
    pub(super) paper: String,
    /// Which table or figure of it.
    pub(super) place: String,
    /// What that shows, as its caption or the text says.
    pub(super) caption: String,
    /// The table, if it is one.
    pub(super) table: Option<PublishedTable>,
    /// Points of curves that the text gives.
    #[serde(default, rename = "point")]
    pub(super) points: Vec<PublishedPoint>,
    /// Figures that follow from the number of nodes.
    #[serde(default, rename = "law")]
    pub(super) laws: Vec<ScalingLaw>,
    /// Numbers that something here is measured at or compared with.
    #[serde(default)]
    numbers: BTreeMap<String, f64>,
    /// What the text says of it.
    #[serde(default)]
    pub(super) says: Vec<String>,
}

/// A table as it was printed.
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
    /// Which of the pictures of a figure has it.
    pub(super) panel: String,
    /// What the curve is called.
    pub(super) curve: String,
    /// Where it is.
    pub(super) at: (f64, f64),
}

/// How a figure depends on the number of nodes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScalingLaw {
    /// Of which network.
    pub(super) network: String,
    /// Which column of the table.
    pub(super) of: String,
    /// The factor before `grows`.
    pub(super) factor: f64,
    /// In which way it grows.
    pub(super) grows: Growth,
}

/// How something grows with the number of nodes n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Growth {
    /// Not at all.
    #[serde(rename = "1")]
    Constant,
    /// As the number of steps of a binary tree.
    #[serde(rename = "log2 n")]
    Logarithm,
    /// In proportion.
    #[serde(rename = "n")]
    Linear,
}

impl ScalingLaw {
    /// The figure with so many nodes.
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
    /// What a data file says.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(super) fn of(file: &DataFile) -> Result<Self> {
        toml::from_str(file.text).with_context(|| format!("failed to read {}", file.path))
    }

    /// A number by its name.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(super) fn number(&self, name: &str) -> Result<f64> {
        let number = self.numbers.get(name).copied();
        number.with_context(|| format!("{} of {} has no number {name}", self.place, self.paper))
    }

    /// The points of a panel by curve.
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
    /// Where it is, for messages.
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

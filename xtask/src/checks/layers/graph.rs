//! The imports among files, or among the folders and files in one folder, and their cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::mentions::Mention;

/// An import, with its first occurrence.
#[derive(Debug, Clone)]
pub(super) struct Edge {
    from: String,
    to: String,
    example: Mention,
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if (&self.from, &self.to) != (&self.example.from, &self.example.to) {
            write!(f, "{} → {}: ", self.from, self.to)?;
        }
        write!(f, "{}", self.example)
    }
}

/// A group of nodes that reach each other, and the imports between them.
#[derive(Debug)]
pub(super) struct ImportCycle {
    pub(super) members: Vec<String>,
    pub(super) edges: Vec<Edge>,
}

impl ImportCycle {
    /// Returns whether it contains a folder, and so is more than a cycle of files.
    pub(super) fn has_folder(&self) -> bool {
        self.members.iter().any(|member| member.ends_with('/'))
    }
}

#[derive(Debug)]
pub(super) struct Graph {
    edges: BTreeMap<(String, String), Edge>,
}

impl Graph {
    pub(super) fn of_files(imports: &[&Mention]) -> Self {
        Self::of(imports, |file| Some(file.to_owned()))
    }

    /// Makes the graph of the contents of the `folders`, with each folder inside as one node.
    pub(super) fn within(folder: &str, folders: &BTreeSet<String>, imports: &[&Mention]) -> Self {
        Self::of(imports, |file| member(folder, folders, file))
    }

    /// Makes the graph of the files, renamed by `name`, without those that have no name.
    fn of(imports: &[&Mention], name: impl Fn(&str) -> Option<String>) -> Self {
        let mut edges = BTreeMap::new();
        for mention in imports {
            let Some((from, to)) = name(&mention.from).zip(name(&mention.to)) else {
                continue;
            };
            if from != to {
                edges
                    .entry((from.clone(), to.clone()))
                    .or_insert_with(|| Edge {
                        from,
                        to,
                        example: (*mention).clone(),
                    });
            }
        }
        Self { edges }
    }

    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    /// Returns all cycles, the longest first.
    pub(super) fn circles(&self) -> Vec<ImportCycle> {
        let starts: BTreeSet<&str> = self.edges.keys().map(|(from, _)| from.as_str()).collect();
        let reached: BTreeMap<&str, BTreeSet<&str>> = starts
            .into_iter()
            .map(|start| (start, self.reached_from(start)))
            .collect();
        let mut done = BTreeSet::new();
        let mut circles = Vec::new();
        for (start, ends) in &reached {
            let back = |end: &&&str| reached.get(**end).is_some_and(|ends| ends.contains(start));
            let members: BTreeSet<&str> = ends.iter().filter(back).copied().collect();
            if !members.is_empty() && done.insert(members.clone()) {
                circles.push(self.circle(&members));
            }
        }
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.members.len()));
        circles
    }

    /// Returns all nodes that `start` imports, directly or not. `start` is among them if it is in a
    /// cycle.
    fn reached_from<'a>(&'a self, start: &'a str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(from) = open.pop() {
            let behind = (from.to_owned(), String::new())..;
            let of_it = self.edges.range(behind);
            let of_it = of_it.take_while(|((file, _), _)| file == from);
            for ((_, to), _) in of_it {
                if reached.insert(to.as_str()) {
                    open.push(to);
                }
            }
        }
        reached
    }

    fn circle(&self, members: &BTreeSet<&str>) -> ImportCycle {
        let among =
            |(from, to): &(String, String)| [from, to].map(|end| members.contains(end.as_str()));
        let edges = self
            .edges
            .iter()
            .filter(|(ends, _)| among(ends) == [true; 2]);
        ImportCycle {
            members: members.iter().map(|&member| member.to_owned()).collect(),
            edges: edges.map(|(_, edge)| edge.clone()).collect(),
        }
    }
}

/// Returns the words of the module path of this file or folder: none for `lib.rs`.
pub(super) fn words(path: &str) -> Vec<&str> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
    if matches!(words.as_slice(), [.., "mod"] | ["lib"]) {
        words.pop();
    }
    words
}

/// Returns all folders, by their paths from `src`.
pub(super) fn folders(files: &[&str]) -> BTreeSet<String> {
    let above = |file: &&str| {
        let words: Vec<&str> = file.split('/').collect();
        let depths = 0..words.len();
        depths
            .map(|depth| words[..depth].join("/"))
            .collect::<Vec<_>>()
    };
    files.iter().flat_map(above).collect()
}

/// Returns the node of a file within a folder: a subfolder, or the file itself. The file that is
/// the module of a subfolder belongs to the subfolder, by either of its two names.
fn member(folder: &str, folders: &BTreeSet<String>, file: &str) -> Option<String> {
    let words = words(file);
    let above = self::words(folder);
    let Some(name) = words.strip_prefix(above.as_slice())?.first() else {
        return file.split('/').next_back().map(str::to_owned);
    };
    let inner = [above.as_slice(), &[name]].concat().join("/");
    Some(if folders.contains(&inner) {
        format!("{name}/")
    } else {
        format!("{name}.rs")
    })
}

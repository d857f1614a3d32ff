//! Every figure that appears in two reports of one dump is the same in both, to the last digit.

use std::collections::BTreeMap;

use mds::dump::{DistributionDump, RunDumps};
use mds_reports::figures;
use mds_reports::report::{self, ReportScope, duration};
use serde_json::Value;

use crate::sample_run;

/// The texts of a figure, with the reports that they are from.
#[derive(Default)]
struct SeenFigures(BTreeMap<String, Vec<(&'static str, String)>>);

impl SeenFigures {
    fn add(&mut self, name: impl Into<String>, report: &'static str, text: impl Into<String>) {
        self.0
            .entry(name.into())
            .or_default()
            .push((report, text.into()));
    }

    /// Checks all figures. Returns how many appear more than once.
    fn assert_equal(&self) -> usize {
        for (name, seen) in &self.0 {
            let (_, first) = &seen[0];
            assert!(
                seen.iter().all(|(_, text)| text == first),
                "{name} differs: {seen:?}"
            );
        }
        self.0.values().filter(|seen| seen.len() > 1).count()
    }
}

/// Returns the JSON of a page.
fn page_data(dumps: &RunDumps) -> Value {
    let page = mds_reports::page::page(dumps, &[]).unwrap();
    let (_, from) = page.split_once("const run = ").unwrap();
    let (data, _) = from.split_once(";\n").unwrap();
    serde_json::from_str(data).unwrap()
}

/// Returns the rows of the table below a title in a report, as words.
fn rows<'a>(report: &'a str, title: &str) -> Vec<Vec<&'a str>> {
    let (_, below) = report.split_once(&format!("{title}\n")).unwrap();
    let section = below.split("\n\n").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with(' ')).skip(1);
    rows.map(|line| line.split_whitespace().collect()).collect()
}

fn milliseconds(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

/// Adds the metrics of the JSON report, of the page, of histograms and of Table 5.3.
fn add_metrics(seen: &mut SeenFigures, dumps: &RunDumps, text: &str, json: &Value, page: &Value) {
    let members = [
        "count", "min", "average", "p50", "p95", "p99", "max", "total",
    ];
    for metric in figures::known(dumps) {
        let figures = metric.distribution(dumps, None);
        if figures.count == 0 {
            continue;
        }
        let of_page = page["metrics"].as_array().unwrap().iter();
        let of_page = of_page
            .clone()
            .find(|one| one["name"] == metric.name.as_str())
            .unwrap();
        for member in members {
            let name = format!("{} {member}", metric.name);
            seen.add(
                &name,
                "json",
                json["metrics"][&metric.name][member].to_string(),
            );
            seen.add(&name, "page", of_page[member].to_string());
        }
        let drawn = report::histogram(&metric.name, &figures, metric.unit);
        let name = format!("{} count", metric.name);
        let count = drawn.split_whitespace().nth(1).unwrap();
        seen.add(name, "hist", count);
    }
    for row in rows(text, "Primitives (Table 5.3)") {
        let [words @ .., min, max, total, count, average] = &row[..] else {
            continue;
        };
        let name = match words.join(" ").as_str() {
            "Comp Granularity" => "computation".to_owned(),
            "Comm Overhead" => "communication".to_owned(),
            other => other.to_owned(),
        };
        let metric = figures::find(dumps, &name)
            .unwrap()
            .distribution(dumps, None);
        let DistributionDump {
            min: least,
            max: most,
            total: all,
            ..
        } = metric;
        for (member, shown, exact) in [
            ("min", min, least as f64),
            ("max", max, most as f64),
            ("total", total, all as f64),
            ("average", average, metric.average),
        ] {
            let name = format!("{name} {member} in ms");
            seen.add(&name, "table 5.3", *shown);
            seen.add(&name, "metric", milliseconds(exact));
        }
        seen.add(format!("{name} count"), "table 5.3", *count);
    }
}

/// Adds what tables by ranks, sites, sizes and peers sum up.
fn add_sums(seen: &mut SeenFigures, dumps: &RunDumps, text: &str, page: &Value) {
    let mut computed = 0.0;
    for row in rows(text, "Time in MPI") {
        let rank: u32 = row[0].parse().unwrap();
        let dump = dumps.rank(rank).unwrap();
        let of_page = &page["ranks"][rank as usize];
        let name = |figure: &str| format!("rank {rank} {figure}");
        for (place, member, exact) in [
            (2, "run_ns", dump.run_ns),
            (3, "computation_ns", dump.computation_granularity_ns.total),
            (4, "mpi_ns", dump.communication_overhead_ns.total),
        ] {
            seen.add(name(member), "balance", row[place]);
            seen.add(
                name(member),
                "page",
                milliseconds(of_page[member].as_f64().unwrap()),
            );
            seen.add(name(member), "dump", milliseconds(exact as f64));
        }
        computed += dump.computation_granularity_ns.total as f64;
    }
    seen.add("computation total in ms", "balance", milliseconds(computed));
    let sites = figures::sites(&dumps.ranks);
    for (site, row) in sites.iter().zip(rows(text, "Call sites by time")) {
        let primitive = site.primitive.unwrap();
        let name = |figure: &str| format!("{primitive} {figure}");
        seen.add(name("count"), "sites", row[2]);
        let of_page = page["sites"].as_array().unwrap().iter();
        let of_page = of_page
            .clone()
            .find(|one| one["place"] == site.place.as_str())
            .unwrap();
        seen.add(name("count"), "page's sites", of_page["count"].to_string());
        // Calls that wait end with their operation, so a site of all their calls is the metric.
        if row[1].starts_with("MPI_W") || row[1].starts_with("MPI_B") {
            seen.add(name("total in ms"), "sites", row[3]);
            seen.add(name("p95"), "page's sites", of_page["p95_ns"].to_string());
            seen.add(
                name("p50"),
                "sites",
                site.time_ns.quantile(0.5).unwrap().to_string(),
            );
        }
    }
    for row in rows(text, "Collectives by size") {
        let row: Vec<&str> = row.into_iter().collect();
        seen.add(format!("{} count", row[0]), "collectives", row[3]);
        let p50 = figures::find(dumps, row[0])
            .unwrap()
            .distribution(dumps, None)
            .quantile(0.5);
        seen.add(
            format!("{} p50 shown", row[0]),
            "collectives",
            format!("{} {}", row[6], row[7]),
        );
        seen.add(
            format!("{} p50 shown", row[0]),
            "metric",
            duration(p50.unwrap() as f64),
        );
    }
    let sum = |section: &str, column: usize| {
        let rows = rows(text, section);
        let figures = rows.iter().map(|row| row[column].parse::<u64>().unwrap());
        figures.sum::<u64>().to_string()
    };
    seen.add("messages", "sizes", sum("Messages by size", 2));
    seen.add("messages", "peers", sum("Messages by peer", 3));
    let cells = page["matrix"]["cells"].as_array().unwrap().iter();
    let messages = cells.map(|cell| cell[2].as_u64().unwrap()).sum::<u64>();
    seen.add("messages", "page", messages.to_string());
    let sends = figures::find(dumps, "MPI_Isend")
        .unwrap()
        .distribution(dumps, None);
    seen.add("messages", "metric", sends.count.to_string());
}

/// Adds the waits: of the blame, of the page, of the list of pairs, of the matrix.
fn add_waits(seen: &mut SeenFigures, dumps: &RunDumps, page: &Value) {
    let blame = figures::blame(dumps);
    let json = report::blame_json(&blame);
    let members = [
        "posted_late_ns",
        "scheduled_late_ns",
        "moved_late_ns",
        "other_ns",
    ];
    for (place, member) in members.into_iter().enumerate() {
        seen.add(member, "blame", blame.total()[place].to_string());
        seen.add(member, "blame's json", json["waited"][member].to_string());
        seen.add(member, "page", page["blame"]["waited"][member].to_string());
        let links = blame
            .links
            .iter()
            .map(|link| link.split[place])
            .sum::<u64>();
        seen.add(member, "links", links.to_string());
        // Nobody is to blame for the rest.
        if member != "other_ns" {
            let culprits = blame.culprits.iter();
            let culprits =
                culprits.filter(|culprit| culprit.cause == figures::WaitCause::ALL[place]);
            seen.add(
                member,
                "culprits",
                culprits.map(|one| one.waited_ns).sum::<u64>().to_string(),
            );
            let cells = page["wait_matrix"]["cells"].as_array().unwrap().iter();
            let cells = cells
                .map(|cell| cell[2 + place].as_u64().unwrap())
                .sum::<u64>();
            seen.add(member, "page's matrix", cells.to_string());
        }
    }
    let text = report::blame(&blame, None);
    let waited: u64 = blame.total().iter().sum();
    let shown = text.split_whitespace().nth(4).unwrap();
    seen.add("waited in ms", "blame's text", shown);
    seen.add("waited in ms", "blame", milliseconds(waited as f64));
}

/// Adds the totals of the first sentence, of the comparison and of the line below Table 5.3.
fn add_totals(seen: &mut SeenFigures, dumps: &RunDumps, text: &str, json: &Value, page: &Value) {
    let sum = |of: fn(&mds::dump::RankDump) -> u64| dumps.ranks.iter().map(of).sum::<u64>() as f64;
    let in_mpi = duration(sum(|rank| rank.communication_overhead_ns.total));
    let all = duration(sum(|rank| rank.run_ns));
    let sentence = json["diagnosis"]["sentences"][0].as_str().unwrap();
    assert!(
        sentence.contains(&format!("{in_mpi} of {all}")),
        "{sentence}"
    );
    assert_eq!(json["diagnosis"], page["diagnosis"]);
    let paragraph = text.split("\n\n").next().unwrap().replace('\n', " ");
    assert!(paragraph.starts_with(sentence), "{paragraph}");
    let compared = report::compare(dumps, dumps);
    for (name, expected) in [("time of all ranks", all), ("in MPI", in_mpi)] {
        let row = compared
            .lines()
            .find(|line| line.trim_start().starts_with(name))
            .unwrap();
        assert_eq!(row.matches(&expected).count(), 2, "{row}");
    }
    let ran_ns = page["ran_ns"].as_f64().unwrap();
    seen.add("run time", "page", duration(ran_ns));
    let row = compared
        .lines()
        .find(|line| line.contains("run time"))
        .unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    seen.add("run time", "compare", format!("{} {}", words[2], words[3]));
    let header = text.lines().find(|line| line.starts_with("ran ")).unwrap();
    let header = header
        .split_once("ran")
        .unwrap()
        .1
        .split(',')
        .next()
        .unwrap();
    seen.add("run time", "header", header.trim());
}

#[test]
fn every_figure_that_appears_twice_is_the_same_to_the_last_digit() {
    let dumps = sample_run::dumps();
    let text = report::full_report(&dumps, ReportScope::AllRanks, None).unwrap();
    let json = mds_reports::export::report(&dumps, Vec::new()).unwrap();
    let page = page_data(&dumps);
    let mut seen = SeenFigures::default();
    add_metrics(&mut seen, &dumps, &text, &json, &page);
    add_sums(&mut seen, &dumps, &text, &page);
    add_waits(&mut seen, &dumps, &page);
    add_totals(&mut seen, &dumps, &text, &json, &page);
    let twice = seen.assert_equal();
    assert!(twice > 150, "only {twice} figures appear twice");
}

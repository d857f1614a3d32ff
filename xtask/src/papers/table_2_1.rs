//! Table 2.1 of the BCS-MPI paper: the costs of the primitives on each fabric.

use std::time::Duration;

use anyhow::Result;

use super::Section;
use super::content::{PaperContent, PaperTable};
use super::picture::{Axis, Curve, Panel, Scale};
use super::published::{self, PublishedResult};
use super::run::PaperRun;
use crate::network;
use crate::primitives::{Costs, shm_one_thread, shm_two_threads, sim, udp};

pub(super) const SECTION: Section = Section {
    name: "table-2.1",
    heading: "BCS-MPI, Table 2.1: the core mechanisms",
    fill,
};

const NODES: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// A fabric, and the costs of its primitives at each number of nodes.
struct Fabric {
    name: &'static str,
    costs: Vec<Costs>,
}

fn fill(run: &PaperRun<'_>, content: &mut PaperContent) -> Result<()> {
    let published = PublishedResult::of(&published::TABLE_2_1)?;
    content.published(&published);
    let time = Duration::from_millis(run.choose(20, 200));
    let mut fabrics = vec![of("shm, one OS thread", |nodes| {
        shm_one_thread(nodes, time)
    })?];
    content.attempt("shm from two OS threads", |_| {
        fabrics.push(of("shm, two OS threads", |nodes| {
            shm_two_threads(nodes, time)
        })?);
        Ok(())
    });
    content.attempt("udp", |_| {
        let network = network::make(NODES[NODES.len() - 1])?;
        fabrics.push(of("udp, 2 hosts", |nodes| udp(&network, 2, nodes, time))?);
        fabrics.push(of("udp, n hosts", |nodes| {
            udp(&network, nodes, nodes, time)
        })?);
        Ok(())
    });
    fabrics.push(of("sim", |nodes| Ok(sim(nodes)))?);
    content.text("Ours:");
    content.table(table(&fabrics));
    let panels = panels(&fabrics, &published);
    content.picture(
        "table-2.1",
        "Table 2.1: ours, and the laws of the paper",
        &panels,
    )?;
    content.text(
        "*Why they differ.* The networks of the paper join machines; `shm` is the memory of one, so that a \
        Compare-And-Write looks at a word of each node's and a PUT is a copy for each node. Both grow with the number \
        of nodes, since there is no multicast in hardware, but a step costs nanoseconds. With one OS thread nobody is \
        asked; with two a Compare-And-Write goes to the sequencer on another core and back, which is nearly all of its \
        time. Bytes are copied one node after the other, so the sum over nodes stays that of a core's copies (and falls \
        when the blocks of all nodes leave the caches), where a network's grows. `sim` has the QsNet figures by \
        definition; its time is virtual, and a Test-Event takes none of it. The logarithms are drawn to base two, \
        which the paper does not say.",
    );
    content.text(
        "Hosts of `udp` are network namespaces that a bridge joins (MTU 1500), each with a hub, a socket and memory of \
        its own, as a process with NICs has in a job; datagrams have tags. Nodes of a host share memory, so with 2 \
        hosts what is for all nodes crosses the network once. With n hosts it goes to each: a PUT of a NIC thread goes \
        along no tree, and all hosts but the first are one OS thread, which does one after the other what cores of their own \
        would do side by side. So these lines grow with n, and the paper's with its logarithm. The host without the \
        sequencer asks, which is a way there and one back; an asker beside the sequencer asks nobody, and has its \
        verdict as on `shm`. Both OS threads spin: a wake would come to it where one sleeps. A PUT is complete as soon \
        as it is said (`fabric.md`), so a Test-Event looks into a table behind a lock and asks nobody. Of \
        all fabrics the fastest of many short samples counts, since other programs share the cores.",
    );
    content.text(
        "*What is missing.* A network with cables: between namespaces a packet is handed over in the kernel, where \
        the paper's Gigabit Ethernet has cards and a switch.",
    );
    Ok(())
}

fn of(name: &'static str, costs: impl Fn(usize) -> Result<Costs>) -> Result<Fabric> {
    let costs = NODES.iter().map(|nodes| costs(*nodes));
    Ok(Fabric {
        name,
        costs: costs.collect::<Result<_>>()?,
    })
}

fn table(fabrics: &[Fabric]) -> PaperTable {
    let mut table = PaperTable::new([
        "Fabric",
        "n",
        "Compare-And-Write (us)",
        "Xfer-And-Signal, 8 B (us)",
        "Xfer-And-Signal, 64 KiB (MB/s, sum over n)",
        "Test-Event (us)",
    ]);
    for Fabric { name, costs } in fabrics {
        for (nodes, costs) in NODES.iter().zip(costs) {
            table.line([
                (*name).to_owned(),
                nodes.to_string(),
                format!("{:.3}", costs.compare_and_write_us),
                format!("{:.3}", costs.transfer_us),
                format!("{:.0}", costs.transfer_mb_per_s),
                format!("{:.4}", costs.test_event_us),
            ]);
        }
    }
    table
}

fn panels(fabrics: &[Fabric], published: &PublishedResult) -> [Panel; 2] {
    let panel = |of: &str, label, figure: fn(&Costs) -> f64| {
        let ours = fabrics.iter().map(|fabric| {
            let figures = fabric.costs.iter().map(figure);
            Curve::measured(fabric.name, nodes().zip(figures))
        });
        let laws = published.laws.iter().filter(|law| law.of == of);
        let theirs = laws.map(|law| {
            let points = nodes().map(|nodes| (nodes, law.at(nodes)));
            Curve::published(format!("the paper: {}", law.network), points)
        });
        Panel {
            title: of.to_owned(),
            x: Axis {
                label: "nodes",
                scale: Scale::Doublings,
            },
            y: Axis {
                label,
                scale: Scale::Decades,
            },
            curves: ours.chain(theirs).collect(),
        }
    };
    [
        panel("Compare-And-Write", "us", |costs| {
            costs.compare_and_write_us
        }),
        panel("Xfer-And-Signal", "MB/s, sum over nodes", |costs| {
            costs.transfer_mb_per_s
        }),
    ]
}

fn nodes() -> impl Iterator<Item = f64> {
    NODES.iter().map(|nodes| *nodes as f64)
}

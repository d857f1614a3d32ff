//! The command line of `cargo xtask`; see the library for the commands.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};

use toolchain::DebugInfo;
use xtask::bare_pingpong::PingPongPartner;
use xtask::checks::{self, Check};
use xtask::contest::ContestArgs;
use xtask::other_load::OtherLoad;
use xtask::packages::{self, Packages};
use xtask::papers::PapersArgs;
use xtask::peers;
use xtask::verdict::{CheckOutcome, Verdict};
use xtask::workspace::Workspace;

/// Chores of the developers.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct XtaskCli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Run acceptance checks. Exits 0 when all held, 1 when one missed its bar, 77 when none missed
    /// but this machine cannot tell for one, 2 on a fault of the command line.
    Check(CheckArgs),
    /// Say what floating point in software costs, against the processor's: for every type and
    /// operation of the Reduce Helper the time of a call with one element and of each more, what
    /// entering the host path costs, and from how many elements on that is the quicker.
    SoftFloat,
    /// Install the other MPI implementations that ours is measured against into target/peers, build
    /// the benchmark for each, and see that it runs.
    Peers,
    /// Measure us and the peers in turns, and print ratios, the worst first.
    BenchPeers(ContestArgs),
    /// Measure the tables and figures of the papers, and write docs/papers.md and docs/papers/*.svg
    /// with ours beside theirs. Exits 0 when all are there, 1 when a part failed, 77 when this
    /// machine cannot show one.
    Papers(PapersArgs),
    /// Build the command and the library for C programs, and lay both out with header and compiler
    /// wrappers.
    Install {
        /// The folder, which is made if it is not there.
        #[arg(long, value_name = "FOLDER")]
        prefix: std::path::PathBuf,
        /// Keep the debug information of the installed files, for a debugger or a profiler.
        #[arg(long)]
        debuginfo: bool,
        /// Compile Fortran's modules for this compiler now, and not at its first use.
        #[arg(long, value_name = "COMPILER")]
        fortran: Vec<String>,
    },
    /// Make the wheel for pip, for machines whose C library is as old as this one's.
    Wheel {
        /// The folder, which is made if it is not there.
        #[arg(long, value_name = "FOLDER", default_value = "target/packages")]
        out: std::path::PathBuf,
    },
    /// Make all packages: the wheel, the package for Debian, and the archive to unpack.
    Packages {
        /// The folder, which is made if it is not there.
        #[arg(long, value_name = "FOLDER", default_value = "target/packages")]
        out: std::path::PathBuf,
    },
    /// One of the two processes of the bare ping-pong, started by a check.
    #[command(hide = true)]
    PingpongPartner(PingPongPartner),
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The checks to run.
    #[arg(value_name = "NAME", required_unless_present_any = ["list", "quick"])]
    names: Vec<String>,
    /// List all checks, and run none.
    #[arg(long, conflicts_with_all = ["names", "quick"])]
    list: bool,
    /// Run those that are quick and not about time.
    #[arg(long, conflicts_with = "names")]
    quick: bool,
}

fn main() -> ExitCode {
    let outcome = match XtaskCli::parse().chore {
        Chore::Check(args) => check(&args),
        Chore::SoftFloat => {
            print!("{}", xtask::soft_float::table());
            Ok(Verdict::Held)
        }
        Chore::Peers => Workspace::find()
            .and_then(|workspace| peers::prepare_all(&workspace))
            .map(|()| Verdict::Held),
        Chore::BenchPeers(args) => Workspace::find()
            .and_then(|workspace| args.run(&workspace))
            .map(|()| Verdict::Held),
        Chore::Papers(args) => Workspace::find().and_then(|workspace| args.run(&workspace)),
        Chore::Install {
            prefix,
            debuginfo,
            fortran,
        } => {
            let debug_info = if debuginfo {
                DebugInfo::Kept
            } else {
                DebugInfo::Stripped
            };
            Workspace::find()
                .and_then(|workspace| xtask::install::install(&workspace, &prefix, debug_info))
                .and_then(|()| {
                    let mut compilers = fortran.iter();
                    compilers.try_for_each(|name| toolchain::fortran::make_modules(&prefix, name))
                })
                .map(|()| Verdict::Held)
        }
        Chore::Wheel { out } => Workspace::find()
            .and_then(|workspace| packages::make(&workspace, &out, Packages::Wheel))
            .map(|()| Verdict::Held),
        Chore::Packages { out } => Workspace::find()
            .and_then(|workspace| packages::make(&workspace, &out, Packages::All))
            .map(|()| Verdict::Held),
        Chore::PingpongPartner(partner) => partner.play().map(|()| Verdict::Held),
    };
    match outcome {
        Ok(verdict) => verdict.into(),
        Err(error) => {
            eprintln!("cargo xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn check(args: &CheckArgs) -> Result<Verdict> {
    if args.list {
        print!("{}", checks::listing());
        return Ok(Verdict::Held);
    }
    let chosen: Vec<&Check> = if args.quick {
        checks::ALL
            .iter()
            .filter(|check| check.quick && !check.about_time)
            .collect()
    } else {
        args.names
            .iter()
            .map(|name| named(name))
            .collect::<Result<_>>()?
    };
    let workspace = Workspace::find()?;
    let verdicts = chosen.iter().map(|check| {
        let load = OtherLoad::watch();
        let outcome = CheckOutcome::from_result((check.run)(&workspace));
        println!("{}: {outcome}", check.name);
        if let (true, Some(cores)) = (check.about_time, load.cores()) {
            println!("  beside: other programs kept {cores:.2} cores busy");
        }
        outcome.verdict
    });
    Verdict::of_all(verdicts).context("no check was chosen")
}

fn named(name: &str) -> Result<&'static Check> {
    match checks::ALL.iter().find(|check| check.name == name) {
        Some(check) => Ok(check),
        None => bail!(
            "there is no check named {name}; there are:\n{}",
            checks::listing()
        ),
    }
}

//! The options of other launchers: a row each.

/// The meaning of an option of another launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForeignOption {
    /// The same as one of ours, with a value or without, as that one has.
    Ours(&'static str),
    /// It asks for what is so anyway, or changes nothing here.
    Nothing,
    /// A list of hosts.
    Hosts,
    /// A file that lists hosts.
    HostFile,
    /// Exports a variable of the launcher's, or sets one: `A` or `A=V`.
    Export(EnvironmentScope),
    /// Exports several: `A,B`.
    ExportList(EnvironmentScope),
    /// Sets a variable: `A=V`, or two words.
    Assign(EnvironmentScope),
    /// Where ranks go: `--map-by`.
    Map,
    /// The cores to which ranks are bound: `--bind-to`.
    Bind,
    /// A file with the rest of the command line.
    ConfigFile,
    /// No equivalent: the text says what to write or to do instead.
    Instead(&'static str),
}

/// Whose environment a variable is set in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EnvironmentScope {
    /// That of every program of the job.
    Everybodys,
    /// That of the program that the option stands before.
    Programs,
}

/// A row: how it is spelled, and what it means. A name with a dash is spelled just so; one without
/// may have one dash or two, as both launchers have it.
pub(super) type ForeignOptionRow = (&'static [&'static str], ForeignOption);

use EnvironmentScope::{Everybodys, Programs};
use ForeignOption::{
    Assign, Bind, ConfigFile, Export, ExportList, HostFile, Hosts, Instead, Map, Nothing, Ours,
};

/// In the order of what they are about.
pub(super) const TABLE: &[ForeignOptionRow] = &[
    // The number of ranks.
    (&["np", "--n", "-c", "ntasks"], Ours("ranks")),
    (
        &["-N", "npernode", "perhost", "ntasks-per-node"],
        Ours("ppn"),
    ),
    (
        &["npersocket", "N-per-socket"],
        Instead("ranks are placed on nodes, with --ppn N"),
    ),
    (&["usize"], Ours("universe-size")),
    // The hosts.
    (&["-H", "host", "hosts"], Hosts),
    (
        &["-f", "hostfile", "machinefile", "default-hostfile"],
        HostFile,
    ),
    (&["map-by", "rank-by"], Map),
    (&["bind-to", "binding"], Bind),
    (
        &["bind-to-core", "bind-to-none"],
        Instead("write --bind core or --bind none"),
    ),
    (&["bynode"], Instead(NO_ROUND_ROBIN)),
    (&["byslot", "bycore"], Nothing),
    (
        &["oversubscribe", "nooversubscribe", "use-hwthread-cpus"],
        Nothing,
    ),
    (&["iface"], Ours("host-interface")),
    (
        &["launcher-exec", "bootstrap", "bootstrap-exec", "rsh"],
        Instead("write --launcher CMD, as in --launcher 'ssh -p 22'"),
    ),
    (
        &["rmk"],
        Instead("no resource manager is asked: name hosts with --hosts"),
    ),
    (
        &["prefix"],
        Instead("`bcs` has the same path on all hosts, so leave it out"),
    ),
    (
        &["display-map", "display-allocation", "print-rank-map"],
        Instead("write --report-bindings, or -v"),
    ),
    // Environment and directory.
    (&["-x"], Export(Everybodys)),
    (&["--env"], Export(Programs)),
    (&["-env"], Assign(Programs)),
    (&["genv"], Assign(Everybodys)),
    (&["envlist"], ExportList(Programs)),
    (&["genvlist"], ExportList(Everybodys)),
    (&["genvall", "envall"], Nothing),
    (
        &["genvnone", "envnone"],
        Instead("ranks inherit all variables: write `env -i PROGRAM` for one that is to have none"),
    ),
    (&["wd"], Ours("wdir")),
    (
        &["path"],
        Instead("set PATH for `bcs run`, which looks the program up"),
    ),
    // Streams.
    (&["tag-output", "prepend-rank", "label"], Ours("label")),
    (
        &["prepend-pattern"],
        Instead("write -l: the label is [RANK]"),
    ),
    (
        &[
            "output-filename",
            "output-directory",
            "outfile-pattern",
            "errfile-pattern",
        ],
        Instead("write --output-dir DIR: files are rank.N.out and rank.N.err there"),
    ),
    (&["-s"], Ours("stdin")),
    // Messages, and the end of the job.
    (&["verbose"], Ours("verbose")),
    (
        &["quiet", "-q"],
        Instead("without -v nothing is said, and --at-finalize quiet says less"),
    ),
    (&["allow-run-as-root"], Nothing),
    (
        &["-V", "-version"],
        Instead("write --version, which is spelled out here"),
    ),
    // The whole command line.
    (&["configfile"], ConfigFile),
    (
        &["app"],
        Instead("write -configfile FILE: a line for each program"),
    ),
    (
        &["mca", "gmca", "tune", "am"],
        Instead(
            "parameters of its components mean nothing here: leave it out, and see `bcs config`",
        ),
    ),
];

/// The message to a user who wants consecutive ranks on different nodes.
pub(super) const NO_ROUND_ROBIN: &str = "consecutive ranks share a node here, and are not dealt out to nodes in turn: \
     leave it out, or choose how many share one with --ppn N";

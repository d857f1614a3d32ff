//! Each spelling has its meaning, and no mixture of them passes for a job that has run.

use super::table::{ForeignOption, TABLE};
use super::{TranslatedLine, TranslatorInputs, translate};
use crate::cli::command_line::BcsCommandLine;
use crate::cli::{Cli, FurtherApplication};
use clap::CommandFactory as _;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::ffi::OsString;
use std::io;

fn variable(name: &str) -> Option<OsString> {
    (name == "SET").then(|| "value".into())
}

fn file(path: &str) -> io::Result<String> {
    match path {
        "mpich" => Ok("# ours\na:2\n\nb:1 # the other\n".into()),
        "openmpi" => Ok("a slots=2 max_slots=4\nb slots=1\n".into()),
        "batch" => Ok("a\na\nb\n".into()),
        "plain" => Ok("a\nb\n".into()),
        "odd" => Ok("a\nb cpus=4\n".into()),
        "empty" => Ok("# nothing\n".into()),
        "programs" => Ok("# two\n-n 1 -env A 1 ./one -n x\n\n-np 2 ./two 'a b'\n".into()),
        "nested" => Ok("-configfile programs\n".into()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

fn translated(line: &str) -> Result<TranslatedLine, String> {
    let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    let all = Cli::command();
    let run = all.find_subcommand("run").unwrap();
    let world = TranslatorInputs {
        variable: &variable,
        file: &file,
    };
    translate(run, &FurtherApplication::command(), &words, &world)
        .map_err(|error| error.to_string())
}

fn words(line: &str) -> String {
    let words = translated(line)
        .unwrap_or_else(|error| panic!("{line}: {error}"))
        .words;
    let words: Vec<String> = words
        .into_iter()
        .map(|word| word.into_string().unwrap())
        .collect();
    words.join(" ")
}

#[test]
fn what_others_call_an_option_becomes_ours() {
    for (theirs, ours) in [
        ("-np 4 -- hello -np 3", "-n=4 -- hello -np 3"),
        ("-np 4 hello -np 3", "-n=4 hello -np 3"),
        ("-n4 x -np", "-n=4 x -np"),
        ("--np=4 x", "-n=4 x"),
        ("-c 4 -N 2 -wd d x", "-n=4 --ppn=2 --wdir=d x"),
        ("-wdir d -perhost 1 x", "--wdir=d --ppn=1 x"),
        ("--tag-output --verbose x", "--label --verbose x"),
        ("-l -prepend-rank x", "--label x"),
        ("-host a,b:2 x", "--hosts=a,b:2 x"),
        ("-H a -H b x", "--hosts=a,b x"),
        ("-f mpich x", "--hosts=a:2,b:1 x"),
        ("--hostfile openmpi x", "--hosts=a:2,b:1 x"),
        ("-machinefile batch x", "--hosts=a:2,b x"),
        ("--machinefile=plain x", "--hosts=a,b x"),
        (
            "-x SET -x B=2 x : y",
            "--env=SET=value --env=B=2 x : --env=SET=value --env=B=2 y",
        ),
        (
            "-genv A 1 -env B 2 x : -env C=3 y",
            "--env=A=1 --env=B=2 x : --env=A=1 --env=C=3 y",
        ),
        ("-envlist SET x : y", "--env=SET=value x : y"),
        ("--env SET --env B=2 x", "--env=SET=value --env=B=2 x"),
        ("-env A -1 x", "--env=A=-1 x"),
        (
            "--map-by ppr:2:node --bind-to core:overload-allowed x",
            "--ppn=2 --bind=core x",
        ),
        ("-bind-to hwthread x", "--bind=core x"),
        ("--oversubscribe --allow-run-as-root -genvall x", "x"),
        ("-timeout 5 -s all x", "--timeout=5 --stdin=all x"),
        (
            "-configfile programs",
            "-n=1 --env=A=1 ./one -n x : -n=2 ./two a b",
        ),
        (
            "x : -np 2 -wdir d -x SET y",
            "x : -n=2 --wdir=d --env=SET=value y",
        ),
        ("--ranks 3 x", "-n=3 x"),
    ] {
        assert_eq!(words(theirs), ours, "{theirs}");
    }
}

#[test]
fn what_changes_nothing_is_said() {
    let notes = |line: &str| translated(line).unwrap().notes.concat();
    assert!(notes("--map-by socket x").starts_with("--map-by socket changes nothing"));
    assert!(notes("-x UNSET x").starts_with("-x UNSET exports nothing"));
    assert_eq!(notes("--oversubscribe -x SET x"), "");
}

#[test]
fn what_has_no_meaning_here_says_what_to_write() {
    for (line, said) in [
        (
            "--hostfle f x",
            "there is no option --hostfle (did you mean --hostfile?)",
        ),
        (
            "-hostfle f x",
            "there is no option -hostfle (did you mean -hostfile?)",
        ),
        (
            "--time-slize 1ms x",
            "there is no option --time-slize (did you mean --time-slice?)",
        ),
        ("-lv x", "there is no option -lv"),
        ("-np", "-np needs a value, but nothing follows"),
        (
            "-n -h x",
            "-n needs a value, but -h follows, which looks like an option",
        ),
        ("-x : y", "-x needs a value, but a ':' follows"),
        (
            "-env A",
            "-env needs a name and a value, as in A=1, but only A follows",
        ),
        (
            "--label=yes x",
            "--label yes: it takes no value: leave it out",
        ),
        (
            "-f nowhere x",
            "-f nowhere: it cannot be read: entity not found",
        ),
        (
            "-f empty x",
            "-f empty: it names no host: give one in each line",
        ),
        (
            "-f odd x",
            "-f odd: line 2 has 'cpus=4': give a host in each line, as in a, a:4 or a slots=4",
        ),
        (
            "-f plain -host a x",
            "-host a: -f names hosts, too; leave one of the two out",
        ),
        (
            "-configfile nested",
            "-configfile programs: a file of options cannot name another one",
        ),
        (
            "-configfile programs x",
            "-configfile programs: nothing may follow it, but 'x' does: write it into the file",
        ),
        (
            "--map-by ppr:1:socket x",
            "--map-by ppr:1:socket: ranks are counted by node here: write --ppn N",
        ),
        (
            "--bind-to socket x",
            "--bind-to socket: ranks are bound to a core each or not at all, not to a socket: write --bind core \
             or --bind none",
        ),
        (
            "x : -hosts a y",
            "program 2 (after a ':'): there is no option -hosts; only -n, --wdir and --env may stand there, \
             other options stand before the first program",
        ),
    ] {
        assert_eq!(translated(line).unwrap_err(), said, "{line}");
    }
    let round_robin = translated("--map-by node x").unwrap_err();
    assert!(
        round_robin.contains("write") || round_robin.contains("--ppn N"),
        "{round_robin}"
    );
    for (names, means) in TABLE {
        if let ForeignOption::Instead(instead) = means {
            let name = names[0];
            let spelled = if name.starts_with('-') {
                name.to_string()
            } else {
                format!("--{name}")
            };
            let said = translated(&format!("{spelled} 1 x")).unwrap_err();
            assert_eq!(
                said,
                format!("{spelled} is an option of other launchers: {instead}")
            );
        }
    }
}

/// All spellings that there are.
fn spellings() -> Vec<String> {
    let all = Cli::command();
    let run = all.find_subcommand("run").unwrap();
    let ours = run.get_arguments().flat_map(|option| {
        let long = option.get_long().map(|long| format!("--{long}"));
        let short = option.get_short().map(|short| format!("-{short}"));
        long.into_iter().chain(short)
    });
    let theirs = TABLE.iter().flat_map(|(names, _)| names.iter());
    let theirs = theirs.flat_map(|name| match name.starts_with('-') {
        true => vec![name.to_string()],
        false => vec![format!("-{name}"), format!("--{name}")],
    });
    let told = [
        "-h",
        "-help",
        "-V",
        "--help",
        "--version",
        "--",
        "-",
        "-n4",
        "-lv",
        "-?",
    ];
    ours.chain(theirs).chain(told.map(str::to_owned)).collect()
}

/// A spelling with a letter too many, too few, wrong, or with others at its end.
fn mistyped(word: &str, random: &mut ChaCha8Rng) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = random.random_range(0..letters.len());
    match random.random_range(0..5) {
        0 => letters.insert(at, 'h'),
        1 => _ = letters.remove(at),
        2 => letters[at] = *['h', 'V', 'n', '-', '='].choose(random).unwrap(),
        3 => letters.extend("=h".chars()),
        _ => letters.swap(at, 0),
    }
    letters.into_iter().collect()
}

/// Returns whether a line would run a program; otherwise the exit code of `bcs`.
fn comes_to(words: &[OsString]) -> Result<(), u8> {
    let line = [&["bcs".into(), "run".into()], words].concat();
    let line = BcsCommandLine::read("mpiexec", &line).map_err(|answer| answer.code)?;
    let parsed = line.parse(Cli::command());
    parsed.map(|_| ()).map_err(|answer| answer.code)
}

#[test]
fn no_mixture_of_options_passes_for_a_job_that_has_run() {
    let spellings = spellings();
    let values = [
        "4", "A=1", "A", "core", "none", "1ms", "a,b", "0", "-1", "", "=", ":",
    ];
    let mut random = ChaCha8Rng::seed_from_u64(19);
    let (mut runs, mut refused) = (0, 0);
    for number in 0..10_000 {
        let mut words: Vec<String> = Vec::new();
        for _ in 0..random.random_range(0..5) {
            let word = spellings.choose(&mut random).unwrap();
            match random.random_range(0..4) {
                0 => words.push(mistyped(word, &mut random)),
                _ => words.push(word.clone()),
            }
            if random.random_bool(0.6) {
                words.push((*values.choose(&mut random).unwrap()).to_owned());
            }
        }
        if random.random_bool(0.9) {
            words.extend(["hello", "-h", "-hostfile"].map(str::to_owned));
        }
        let told = ["--help", "--help-all", "--version"];
        let spelled_out = words.iter().any(|word| told.contains(&word.as_str()));
        let line: Vec<OsString> = words.iter().map(OsString::from).collect();
        match comes_to(&line) {
            Ok(()) => runs += 1,
            Err(0) => assert!(spelled_out, "line {number} exits with 0: {words:?}"),
            Err(_) => refused += 1,
        }
    }
    // The lines are a mixture: some run, and some are refused.
    assert!(
        runs > 1_000 && refused > 1_000,
        "{runs} run, {refused} are refused"
    );
}

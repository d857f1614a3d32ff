//! `bcs tune`: runs a program with different slices, and reports the results.

use super::run;
use crate::cli::run_arguments::RunArguments;
use crate::cli::{ProgramArgs, TuneArgs};
use crate::exit_code;
use crate::standard_output::{print, print_all};
use crate::tune::file;
use crate::tune::picture::picture;
use crate::tune::race::{LEAST_RUNS, Race, Standing};
use crate::tune::reasons::reason;
use crate::tune::results::{Results, SettingResult, TrialFailure};
use crate::tune::setting::Setting;
use crate::tune::table::table;
use crate::tune::trial::{TrialEnd, TrialRunner};
use crate::tune::verdict::{typed, verdict};
use anyhow::Context as _;
use bcs_core::job::StrobeMode;
use clap::ArgMatches;
use clap::parser::ValueSource;
use indicatif::{ProgressBar, ProgressStyle};
use mds::dump::read_summaries;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// A setting has failed, and the others have run.
const SOME_FAILED: u8 = 1;

/// Recorded runs: one before all others, which also warms up, and one of the chosen setting.
const RECORDED: usize = 2;

/// The most runs of a setting, on average: a full sweep has 20 runs of each.
const RUNS_EACH: usize = 5;

/// The limit of all runs together is at least this: with few runs of few settings, ranks show
/// nothing.
const RUNS: usize = 24;

/// The file for the choice.
const CONFIGURATION: &str = "bcs.toml";

/// Why nothing was found.
#[derive(Debug)]
enum TuneError {
    /// The request is wrong; nothing was started.
    BadInput(String),
    /// The program does not run with the setting in effect.
    Program(TrialFailure),
    /// A signal came before anything was known.
    Interrupted(i32),
    /// The runtime or a file has failed.
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for TuneError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Runs the program until the result is clear, and prints it. `further` parses the words after a
/// colon.
pub(super) fn run(arguments: &TuneArgs, matches: &ArgMatches, further: clap::Command) -> ExitCode {
    let code = match tuned(arguments, matches, further) {
        Ok(code) => code,
        Err(TuneError::BadInput(what)) => {
            eprintln!("bcs: {what}");
            exit_code::BAD_INPUT
        }
        Err(TuneError::Program(failure)) => {
            eprint!("{}", failure.last_words);
            eprintln!(
                "bcs: nothing was tried: the program fails with what is in effect, with exit code {}",
                failure.exit_code
            );
            failure.exit_code
        }
        Err(TuneError::Interrupted(signal)) => exit_code::for_signal(signal),
        Err(TuneError::Failed(error)) => {
            eprintln!("bcs: {error:#}");
            exit_code::RUNTIME
        }
    };
    ExitCode::from(code)
}

fn tuned(
    arguments: &TuneArgs,
    matches: &ArgMatches,
    further: clap::Command,
) -> Result<u8, TuneError> {
    let trials = &arguments.trials;
    let settings = settings(arguments, matches)?;
    run::check(&arguments.run, &arguments.program, further).map_err(TuneError::BadInput)?;
    let has_reference = trials.against.is_some();
    let rows = settings.len() + usize::from(has_reference);
    let runs = trials.runs.unwrap_or((RUNS_EACH * rows).max(RUNS));
    let least = RECORDED + LEAST_RUNS * rows;
    if runs < least {
        return Err(TuneError::BadInput(format!(
            "--runs {runs} are too few for {rows} settings: give at least {least}"
        )));
    }
    let results = [&trials.json, &trials.svg];
    for path in results.into_iter().chain([&trials.output]).flatten() {
        let opened = OpenOptions::new().create(true).append(true).open(path);
        opened.map_err(|error| {
            TuneError::BadInput(format!("failed to write {}: {error}", path.display()))
        })?;
    }
    let mut tuning = Tuning::new(arguments, matches, &settings)?;
    tuning.record_what_is_in_effect()?;
    let mut race = Race::new(settings.len(), has_reference, runs.saturating_sub(RECORDED));
    let interrupted = tuning.race(&mut race)?;
    let interrupted = match interrupted {
        None => tuning.record_the_choice()?,
        Some(signal) => Some(signal),
    };
    tuning.bar.finish_and_clear();
    tuning.results.is_whole = interrupted.is_none();
    tell(&tuning.results, arguments)?;
    let failed = tuning
        .results
        .rows
        .iter()
        .any(|row| !row.failures.is_empty());
    Ok(match interrupted {
        Some(signal) => exit_code::for_signal(signal),
        None if failed => SOME_FAILED,
        None => exit_code::SUCCESS,
    })
}

/// Returns the setting in effect without `bcs tune`.
fn in_effect(arguments: &TuneArgs) -> Setting {
    Setting {
        strobe: arguments.run.strobe.into(),
        time_slice_ns: u64::try_from(arguments.run.time_slice.value.as_nanos()).unwrap_or(u64::MAX),
        eager_limit: arguments.run.eager_limit.value,
    }
}

/// Returns all settings to try: each slice with each strobe mode and each eager limit, and the one
/// in effect.
fn settings(arguments: &TuneArgs, matches: &ArgMatches) -> Result<Vec<Setting>, TuneError> {
    let bad = |what: String| Err(TuneError::BadInput(what));
    for (id, instead) in [
        (
            "time_slice",
            "--time-slice is what is tried: say which by --slices",
        ),
        (
            "output_dir",
            "--output-dir is for `bcs run`: what the program writes goes to --output FILE",
        ),
        (
            "mds",
            "--mds is for `bcs run`: runs are compared as they are without",
        ),
    ] {
        if matches.value_source(id) == Some(ValueSource::CommandLine) {
            return bad(instead.to_owned());
        }
    }
    let trials = &arguments.trials;
    let current = in_effect(arguments);
    let or = |listed: Vec<StrobeMode>| match listed.is_empty() {
        true => vec![current.strobe],
        false => listed,
    };
    let strobes = or(trials.strobes.iter().map(|name| (*name).into()).collect());
    let eager_limits = match trials.eager_limits.is_empty() {
        true => vec![current.eager_limit],
        false => trials.eager_limits.clone(),
    };
    let mut settings = Vec::new();
    for &strobe in &strobes {
        for &eager_limit in &eager_limits {
            let lengths = trials.slices.lengths_ns(usize::from(trials.lengths));
            settings.extend(lengths.into_iter().map(|time_slice_ns| Setting {
                strobe,
                time_slice_ns,
                eager_limit,
            }));
        }
    }
    for setting in &settings {
        let checked = setting.check();
        checked.map_err(|error| TuneError::BadInput(error.to_string()))?;
    }
    if settings.len() < 2 {
        return bad("one setting is nothing to choose from: give --slices a range".to_owned());
    }
    // The others have to be better than the setting in effect.
    if !settings.contains(&current) {
        settings.push(current);
    }
    Ok(settings)
}

/// The runs of a program, and their results so far.
struct Tuning {
    stage: TrialRunner,
    /// The options of the job, without a setting.
    options: RunArguments,
    against: RunArguments,
    program: Vec<OsString>,
    results: Results,
    bar: ProgressBar,
}

impl Tuning {
    fn new(
        arguments: &TuneArgs,
        matches: &ArgMatches,
        settings: &[Setting],
    ) -> Result<Self, TuneError> {
        let ProgramArgs::Line(program) = &arguments.program;
        let against = arguments.trials.against.as_ref();
        let options = RunArguments::given(matches);
        let row = |setting| SettingResult {
            setting,
            standing: Standing::AsGood,
            seconds: Vec::new(),
            failures: Vec::new(),
        };
        let settings = settings.iter().copied().map(Some);
        let words = program
            .iter()
            .map(|word| word.to_string_lossy().into_owned());
        Ok(Self {
            stage: TrialRunner::new(arguments.trials.output.as_deref())?,
            against: against.map_or_else(RunArguments::default, |against| {
                options.with(&against.options)
            }),
            options,
            program: program.clone(),
            results: Results {
                program: words.collect(),
                in_effect: in_effect(arguments),
                against: against.map(|against| against.text.clone()),
                rows: settings.chain(against.map(|_| None)).map(row).collect(),
                best: None,
                differ: false,
                noise: None,
                runs: 0,
                is_whole: false,
                reasons: Vec::new(),
            },
            bar: ProgressBar::new(0).with_style(style()),
        })
    }

    fn run(&mut self, options: &RunArguments, more: &[OsString]) -> anyhow::Result<TrialEnd> {
        self.results.runs += 1;
        let words = [&options.words(), more, &self.program].concat();
        self.stage.run(&words)
    }

    /// Runs with a setting and adds the figures of its dumps to the reasons.
    fn recorded(&mut self, setting: Setting) -> anyhow::Result<TuneOutcome> {
        let directory = tempfile::tempdir().context("failed to make a directory for dumps")?;
        let options = self.options.with_setting(&setting);
        let mut mds = OsString::from("--mds=");
        mds.push(directory.path());
        let outcome = TuneOutcome::of(self.run(&options, &[mds])?);
        if let (TuneOutcome::Took(_), Ok(dumps)) = (&outcome, read_summaries(directory.path())) {
            let reason = reason(&dumps, &typed(&self.results, &setting));
            self.results.reasons.extend(reason);
        }
        Ok(outcome)
    }

    /// Does the first run: it shows whether the program runs at all, and warms the machine up.
    fn record_what_is_in_effect(&mut self) -> Result<(), TuneError> {
        self.bar.set_message("with what is in effect");
        match self.recorded(self.results.in_effect)? {
            TuneOutcome::Took(_) => Ok(()),
            TuneOutcome::Failed(failure) => Err(TuneError::Program(failure)),
            TuneOutcome::Interrupted(signal) => Err(TuneError::Interrupted(signal)),
        }
    }

    /// Runs the next setting until the race is over, or a signal comes, which it returns.
    fn race(&mut self, race: &mut Race) -> anyhow::Result<Option<i32>> {
        self.bar.set_length(race.runs_left() as u64);
        while let Some(next) = race.next_setting() {
            let (options, name) = match self.results.rows[next].setting {
                Some(setting) => (self.options.with_setting(&setting), setting.slice()),
                None => (
                    self.against.clone(),
                    self.results.against.clone().unwrap_or_default(),
                ),
            };
            self.bar.set_message(name);
            match TuneOutcome::of(self.run(&options, &[])?) {
                TuneOutcome::Took(took) => race.record_run(next, took.as_secs_f64()),
                TuneOutcome::Failed(failure) => {
                    race.failed(next);
                    self.results.rows[next].failures.push(failure);
                }
                TuneOutcome::Interrupted(signal) => {
                    self.results.take(race);
                    return Ok(Some(signal));
                }
            }
            self.bar.inc(1);
        }
        self.results.take(race);
        Ok(None)
    }

    /// Does the last run: its dumps give the reasons for the choice.
    fn record_the_choice(&mut self) -> anyhow::Result<Option<i32>> {
        let choice = self.results.choice();
        let Some(choice) = choice.filter(|choice| *choice != self.results.in_effect) else {
            return Ok(None);
        };
        match self.recorded(choice)? {
            TuneOutcome::Took(_) => {}
            TuneOutcome::Failed(failure) => {
                let row = self
                    .results
                    .rows
                    .iter_mut()
                    .find(|row| row.setting == Some(choice));
                row.into_iter()
                    .for_each(|row| row.failures.push(failure.clone()));
            }
            TuneOutcome::Interrupted(signal) => return Ok(Some(signal)),
        }
        Ok(None)
    }
}

/// The end of a run, for the race.
enum TuneOutcome {
    Took(Duration),
    Failed(TrialFailure),
    Interrupted(i32),
}

impl TuneOutcome {
    fn of(ended: TrialEnd) -> Self {
        match ended {
            TrialEnd::Exited { code: 0, took, .. } => Self::Took(took),
            TrialEnd::Exited {
                code, last_words, ..
            } => Self::Failed(TrialFailure {
                exit_code: code,
                last_words,
            }),
            TrialEnd::Interrupted(signal) => Self::Interrupted(signal),
        }
    }
}

/// Returns the style of the progress bar, which only a terminal shows.
fn style() -> ProgressStyle {
    let style =
        ProgressStyle::with_template("{bar:40} {pos} of at most {len} runs, {elapsed}: {msg}");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Prints the table and the verdict, and writes the requested files.
fn tell(results: &Results, arguments: &TuneArgs) -> anyhow::Result<()> {
    let trials = &arguments.trials;
    print_all(format!("{}\n{}", table(results), verdict(results)).as_bytes());
    if let Some(path) = &trials.json {
        let mut text = serde_json::to_string_pretty(results)?;
        text.push('\n');
        write(path, &text)?;
    }
    if let Some(path) = &trials.svg {
        write(path, &picture(results)?)?;
    }
    if let Some(choice) = results
        .choice()
        .filter(|_| trials.write && results.is_whole)
    {
        let path = PathBuf::from(CONFIGURATION);
        file::write(&path, &results.options(&choice))?;
        print(format_args!("This is in {} now.", path.display()));
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}

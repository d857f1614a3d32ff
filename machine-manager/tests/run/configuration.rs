//! Defaults from variables and files, and `bcs config`.

use super::job::{Job, bcs, text};
use std::process::{Command, Output};

/// Makes a `bcs` in a directory with a `bcs.toml`, and another file for the user's.
fn configured(arguments: &str, own: &str, users: &str, with: impl FnOnce(&mut Command)) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let users_place = directory.path().join("bcs");
    std::fs::create_dir(&users_place).unwrap();
    std::fs::write(users_place.join("bcs.toml"), users).unwrap();
    std::fs::write(directory.path().join("bcs.toml"), own).unwrap();
    let mut command = bcs(arguments);
    command
        .current_dir(directory.path())
        .env("XDG_CONFIG_HOME", directory.path());
    with(&mut command);
    Job::spawn(command).finish()
}

#[test]
fn a_flag_goes_before_a_variable_before_a_file() {
    let lines = |arguments: &str, ranks: Option<&str>| {
        let output = configured(
            arguments,
            "ranks = 2\n",
            "ranks = 9\nlabel = true\n",
            |command| {
                command.envs(ranks.map(|ranks| ("BCS_RANKS", ranks)));
            },
        );
        assert!(text(&output.stdout).starts_with('['), "{output:?}");
        text(&output.stdout).lines().count()
    };
    assert_eq!(lines("run hello", None), 2);
    assert_eq!(lines("run hello", Some("3")), 3);
    assert_eq!(lines("run -n 4 hello", Some("3")), 4);
}

#[test]
fn defaults_are_those_of_every_program_of_a_job() {
    let output = configured(
        "run printenv A : -n 1 --env A=2 printenv A",
        "ranks = 2\nenv = \"A=1\"\nlabel = true\n",
        "",
        |_| {},
    );
    let lines = super::placing::by_rank(&output.stdout);
    assert_eq!(lines, ["[0] 1", "[1] 1", "[2] 2"], "{output:?}");
}

#[test]
fn config_prints_every_option_and_where_it_came_from() {
    let own = "strobe = \"fixed\"\n\nenv = [\"A=1\", \"B=2\"]\n";
    let output = configured("config --ppn 4", own, "timeout = \"1m\"", |command| {
        command
            .env("BCS_TIME_SLICE", "1ms")
            .env("BCS_NIC_CORES", "2-5,7")
            .env("BCS_TIMESLICE", "2ms");
    });
    let stdout = text(&output.stdout);
    let lines: Vec<Vec<&str>> = stdout
        .lines()
        .map(|line| line.rsplitn(2, "  # ").map(str::trim).collect())
        .collect();
    for (setting, origin) in [
        ("# ranks", "not set"),
        ("# nodes", "not set"),
        ("ppn = 4", "command line"),
        ("time-slice = \"1ms\"", "BCS_TIME_SLICE"),
        ("nic-cores = \"2-5,7\"", "BCS_NIC_CORES"),
        ("strobe = \"fixed\"", "bcs.toml, line 1"),
        ("env = [\"A=1\", \"B=2\"]", "bcs.toml, line 3"),
        ("label = false", "default"),
        ("# BCS_TIMESLICE", "a variable, but of no option"),
    ] {
        assert!(
            lines.contains(&vec![origin, setting]),
            "{setting}: {stdout}"
        );
    }
    let users = lines.iter().find(|line| line[1] == "timeout = \"1m\"");
    assert!(users.unwrap()[0].ends_with("/bcs/bcs.toml, line 1"));
    let again = configured("config", &stdout, "", |_| {});
    assert!(
        again.status.success(),
        "what it prints can be read: {again:?}"
    );
}

#[test]
fn what_is_wrong_with_a_configuration_is_one_line_and_starts_nothing() {
    for (own, variable, expected) in [
        (
            "slice = 1",
            "",
            "bcs.toml, line 1: there is no option slice; `bcs config` prints all",
        ),
        (
            "time_slice = \"1ms\"",
            "",
            "bcs.toml, line 1: there is no option time_slice (did you mean time-slice?); `bcs config` prints all",
        ),
        (
            "\n\nnodes = \"two\"",
            "",
            "bcs.toml, line 3: invalid value 'two' for '--nodes <M>': this is no number of ranks \
             or nodes: give one from 1",
        ),
        (
            "",
            "half",
            "BCS_RANKS: invalid value 'half' for '-n <N>': this is no number of ranks or nodes: \
             give one from 1",
        ),
        (
            "nic-cores = \"last\"",
            "",
            "bcs.toml, line 1: invalid value 'last' for '--nic-cores <LIST>': this is no list of \
             cores: give numbers and ranges, as in 3 or 2-5,7",
        ),
    ] {
        let output = configured("run hello", own, "", |command| {
            command.env("BCS_RANKS", variable);
        });
        assert_eq!(text(&output.stderr), format!("bcs: {expected}\n"));
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(text(&output.stdout), "");
    }
    let help = configured("run --help", "slice = 1", "", |_| {});
    assert!(
        help.status.success(),
        "help is needed most when something is wrong"
    );
}

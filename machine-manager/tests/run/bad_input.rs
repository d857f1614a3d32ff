//! Bad input yields one line that names the error and the remedy, and exit code 2. Nothing is
//! started.

use super::job::{Job, bcs, run, text};

#[test]
fn bad_input_is_one_line_that_says_what_to_do() {
    let see = "see `bcs run --help`";
    let cores = machine_manager::cores::ranges(&machine_manager::cores::allowed());
    let count = "this is no number of ranks or nodes: give one from 1";
    for (arguments, expected) in [
        (
            "run -n 0 hello",
            "a job has at least one rank, but 0 were asked for: give -n a number from 1",
        ),
        (
            "run --nodes 0 hello",
            "a job has at least one node, but 0 were asked for: give --nodes a number from 1",
        ),
        (
            "run -n 2 --nodes 3 hello",
            "3 nodes cannot share 2 ranks: give at most as many nodes as ranks",
        ),
        (
            "run -n 1000000 --nodes 256 hello",
            "1000000 ranks are more than the 16384 this runtime is built for: ask for fewer",
        ),
        (
            "run -n 5000 --nodes 2000 hello",
            "2000 nodes are more than the 1024 this runtime is built for: ask for fewer",
        ),
        (
            "run -n -1 hello",
            &format!("invalid value '-1' for '-n <N>': {count}; {see}"),
        ),
        (
            "run --launch-degree 0 hello",
            &format!(
                "invalid value '0' for '--launch-degree <K>': \
                 this is no number of node managers: give one from 1; {see}"
            ),
        ),
        (
            "run -n many hello",
            &format!("invalid value 'many' for '-n <N>': {count}; {see}"),
        ),
        (
            "run",
            "no program is named: say what to run, as in `bcs run -n 4 hello`",
        ),
        (
            "run -n 2",
            "no program is named: say what to run, as in `bcs run -n 4 hello`",
        ),
        (
            "run --fast hello",
            &format!("there is no option --fast; {see}"),
        ),
        (
            "run no-such-program",
            &format!(
                "program no-such-program is neither built in ({}) nor on PATH: check the name, \
                 or give a path with a slash",
                machine_manager::builtin::names()
            ),
        ),
        (
            "run ./no-such-program",
            "program ./no-such-program does not exist: check the path",
        ),
        ("run /", "program / is a directory: name the program in it"),
        (
            "run /etc/passwd",
            "program /etc/passwd is not executable: make it so with chmod +x /etc/passwd",
        ),
        (
            "run --time-slice 10us hello",
            "the time slice of 10us is out of range: choose one from 50us to 100ms",
        ),
        (
            "run --time-slice 500 hello",
            "the time slice of 500 is out of range: choose one from 50us to 100ms",
        ),
        (
            "run --time-slice soon hello",
            &format!(
                "invalid value 'soon' for '--time-slice <D>': this is no duration: give a number \
                 and a unit, as in 500us, 1ms or 2s; {see}"
            ),
        ),
        (
            "run --eager-limit 1MiB hello",
            "the eager limit of 1MiB is out of range: choose one from 0 to 64KiB",
        ),
        (
            "run --nic-cores 5000 hello",
            &format!(
                "--nic-cores names core 5000, which does not exist or may not be used by this \
                 process: choose among {cores}"
            ),
        ),
        (
            "run --nic-cores 3-1 hello",
            &format!(
                "invalid value '3-1' for '--nic-cores <LIST>': this is no list of cores: give \
                 numbers and ranges, as in 3 or 2-5,7; {see}"
            ),
        ),
        (
            "run --link-bandwidth 0 hello",
            "the link bandwidth of 0 is out of range: choose one from 1B/s to 1PiB/s",
        ),
        (
            "run -n 4 --nodes 3 --ppn 2 hello",
            "--nodes 3 and --ppn 2 contradict each other: 4 ranks, 2 on each node, take 2; leave \
             one of the two out",
        ),
        (
            "run -n 4 --ppn 0 hello",
            "a node takes at least one rank, but 0 were asked for: give --ppn a number from 1",
        ),
        (
            "run --wdir /no/such hello",
            "directory /no/such for --wdir cannot be used: No such file or directory (os error 2)",
        ),
        (
            "run --wdir /etc/passwd hello",
            "directory /etc/passwd for --wdir cannot be used: Not a directory (os error 20)",
        ),
        (
            "run --env =HOME hello",
            &format!(
                "invalid value '=HOME' for '--env <K=V>': this sets no variable: give a name and a \
                 value, as in OMP_NUM_THREADS=1; {see}"
            ),
        ),
        (
            "run -n 2 --stdin 2 cat",
            "--stdin 2 names none of the 2 ranks: give a number below that, all, or none",
        ),
        (
            "run --kill-delay 2h hello",
            "--kill-delay 2h is out of range: choose one from 0s to 1h",
        ),
        (
            "run --output-dir /dev/null/x hello",
            "directory /dev/null/x for --output-dir cannot be made: Not a directory (os error 20)",
        ),
        (
            "run hello :",
            "no program is named before or after a ':': name one, or leave the ':' out",
        ),
        (
            "run hello : -n 2 -l hello",
            "program 2 (after a ':'): there is no option -l; only -n, --wdir and --env \
             may stand there, other options stand before the first program",
        ),
        (
            "run hello : -n 0 hello",
            "program 2 of 2 has no rank: give its -n a number from 1, or leave it out",
        ),
        (
            "config extra",
            "unexpected argument 'extra' found; see `bcs config --help`",
        ),
        (
            "run hello : no-such-program",
            &format!(
                "program no-such-program is neither built in ({}) nor on PATH: check the name, \
                 or give a path with a slash",
                machine_manager::builtin::names()
            ),
        ),
        (
            "run --strobe never hello",
            "invalid value 'never' for '--strobe <S>' [possible values: fixed, elastic, auto]; \
             see `bcs run --help`",
        ),
        (
            "run --timeout 0s hello",
            "--timeout 0s would end the job before it starts: give a longer time, or none",
        ),
        (
            "run --mds /dev/null/x hello",
            "directory /dev/null/x for --mds cannot be made: Not a directory (os error 20)",
        ),
        ("walk", "unrecognized subcommand 'walk'; see `bcs help`"),
        (
            "sim --sed 4",
            "unexpected argument '--sed' found (did you mean --seed?); see `bcs sim --help`",
        ),
    ] {
        let output = run(arguments, "");
        assert_eq!(
            text(&output.stderr),
            format!("bcs: {expected}\n"),
            "bcs {arguments}"
        );
        assert_eq!(output.status.code(), Some(2), "bcs {arguments}");
        assert_eq!(text(&output.stdout), "", "bcs {arguments}");
    }
}

#[test]
fn a_node_manager_is_not_started_by_hand() {
    let output = run("node-manager", "");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "bcs: a node manager is started by `bcs run`, not by hand\n"
    );
}

#[test]
fn a_machine_profile_without_figures_is_bad_input() {
    let mut command = bcs("run -n 2 hello");
    command.env("BCS_MACHINE_PROFILE", "/nonexistent/profile.json");
    let output = Job::spawn(command).finish();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let told = text(&output.stderr);
    let named = "bcs: BCS_MACHINE_PROFILE names /nonexistent/profile.json, which has no figures";
    assert!(
        told.starts_with(named) && told.lines().count() == 1,
        "{told}"
    );
}

/// All ranks refuse the input, and rank 0 alone prints why. The first one that exits ends the job.
#[test]
fn a_program_says_what_is_wrong_before_its_job_ends() {
    let refusal = "sweep3d: invalid value 'other' for '--mpi <bcs|abi:PATH>': ";
    for _ in 0..30 {
        let output = Job::spawn(bcs("run -n 4 sweep3d --mpi other")).finish();
        assert_eq!(output.status.code(), Some(2));
        let told = text(&output.stderr);
        let lines: Vec<&str> = told.lines().collect();
        assert!(lines[0].starts_with(refusal), "{told}");
        assert!(lines.len() == 2 && !told.contains("[cut]"), "{told}");
    }
}

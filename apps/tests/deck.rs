//! Tests which decks are valid, and with which error the others are refused.

mod threads;

use std::io::Write;
use std::process::ExitCode;

use apps::sweep3d::{Deck, FixUps, Stop, command, fitted_grid};

const LINES: [&str; 5] = [
    "2 3 10 3 16",
    "50 50 50 6 1",
    ".1 .1 .1 -12.0",
    "0 0 0",
    "0 1 -7",
];

/// Returns the published deck with a line replaced.
fn with(line: usize, text: &str) -> String {
    let mut lines = LINES;
    lines[line - 1] = text;
    lines.join("\n")
}

#[track_caller]
fn refusal(deck: &str, processes: usize) -> String {
    let parsed = deck
        .parse::<Deck>()
        .and_then(|deck| deck.fitted_to(processes));
    let message = parsed.expect_err("the deck is refused").to_string();
    assert_eq!(message.lines().count(), 1);
    message
}

#[test]
fn the_published_deck_is_the_built_in_one() {
    assert_eq!(
        LINES.join("\n").parse::<Deck>().unwrap(),
        Deck::published_50_cubed(6)
    );
}

#[test]
fn fortran_forms_of_numbers_are_understood() {
    let deck: Deck =
        "1,1,10,3,1\r\n50\t50 50 6 1 a remark\n1d-1 .1D0 +1.e-1 1.0E-4\n0 1 0\n1 0 1\nmore"
            .parse()
            .unwrap();
    assert_eq!([deck.dx, deck.dy, deck.dz], [0.1; 3]);
    assert_eq!(deck.stop, Stop::Converged(1e-4));
    assert_eq!(deck.reflective, [false, true, false]);
    assert!(deck.print_flux && !deck.dsa);
    assert_eq!(deck.fixups, FixUps::Always);
}

#[test]
fn minus_epsi_is_a_number_of_iterations() {
    for (epsi, iterations) in [("-12.0", 12), ("-12.5", 13), ("-12.005", 12), ("-0.5", 1)] {
        let deck: Deck = with(3, &format!(".1 .1 .1 {epsi}")).parse().unwrap();
        assert_eq!(deck.stop, Stop::After(iterations), "{epsi}");
    }
    let deck: Deck = with(3, ".1 .1 .1 0").parse().unwrap();
    assert_eq!(deck.stop, Stop::Converged(0.0));
}

#[test]
fn blocks_are_no_higher_than_the_grid() {
    let deck: Deck = with(1, "2 3 99 3 16").parse().unwrap();
    assert_eq!(deck.mk, 50);
}

#[test]
fn one_process_ignores_the_process_grid() {
    let deck = LINES
        .join("\n")
        .parse::<Deck>()
        .unwrap()
        .fitted_to(1)
        .unwrap();
    assert_eq!((deck.npe_i, deck.npe_j), (1, 1));
}

#[test]
fn process_grids_are_near_squares_with_the_longer_side_in_j() {
    for (processes, grid) in [
        (1, [1, 1]),
        (2, [1, 2]),
        (6, [2, 3]),
        (7, [1, 7]),
        (12, [3, 4]),
        (16, [4, 4]),
    ] {
        assert_eq!(fitted_grid(processes), grid);
    }
}

#[test]
fn refusals_name_the_line_and_the_value_and_say_what_to_do() {
    for (deck, message) in [
        (
            "2 3 10 3 16\n50 50 50 6 1".to_owned(),
            "deck line 3 is missing: add the values of dx dy dz epsi",
        ),
        (
            with(2, "50 50 50"),
            "deck line 2 has 3 of its 5 values: add mm isct",
        ),
        (
            with(4, ""),
            "deck line 4 has 0 of its 3 values: add ibc jbc kbc",
        ),
        (
            with(1, "2 x 10 3 16"),
            "deck line 1: npe_j is x: write a whole number above 0",
        ),
        (
            with(1, "2 3 -10 3 16"),
            "deck line 1: mk is -10: write a whole number above 0",
        ),
        (
            with(1, "2 3 0 3 16"),
            "deck line 1: mk is 0: write 1 or more",
        ),
        (
            with(1, "2 3 10 3 0"),
            "deck line 1: ncpu is 0: write 1 or more",
        ),
        (
            with(1, "2 3 10 4 16"),
            "deck line 1: mmi is 4: write a divisor of mm, which is 6",
        ),
        (
            with(2, "50 0 50 6 1"),
            "deck line 2: jt_g is 0: write 1 to 100000",
        ),
        (
            with(2, "50 50 50.0 6 1"),
            "deck line 2: kt is 50.0: write a whole number above 0",
        ),
        (
            with(2, "50 50 50 4 1"),
            "deck line 2: mm is 4: write 3 (S4) or 6 (S6) angles per octant",
        ),
        (
            with(2, "50 50 50 6 2"),
            "deck line 2: isct is 2: write 0 or 1, the order of scattering",
        ),
        (
            with(3, ".1 0 .1 -12"),
            "deck line 3: dy is 0: write a cell size above 0",
        ),
        (
            with(3, ".1 .1 nan -12"),
            "deck line 3: dz is nan: write a number such as 0.1",
        ),
        (
            with(3, ".1 .1 .1 -0.001"),
            "deck line 3: epsi is -0.001: write minus the number of iterations, such as -12, or a \
          limit of the error above 0",
        ),
        (
            with(4, "0 2 0"),
            "deck line 4: jbc is 2: write 0 for vacuum or 1 for a reflective low face",
        ),
        (
            with(5, "0 1 7"),
            "deck line 5: ifixups is 7: write 0 for never, 1 for always or -n for after n iterations",
        ),
    ] {
        assert_eq!(refusal(&deck, 6), message);
    }
}

#[test]
fn a_deck_that_does_not_fit_the_job_is_refused() {
    let deck = LINES.join("\n");
    assert_eq!(
        refusal(&deck, 4),
        "deck line 1: npe_i npe_j is 2 3: their product must be the number of processes, 4: \
         write 2 2, or start another number of processes"
    );
    assert_eq!(
        refusal(&with(2, "50 2 50 6 1"), 6),
        "deck line 1: npe_j is 3: jt_g gives only 2 points to share: write fewer"
    );
}

fn exit_codes(processes: usize, arguments: &[&str]) -> Vec<ExitCode> {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|&argument| argument.to_owned())
        .collect();
    threads::run(processes, |rank| command(rank, &arguments))
}

#[track_caller]
fn assert_all(codes: &[ExitCode], code: u8) {
    for found in codes {
        // Exit codes cannot be compared in another way.
        assert_eq!(format!("{found:?}"), format!("{:?}", ExitCode::from(code)));
    }
}

#[test]
fn all_processes_exit_with_2_if_the_command_line_or_the_deck_is_wrong() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(with(2, "50 50 50 4 1").as_bytes()).unwrap();
    let path = file.path().to_str().unwrap();
    assert_all(&exit_codes(2, &["--deck", path]), 2);
    assert_all(&exit_codes(2, &["--deck", "/there/is/no/such/deck"]), 2);
    assert_all(&exit_codes(2, &["--comm", "sometimes"]), 2);
    assert_all(&exit_codes(2, &["--frobnicate"]), 2);
    assert_all(&exit_codes(2, &["--help"]), 0);
}

#[test]
fn a_deck_from_a_file_runs_on_all_processes() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"2 1 2 3 1\n6 6 6 3 0\n1 1 1 -2\n0 0 0\n0 0 1\n")
        .unwrap();
    let path = file.path().to_str().unwrap();
    assert_all(
        &exit_codes(2, &["--deck", path, "--comm", "nonblocking"]),
        0,
    );
}

//! The input deck: five lines of free-format numbers, the original format.

use std::str::FromStr;

/// The largest number of grid points in a direction. It only keeps products of three directions
/// well inside 64 bits; no machine has memory for so large a grid.
const LARGEST_DIRECTION: usize = 100_000;

/// The names of the variables of each line, from the format's documentation.
const LINES: [&[&str]; 5] = [
    &["npe_i", "npe_j", "mk", "mmi", "ncpu"],
    &["it_g", "jt_g", "kt", "mm", "isct"],
    &["dx", "dy", "dz", "epsi"],
    &["ibc", "jbc", "kbc"],
    &["iprint", "idsa", "ifixups"],
];

/// A problem, and how to cut it. The fields have the names of the deck's format.
#[derive(Debug, Clone, PartialEq)]
pub struct Deck {
    /// Processes in the I direction.
    pub npe_i: usize,
    /// Processes in the J direction.
    pub npe_j: usize,
    /// K-planes in a block, at most `kt`.
    pub mk: usize,
    /// Angles in a block; divides `mm`.
    pub mmi: usize,
    /// CPUs of an SMP; only the printed multitasking efficiency uses it.
    pub ncpu: usize,
    /// Grid points in I, over all processes.
    pub it_g: usize,
    /// Grid points in J, over all processes.
    pub jt_g: usize,
    /// Grid points in K, which is not decomposed.
    pub kt: usize,
    /// Angles in an octant: 3 (S4) or 6 (S6).
    pub mm: usize,
    /// Order of scattering, 0 or 1.
    pub isct: usize,
    /// Cell size in I.
    pub dx: f64,
    /// Cell size in J.
    pub dy: f64,
    /// Cell size in K.
    pub dz: f64,
    /// When to stop.
    pub stop: Stop,
    /// Whether the low face in I, J, K reflects; otherwise it is vacuum, like the high faces.
    pub reflective: [bool; 3],
    /// Whether to print a plane of each flux moment (`iprint`).
    pub print_flux: bool,
    /// Whether to accumulate the face currents of diffusion synthetic acceleration (`idsa`).
    pub dsa: bool,
    /// When negative fluxes are fixed up.
    pub fixups: FixUps,
}

/// When the iteration stops (`epsi`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stop {
    /// After this number of iterations.
    After(usize),
    /// When the largest relative change of the flux is at most this.
    Converged(f64),
}

/// When negative fluxes are fixed up (`ifixups`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixUps {
    /// In no iteration.
    Never,
    /// In every iteration.
    Always,
    /// In every iteration after the first ones, of this number.
    After(usize),
}

impl FixUps {
    /// Returns whether fix-ups are on in an iteration, counted from 1.
    pub fn on(self, iteration: usize) -> bool {
        match self {
            FixUps::Never => false,
            FixUps::Always => true,
            FixUps::After(iterations) => iteration > iterations,
        }
    }
}

/// The reason why a deck is refused, with the line, and with the value if there is one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeckError {
    /// The deck ends early.
    #[error("deck line {line} is missing: add the values of {names}")]
    MissingLine {
        /// Line number, from 1.
        line: usize,
        /// The variables of that line.
        names: String,
    },
    /// A line has too few values.
    #[error("deck line {line} has {found} of its {wanted} values: add {missing}")]
    ShortLine {
        /// Line number, from 1.
        line: usize,
        /// Values found.
        found: usize,
        /// Values wanted.
        wanted: usize,
        /// The variables that are missing.
        missing: String,
    },
    /// A value cannot be used.
    #[error("deck line {line}: {name} is {value}: {advice}")]
    Value {
        /// Line number, from 1.
        line: usize,
        /// The variable.
        name: &'static str,
        /// The value as written in the deck.
        value: String,
        /// The valid values.
        advice: String,
    },
}

impl FromStr for Deck {
    type Err = DeckError;

    fn from_str(text: &str) -> Result<Deck, DeckError> {
        let mut fields = DeckFields::split(text)?;
        let deck = Deck {
            npe_i: fields.count()?,
            npe_j: fields.count()?,
            mk: fields.count()?,
            mmi: fields.count()?,
            ncpu: fields.count()?,
            it_g: fields.count()?,
            jt_g: fields.count()?,
            kt: fields.count()?,
            mm: fields.count()?,
            isct: usize::from(fields.switch("0 or 1, the order of scattering")?),
            dx: fields.real()?,
            dy: fields.real()?,
            dz: fields.real()?,
            stop: fields.stop()?,
            reflective: [
                fields.switch("0 for vacuum or 1 for a reflective low face")?,
                fields.switch("0 for vacuum or 1 for a reflective low face")?,
                fields.switch("0 for vacuum or 1 for a reflective low face")?,
            ],
            print_flux: fields.switch("1 to print fluxes or 0 not to")?,
            dsa: fields.switch("1 for DSA face currents or 0 for none")?,
            fixups: fields.fixups()?,
        };
        deck.checked()
    }
}

impl Deck {
    /// Returns the published 50-cubed problem on a process grid fitted to `processes`.
    pub fn published_50_cubed(processes: usize) -> Deck {
        let [npe_i, npe_j] = fitted_grid(processes);
        Deck {
            npe_i,
            npe_j,
            mk: 10,
            mmi: 3,
            ncpu: 16,
            it_g: 50,
            jt_g: 50,
            kt: 50,
            mm: 6,
            isct: 1,
            dx: 0.1,
            dy: 0.1,
            dz: 0.1,
            stop: Stop::After(12),
            reflective: [false; 3],
            print_flux: false,
            dsa: true,
            fixups: FixUps::After(7),
        }
    }

    /// Returns the deck as `processes` processes run it, or an error if they cannot.
    ///
    /// One process ignores `npe_i` and `npe_j`, like the original.
    pub fn fitted_to(&self, processes: usize) -> Result<Deck, DeckError> {
        let mut deck = self.clone().checked()?;
        if processes == 1 {
            (deck.npe_i, deck.npe_j) = (1, 1);
        }
        if deck.npe_i.checked_mul(deck.npe_j) != Some(processes) {
            let [npe_i, npe_j] = fitted_grid(processes);
            return Err(refused(
                "npe_i npe_j",
                format!("{} {}", deck.npe_i, deck.npe_j),
                format!(
                    "their product must be the number of processes, {processes}: \
                     write {npe_i} {npe_j}, or start another number of processes"
                ),
            ));
        }
        for (name, pieces, points, what) in [
            ("npe_i", deck.npe_i, deck.it_g, "it_g"),
            ("npe_j", deck.npe_j, deck.jt_g, "jt_g"),
        ] {
            if pieces > points {
                let advice = format!("{what} gives only {points} points to share: write fewer");
                return Err(refused(name, pieces.to_string(), advice));
            }
        }
        Ok(deck)
    }

    /// Returns the number of flux moments of the scattering order: 1 or 4.
    pub fn moments(&self) -> usize {
        if self.isct == 0 { 1 } else { 4 }
    }

    /// Refuses values that no number of processes can run, and cuts `mk` down to `kt`.
    fn checked(mut self) -> Result<Deck, DeckError> {
        for (name, value) in [("it_g", self.it_g), ("jt_g", self.jt_g), ("kt", self.kt)] {
            if value == 0 || value > LARGEST_DIRECTION {
                let advice = format!("write 1 to {LARGEST_DIRECTION}");
                return Err(refused(name, value.to_string(), advice));
            }
        }
        for (name, value) in [
            ("npe_i", self.npe_i),
            ("npe_j", self.npe_j),
            ("mk", self.mk),
            ("mmi", self.mmi),
            ("ncpu", self.ncpu),
        ] {
            if value == 0 {
                return Err(refused(
                    name,
                    value.to_string(),
                    "write 1 or more".to_owned(),
                ));
            }
        }
        if self.mm != 3 && self.mm != 6 {
            let advice = "write 3 (S4) or 6 (S6) angles per octant".to_owned();
            return Err(refused("mm", self.mm.to_string(), advice));
        }
        if !self.mm.is_multiple_of(self.mmi) {
            let advice = format!("write a divisor of mm, which is {}", self.mm);
            return Err(refused("mmi", self.mmi.to_string(), advice));
        }
        if self.isct > 1 {
            return Err(refused(
                "isct",
                self.isct.to_string(),
                "write 0 or 1".to_owned(),
            ));
        }
        for (name, value) in [("dx", self.dx), ("dy", self.dy), ("dz", self.dz)] {
            if !(value.is_normal() && value > 0.0) {
                let advice = "write a cell size above 0".to_owned();
                return Err(refused(name, value.to_string(), advice));
            }
        }
        self.mk = self.mk.min(self.kt);
        Ok(self)
    }
}

/// Returns the process grid for a number of processes: `npe_i <= npe_j`, as near to a square as
/// possible.
pub fn fitted_grid(processes: usize) -> [usize; 2] {
    let npe_i = (1..=processes.isqrt())
        .rev()
        .find(|&npe_i| processes.is_multiple_of(npe_i));
    let npe_i = npe_i.unwrap_or(1);
    [npe_i, processes / npe_i]
}

/// Makes an error for the variables `name`; the first of them determines the line.
fn refused(name: &'static str, value: String, advice: String) -> DeckError {
    let first = name.split(' ').next();
    let line = LINES
        .iter()
        .position(|names| names.iter().any(|name| Some(*name) == first));
    DeckError::Value {
        line: line.map_or(0, |index| index + 1),
        name,
        value,
        advice,
    }
}

/// The values of a deck as text, in the format's order.
struct DeckFields<'a> {
    values: std::vec::IntoIter<(&'static str, &'a str)>,
}

impl<'a> DeckFields<'a> {
    /// Cuts the text into lines and values. Like a Fortran list-directed read, it takes blanks and
    /// commas as separators, and ignores text after the last value of a line.
    fn split(text: &'a str) -> Result<DeckFields<'a>, DeckError> {
        let mut lines = text.lines();
        let mut values = Vec::new();
        for (index, names) in LINES.iter().enumerate() {
            let line = index + 1;
            let text = lines.next().ok_or_else(|| DeckError::MissingLine {
                line,
                names: names.join(" "),
            })?;
            let separator = |c: char| c.is_whitespace() || c == ',';
            let found: Vec<&str> = text.split(separator).filter(|v| !v.is_empty()).collect();
            if found.len() < names.len() {
                return Err(DeckError::ShortLine {
                    line,
                    found: found.len(),
                    wanted: names.len(),
                    missing: names[found.len()..].join(" "),
                });
            }
            values.extend(names.iter().copied().zip(found));
        }
        Ok(DeckFields {
            values: values.into_iter(),
        })
    }

    fn next(&mut self) -> (&'static str, &'a str) {
        self.values
            .next()
            .expect("the format has as many values as the deck has fields")
    }

    fn count(&mut self) -> Result<usize, DeckError> {
        let (name, text) = self.next();
        text.parse().map_err(|_| {
            refused(
                name,
                text.to_owned(),
                "write a whole number above 0".to_owned(),
            )
        })
    }

    fn switch(&mut self, advice: &str) -> Result<bool, DeckError> {
        match self.next() {
            (_, "0") => Ok(false),
            (_, "1") => Ok(true),
            (name, text) => Err(refused(name, text.to_owned(), format!("write {advice}"))),
        }
    }

    fn real(&mut self) -> Result<f64, DeckError> {
        let (name, text) = self.next();
        parse_real(name, text)
    }

    fn stop(&mut self) -> Result<Stop, DeckError> {
        let (name, text) = self.next();
        let epsi = parse_real(name, text)?;
        if epsi >= 0.0 {
            return Ok(Stop::Converged(epsi));
        }
        let iterations = (-epsi + 0.99).trunc();
        if !(1.0..1e9).contains(&iterations) {
            let advice = "write minus the number of iterations, such as -12, or a limit of the \
                          error above 0";
            return Err(refused(name, text.to_owned(), advice.to_owned()));
        }
        #[expect(clippy::cast_possible_truncation, reason = "checked just above")]
        #[expect(clippy::cast_sign_loss, reason = "checked just above")]
        let iterations = iterations as usize;
        Ok(Stop::After(iterations))
    }

    fn fixups(&mut self) -> Result<FixUps, DeckError> {
        let (name, text) = self.next();
        match text.parse::<i32>() {
            Ok(0) => Ok(FixUps::Never),
            Ok(1) => Ok(FixUps::Always),
            Ok(after) if after < 0 => Ok(FixUps::After(after.unsigned_abs() as usize)),
            _ => {
                let advice = "write 0 for never, 1 for always or -n for after n iterations";
                Err(refused(name, text.to_owned(), advice.to_owned()))
            }
        }
    }
}

/// Reads a real number; the exponent letter may be Fortran's d.
fn parse_real(name: &'static str, text: &str) -> Result<f64, DeckError> {
    match text.replace(['d', 'D'], "e").parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(refused(
            name,
            text.to_owned(),
            "write a number such as 0.1".to_owned(),
        )),
    }
}

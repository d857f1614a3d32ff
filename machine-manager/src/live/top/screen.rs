//! The terminal of `bcs mds top`: a view that changes, and that restores the terminal at the end.

use super::view::{Scroll, View};
use super::{FIGURES, HEADS, TopFigures};
use crate::signals::Signals;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap,
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{execute, queue};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Write as _};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// The number of lines above those of nodes and ranks: the job, and heads.
const ABOVE: usize = 4;

/// The number of lines below them.
const BELOW: usize = 1;

const KEYS: &str = "arrows, pages, home, end: scroll   q: leave";

/// The widths of the columns with figures.
const WIDTHS: [usize; FIGURES] = [5, 6, 8, 6, 8, 8, 8];

/// The screen; see the module.
#[derive(Debug)]
pub struct Screen {
    signals: Signals,
    view: View,
}

/// The reason why the wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenEvent {
    /// It is time for the next moment.
    Time,
    /// The process is gone.
    Gone,
    /// The user wants to leave.
    Left,
    /// A signal ends this.
    Signal(i32),
}

impl Screen {
    /// Takes the terminal over. Takes signals, too, so that a signal does not end us before the
    /// terminal is restored.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open() -> io::Result<Self> {
        let screen = Self {
            signals: Signals::take_over()?,
            view: View::default(),
        };
        enable_raw_mode()?;
        // Lines end at the border, however wide their characters are.
        execute!(io::stdout(), EnterAlternateScreen, DisableLineWrap, Hide)?;
        Ok(screen)
    }

    /// Shows these figures until it is time for others, or one of these events happens; handles
    /// keys meanwhile.
    ///
    /// # Errors
    /// The terminal's error.
    pub fn show(
        &mut self,
        figures: &TopFigures,
        process: BorrowedFd<'_>,
        until: Instant,
    ) -> io::Result<ScreenEvent> {
        loop {
            draw(figures, &mut self.view)?;
            // No descriptor reports what crossterm has already read.
            while event::poll(Duration::ZERO)? {
                if let Some(woken) = self.heard(event::read()?, figures)? {
                    return Ok(woken);
                }
                draw(figures, &mut self.view)?;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(ScreenEvent::Time);
            }
            let left = Timespec::try_from(left).unwrap_or_default();
            let stdin = rustix::stdio::stdin();
            let mut fds = [
                PollFd::new(&stdin, PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(process, PollFlags::IN),
            ];
            // The signal of a new terminal size interrupts it.
            let _woken = poll(&mut fds, Some(&left));
            let [keys, _, gone] = fds.map(|fd| fd.revents());
            if let Some(signal) = self.signals.next() {
                return Ok(ScreenEvent::Signal(signal));
            }
            if gone.contains(PollFlags::IN) {
                return Ok(ScreenEvent::Gone);
            }
            if keys.intersects(PollFlags::HUP | PollFlags::ERR) {
                return Ok(ScreenEvent::Left);
            }
        }
    }

    fn heard(&mut self, event: Event, figures: &TopFigures) -> io::Result<Option<ScreenEvent>> {
        let Event::Key(key) = event else {
            return Ok(None);
        };
        let fit = lines_between(usize::from(size()?.1));
        match what(key) {
            Some(KeyAction::Leave) => return Ok(Some(ScreenEvent::Left)),
            Some(KeyAction::Scroll(how)) => self.view.scroll(how, figures.lines.len(), fit),
            None => {}
        }
        Ok(None)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nobody is left to hear of an error.
        let _ = execute!(io::stdout(), Show, EnableLineWrap, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// The meaning of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyAction {
    Leave,
    Scroll(Scroll),
}

fn what(key: KeyEvent) -> Option<KeyAction> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let scroll = |how| Some(KeyAction::Scroll(how));
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            Some(KeyAction::Leave)
        }
        KeyCode::Char('q') | KeyCode::Esc => Some(KeyAction::Leave),
        KeyCode::Down | KeyCode::Char('j') => scroll(Scroll::Lines(1)),
        KeyCode::Up | KeyCode::Char('k') => scroll(Scroll::Lines(-1)),
        KeyCode::PageDown | KeyCode::Char(' ') => scroll(Scroll::Pages(1)),
        KeyCode::PageUp => scroll(Scroll::Pages(-1)),
        KeyCode::Home | KeyCode::Char('g') => scroll(Scroll::Start),
        KeyCode::End | KeyCode::Char('G') => scroll(Scroll::End),
        _ => None,
    }
}

/// Returns how many lines of nodes and ranks fit in a terminal of this height.
fn lines_between(height: usize) -> usize {
    height.saturating_sub(ABOVE + BELOW)
}

/// Draws all lines at once, so that the terminal does not flicker.
fn draw(figures: &TopFigures, view: &mut View) -> io::Result<()> {
    let lines = compose(figures, view, usize::from(size()?.1));
    let mut drawn = Vec::new();
    queue!(drawn, BeginSynchronizedUpdate)?;
    for (at, (attribute, line)) in (0..).zip(lines) {
        queue!(
            drawn,
            MoveTo(0, at),
            Clear(ClearType::CurrentLine),
            SetAttribute(attribute),
            Print(line),
            SetAttribute(Attribute::Reset)
        )?;
    }
    queue!(drawn, EndSynchronizedUpdate)?;
    let mut terminal = io::stdout().lock();
    terminal.write_all(&drawn)?;
    terminal.flush()
}

/// Returns the lines of a terminal of this height, and how each is to look.
fn compose(figures: &TopFigures, view: &mut View, height: usize) -> Vec<(Attribute, String)> {
    let fit = lines_between(height);
    view.keep_within(figures.lines.len(), fit);
    let heads = row(HEADS.map(str::to_owned));
    let above = figures
        .head
        .iter()
        .map(|line| (Attribute::Reset, line.clone()));
    let mut lines: Vec<_> = above.chain([(Attribute::Reverse, heads)]).collect();
    let in_sight = figures.lines.iter().skip(view.first()).take(fit);
    lines.extend(in_sight.map(|line| {
        let attribute = match line.rank {
            Some(_) => Attribute::Reset,
            None => Attribute::Bold,
        };
        (attribute, row(line.cells()))
    }));
    let all = figures.lines.len();
    let last = all.min(view.first() + fit);
    let place = format!("lines {}-{last} of {all}   {KEYS}", view.first() + 1);
    lines.resize(
        height.saturating_sub(BELOW),
        (Attribute::Reset, String::new()),
    );
    lines.push((Attribute::Dim, place));
    lines.truncate(height);
    lines
}

/// Joins the cells of a line: figures are aligned to the right.
fn row(cells: [String; FIGURES + 1]) -> String {
    let [figures @ .., does] = cells;
    let aligned = figures.iter().zip(WIDTHS);
    let aligned = aligned.map(|(figure, width)| format!("{figure:>width$} "));
    aligned.collect::<String>() + &does
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::top::{Rates, TopLine};

    fn figures(ranks: u32) -> TopFigures {
        let line = |rank| TopLine {
            node: 0,
            rank: Some((rank, 7)),
            rates: Rates::default(),
            does: format!("computes {rank}"),
        };
        TopFigures {
            head: ["a job", "ranks", "slices"].map(str::to_owned),
            lines: (0..ranks).map(line).collect(),
        }
    }

    fn drawn(figures: &TopFigures, view: &mut View, height: usize) -> Vec<String> {
        let lines = compose(figures, view, height).into_iter();
        lines.map(|(_, line)| line).collect()
    }

    #[test]
    fn what_fits_is_in_sight() {
        let figures = figures(100);
        let mut view = View::default();
        view.scroll(Scroll::Lines(10), 100, 5);
        let lines = drawn(&figures, &mut view, 10);
        assert!(lines[0] == "a job" && lines[3].contains(" RANK "));
        assert!(lines[4].contains("computes 10"), "{lines:?}");
        assert!(lines[8].contains("computes 14"), "{lines:?}");
        assert!(lines[9].starts_with("lines 11-15 of 100"), "{lines:?}");
        let lines = drawn(&figures, &mut view, 2);
        assert_eq!(lines.len(), 2, "a small terminal is no failure");
    }

    #[test]
    fn keys_mean_what_they_say() {
        let key = |code, modifiers| what(KeyEvent::new(code, modifiers));
        let none = KeyModifiers::NONE;
        assert_eq!(key(KeyCode::Char('q'), none), Some(KeyAction::Leave));
        let control_c = key(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(control_c, Some(KeyAction::Leave));
        assert_eq!(key(KeyCode::Char('c'), none), None);
        let down = Some(KeyAction::Scroll(Scroll::Lines(1)));
        assert_eq!(key(KeyCode::Down, none), down);
    }
}

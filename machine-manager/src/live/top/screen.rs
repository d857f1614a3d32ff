//! The terminal of `bcs mds top`: a view that changes, and that restores the terminal at the end.

use super::view::{Scroll, View};
use super::{FIGURES, HEADS, TopFigures, TopLine};
use crate::signals::Signals;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Alignment, Constraint, Layout};
use ratatui::style::{Style, Stylize as _};
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use ratatui::{DefaultTerminal, Frame};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// The number of lines above those of nodes and ranks: the job, and heads.
const ABOVE: u16 = 4;

/// The number of lines below them.
const BELOW: u16 = 1;

const KEYS: &str = "arrows, pages, home, end: scroll   q: leave";

/// The widths of the columns with figures.
const WIDTHS: [u16; FIGURES] = [5, 6, 8, 6, 8, 8, 8];

/// The screen; see the module.
#[derive(Debug)]
pub struct Screen {
    terminal: DefaultTerminal,
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
        let signals = Signals::take_over()?;
        Ok(Self {
            terminal: ratatui::try_init()?,
            signals,
            view: View::default(),
        })
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
            let view = &mut self.view;
            self.terminal.draw(|frame| draw(frame, figures, view))?;
            // No descriptor reports what crossterm has already read.
            while event::poll(Duration::ZERO)? {
                if let Some(woken) = self.heard(event::read()?, figures)? {
                    return Ok(woken);
                }
                let view = &mut self.view;
                self.terminal.draw(|frame| draw(frame, figures, view))?;
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
        let size = self.terminal.size()?;
        let fit = usize::from(size.height.saturating_sub(ABOVE + BELOW));
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
        ratatui::restore();
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

fn draw(frame: &mut Frame<'_>, figures: &TopFigures, view: &mut View) {
    let areas = Layout::vertical([
        Constraint::Length(ABOVE - 1),
        Constraint::Min(0),
        Constraint::Length(BELOW),
    ]);
    let [above, middle, below] = areas.areas(frame.area());
    let fit = usize::from(middle.height.saturating_sub(1));
    view.keep_within(figures.lines.len(), fit);
    let head = figures.head.iter().map(|line| Text::from(line.as_str()));
    frame.render_widget(Paragraph::new(head.collect::<Vec<_>>()), above);
    let in_sight = figures.lines.iter().skip(view.first()).take(fit);
    let mut widths = WIDTHS.map(Constraint::Length).to_vec();
    widths.push(Constraint::Min(0));
    let table = Table::new(in_sight.map(row), widths)
        .header(cells(HEADS.map(str::to_owned)).style(Style::new().reversed()));
    frame.render_widget(table, middle);
    let last = figures.lines.len().min(view.first() + fit);
    let place = format!(
        "lines {}-{last} of {}   ",
        view.first() + 1,
        figures.lines.len()
    );
    let below_it = Text::from(vec![Span::from(place), Span::from(KEYS).dim()]);
    frame.render_widget(Paragraph::new(below_it), below);
}

fn row(line: &TopLine) -> Row<'_> {
    let style = match line.rank {
        Some(_) => Style::new(),
        None => Style::new().bold(),
    };
    cells(line.cells()).style(style)
}

fn cells(cells: [String; 8]) -> Row<'static> {
    let aligned = |(at, cell): (usize, String)| match at < FIGURES {
        true => Cell::from(Text::from(cell).alignment(Alignment::Right)),
        false => Cell::from(cell),
    };
    Row::new(cells.into_iter().enumerate().map(aligned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::top::Rates;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

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

    fn drawn(figures: &TopFigures, view: &mut View, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(80, height)).unwrap();
        terminal.draw(|frame| draw(frame, figures, view)).unwrap();
        let buffer = terminal.backend().buffer();
        let lines = buffer.content().chunks(80);
        let text = |line: &[ratatui::buffer::Cell]| line.iter().map(|cell| cell.symbol()).collect();
        lines.map(text).collect::<Vec<String>>()
    }

    #[test]
    fn what_fits_is_in_sight() {
        let figures = figures(100);
        let mut view = View::default();
        view.scroll(Scroll::Lines(10), 100, 5);
        let lines = drawn(&figures, &mut view, 10);
        assert!(lines[0].starts_with("a job ") && lines[3].contains(" RANK "));
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

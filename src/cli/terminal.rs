//! The terminal: what goes to stderr, color, progress.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Returns whether stderr shows color: a terminal, and no `NO_COLOR`.
pub(super) fn stderr_has_color() -> bool {
    let choice = anstream::AutoStream::choice(&io::stderr());
    choice != anstream::ColorChoice::Never
}

/// Writes a line to stderr; if that fails, nobody is there to be told.
pub(super) fn talk(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Returns the text with control characters made visible, so that names from files cannot drive
/// the terminal.
pub(super) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && character != '\n' {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// Returns a progress bar on stderr, hidden when that is no terminal or `quiet` is asked for.
pub(super) fn progress(quiet: bool, unit: &str) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    }
    let bar = ProgressBar::new(0);
    let template =
        format!("{{elapsed_precise}} {{bar:30}} {{pos}}/{{len}} {unit}, {{per_sec}}, {{eta}} left");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

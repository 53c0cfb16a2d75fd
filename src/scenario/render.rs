//! Problems shown the way rustc shows them.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use crate::scenario::{Origin, Problem, Problems};

const MOST_SHOWN: usize = 50;

/// Characters of a line that are passed on after the place; the rest would not be shown.
const LINE_AFTER: usize = 60;

pub(super) fn render(problems: &Problems, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let shown = problems.list().iter().take(MOST_SHOWN);
    let mut blocks: Vec<String> =
        shown.map(|problem| renderer.render(&[block(problem, problems)])).collect();
    let rest = problems.list().len().saturating_sub(MOST_SHOWN);
    if rest > 0 {
        let noun = if rest == 1 { "problem" } else { "problems" };
        let title = Level::ERROR.primary_title(format!("{rest} more {noun} not shown"));
        blocks.push(renderer.render(&[Group::with_title(title)]));
    }
    blocks.join("\n\n")
}

fn block<'a>(problem: &Problem, problems: &Problems) -> Group<'a> {
    let title = Level::ERROR.primary_title(problem.headline());
    let group = match &problem.origin {
        Origin::File { source, span } => {
            let sources = problems.sources();
            let (line, _) = sources.line_and_column(*source, span.start);
            let (text, underlined) = sources.line_of(*source, span);
            let name = inert(sources.name(*source));
            title.element(snippet(text, underlined).line_start(line).path(name))
        }
        Origin::Override { text } => {
            let option = format!("--set {text}");
            title.element(snippet(&option, "--set ".len()..option.len()).line_numbering(false))
        }
        Origin::Level { text } => {
            let option = format!("--vary {text}");
            title.element(snippet(&option, "--vary ".len()..option.len()).line_numbering(false))
        }
        Origin::None => Group::with_title(title),
    };
    match &problem.help {
        Some(help) => group.element(Level::HELP.message(inert(help))),
        None => group,
    }
}

fn snippet<'a>(line: &str, underlined: Range<usize>) -> Snippet<'a, Annotation<'a>> {
    let shown = |range: Range<usize>| line[range].chars().map(visible);
    let mut text: String = shown(0..underlined.start).collect();
    let start = text.len();
    text.extend(shown(underlined.clone()).take(LINE_AFTER));
    let end = text.len();
    text.extend(shown(underlined.end..line.len()).take(LINE_AFTER));
    Snippet::source(text).annotation(AnnotationKind::Primary.span(start..end))
}

/// Returns what is shown for a character of a source line: itself, unless a terminal obeys it.
fn visible(c: char) -> char {
    match u32::from(c) {
        0x09 => ' ',
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        _ if is_obeyed(c) => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

/// Returns a text with escapes for what a terminal obeys, and without the middle of a huge one.
pub(super) fn inert(text: &str) -> String {
    const LONGEST: usize = 1200;
    const KEPT: usize = 500;
    let count = text.chars().count();
    if count > LONGEST {
        let start: String = text.chars().take(KEPT).collect();
        let end: String = text.chars().skip(count - KEPT).collect();
        return inert(&format!("{start} ... {end}"));
    }
    let escaped = text.chars().map(|c| match c {
        '\n' | '\r' | '\t' => c.escape_default().to_string(),
        _ if is_obeyed(c) => c.escape_unicode().to_string(),
        _ => c.to_string(),
    });
    escaped.collect()
}

/// Control characters, and the invisible ones that reorder or join what stands around them.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{61c}' | '\u{ad}')
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Origin, Problem, Problems, Sources};

    fn problem(path: &str, message: &str, help: Option<&str>, origin: Origin) -> Problem {
        let help = help.map(str::to_owned);
        Problem { path: path.to_owned(), message: message.to_owned(), help, origin }
    }

    #[test]
    fn shows_the_line_and_underlines_the_place() {
        let mut sources = Sources::new();
        let source = sources.add("a.toml", "x = 1\n\té = 'a\u{1b}[0m' # no\r\nlist = [\n1]\n");
        let origin = |span| Origin::File { source, span };
        let problems = vec![
            problem("b", "no", None, Origin::Override { text: "b=\u{1b}c".to_owned() }),
            problem("list", "two lines", None, origin(32..37)),
            problem("\u{1b}", "wrong\n", Some("did you mean `e`?"), origin(12..19)),
            problem("list", "two lines", None, origin(32..37)),
            problem("", "nowhere", None, Origin::None),
            problem("", "at the end", None, origin(38..38)),
        ];
        let shown = Problems::new(problems, &sources).render(false);
        let expected = "\
error: \\u{1b}: wrong\\n
 --> a.toml:2:6
  |
2 |  é = 'a\u{241b}[0m' # no
  |      ^^^^^^^
  |
  = help: did you mean `e`?

error: list: two lines
 --> a.toml:3:7
  |
3 | list = [
  |       ^^

error: at the end
 --> a.toml:5:1
  |
5 |
  | ^

error: b: no
 |
 | --set b=\u{241b}c
 |       ^^^^

error: nowhere";
        assert_eq!(shown, expected);
    }

    #[test]
    fn color_adds_styles_only() {
        let mut sources = Sources::new();
        let source = sources.add("\u{9b}a.toml", "x = 1");
        let origin = Origin::File { source, span: 4..5 };
        let problems = Problems::new(vec![problem("x", "no", None, origin)], &sources);
        assert!(problems.render(true).contains('\u{1b}'));
        assert!(problems.render(false).contains("--> \\u{9b}a.toml:1:5"));
        assert_eq!(problems.to_string(), "\\u{9b}a.toml:1:5: x: no");
    }
}

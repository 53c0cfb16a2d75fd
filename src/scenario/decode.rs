//! Decoding of merged settings into a type, with every problem at once.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use crate::scenario::deserializer::{Fault, FaultKind, NodeDeserializer};
use crate::scenario::key::join_key;
use crate::scenario::{Node, Origin, Problem, Tree, Value};

/// Each round finds one problem, so this bounds the problems of one decoding.
const MAX_ROUNDS: usize = 60;

/// Decodes settings, and goes on past whatever is wrong.
///
/// Serde stops at the first error. So what is wrong is left out, and the rest decoded again, until
/// it fits; settings types must have a default for each key (`#[serde(default)]`). An error of a
/// table from which something was left out is not a problem of its own: it may follow from that.
///
/// The settings are returned as far as they fit, for further checks, even when there are problems.
/// Without settings there is at least one problem.
pub fn decode<T: DeserializeOwned>(tree: &Tree) -> (Option<T>, Vec<Problem>) {
    let mut rest = Cow::Borrowed(&tree.root);
    let mut problems = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let fault = match T::deserialize(NodeDeserializer(&rest)) {
            Ok(settings) => return (Some(settings), problems),
            Err(fault) => fault,
        };
        let path = fault.path();
        let Some(node) = find_mut(rest.to_mut(), &path) else { break };
        if !follows_from_hidden(&fault, node) {
            problems.push(problem(&fault, &path, tree));
        }
        if path.is_empty() {
            break;
        }
        node.hidden = true;
    }
    (None, problems)
}

fn find_mut<'a>(root: &'a mut Node, path: &[String]) -> Option<&'a mut Node> {
    path.iter().try_fold(root, |node, part| node.child_mut(part))
}

/// Tells whether a fault may be there only because something below it was left out.
fn follows_from_hidden(fault: &Fault, node: &Node) -> bool {
    match &fault.kind {
        _ if fault.is_key => false,
        FaultKind::Missing(key) => node.entries().any(|(name, entry)| {
            entry.node.hidden && (name == key || nearest(name, &[key.as_str()]).is_some())
        }),
        FaultKind::Unknown { .. } | FaultKind::Other(_) => has_hidden(node),
    }
}

fn has_hidden(node: &Node) -> bool {
    let is_hidden = |node: &Node| node.hidden || has_hidden(node);
    node.items().iter().any(is_hidden) || node.entries().any(|(_, entry)| is_hidden(&entry.node))
}

fn problem(fault: &Fault, path: &[String], tree: &Tree) -> Problem {
    let help = match &fault.kind {
        FaultKind::Unknown { name, accepted } => {
            nearest(name, accepted).map(|name| format!("did you mean `{name}`?"))
        }
        FaultKind::Missing(_) | FaultKind::Other(_) => None,
    };
    let origin = origin(&tree.root, path, fault.is_key);
    Problem { path: join_key(path), message: fault.to_string(), help, origin }
}

fn origin(root: &Node, path: &[String], is_key: bool) -> Origin {
    let Some((last, parents)) = path.split_last() else { return root.origin.clone() };
    let parent = parents.iter().try_fold(root, |node, part| node.child(part));
    match parent.map(|parent| &parent.value) {
        Some(Value::Table(table)) if is_key => table.get(last).map(|entry| entry.key.clone()),
        _ => parent.and_then(|parent| parent.child(last)).map(|node| node.origin.clone()),
    }
    .unwrap_or_default()
}

/// Returns the name nearest to a misspelt one, if it is near at all.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    const LONGEST: usize = 100;
    if name.len() > LONGEST {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace(['-', ' '], "_");
    let distance = |other: &str| strsim::damerau_levenshtein(&plain(name), &plain(other));
    let (away, nearest) = known.iter().map(|other| (distance(other), *other)).min()?;
    (away <= (nearest.chars().count() / 3).max(1)).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer};

    use super::*;
    use crate::scenario::{Layers, Problems, Sources};
    use crate::units::parse_duration;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Settings {
        title: String,
        fanout: Fanout,
        task: Task,
        weights: BTreeMap<String, f64>,
        pair: (u32, u32),
        stage: Vec<Fanout>,
        seed: u64,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Fanout {
        agent: Agent,
        max_parallel: Option<u8>,
        background: bool,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Task {
        think: Dist,
        age: Age,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Agent {
        #[default]
        Fresh,
        Fork,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    enum Dist {
        #[default]
        Zero,
        Constant(f64),
        Lognormal(Lognormal),
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Lognormal {
        median: f64,
        p95: f64,
    }

    #[derive(Debug, Default)]
    struct Age;

    impl<'de> Deserialize<'de> for Age {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Age, D::Error> {
            let text = String::deserialize(deserializer)?;
            parse_duration(&text).map_err(serde::de::Error::custom)?;
            Ok(Age)
        }
    }

    fn is_settings(path: &str) -> bool {
        matches!(path, "fanout" | "task" | "weights")
    }

    fn load(text: &str, sets: &[(&str, &str)]) -> (Option<Settings>, Problems) {
        let mut sources = Sources::new();
        let source = sources.add("a.toml", text);
        let mut layers = Layers::new(is_settings);
        match Tree::parse(&sources, source) {
            Ok(tree) => layers.merge(tree),
            Err(problems) => return (None, Problems::new(problems, &sources)),
        }
        let refused = sets.iter().filter_map(|(key, value)| layers.set(key, value).err());
        let mut problems: Vec<Problem> = refused.collect();
        let (settings, found) = decode(layers.tree());
        problems.extend(found);
        (settings, Problems::new(problems, &sources))
    }

    /// Loads a text and returns what is wrong with it, a line each.
    fn wrong(text: &str) -> String {
        load(text, &[]).1.to_string()
    }

    #[test]
    fn finds_every_problem_of_a_file_at_its_place() {
        let text = "titel = 'x'\n\
                    pair = [1, 'two']\n\
                    [fanout]\n\
                    agent = 'forc'\n\
                    max_paralel = 8\n\
                    background = 'no'\n\
                    [task]\n\
                    age = '2 parsecs'\n\
                    think = { lognormal = { median = true, p59 = 3 } }\n\
                    [[stage]]\n\
                    [[stage]]\n\
                    max_parallel = 300\n";
        let (settings, problems) = load(text, &[]);
        let expected = "\
a.toml:1:1: titel: unknown key `titel`; expected one of `title`, `fanout`, `task`, `weights`, \
`pair`, `stage`, `seed`
a.toml:2:12: pair.1: `two` is a string; expected a whole number from 0 to 4294967295
a.toml:4:9: fanout.agent: `forc` is unknown; expected one of `fresh`, `fork`
a.toml:5:1: fanout.max_paralel: unknown key `max_paralel`; expected one of `agent`, \
`max_parallel`, `background`
a.toml:6:14: fanout.background: `no` is a string; expected true or false
a.toml:8:7: task.age: `2 parsecs` is not a duration; write seconds or units from us, ms, s, m, \
h, d, up to 10 years: 90, \"5m\", \"1h30m\", \"250ms\"
a.toml:9:34: task.think.lognormal.median: `true` is a boolean; expected a number
a.toml:9:40: task.think.lognormal.p59: unknown key `p59`; expected one of `median`, \
`p95`
a.toml:12:16: stage.1.max_parallel: `300` is not accepted; expected a whole number from 0 to 255";
        assert_eq!(problems.to_string(), expected);
        let helps: Vec<&str> = problems.list().iter().filter_map(|p| p.help.as_deref()).collect();
        let names = ["title", "fork", "max_parallel", "p95"];
        assert_eq!(helps, names.map(|name| format!("did you mean `{name}`?")));
        assert_eq!(settings.unwrap().stage.len(), 2);
    }

    #[test]
    fn tells_what_an_enum_accepts() {
        let cases = [
            ("{ lognorml = 1 }", "task.think.lognorml: unknown key `lognorml`; expected one of"),
            ("'gamma'", "task.think: `gamma` is unknown; expected one of `zero`, `constant`"),
            ("5", "task.think: found the number `5`; expected one of `zero`, `constant`"),
            ("{}", "task.think: found a table; expected one of"),
            ("{ zero = 1, constant = 2 }", "task.think: `constant` and `zero` exclude each other"),
            ("'constant'", "task.think: `constant` needs a value; write { constant = ... }"),
            ("{ zero = 1 }", "task.think.zero: `zero` takes no value; write \"zero\""),
            ("{ constant = 'x' }", "task.think.constant: `x` is a string; expected a number"),
            ("{ lognormal = 1 }", "task.think.lognormal: `1` is a whole number; expected"),
            ("{ lognormal = { median = 1 } }", "task.think.lognormal: key `p95` is missing"),
        ];
        for (value, message) in cases {
            let shown = wrong(&format!("task.think = {value}"));
            assert!(shown.contains(message), "{value}: {shown}");
            assert_eq!(shown.lines().count(), 1, "{shown}");
        }
    }

    #[test]
    fn reads_dotted_keys_inline_tables_and_the_layers_above() {
        let text = "fanout.agent = 'fresh'\ntask = { think = { constant = 2 }, age = '5m' }\n\
                    weights.\"a.b\" = 1\nseed = 18446744073709551615";
        let (settings, problems) = load(text, &[("fanout.agent", "fork"), ("pair", "[3, 4]")]);
        let settings = settings.unwrap();
        assert!(problems.list().is_empty(), "{problems}");
        assert_eq!((settings.fanout.agent, settings.pair), (Agent::Fork, (3, 4)));
        assert_eq!((settings.weights["a.b"], settings.seed), (1.0, u64::MAX));
        assert!(matches!(settings.task.think, Dist::Constant(2.0)));
        let (settings, _) = load("task.think.lognormal = { median = 1, p95 = 2 }", &[]);
        let think = settings.unwrap().task.think;
        assert!(matches!(think, Dist::Lognormal(Lognormal { median: 1.0, p95: 2.0 })), "{think:?}");
    }

    #[test]
    fn an_override_is_blamed_for_what_it_sets() {
        let sets = [
            ("fanout.max_parallel", "-1"),
            ("fanout.agnet", "fork"),
            ("task.think.lognormal.p95", "3"),
            ("task..age", "1"),
        ];
        let (_, problems) = load("title = 'x'", &sets);
        let shown = problems.to_string();
        let lines: Vec<&str> = shown.lines().collect();
        let starts = [
            "--set task..age=1: task..age: the key has an empty part",
            "--set fanout.agnet=fork: fanout.agnet: unknown key `agnet`",
            "--set fanout.max_parallel=-1: fanout.max_parallel: `-1` is not accepted",
            "--set task.think.lognormal.p95=3: task.think.lognormal: key `median` is missing",
        ];
        assert_eq!(lines.len(), starts.len(), "{shown}");
        for (line, start) in lines.iter().zip(starts) {
            assert!(line.starts_with(start), "{line}");
        }
    }

    #[test]
    fn syntax_errors_have_a_place() {
        let cases = [
            ("title = 'a'\ntitle = 'b'", "a.toml:2:1: `title` is written twice"),
            ("fanout.agent = plan", "a.toml:1:16: `plan` is neither"),
            ("fanout.agent = fork", "a.toml:1:16: `fork` is neither"),
            ("title = 'a\nseed = 1 1\n[", "a.toml:3:2: "),
            ("\u{0}\u{1b}[31m}{ garbage", "a.toml:1:1: "),
            ("title = ", "a.toml:1:"),
        ];
        for (text, start) in cases {
            let shown = wrong(text);
            assert!(shown.lines().any(|line| line.starts_with(start)), "{shown}");
            assert!(!shown.contains('\u{1b}'), "{shown}");
        }
        assert!(load("", &[]).1.list().is_empty() && load("", &[]).0.is_some());
        assert!(wrong("# only a comment\r\n\r\n").is_empty());
    }

    #[test]
    fn extreme_values_are_problems_and_not_panics() {
        let huge = "9".repeat(400);
        let text = format!(
            "seed = {huge}\npair = [-{huge}, 1, 2]\nweights = {{ a = nan, b = -inf, c = 1e999 }}\n\
             title = 1979-05-27T07:32:00Z\ntask.think.constant = 0xffffffffffffffffffffffffffffffffff"
        );
        let (settings, problems) = load(&text, &[]);
        assert_eq!(problems.list().len(), 2, "{problems}");
        let settings = settings.unwrap();
        assert!(settings.weights["a"].is_nan() && settings.weights["c"].is_infinite());
        assert!(wrong("pair = [1, 2, 3]").contains("the number of items is 3; expected 2 items"));
        assert!(!wrong(&format!("title = {}1{}", "[".repeat(9999), "]".repeat(9999))).is_empty());
        assert!(!wrong(&format!("title{} = 1", ".a".repeat(9999))).is_empty());
        assert!(!wrong(&format!("task.think{} = 1", ".lognormal".repeat(70))).is_empty());
    }

    #[test]
    fn a_long_line_stays_short_when_shown() {
        let text = format!("seed = 'é{}'\n{} = 1", "x".repeat(1_000_000), "y".repeat(1_000_000));
        let (_, problems) = load(&text, &[]);
        assert_eq!(problems.list().len(), 2);
        assert!(problems.render(true).len() < 6_000);
        assert!(problems.to_string().len() < 6_000);
        let items = "{ background = true }, ".repeat(50_000);
        let (_, problems) = load(&format!("stage = [{items}{{ agent = 1 }}]"), &[]);
        let place = "a.toml:1:1150020: stage.50000.agent: found the number `1`";
        assert!(problems.to_string().starts_with(place), "{problems}");
        assert!(problems.render(false).len() < 1_000);
    }

    #[test]
    fn many_problems_end_after_some_rounds() {
        let lines: Vec<String> = (0..5_000).map(|index| format!("unknown{index} = 1\n")).collect();
        let (settings, problems) = load(&lines.concat(), &[]);
        assert!(settings.is_none());
        assert_eq!(problems.list().len(), MAX_ROUNDS);
        assert!(problems.render(false).contains("10 more problems not shown"));
    }

    #[test]
    fn mutated_files_never_panic() {
        const TEXT: &str = "title = \"five\"\npair = [1, 2]\nseed = 0x1f\n[fanout]\nagent = 'fork'\n\
                            max_parallel = 5\n[task]\nthink = { lognormal = { median = 2.5, p95 = 4 } }\n\
                            age = \"1h30m\"\n[weights]\n\"a.b\" = 1e3\n[[stage]]\nbackground = true\n";
        const PIECES: [&str; 12] =
            ["\"", "'", "[", "]", "{", "}", "=", ".", "\n", "é", "\u{1b}", "[[task.think]]\n"];
        assert!(load(TEXT, &[]).1.list().is_empty(), "{}", load(TEXT, &[]).1);
        let mut state: u64 = 42;
        let mut below = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % bound
        };
        for _ in 0..5_000 {
            let mut characters: Vec<char> = TEXT.chars().collect();
            for _ in 0..=below(3) {
                let at = below(characters.len());
                let cut = below(4).min(characters.len() - at);
                let piece = match below(3) {
                    0 => PIECES[below(PIECES.len())].chars().collect(),
                    1 => vec![char::from(below(128) as u8)],
                    _ => characters[below(characters.len())..].iter().copied().take(9).collect(),
                };
                characters.splice(at..at + cut, piece);
            }
            let text: String = characters.into_iter().collect();
            let (settings, problems) = load(&text, &[]);
            assert!(settings.is_some() || !problems.list().is_empty(), "{text}");
            let shown = problems.render(false) + &problems.to_string();
            assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown}");
        }
    }
}

//! Which module may use which: the layer diagram of ARCHITECTURE.md as a table.

use super::source::{Source, line_of};

/// Each top module and the others it may name, in the order of the diagram. A row names only
/// modules of rows above it, so there are no cycles.
const LAYERS: [(&str, &[&str]); 18] = [
    ("units", &[]),
    ("des", &["units"]),
    ("stats", &["units"]),
    ("cache", &["units"]),
    ("pricing", &["units"]),
    ("ledger", &["units", "cache", "pricing"]),
    ("workload", &["units", "des"]),
    ("orchestration", &["units", "des", "cache", "pricing", "ledger", "workload"]),
    (
        "experiment",
        &["units", "des", "stats", "cache", "pricing", "ledger", "workload", "orchestration"],
    ),
    ("scenario", &["units", "cache", "pricing", "workload", "orchestration", "experiment"]),
    ("explain", &["units", "cache", "pricing", "ledger", "workload", "orchestration", "scenario"]),
    ("trace", &["units", "des", "cache", "pricing", "ledger"]),
    ("transcript", &["units", "des", "stats", "cache", "pricing", "ledger", "workload"]),
    ("figure", &[]),
    (
        "plot",
        &["units", "stats", "cache", "ledger", "orchestration", "experiment", "scenario", "figure"],
    ),
    (
        "report",
        &[
            "units",
            "stats",
            "cache",
            "pricing",
            "ledger",
            "orchestration",
            "experiment",
            "scenario",
            "explain",
            "trace",
            "transcript",
        ],
    ),
    (
        "validation",
        &[
            "units",
            "cache",
            "pricing",
            "orchestration",
            "experiment",
            "scenario",
            "trace",
            "report",
        ],
    ),
    // The binary's own module: it reaches the library by its name, `forkcast::`.
    ("cli", &[]),
];

/// Files at the top of `src` that belong to no layer.
const ROOTS: [&str; 2] = ["lib.rs", "main.rs"];

/// Returns what a file uses against the table.
pub(super) fn layer_faults(source: &Source) -> Vec<String> {
    let module = source.module();
    if ROOTS.contains(&source.path.as_str()) {
        let names_cli = source.path == "lib.rs" && source.code.contains("mod cli");
        return fault_if(names_cli, || "lib.rs: `cli` belongs to the binary alone".to_owned());
    }
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == module) else {
        let add = "give it a row in tests/it/tidy/layers.rs and in ARCHITECTURE.md";
        return vec![format!("{}: '{module}' has no layer; {add}", source.path)];
    };
    let mut faults = Vec::new();
    for (at, used) in crate_paths(&source.code) {
        if used != module && !allowed.contains(&used) {
            let line = line_of(&source.code, at);
            faults.push(format!("{}:{line}: '{module}' may not use '{used}'", source.path));
        }
    }
    faults.extend(super_faults(source));
    faults
}

fn fault_if(is_fault: bool, fault: impl FnOnce() -> String) -> Vec<String> {
    if is_fault { vec![fault()] } else { Vec::new() }
}

/// Returns the first name of each path that begins with `crate::`, and where it stands.
fn crate_paths(code: &str) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    for at in words(code, "crate") {
        let Some(at) = after_colons(code, at + "crate".len()) else {
            continue;
        };
        if code[at..].starts_with('{') {
            names.extend(group(code, at));
        } else {
            names.push((at, name_at(code, at)));
        }
    }
    names
}

/// Returns the first name of each element of the group `{a, b::{c, d}}` that opens at `open`.
fn group(code: &str, open: usize) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    let (mut depth, mut expects_name) = (0, false);
    for (offset, c) in code[open..].char_indices() {
        match c {
            '{' => (depth, expects_name) = (depth + 1, depth == 0),
            '}' => depth -= 1,
            ',' => expects_name = depth == 1,
            c if c.is_whitespace() => {}
            _ if expects_name => {
                names.push((open + offset, name_at(code, open + offset)));
                expects_name = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// A path out of a module by `super` would pass the table by.
fn super_faults(source: &Source) -> Vec<String> {
    let code = &source.code;
    let is_top = source.path.matches('/').count() == 1 && source.path.ends_with("/mod.rs");
    let mut faults = Vec::new();
    for at in words(code, "super") {
        let again =
            after_colons(code, at + "super".len()).is_some_and(|at| name_at(code, at) == "super");
        let leaves_module = is_top && after_colons(code, at + "super".len()).is_some();
        if again || leaves_module {
            let shown = if again { "super::super" } else { "super::" };
            let line = line_of(code, at);
            faults.push(format!("{}:{line}: `{shown}`; write the path from `crate`", source.path));
        }
    }
    faults
}

/// Returns where a whole word stands.
fn words(code: &str, word: &str) -> Vec<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |at: &usize| {
        !code[..*at].ends_with(is_part) && !code[at + word.len()..].starts_with(is_part)
    };
    code.match_indices(word).map(|(at, _)| at).filter(is_whole).collect()
}

/// Returns what stands after `::`, if that is what follows.
fn after_colons(code: &str, at: usize) -> Option<usize> {
    let rest = code[at..].trim_start().strip_prefix("::")?.trim_start();
    Some(code.len() - rest.len())
}

fn name_at(code: &str, at: usize) -> &str {
    let rest = &code[at..];
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    if end == 0 { &rest[..rest.len().min(1)] } else { &rest[..end] }
}

#[test]
fn rows_name_only_rows_above_them() {
    for (index, (module, allowed)) in LAYERS.iter().enumerate() {
        for used in *allowed {
            let is_above = LAYERS[..index].iter().any(|(name, _)| name == used);
            assert!(is_above, "'{used}' must stand above '{module}'");
        }
    }
}

/// Each case is a file and the faults it must have.
#[test]
fn uses_against_the_table_are_found() {
    let cases: [(&str, &str, &[&str]); 14] = [
        ("cache/store.rs", "use crate::units::Tokens;\nuse crate::cache::Ttl;\n", &[]),
        (
            "units/mod.rs",
            "//! x\n\nuse crate::cache::Ttl;\n",
            &["units/mod.rs:3: 'units' may not use 'cache'"],
        ),
        (
            "units/time.rs",
            "use crate::{\n    cache::{Ttl, pricing},\n    des, units::Tokens,\n};\n",
            &[
                "units/time.rs:2: 'units' may not use 'cache'",
                "units/time.rs:3: 'units' may not use 'des'",
            ],
        ),
        (
            "des/random.rs",
            "fn f() -> crate :: workload::Task { crate::units::x() }\n",
            &["des/random.rs:1: 'des' may not use 'workload'"],
        ),
        ("des/random.rs", "/// See [`x`](crate::workload).\n// crate::cache\n", &[]),
        ("des/random.rs", "#[cfg(test)]\nmod tests {\n    use crate::workload::Task;\n}\n", &[]),
        ("des/random.rs", "pub(in crate::des) fn f() {}\npub(crate) fn my_crate() {}\n", &[]),
        ("des/random.rs", "use crate::*;\n", &["des/random.rs:1: 'des' may not use '*'"]),
        (
            "cache/store.rs",
            "use super::super::units::Tokens;\nuse super::Ttl;\n",
            &["cache/store.rs:1: `super::super`; write the path from `crate`"],
        ),
        (
            "cache/mod.rs",
            "use super::pricing::Price;\n",
            &["cache/mod.rs:1: `super::`; write the path from `crate`"],
        ),
        ("cli/run.rs", "use crate::cli::args::Run;\nuse forkcast::report::text;\n", &[]),
        ("cli/run.rs", "use crate::report::text;\n", &["cli/run.rs:1: 'cli' may not use 'report'"]),
        ("lib.rs", "mod cli;\n", &["lib.rs: `cli` belongs to the binary alone"]),
        (
            "util/mod.rs",
            "",
            &["util/mod.rs: 'util' has no layer; \
               give it a row in tests/it/tidy/layers.rs and in ARCHITECTURE.md"],
        ),
    ];
    for (path, text, faults) in cases {
        assert_eq!(layer_faults(&Source::new(path, text)), faults, "{path}: {text}");
    }
}

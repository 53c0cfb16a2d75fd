//! The rules of this repository that a program can check, as tests.
//!
//! Each check is a function from text to a list of faults, and is itself tested on small texts in
//! its own file, so that it is known to fail where it should. The tests here apply the checks to
//! the repository and print every fault at once.
#![expect(clippy::disallowed_methods, reason = "these tests read the files of the repository")]

mod layers;
mod project;
mod source;
mod text;

use std::fs;
use std::path::Path;

use layers::layer_faults;
use project::{
    fenced_lines, forgotten_tests, manifest_faults, map_faults, relative_links, scenario_faults,
    title_faults,
};
use source::Source;
use text::{machine_path, numbered, source_faults, spelling_faults, text_faults};

/// Folders that hold what is made or fetched, not what is written.
const SKIPPED: [&str; 2] = ["target", ".git"];

/// Documents whose links are checked.
const DOCUMENTS: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "scenarios/README.md", "plots/README.md"];

/// The command that README.md gives for the tests, and that `.ci/run` runs.
const TEST_COMMAND: &str = "cargo test";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads a file of the repository; `None` if there is none.
fn read(path: &str) -> Option<String> {
    fs::read_to_string(root().join(path)).ok()
}

/// Returns the names in a folder of the repository, in order.
fn names(folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root().join(folder)) else {
        return Vec::new();
    };
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> =
        entries.map(|entry| name(entry.expect("folders can be listed"))).collect();
    names.sort();
    names
}

/// Returns the files under a folder with one of these endings, as paths from the root.
fn files(folder: &str, endings: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for name in names(folder) {
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if SKIPPED.contains(&path.as_str()) {
            continue;
        }
        if root().join(&path).is_dir() {
            found.extend(files(&path, endings));
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
    found
}

fn is_rust(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "rs")
}

fn texts(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    let read = |path: String| read(&path).map(|text| (path, text));
    files(folder, endings).into_iter().filter_map(read).collect()
}

fn sources() -> Vec<Source> {
    let texts = texts("src", &[".rs"]);
    assert!(!texts.is_empty(), "src holds Rust files");
    texts.iter().map(|(path, text)| Source::new(&path["src/".len()..], text)).collect()
}

/// Documents and settings, tests and figures apart.
fn documents(endings: &[&str]) -> Vec<(String, String)> {
    let mut texts = texts("", endings);
    texts.retain(|(path, _)| !path.starts_with("tests/") && !path.starts_with("src/"));
    texts
}

#[track_caller]
fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn modules_use_only_what_stands_above_them() {
    assert_none(&sources().iter().flat_map(layer_faults).collect::<Vec<_>>());
}

#[test]
fn sources_keep_to_the_rules_of_text() {
    assert_none(&sources().iter().flat_map(source_faults).collect::<Vec<_>>());
}

#[test]
fn texts_have_no_stray_blanks() {
    let mut texts = texts("", &[".rs", ".md", ".toml"]);
    texts.retain(|(path, _)| !path.starts_with("tests/") || path.starts_with("tests/it/"));
    assert_none(&texts.iter().flat_map(|(path, text)| text_faults(path, text)).collect::<Vec<_>>());
}

#[test]
fn words_are_american() {
    let texts = texts("src", &[".rs"]).into_iter().chain(documents(&[".md", ".toml"]));
    assert_none(&texts.flat_map(|(path, text)| spelling_faults(&path, &text)).collect::<Vec<_>>());
}

#[test]
fn documents_name_no_path_of_one_machine() {
    let mut faults = Vec::new();
    for (path, text) in documents(&[".md", ".toml", "/run"]) {
        for (number, line) in numbered(&text) {
            if let Some(found) = machine_path(line) {
                faults.push(format!("{path}:{number}: `{found}` is a path of one machine"));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn no_test_file_is_forgotten() {
    let main = read("tests/it/main.rs").expect("the integration tests have a main.rs");
    let mut files = names("tests/it");
    files.retain(|name| is_rust(name) || root().join("tests/it").join(name).is_dir());
    assert_none(&forgotten_tests(&main, &files));
}

#[test]
fn dependencies_have_a_reason() {
    assert_none(&manifest_faults(&read("Cargo.toml").expect("the package has a manifest")));
}

#[test]
fn scenarios_ask_a_question_and_stand_in_the_index() {
    let index = read("scenarios/README.md");
    let mut faults = Vec::new();
    for (path, text) in texts("scenarios", &[".toml"]) {
        let path = &path["scenarios/".len()..];
        if !["prices/", "profiles/", "validation/"].iter().any(|data| path.starts_with(data)) {
            faults.extend(scenario_faults(path, &text, index.as_deref()));
        }
    }
    assert_none(&faults);
}

#[test]
fn links_lead_to_files() {
    let mut faults = Vec::new();
    for document in DOCUMENTS {
        let folder = root().join(document);
        let folder = folder.parent().expect("a document stands in a folder");
        for (line, target) in relative_links(&read(document).unwrap_or_default()) {
            if !folder.join(&target).exists() {
                faults.push(format!("{document}:{line}: `{target}` does not exist"));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn documents_have_one_title() {
    let documents = documents(&[".md"]);
    assert_none(&documents.iter().flat_map(|(p, text)| title_faults(p, text)).collect::<Vec<_>>());
}

#[test]
fn the_map_lists_every_source() {
    let map = read("ARCHITECTURE.md").expect("the repository has an ARCHITECTURE.md");
    let mut faults = Vec::new();
    for module in names("src") {
        let folder = format!("src/{module}");
        if root().join(&folder).is_dir() {
            let mut files = names(&folder);
            files.retain(|name| is_rust(name));
            faults.extend(map_faults(&map, &folder, &files));
        }
    }
    assert_none(&faults);
}

#[test]
fn the_checks_and_the_readme_run_the_same_tests() {
    let script = read(".ci/run").expect("the repository has .ci/run");
    let runs = script.lines().any(|line| line.trim().ends_with(&format!(" {TEST_COMMAND}")));
    assert!(runs, ".ci/run must run `{TEST_COMMAND}`");
    if let Some(readme) = read("README.md") {
        let says = fenced_lines(&readme).contains(&TEST_COMMAND);
        assert!(says, "README.md must give `{TEST_COMMAND}` in a code block");
    }
}

//! Rules for what stands around the code: manifest, scenarios, documents, test modules.

use super::text::numbered;

/// Returns the dependencies of a manifest without a reason on their line.
pub(super) fn manifest_faults(manifest: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut in_dependencies = false;
    for (number, line) in numbered(manifest) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_start_matches('[').split(']').next().unwrap_or_default();
            in_dependencies = table.ends_with("dependencies");
            if table.contains("dependencies.") {
                faults.push(format!("Cargo.toml:{number}: write the dependency on one line"));
            }
            continue;
        }
        let is_entry = line.starts_with(|c: char| c.is_alphanumeric()) && line.contains('=');
        let has_reason =
            line.split_once(" # ").is_some_and(|(_, reason)| !reason.trim().is_empty());
        if in_dependencies && is_entry && !has_reason {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            faults.push(format!("Cargo.toml:{number}: `{name}` without a reason behind ` # `"));
        }
    }
    faults
}

/// Returns what a scenario lacks: its question, and its place in the index where there is one.
///
/// `path` is relative to `scenarios`. A scenario in a folder may stand in the index by its folder.
pub(super) fn scenario_faults(path: &str, text: &str, index: Option<&str>) -> Vec<String> {
    let mut faults = Vec::new();
    let opening = text.lines().take_while(|line| line.starts_with('#'));
    if !opening.clone().any(|line| line.trim_end().ends_with('?')) {
        faults.push(format!(
            "scenarios/{path}: begin with a comment that asks what the scenario answers"
        ));
    }
    let folder = path.split_once('/').map(|(folder, _)| format!("{folder}/"));
    let is_indexed = |index: &str| {
        index.contains(path) || folder.as_ref().is_some_and(|folder| index.contains(folder))
    };
    if !index.is_none_or(is_indexed) {
        faults.push(format!("scenarios/{path}: not in scenarios/README.md"));
    }
    faults
}

/// Returns the test files that `main.rs` does not declare; `files` are names in its folder.
pub(super) fn forgotten_tests(main: &str, files: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    for file in files {
        let name = file.trim_end_matches(".rs");
        let declares = |line: &str| line.trim() == format!("mod {name};");
        if name != "main" && !main.lines().any(declares) {
            faults.push(format!("tests/it/{file}: add `mod {name};` to tests/it/main.rs"));
        }
    }
    faults
}

/// Returns whether a Markdown document has other than one title.
pub(super) fn title_faults(path: &str, text: &str) -> Vec<String> {
    let titles = prose(text).filter(|(_, line)| line.starts_with("# ")).count();
    if titles == 1 {
        return Vec::new();
    }
    vec![format!("{path}: {titles} lines with `# `; a document has one title")]
}

/// Returns the targets of relative links in a Markdown document, with their lines.
pub(super) fn relative_links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        let line: String = line.split('`').step_by(2).collect(); // without code spans
        for part in line.split("](").skip(1) {
            let target = part.split([')', ' ', '#']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                links.push((number, target.to_owned()));
            }
        }
    }
    links
}

/// Returns the lines of a fenced block's inside, prompts taken off.
pub(super) fn fenced_lines(text: &str) -> Vec<&str> {
    let mut is_fenced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if is_fenced {
            lines.push(line.trim().trim_start_matches("$ "));
        }
    }
    lines
}

/// Returns the files of a folder that the map does not list under the folder's heading.
///
/// A heading such as ``### `src/cache/` `` opens a folder's part, and a file stands in it as
/// `` `store.rs` ``. A part that lists no file yet is let pass; a folder without a part is not.
pub(super) fn map_faults(map: &str, folder: &str, files: &[String]) -> Vec<String> {
    let heading = format!("### `{folder}/`");
    let Some((_, part)) = map.split_once(&heading) else {
        return vec![format!("ARCHITECTURE.md: no heading {heading}")];
    };
    let part = part.split("\n#").next().unwrap_or_default();
    if !part.contains(".rs`") {
        return Vec::new();
    }
    let is_listed = |file: &&String| part.contains(&format!("`{file}`"));
    let missing = files.iter().filter(|file| *file != "mod.rs" && !is_listed(file));
    missing.map(|file| format!("ARCHITECTURE.md: `{file}` is not under {heading}")).collect()
}

/// The lines of a Markdown document outside fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_fenced = false;
    numbered(text).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fenced && !is_fence
    })
}

#[test]
fn dependencies_without_a_reason_are_found() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\na = \"1\" # why\nb = \"1\"\n\
                    c = { version = \"1\" } #\n[lints.rust]\nx = \"y\"\n[dependencies.d]\n";
    let faults = [
        "Cargo.toml:5: `b` without a reason behind ` # `",
        "Cargo.toml:6: `c` without a reason behind ` # `",
        "Cargo.toml:9: write the dependency on one line",
    ];
    assert_eq!(manifest_faults(manifest), faults);
}

#[test]
fn scenarios_without_a_question_or_a_place_are_found() {
    let asks = "# Fork or fresh,\n# what is cheaper?\n\ntitle = \"x\"\n";
    let index = Some("[fork](fork.toml), the folder `recorded/`");
    assert_eq!(scenario_faults("fork.toml", asks, index), [""; 0]);
    assert_eq!(scenario_faults("recorded/1/fork.toml", asks, index), [""; 0]);
    assert_eq!(scenario_faults("x.toml", asks, None), [""; 0]);
    assert_eq!(
        scenario_faults("x.toml", asks, index),
        ["scenarios/x.toml: not in scenarios/README.md"]
    );
    for text in ["title = \"why?\"\n", "# A scenario.\n\n# Why?\n"] {
        assert_eq!(scenario_faults("fork.toml", text, index).len(), 1, "{text}");
    }
}

#[test]
fn forgotten_test_files_are_found() {
    let files = ["main.rs", "a.rs", "b.rs", "support"].map(str::to_owned);
    let faults = ["tests/it/b.rs: add `mod b;` to tests/it/main.rs"];
    assert_eq!(forgotten_tests("//! x\nmod a;\n// mod b;\nmod support;\n", &files), faults);
}

#[test]
fn documents_with_no_or_two_titles_are_found() {
    assert_eq!(title_faults("a.md", "# A\n\n## B\n\n```sh\n# no title\n```\n"), [""; 0]);
    let two = ["a.md: 2 lines with `# `; a document has one title"];
    assert_eq!(title_faults("a.md", "# A\n\n# B\n"), two);
    assert_eq!(title_faults("a.md", "A\n").len(), 1);
}

#[test]
fn relative_links_are_found() {
    let text = "[a](b.md) `[c](d.md)` [e](https://x.org)\n![f](g/h.svg \"t\")\n\
                ```\n[i](j.md)\n```\n[k](#l) [m](n.md#o)\n";
    let links = [(1, "b.md"), (2, "g/h.svg"), (6, "n.md")];
    let found = relative_links(text);
    assert!(found.iter().map(|(line, target)| (*line, target.as_str())).eq(links), "{found:?}");
}

#[test]
fn commands_of_fenced_blocks_are_found() {
    assert_eq!(fenced_lines("run\n```console\n$ cargo test\n```\nx\n"), ["cargo test"]);
}

#[test]
fn files_missing_in_the_map_are_found() {
    let map = "### `src/a/`\n\n- `x.rs`: x\n\n### `src/b/`\n\nLater.\n";
    let files = ["mod.rs", "x.rs", "y.rs"].map(str::to_owned);
    let missing = ["ARCHITECTURE.md: `y.rs` is not under ### `src/a/`"];
    assert_eq!(map_faults(map, "src/a", &files), missing);
    assert_eq!(map_faults(map, "src/b", &files), [""; 0]);
    assert_eq!(map_faults(map, "src/c", &files).len(), 1);
}

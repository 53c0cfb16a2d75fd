//! Goal: the figures of the repository are what their files draw, and a user's own figure draws.
//! Method: `plot --check` on all of them; figures, mistakes and outputs in a folder of their own.
#![expect(clippy::disallowed_methods, reason = "these tests write files for the program")]

use std::fs;

use crate::support::program::{expect, forkcast, read, root};

/// Names of the shipped figure files, as paths from the root.
fn shipped_figures() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root().join("plots"))
        .expect("the folder of figures")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a UTF-8 name"))
        .filter(|name| name.rsplit_once('.').is_some_and(|(_, ending)| ending == "toml"))
        .collect();
    names.sort();
    names
}

#[test]
fn the_shipped_figures_are_what_their_files_draw() {
    let figures: Vec<String> =
        shipped_figures().iter().map(|name| format!("plots/{name}")).collect();
    let mut arguments = vec!["plot", "--check", "--quiet"];
    arguments.extend(figures.iter().map(String::as_str));
    expect(0, &arguments);
}

#[test]
fn every_shipped_figure_stands_in_the_index() {
    let index = read(root().join("plots/README.md"));
    for name in shipped_figures() {
        let stem = name.trim_end_matches(".toml");
        for link in [format!("]({name})"), format!("]({stem}.svg)")] {
            assert!(index.contains(&link), "plots/README.md lacks {link}");
        }
    }
}

/// The scenario that the README shows, and files beside it.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, _) =
        (folder.path(), expect(0, &["init", path_in(&folder, "scenario.toml").as_str()]));
    for (name, text) in files {
        fs::write(path.join(name), text).expect("a file is written");
    }
    folder
}

fn path_in(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

#[test]
fn each_starter_draws_on_the_starting_scenario() {
    let folder = folder(&[]);
    for kind in ["line", "bars"] {
        let figure = path_in(&folder, &format!("{kind}.toml"));
        expect(0, &["init", "--figure", kind, &figure]);
        expect(0, &["plot", &figure, "--replications", "4", "--quiet"]);
        let svg = read(path_in(&folder, &format!("{kind}.svg")));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(folder.path().join(format!("{kind}.png")).exists());
    }
}

#[test]
fn a_figure_is_the_same_on_any_number_of_threads_and_from_any_folder() {
    let text = "scenario = 'scenario.toml'\nkind = 'line'\nx = 'fanout.tasks=1..3'\n";
    let folder = folder(&[("a.toml", text)]);
    let (figure, out) = (path_in(&folder, "a.toml"), path_in(&folder, "."));
    let draw = |threads: &str| {
        let format = ["--format", "svg", "--replications", "8", "--quiet"];
        expect(0, &[&["plot", &figure, "-o", &out, "--threads", threads], &format[..]].concat());
        read(path_in(&folder, "a.svg"))
    };
    let one = draw("1");
    assert_eq!(draw("3"), one);
    assert!(!one.contains(&folder.path().display().to_string()), "names a folder");
}

#[test]
fn a_check_fails_on_a_figure_that_differs_or_is_not_there() {
    let text = "scenario = 'scenario.toml'\nkind = 'bars'\nreplications = 4\n";
    let folder = folder(&[("a.toml", text)]);
    let figure = path_in(&folder, "a.toml");
    let (_, stderr) = expect(3, &["plot", &figure, "--check"]);
    assert!(stderr.contains("a.svg` differ"), "{stderr}");
    expect(0, &["plot", &figure, "--quiet", "--format", "svg"]);
    assert!(!folder.path().join("a.png").exists());
    expect(0, &["plot", &figure, "--check"]);
    expect(3, &["plot", &figure, "--check", "--seed", "2"]);
}

#[test]
fn problems_of_all_files_are_told_at_once() {
    let files = [
        ("a.toml", "scenario = 'scenario.toml'\nkind = 'pie'\n"),
        ("b.toml", "scenario = 'scenario.toml'\nx = 'fanout.tasks=0..2'\nvariants = ['no']\n"),
        ("c.toml", "scenario = 'scenario.toml'\nx = 'session.contxt=1k,2k'\n"),
    ];
    let folder = folder(&files);
    let [a, b, c] = ["a.toml", "b.toml", "c.toml"].map(|name| path_in(&folder, name));
    let (_, stderr) = expect(1, &["plot", &a, "no-such-file.toml", &b]);
    assert!(stderr.contains("cannot read `no-such-file.toml`"), "{stderr}");
    let (_, stderr) = expect(1, &["plot", &a, &a]);
    assert!(stderr.contains("kind: `pie` is unknown") && stderr.contains("a.toml:2:8"), "{stderr}");
    let (_, stderr) = expect(1, &["plot", &b]);
    assert!(stderr.contains("no variant is named `no`; variants are: fresh, fork"), "{stderr}");
    let (_, stderr) = expect(1, &["plot", &c]);
    assert!(stderr.contains("unknown key `contxt`"), "{stderr}");
    assert!(stderr.contains("did you mean `context`?"), "{stderr}");
    let usage = forkcast(&["plot", &b, &b]);
    assert_eq!(usage.status.code(), Some(2));
}

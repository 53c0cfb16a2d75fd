//! Running the program as a user does.

use std::path::PathBuf;
use std::process::{Command, Output};

/// The root of the project.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the program in the root of the project, in a fixed environment.
pub(crate) fn forkcast(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_forkcast"))
        .args(arguments)
        .current_dir(root())
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .output()
        .expect("the program starts")
}

/// Runs the program, which must end with `code`, and returns stdout and stderr.
pub(crate) fn expect(code: i32, arguments: &[&str]) -> (String, String) {
    let output = forkcast(arguments);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{stdout}\n{stderr}");
    (stdout, stderr)
}

/// Runs a command with `--json` and returns the object.
pub(crate) fn json(arguments: &[&str]) -> serde_json::Value {
    let mut all = arguments.to_vec();
    all.extend(["--json", "--quiet"]);
    serde_json::from_str(&expect(0, &all).0).expect("stdout is JSON")
}

/// Reads a file of the project or one that a test has written.
#[expect(clippy::disallowed_methods, reason = "tests read fixtures and what the program wrote")]
pub(crate) fn read(path: impl AsRef<std::path::Path>) -> String {
    std::fs::read_to_string(path).expect("a readable file")
}

/// Names of the shipped scenarios, as paths from the root.
pub(crate) fn shipped_scenarios() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(root().join("scenarios"))
        .expect("the folder of scenarios")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a UTF-8 name"))
        .filter(|name| name.rsplit_once('.').is_some_and(|(_, ending)| ending == "toml"))
        .map(|name| format!("scenarios/{name}"))
        .collect();
    names.sort();
    assert!(names.len() >= 5, "shipped scenarios are missing");
    names
}

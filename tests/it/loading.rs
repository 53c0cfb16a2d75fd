//! From files and options to plans: what is said must act, or be refused.

use std::io::Write;

use crate::support::program::{expect, json, read};
use crate::support::{run, scenario, try_load};

const BASE: &str = "profile = \"plain\"\n[session]\nmodel = \"claude-opus-5\"\nprompt = 100\n[fanout]\n\
                    tasks = 2\n[task]\niterations = 3\noutput = 100\n";

fn messages(text: &str, sets: &[(&str, &str)]) -> String {
    try_load(text, sets).expect_err("there are problems").to_string()
}

#[test]
fn a_profile_set_on_the_command_line_or_by_a_variant_acts() {
    let plain = run(BASE, &[]).bill().total;
    let client = run(BASE, &[("profile", "claude-code@2.1.260")]).bill().total;
    assert!(client > plain);
    let text =
        format!("{BASE}[[variant]]\nname = \"a\"\nset = {{ profile = \"claude-code@2.1.260\" }}\n");
    let variant = &scenario(&text, &[]).variants[0];
    assert_eq!(variant.scenario.startup.main.tools.get(), 11_718);
    assert!(messages(BASE, &[("profile", "nonsense")]).contains("neither a shipped profile"));
}

#[test]
fn an_older_profile_stands_in_for_a_version_between_two_known_ones_and_says_so() {
    let loaded = scenario(BASE, &[("profile", "claude-code@2.1.300")]);
    assert_eq!(loaded.base.scenario.startup.main.tools.get(), 11_718);
    assert_eq!(loaded.base.warnings[0].code(), "older_profile");
}

#[test]
fn single_prices_act_however_their_key_is_quoted() {
    let full = run(BASE, &[]).bill().total;
    for key in [
        "prices.claude-opus-5.output_usd_per_mtok",
        "\"prices\".\"claude-opus-5\".output",
        "prices.claude-opus-5.output",
    ] {
        assert!(run(BASE, &[(key, "0")]).bill().total < full, "{key}");
    }
    let wrong = messages(BASE, &[("prices.claude-opus-5", "0")]);
    assert!(wrong.contains("one value for all prices"), "{wrong}");
    let wrong = messages(BASE, &[("prices.claude-opus-55.output", "0")]);
    assert!(wrong.contains("has no model `claude-opus-55`"), "{wrong}");
    let wrong = messages(BASE, &[("prices", "5")]);
    assert!(wrong.contains("expected the name of a price book"), "{wrong}");
}

#[test]
fn inline_prices_state_what_is_used_and_no_more() {
    let text = |prices: &str| format!("[prices.mine]\n{prices}\n{BASE}");
    let sets = [("session.model", "mine")];
    let enough = "input = 1\ncache_write_5m = 1.25\ncache_read = 0.1\noutput = 5";
    run(&text(enough).replace("profile = \"plain\"\n", ""), &sets);
    let less = messages(
        &text("input = 1\ncache_read = 0.1\noutput = 5").replace("profile = \"plain\"\n", ""),
        &sets,
    );
    assert!(less.contains("model `mine` has no 5-minute cache write price"), "{less}");
}

#[test]
fn a_file_of_values_is_read_beside_the_scenario_or_named_as_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(folder.path().join(name))
            .expect("a new file");
        file.write_all(text.as_bytes()).expect("it can be written");
    };
    write("values.csv", "1\n2\n3\n");
    write(
        "good.toml",
        &BASE.replace("iterations = 3", "iterations = { empirical = { file = \"values.csv\" } }"),
    );
    write(
        "bad.toml",
        &BASE.replace("output = 100", "output = { empirical = { file = \"nope.csv\" } }"),
    );
    let path = |name: &str| folder.path().join(name).display().to_string();
    let results = json(&["run", &path("good.toml"), "--replications", "60"]);
    let requests = results["variants"][0]["requests"]["mean"].as_f64().expect("a number");
    assert!((requests - 8.0).abs() < 1.0, "4 of main and 2 x 2 on average: {requests}");
    let (_, stderr) = expect(1, &["check", &path("bad.toml")]);
    assert!(stderr.contains("nope.csv") && stderr.contains("no such file"), "{stderr}");
}

#[test]
fn limits_that_would_run_nothing_or_forever_are_refused() {
    let cases = [
        ("limits.tools", "0", "0 would let nothing run"),
        ("limits.concurrency", "0", "0 would let nothing run"),
        ("fanout.tasks", "0", "expected 1 to 100000"),
        ("fanout.tasks", "1000000000", "expected 1 to 100000"),
        ("fanout.max_parallel", "0", "0 would start nothing"),
        ("task.iterations", "1e9", "at most"),
        ("compaction.trigger", "80", "a percentage such as \"80%\""),
        ("cache.breakpoints", "[\"end\", \"identity\"]", "prompt order"),
        ("cache.keep_alive", "1ms", "is too short"),
        ("cache.lookback", "0", "expected 1 to 1,000"),
        ("cache.early_miss_probability", "1.5", "not a probability"),
        ("session.context", "nan", "is not a number of tokens"),
        ("task.output", "{ lognormal = { median = inf, p90 = 5 } }", "lognormal"),
        ("variant", "[]", "no such variant"),
        ("variant.x.fanout.tasks", "3", "no such variant"),
    ];
    for (key, value, expected) in cases {
        let found = messages(BASE, &[(key, value)]);
        assert!(found.contains(expected), "{key}={value}: {found}");
    }
}

#[test]
fn tasks_above_a_limit_are_named_and_do_not_win() {
    let text = "[[variant]]\nname = \"all\"\n[[variant]]\nname = \"few\"\n\
                set = { \"limits.concurrency\" = 1 }\n";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dropped.toml");
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).open(&path).expect("a new file");
    file.write_all(format!("{BASE}{text}").as_bytes()).expect("it can be written");
    let (stdout, _) = expect(0, &["compare", &path.display().to_string()]);
    assert!(stdout.contains("`all` is the cheapest of those that do all tasks."), "{stdout}");
    assert!(stdout.contains("tasks_dropped: `few` drops 1.0 of 2.0 tasks"), "{stdout}");
}

#[cfg(unix)]
#[test]
fn an_output_follows_links_keeps_modes_and_never_replaces_its_input() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().expect("a folder");
    let (target, link) = (folder.path().join("target.json"), folder.path().join("link.json"));
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).open(&target).expect("a new file");
    file.write_all(b"old").expect("it can be written");
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).expect("a mode");
    symlink(&target, &link).expect("a link");
    let to = link.display().to_string();
    expect(0, &["run", "scenarios/fork-guide.toml", "--json", "-o", &to]);
    assert!(link.symlink_metadata().expect("it is there").is_symlink());
    assert!(read(&target).starts_with('{'));
    let mode = target.metadata().expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    expect(0, &["run", "scenarios/fork-guide.toml", "--json", "-o", "/dev/null"]);
    let (_, stderr) =
        expect(1, &["run", "scenarios/fork-guide.toml", "-o", "scenarios/fork-guide.toml"]);
    assert!(stderr.contains("read or written twice"), "{stderr}");
}

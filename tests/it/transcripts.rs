//! Real sessions. Goal: each request is counted once and priced right, whatever version wrote it,
//! and the causes are those that complete prompts tell.
//!
//! Method: transcripts of recorded runs against the total that the client itself printed and against
//! the traces of the same runs; public sessions against the totals of an independent program; small
//! files by hand, one for each peculiarity, with sums worked out in comments.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::program::{expect, json, read, root};

const RECORDED: &str = "tests/fixtures/client-transcripts";

/// Compares sums of money that two programs added up in floats.
fn assert_same_cost(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() < 1e-9, "{what}: {found} is not {expected}");
}

fn session<'a>(bill: &'a Value, id: &str) -> &'a Value {
    let sessions = bill["sessions"].as_array().expect("a list");
    sessions.iter().find(|session| session["session"] == id).expect("the session is there")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn recorded_runs() -> Vec<Value> {
    serde_json::from_str(&read(root().join(RECORDED).join("index.json"))).expect("valid JSON")
}

/// The client's total of each recorded run; where it compacted, the summary request is estimated.
#[test]
fn the_bill_is_the_clients_own_total() {
    let bill = json(&["bill", RECORDED]);
    let runs = recorded_runs();
    assert_eq!((runs.len(), bill["broken_lines"].as_u64()), (26, Some(0)));
    let mut estimated = 0;
    for run in runs {
        let what = format!("{} {}", run["version"], run["run"]);
        let session = session(&bill, run["session"].as_str().expect("an id"));
        let (cost, total) = (number(&session["cost_usd"]), number(&run["total_cost_usd"]));
        let estimate = &session["compaction_estimate"];
        if run["run"] == "compaction" {
            // What the summary request really cost is in the total and not in the transcript.
            let missing = total - cost;
            let found = number(&estimate["cost_usd"]);
            assert!((found - missing).abs() < 0.1 * missing, "{what}: {found} of {missing}");
            assert_eq!(estimate["requests"], 1, "{what}");
            estimated += 1;
        } else {
            assert_same_cost(cost, total, &what);
            assert_eq!(estimate["requests"], 0, "{what}");
        }
    }
    assert_eq!(estimated, 2);
}

/// Sizes alone say of each dollar what complete prompts say, but for what only prompts tell: how
/// long the task is in a first prompt, and which start unread siblings share.
#[test]
fn causes_are_those_of_the_traces_of_the_same_runs() {
    let bill = json(&["bill", RECORDED]);
    for run in recorded_runs().into_iter().filter(|run| run["run"] != "compaction") {
        let what = format!("{} {}", run["version"], run["run"]);
        let trace = run["trace"].as_str().expect("a path").replace("..", "tests/fixtures");
        let trace: Value =
            serde_json::from_str(&expect(0, &["trace", &trace, "--json"]).0).expect("valid JSON");
        let session = session(&bill, run["session"].as_str().expect("an id"));
        let cost = |of: &Value, cause: &str| number(&of["cost_by_cause_usd"][cause]);
        let causes: Vec<&String> =
            trace["cost_by_cause_usd"].as_object().expect("an object").keys().collect();
        let starts = ["cold_start", "new_content", "sibling_not_ready"];
        for cause in causes.into_iter().filter(|cause| !starts.contains(&cause.as_str())) {
            assert_same_cost(cost(session, cause), cost(&trace, cause), &format!("{what} {cause}"));
        }
        let sum = |of: &Value| starts.iter().map(|cause| cost(of, cause)).sum::<f64>();
        assert_same_cost(sum(session), sum(&trace), &what);
        assert_eq!(session["misses"], trace["misses"], "{what}");
    }
}

/// Public sessions, read where they stand.
fn public_sessions() -> Option<PathBuf> {
    let folder = root().join("../shared/data/transcripts");
    folder.exists().then_some(folder)
}

/// Tokens and costs of each session against ccusage 20.0.24. It leaves out what only
/// `agent_progress` records tell of; these agents are marked and left out here too.
#[test]
fn sessions_equal_an_independent_program() {
    let Some(folder) = public_sessions() else {
        println!("sessions_equal_an_independent_program did not run: no public sessions");
        return;
    };
    let reference: Value =
        serde_json::from_str(&read(folder.join("ccusage-session.json"))).expect("valid JSON");
    let bill = json(&["bill", folder.to_str().expect("a UTF-8 path")]);
    let reference = reference["sessions"].as_array().expect("a list");
    assert_eq!(reference.len(), bill["sessions"].as_array().expect("a list").len());
    for other in reference {
        let id = other["sessionId"].as_str().expect("an id");
        let agents = session(&bill, id)["agents"].as_array().expect("a list");
        let counted: Vec<&Value> =
            agents.iter().filter(|agent| agent["origin"] != "progress").collect();
        let tokens = |key: &str| -> u64 {
            counted.iter().map(|agent| agent["tokens"][key].as_u64().expect("a count")).sum()
        };
        let writes = tokens("cache_write_5m") + tokens("cache_write_1h");
        let found = [tokens("uncached"), writes, tokens("cache_read"), tokens("output")];
        let keys = ["inputTokens", "cacheCreationTokens", "cacheReadTokens", "outputTokens"];
        assert_eq!(found, keys.map(|key| other[key].as_u64().expect("a count")), "{id}");
        let cost: f64 = counted.iter().map(|agent| number(&agent["cost_usd"])).sum();
        assert_same_cost(cost, number(&other["totalCost"]), id);
    }
}

#[test]
fn all_breakdowns_sum_to_the_bill() {
    let Some(folder) = public_sessions() else {
        println!("all_breakdowns_sum_to_the_bill did not run: no public sessions");
        return;
    };
    let bill = json(&["bill", folder.to_str().expect("a UTF-8 path")]);
    let total = number(&bill["cost_usd"]);
    for key in ["days", "projects", "models", "sessions"] {
        let rows = bill[key].as_array().expect("a list").iter();
        assert_same_cost(rows.map(|row| number(&row["cost_usd"])).sum(), total, key);
    }
    for key in ["cost_by_item_usd", "cost_by_role_usd", "cost_by_cause_usd"] {
        let parts = bill[key].as_object().expect("an object").values();
        assert_same_cost(parts.map(number).sum(), total, key);
    }
    let causes = &bill["cost_by_cause_usd"];
    for cause in ["expired", "early_miss", "compaction", "prefix_changed_model", "new_content"] {
        assert!(number(&causes[cause]) > 0.0, "{cause}");
    }
}

/// Writes files into a folder for one test.
fn transcripts(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        write(&path, text);
    }
    folder
}

#[expect(clippy::disallowed_methods, reason = "tests write their own small transcripts")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a writable folder");
}

fn bill(files: &[(&str, &str)]) -> Value {
    let folder = transcripts(files);
    json(&["bill", folder.path().to_str().expect("a UTF-8 path")])
}

/// A record of one block of a response of claude-opus-5 at a second of 2026-11-01: 10 tokens of
/// plain input, and what is given.
fn answer(id: &str, second: u32, usage: &str) -> String {
    format!(
        "{{\"type\":\"assistant\",\"timestamp\":\"2026-11-01T00:{:02}:{:02}.000Z\",\
         \"message\":{{\"id\":\"{id}\",\"model\":\"claude-opus-5\",\"stop_reason\":\"end_turn\",\
         \"content\":[{{\"type\":\"text\",\"text\":\"x\"}}],\"usage\":{{\"input_tokens\":10,{usage}}}\
         }}}}\n",
        second / 60,
        second % 60
    )
}

const WRITTEN: &str = "\"cache_creation_input_tokens\":1000,\"cache_read_input_tokens\":0,\
                       \"output_tokens\":20";

#[test]
fn repeated_records_count_once_with_the_largest_output() {
    let small = WRITTEN.replace("20", "1");
    let text = [answer("m", 1, &small), answer("m", 2, WRITTEN), answer("m", 3, &small)].concat();
    let found = bill(&[("p/s.jsonl", &text)]);
    // 10 x 5 + 1,000 x 6.25 + 20 x 25 per million; the split is not stated, so it is five minutes.
    assert_same_cost(number(&found["cost_usd"]), 0.0068, "one request");
    assert_eq!(found["requests"], 1);
    assert_eq!(found["tokens"]["cache_write_5m"], 1000);
    // A resumed session copies the history; the copy is not paid again.
    let copied = [text.as_str(), &answer("n", 4, WRITTEN)].concat();
    let found = bill(&[("p/a.jsonl", &text), ("p/b.jsonl", &copied)]);
    assert_eq!(found["requests"], 2);
    assert_eq!(session(&found, "b")["requests"], 1);
    assert_eq!(session(&found, "b")["cost_by_cause_usd"]["cold_start"], 0.0);
}

#[test]
fn lifetimes_modifiers_and_fees_are_priced() {
    let split = "\"cache_creation\":{\"ephemeral_1h_input_tokens\":400,\
                 \"ephemeral_5m_input_tokens\":600},";
    let cases = [
        // 10 x 5 + 600 x 6.25 + 400 x 10 + 20 x 25 per million
        (split.to_owned(), 0.0083),
        // Fast mode doubles 10 x 5 + 1,000 x 6.25 + 20 x 25.
        ("\"speed\":\"fast\",".to_owned(), 0.0136),
        ("\"inference_geo\":\"us\",".to_owned(), 0.00748),
        ("\"inference_geo\":\"not_available\",".to_owned(), 0.0068),
        ("\"service_tier\":\"batch\",".to_owned(), 0.0034),
        ("\"server_tool_use\":{\"web_search_requests\":3},".to_owned(), 0.0368),
        ("\"iterations\":[{\"type\":\"message\",\"input_tokens\":10}],".to_owned(), 0.0068),
        ("\"speed\":null,\"service_tier\":null,\"cache_creation\":null,".to_owned(), 0.0068),
    ];
    for (fields, cost) in cases {
        let found = bill(&[("p/s.jsonl", &answer("m", 1, &(fields.clone() + WRITTEN)))]);
        assert_same_cost(number(&found["cost_usd"]), cost, &fields);
    }
}

#[test]
fn the_price_is_that_of_the_day() {
    // Reads of Sonnet 5.5 cost 0.20 before 2026-10-07 and 0.10 from then on.
    let read = "\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":1000000,\
                \"output_tokens\":0";
    let text = answer("m", 1, read).replace("claude-opus-5", "claude-sonnet-5-5");
    let before = text.replace("2026-11-01", "2026-10-06").replace("\"m\"", "\"n\"");
    let both = format!("{before}{text}");
    let folder = transcripts(&[("p/s.jsonl", &both)]);
    let path = folder.path().to_str().expect("a UTF-8 path");
    let found = json(&["bill", path]);
    // Twice 10 x 2, once 0.20 and once 0.10 for a million.
    assert_same_cost(number(&found["cost_usd"]), 0.30004, "both days");
    let found = json(&["bill", path, "--since", "2026-10-07"]);
    assert_same_cost(number(&found["cost_usd"]), 0.10002, "from the seventh");
    let found = json(&["bill", path, "--until", "20261006"]);
    assert_same_cost(number(&found["cost_usd"]), 0.20002, "up to the sixth");
}

#[test]
fn subagents_of_every_layout_are_in_the_bill() {
    let main = answer("m", 1, WRITTEN);
    let child = |id: &str| answer(id, 2, WRITTEN).replacen('{', "{\"isSidechain\":true,", 1);
    let named = |id: &str, agent: &str| {
        let fields = format!("{{\"sessionId\":\"s\",\"agentId\":\"{agent}\",");
        child(id).replacen('{', &fields, 1)
    };
    let progress = |id: &str| {
        format!(
            "{{\"type\":\"progress\",\"data\":{{\"type\":\"agent_progress\",\"agentId\":\"d\",\
             \"message\":{}}}}}\n",
            child(id).trim_end()
        )
    };
    let inline = child("i").replacen('{', "{\"uuid\":\"u1\",\"parentUuid\":null,", 1);
    let again = child("j").replacen('{', "{\"uuid\":\"u2\",\"parentUuid\":\"u1\",", 1);
    let found = bill(&[
        // A sidechain in the session's file, and progress records: one repeats a file, one is alone.
        ("p/s.jsonl", &[main, inline, again, progress("a"), progress("o")].concat()),
        ("p/s/subagents/agent-a.jsonl", &named("a", "a")),
        ("p/s/subagents/workflows/w/agent-b.jsonl", &named("b", "b")),
        ("p/s/subagents/workflows/w/journal.jsonl", &named("x", "x")),
        ("p/agent-c.jsonl", &named("c", "c")),
    ]);
    let one = session(&found, "s");
    let agents = one["agents"].as_array().expect("a list").iter();
    let mut origins: Vec<String> = agents
        .map(|agent| format!("{} {} {}", agent["agent"], agent["origin"], agent["requests"]))
        .collect();
    origins.sort();
    let expected = [
        "\"a\" \"file\" 1",
        "\"b\" \"file\" 1",
        "\"c\" \"file\" 1",
        "\"d\" \"progress\" 1",
        "\"main\" \"session\" 1",
        "\"u1\" \"sidechain\" 2",
    ];
    assert_eq!(origins, expected);
    assert_eq!((found["requests"].as_u64(), found["sessions"][1].is_null()), (Some(7), true));
}

#[test]
fn one_file_brings_its_subagents_and_no_other_session() {
    let named = |id: &str, session: &str| {
        answer(id, 2, WRITTEN).replacen('{', &format!("{{\"sessionId\":\"{session}\","), 1)
    };
    let folder = transcripts(&[
        ("p/s.jsonl", &named("m", "s")),
        ("p/s/subagents/agent-a.jsonl", &named("a", "s")),
        ("p/agent-b.jsonl", &named("b", "s")),
        ("p/agent-c.jsonl", &named("c", "t")),
        ("p/t.jsonl", &named("n", "t")),
    ]);
    let file = folder.path().join("p/s.jsonl");
    let found = json(&["bill", file.to_str().expect("a UTF-8 path")]);
    assert_eq!((found["requests"].as_u64(), found["files"].as_u64()), (Some(3), Some(3)));
}

#[test]
fn what_cannot_be_read_is_told_and_passed_over() {
    let good = answer("m", 1, WRITTEN);
    let strange = [
        "{\"type\":\"assistant\",\"mess",
        "not JSON: a secret",
        "",
        "{\"type\": \"new-kind\", \"x\": {\"y\": [1, {\"z\": null}]}}",
        "{\"type\":\"user\",\"message\":\"a text\",\"toolUseResult\":[1,2]}",
        "{\"type\":\"assistant\",\"isApiErrorMessage\":true,\"message\":{\"model\":\"<synthetic>\",\
         \"usage\":{\"input_tokens\":0}}}",
        "{\"type\":\"assistant\",\"message\":{\"id\":\"n\",\"model\":\"claude-opus-5\",\
         \"usage\":{\"input_tokens\":-5}}}",
    ]
    .join("\n");
    let pretty = answer("q", 2, WRITTEN).replace("\":", "\": ").replace(",\"", ", \"");
    let folder = transcripts(&[("p/s.jsonl", &format!("{good}{strange}\n{pretty}"))]);
    let path = folder.path().to_str().expect("a UTF-8 path");
    let (stdout, stderr) = expect(0, &["bill", path, "--json"]);
    let found: Value = serde_json::from_str(&stdout).expect("valid JSON");
    assert_eq!((found["requests"].as_u64(), found["broken_lines"].as_u64()), (Some(2), Some(3)));
    assert_eq!(found["unknown_records"], 1);
    for told in ["s.jsonl:2: the line ends within a record", "s.jsonl:3: not a JSON record"] {
        assert!(stderr.contains(told), "{stderr}");
    }
    assert!(stderr.contains("s.jsonl:8: "), "{stderr}");
    assert!(stderr.contains("`new-kind` (1)"), "{stderr}");
    assert!(!stderr.contains("secret"), "{stderr}");
}

#[test]
fn an_unknown_model_is_named_left_out_and_fails() {
    let text = answer("m", 1, WRITTEN) + &answer("n", 2, WRITTEN).replace("claude-opus-5", "glm-5");
    let folder = transcripts(&[("p/s.jsonl", &text)]);
    let path = folder.path().to_str().expect("a UTF-8 path");
    let (stdout, stderr) = expect(1, &["bill", path, "--json"]);
    let found: Value = serde_json::from_str(&stdout).expect("valid JSON");
    assert_same_cost(number(&found["cost_usd"]), 0.0068, "without the unknown model");
    assert_eq!(
        (&found["unpriced"][0]["model"], &found["unpriced"][0]["requests"]),
        (&Value::from("glm-5"), &Value::from(1))
    );
    assert!(stderr.contains("`glm-5`") && stderr.contains("--price MODEL="), "{stderr}");
    // 10 x 1 + 1,000 x 2 + 20 x 3.2 per million besides.
    let found = json(&["bill", path, "--price", "glm-5=1/2/3/0.1/3.2"]);
    assert_same_cost(number(&found["cost_usd"]), 0.008_874, "with a price of its own");
    let found = json(&["bill", path, "--price", "glm-5=claude-opus-5"]);
    assert_same_cost(number(&found["cost_usd"]), 0.0136, "priced like another model");
    expect(2, &["bill", path, "--price", "glm-5=1/2"]);
    expect(1, &["bill", path, "--price", "glm-5=no-such-model"]);
}

/// Ten requests of a growing conversation; what the third one could have read is read, or not.
#[test]
fn causes_follow_from_pauses_models_and_compactions() {
    let usage = |written: u32, read: u32| {
        format!(
            "\"cache_creation_input_tokens\":{written},\"cache_read_input_tokens\":{read},\
             \"output_tokens\":20"
        )
    };
    let prompt = |second: u32| {
        format!(
            "{{\"type\":\"user\",\"timestamp\":\"2026-11-01T00:{:02}:{:02}.000Z\",\
             \"message\":{{\"content\":\"go on\"}}}}\n",
            second / 60,
            second % 60
        )
    };
    let compacted = "{\"type\":\"system\",\"subtype\":\"compact_boundary\",\
                     \"timestamp\":\"2026-11-01T00:01:30.000Z\"}\n";
    let begin = [prompt(0), answer("a", 5, &usage(50_000, 0)), prompt(30)].concat();
    let begin = [begin, answer("b", 35, &usage(1_000, 50_000))].concat();
    let cases = [
        ("expired", [prompt(400), answer("c", 405, &usage(52_000, 0))].concat()),
        ("prefix_changed_tools", [prompt(60), answer("c", 65, &usage(52_000, 0))].concat()),
        ("prefix_changed_messages", [prompt(60), answer("c", 65, &usage(40_000, 12_000))].concat()),
        ("early_miss", answer("c", 65, &usage(52_000, 0))),
        (
            "prefix_changed_model",
            answer("c", 65, &usage(52_000, 0)).replace("claude-opus-5", "claude-opus-4-8"),
        ),
        ("compaction", [compacted, &prompt(100), &answer("c", 105, &usage(20_000, 0))].concat()),
    ];
    let result = "{\"type\":\"user\",\"timestamp\":\"2026-11-01T00:00:50.000Z\",\"message\":\
                  {\"content\":[{\"type\":\"tool_result\",\"content\":\"x\"}]}}\n";
    for (cause, end) in cases {
        let input = if cause == "early_miss" { result } else { "" };
        let found = bill(&[("p/s.jsonl", &[begin.as_str(), input, &end].concat())]);
        let cost = number(&found["cost_by_cause_usd"][cause]);
        // At least the 20,000 tokens that the compaction rewrites, at 6.25 per million.
        assert!(cost >= 0.125, "{cause}: {}", found["cost_by_cause_usd"]);
        let is_miss = u64::from(cause != "compaction");
        assert_eq!(found["misses"], is_miss, "{cause}");
    }
}

/// Costs of the policies of a replay by their names.
fn costs(replay: &Value) -> std::collections::BTreeMap<String, f64> {
    let policies = replay["policies"].as_array().expect("a list").iter();
    policies
        .map(|policy| {
            (policy["name"].as_str().expect("a name").to_owned(), number(&policy["cost_usd"]))
        })
        .collect()
}

/// Under the recorded policy nothing changes; what is predicted from sizes and times alone is what
/// the client's own runs did.
#[test]
fn recorded_runs_replay_as_they_were() {
    let replay = json(&["replay", RECORDED]);
    let bill = json(&["bill", RECORDED]);
    assert_eq!(
        (&replay["same_tokens"], &replay["requests"]),
        (&Value::from(309), &Value::from(309))
    );
    assert_same_cost(costs(&replay)["as recorded"], number(&bill["cost_usd"]), "as recorded");
    assert_same_cost(
        costs(&replay)["no cache"],
        number(&bill["bounds"]["no_cache_usd"]),
        "no cache",
    );
    let agreement = &replay["agreement"]["all"];
    assert_eq!(agreement["same_verdict"], agreement["requests"]);
}

/// One-hour entries cost (w1h - w5m) W - (w1h - read) S more than five-minute ones: 0.75 W - 1.9 S
/// in units of the base price where a read costs a tenth of it (peers section 6, case 6).
fn assert_ttl_identity(replay: &Value) -> usize {
    let mut checked = 0;
    for session in replay["sessions"].as_array().expect("a list") {
        let ttl = &session["ttl"];
        let difference = number(&ttl["cost_1h_usd"]) - number(&ttl["cost_5m_usd"]);
        let formula = number(&ttl["premium_usd"]) - number(&ttl["relief_usd"]);
        assert_same_cost(difference, formula, &session["session"].to_string());
        checked += usize::from(number(&ttl["written_tokens"]) > 0.0);
    }
    checked
}

#[test]
fn lifetimes_cost_what_writes_and_reads_say() {
    assert_eq!(assert_ttl_identity(&json(&["replay", RECORDED])), 26);
    let Some(folder) = public_sessions() else {
        println!("lifetimes_cost_what_writes_and_reads_say ran on recorded sessions only");
        return;
    };
    let replay = json(&["replay", folder.to_str().expect("a UTF-8 path")]);
    assert_eq!(assert_ttl_identity(&replay), 18);
    // Every model of these sessions reads at a tenth of its base price.
    let share = number(&replay["ttl"]["main"]["break_even_share"]);
    assert!((share - 0.75 / 1.9).abs() < 1e-9, "{share}");
}

#[test]
fn public_sessions_hit_and_miss_as_predicted() {
    let Some(folder) = public_sessions() else {
        println!("public_sessions_hit_and_miss_as_predicted did not run: no public sessions");
        return;
    };
    let path = folder.to_str().expect("a UTF-8 path");
    let replay = json(&["replay", path]);
    let main = &replay["agreement"]["main"];
    assert!(number(&main["share"]) >= 0.95, "{main}");
    let classified: f64 =
        main["differences"].as_object().expect("an object").values().map(number).sum();
    let wrong = number(&main["requests"]) - number(&main["same_verdict"]);
    assert_same_cost(classified, wrong, "every difference has a class");
    assert_eq!(replay["same_tokens"], replay["requests"]);
    let bill = json(&["bill", path]);
    assert_same_cost(costs(&replay)["as recorded"], number(&bill["cost_usd"]), "as recorded");
}

/// A session of two requests with ten minutes between them: 50,000 tokens are written, and written
/// again after the pause, since they have expired.
fn paused_session() -> String {
    let prompt = |minute: u32| {
        format!(
            "{{\"type\":\"user\",\"timestamp\":\"2026-11-01T00:{minute:02}:00.000Z\",\
             \"message\":{{\"content\":\"go on\"}}}}\n"
        )
    };
    let usage = |written: u32| {
        format!(
            "\"cache_creation_input_tokens\":{written},\"cache_read_input_tokens\":0,\
             \"output_tokens\":20"
        )
    };
    [prompt(0), answer("a", 5, &usage(50_000)), prompt(10), answer("b", 605, &usage(51_000))]
        .concat()
}

/// Expected costs per million tokens of claude-opus-5: input 5, write 6.25 or 10, read 0.5, output
/// 25; each request has 10 tokens of input and 20 of output besides.
#[test]
fn policies_change_what_a_pause_costs() {
    let folder = transcripts(&[("p/s.jsonl", &paused_session())]);
    let path = folder.path().to_str().expect("a UTF-8 path");
    let plain = 2.0 * (10.0 * 5.0 + 20.0 * 25.0);
    let replay = |set: &str| costs(&json(&["replay", path, "--set", set]));
    let found = replay("cache.ttl.main=1h");
    let cases = [
        ("as recorded", plain + 101_000.0 * 6.25),
        ("5m for all", plain + 101_000.0 * 6.25),
        // 990 tokens are new, and 10 of the 51,000 were the uncached tail before.
        ("cache.ttl.main=1h", plain + 51_000.0 * 10.0 + 50_000.0 * 0.5),
        ("1h for main", plain + 51_000.0 * 10.0 + 50_000.0 * 0.5),
        ("1h for subagents", plain + 101_000.0 * 6.25),
        ("no cache", plain + 101_000.0 * 5.0),
    ];
    for (name, cost) in cases {
        assert_same_cost(found[name], cost / 1e6, name);
    }
    // Keep-alives at 4 and 8 minutes read 50,000 tokens each; the entry lives to be read at 10.
    let cost = plain + 51_000.0 * 6.25 + 3.0 * 50_000.0 * 0.5;
    assert_same_cost(
        replay("cache.keep_alive=4m")["cache.keep_alive=4m"],
        cost / 1e6,
        "keep-alive",
    );
    // Opus 4.8 has the same prices, Sonnet 5 costs 2, 2.5 and 10.
    let cost = 2.0 * (10.0 * 2.0 + 20.0 * 10.0) + 101_000.0 * 2.5;
    let set = "session.model=claude-sonnet-5";
    assert_same_cost(replay(set)[set], cost / 1e6, "another model");
    expect(1, &["replay", path, "--set", "task.iterations=3"]);
    expect(1, &["replay", path, "--set", "session.model=no-such-model"]);
}

/// A conversation of 10,000, 50,000 and, after ten minutes, 51,000 tokens, compacted at 51,000. The
/// summary request sends 50,010 tokens of history, of which nothing lives and 50,000 are marked,
/// and 1,626 of instruction; the first prompt stays, with 4,000 of summary and the 990 that are new
/// and marked.
#[test]
fn an_earlier_compaction_sends_a_summary_request_and_shorter_prompts() {
    let usage = |written: u32, read: u32| {
        format!(
            "\"cache_creation_input_tokens\":{written},\"cache_read_input_tokens\":{read},\
             \"output_tokens\":20"
        )
    };
    let (a, b) = (answer("a", 5, &usage(10_000, 0)), answer("b", 65, &usage(40_000, 10_000)));
    let text = [a, b, answer("c", 605, &usage(51_000, 0))].concat();
    let folder = transcripts(&[("p/s.jsonl", &text)]);
    let path = folder.path().to_str().expect("a UTF-8 path");
    let set = "compaction.trigger=51k";
    let replay = json(&["replay", path, "--set", set]);
    let cost = 3.0 * (10.0 * 5.0 + 20.0 * 25.0)
        + (50_000.0 * 6.25 + 10_000.0 * 0.5)
        + (50_000.0 * 6.25 + 1_636.0 * 5.0 + 4_000.0 * 25.0)
        + 14_990.0 * 6.25;
    assert_same_cost(costs(&replay)[set], cost / 1e6, "compacted");
    assert_eq!(replay["policies"][6]["compactions"], 1);
    let untouched = costs(&json(&["replay", path, "--set", "compaction.trigger=60k"]));
    assert_same_cost(untouched["compaction.trigger=60k"], untouched["as recorded"], "not reached");
}

/// Three siblings launched at once write their whole prompts, 12,000 tokens; a fourth, later, reads
/// the 10,000 that they share.
#[test]
fn siblings_that_wait_for_the_first_read_what_it_wrote() {
    let child = |agent: &str, second: u32, written: u32, read: u32| {
        let usage = format!(
            "\"cache_creation_input_tokens\":{written},\"cache_read_input_tokens\":{read},\
             \"output_tokens\":20"
        );
        let prompt = format!(
            "{{\"type\":\"user\",\"timestamp\":\"2026-11-01T00:00:{:02}.000Z\",\
             \"message\":{{\"content\":\"do it\"}}}}\n",
            second - 5
        );
        (format!("p/s/subagents/agent-{agent}.jsonl"), prompt + &answer(agent, second, &usage))
    };
    let children = [
        child("a", 10, 12_000, 0),
        child("b", 10, 12_000, 0),
        child("c", 10, 12_000, 0),
        child("d", 40, 2_000, 10_000),
    ];
    let main = answer("m", 1, WRITTEN);
    let mut files: Vec<(&str, &str)> = vec![("p/s.jsonl", &main)];
    files.extend(children.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    let folder = transcripts(&files);
    let path = folder.path().to_str().expect("a UTF-8 path");
    let found = costs(&json(&["replay", path, "--set", "fanout.launch={ hold_first = \"8s\" }"]));
    let saved = found["as recorded"] - found["fanout.launch={ hold_first = \"8s\" }"];
    // Two siblings read 10,000 tokens at 0.5 instead of writing them at 6.25.
    assert_same_cost(saved, 2.0 * 10_000.0 * 5.75 / 1e6, "held siblings");
    expect(1, &["replay", path, "--set", "fanout.launch={ prewarm = \"system\" }"]);
}

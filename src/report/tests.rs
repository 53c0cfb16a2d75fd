//! Goal: reports keep their contract. Method: a small world of three variants, rendered; keys and
//! sums are compared with the interfaces, layouts with what any reader needs.

use serde_json::Value;

use crate::experiment::sample::{CONSTANT, RANDOM, variants};
use crate::experiment::{Experiment, Results, StopRule, VarianceReduction, Warning, run};
use crate::report::{Header, PriceHeader, View, csv, json, markdown, text};
use crate::units::Date;

fn header() -> Header {
    Header {
        program: "forkcast 0.1.0".to_owned(),
        title: Some("Three modules: fork or fresh?".to_owned()),
        scenario: "fork-or-fresh.toml".to_owned(),
        scenario_sha256: "00".repeat(32),
        reproduce: "forkcast compare fork-or-fresh.toml --seed 7".to_owned(),
        prices: PriceHeader {
            book: "anthropic-2026-11".to_owned(),
            as_of: Date::new(2026, 11, 30).unwrap(),
        },
        profile: None,
    }
}

fn results(task: &str, threads: usize) -> Results {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| run(&variants(task), 7, StopRule::Count(200), &|_| ()).results())
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn json_is_the_same_byte_for_byte_at_any_thread_count() {
    let one = json::render(&header(), &results(RANDOM, 1));
    for threads in [2, 8] {
        assert_eq!(one, json::render(&header(), &results(RANDOM, threads)), "{threads} threads");
    }
}

#[test]
fn json_has_the_keys_of_the_contract_in_its_order() {
    let value = json::value(&header(), &results(RANDOM, 2));
    let top = "format_version program scenario scenario_sha256 seed replications reproduce prices \
               profile variants differences warnings";
    assert_eq!(keys(&value).join(" "), top);
    let variant = "name cost_usd makespan_s wait_s tokens cost_by_item_usd cost_by_role_usd \
                   cost_by_agent_usd cost_by_cause_usd requests requests_by_agent \
                   hit_ratio_tokens misses expected_rebuilds launches failed_attempts last_request_tokens bounds \
                   outcomes";
    let fresh = &value["variants"][0];
    assert_eq!(keys(fresh).join(" "), variant);
    let summary = "mean half_width confidence p5 p50 p95 p99 max";
    assert_eq!(keys(&fresh["cost_usd"]).join(" "), summary);
    let tokens = "uncached cache_write_5m cache_write_1h cache_read output";
    assert_eq!(keys(&fresh["tokens"]).join(" "), tokens);
    assert_eq!(keys(&fresh["cost_by_item_usd"]).join(" "), format!("{tokens} fees"));
    assert_eq!(keys(&fresh["launches"]["partial"]), ["mean"]);
    assert_eq!(fresh["cost_by_agent_usd"][3]["agent"], "a3");
    let difference = "a b cost_usd probability_b_cheaper verdict";
    assert_eq!(keys(&value["differences"][0]).join(" "), difference);
}

#[test]
fn variance_reduction_is_told_in_every_format() {
    let experiment = Experiment::new(&variants(RANDOM), 7, StopRule::Count(200));
    let mut experiment = experiment.with_reduction(VarianceReduction::Both);
    experiment.run(&|_| ());
    let mut results = experiment.results();
    let value = json::value(&header(), &results);
    assert_eq!(value["variance_reduction"]["method"], "both");
    assert_eq!(value["variance_reduction"]["controls_not_used"], Value::Array(Vec::new()));
    let object = "controls sample_mean_usd variance_without_usd2 variance_with_usd2 factor \
                  replications_without replications_saved";
    for list in ["variants", "differences"] {
        let reduced = &value[list][0]["variance_reduction"];
        assert_eq!(keys(reduced).join(" "), object, "{list}");
        assert_eq!(reduced["controls"][0], "closed-form bill");
    }
    let row = csv::render(&results);
    assert!(row.contains(",variance_reduction_replications_saved\n"));
    assert!(row.contains(",closed-form bill; requests; output; tool results,"), "{row}");
    results.variants[2].reduced = None;
    let shown = text::render(&header(), &results, View::Compare, &[]);
    assert!(shown.contains("Variance reduction\n") && shown.contains(" fork - fresh "), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100));
    assert!(markdown::render(&header(), &results, View::Run, &[]).contains("| factor |"));
}

#[test]
fn every_breakdown_of_the_json_sums_to_the_bill() {
    let value = json::value(&header(), &results(RANDOM, 2));
    for variant in value["variants"].as_array().unwrap() {
        let total = variant["cost_usd"]["mean"].as_f64().unwrap();
        let mean = |part: &Value| part["mean"].as_f64().unwrap();
        let agents = variant["cost_by_agent_usd"].as_array().unwrap();
        let mut sums = vec![agents.iter().map(mean).sum::<f64>()];
        for key in ["cost_by_item_usd", "cost_by_role_usd", "cost_by_cause_usd"] {
            sums.push(variant[key].as_object().unwrap().values().map(mean).sum());
        }
        for sum in sums {
            assert!((sum / total - 1.0).abs() < 1e-9, "{sum} of {total}");
        }
    }
}

#[test]
fn without_randomness_half_widths_are_zero() {
    let value = json::value(&header(), &results(CONSTANT, 2));
    assert_eq!(value["replications"], 1);
    for variant in value["variants"].as_array().unwrap() {
        for key in ["cost_usd", "makespan_s", "wait_s"] {
            assert_eq!(variant[key]["half_width"], 0.0);
        }
    }
}

#[test]
fn csv_has_one_row_for_each_variant_and_leaves_absent_cells_empty() {
    let text = csv::render(&results(RANDOM, 2));
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[0][..3], ["variant", "replications", "cost_usd_mean"]);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    // `inline` has no children.
    let at = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    assert_eq!((rows[3][0], rows[3][at("cost_by_agent_usd_a1_mean")]), ("inline", ""));
    assert_ne!(rows[1][at("cost_by_agent_usd_a1_mean")], "");
    assert_eq!(rows[3][at("launches_started_mean")], "0.0");
}

#[test]
fn text_answers_first_and_fits_100_columns() {
    for (task, view) in [(RANDOM, View::Run), (RANDOM, View::Compare), (CONSTANT, View::Compare)] {
        let mut results = results(task, 2);
        results.warnings.push(Warning::AssumedPrices { what: "minimum of a model".to_owned() });
        let mut wider = results.variants.clone();
        for variant in &mut wider {
            variant.name.push_str(" on a much cheaper model");
        }
        results.variants.extend(wider);
        let text = text::render(&header(), &results, view, &[]);
        assert!(text.lines().all(|line| line.chars().count() <= 100));
        assert!(
            text.lines().nth(2).is_some_and(|line| line.contains("cost") || line.contains("cheap"))
        );
        assert!(text.contains("assumed_prices: "));
        assert!(text.ends_with("  forkcast compare fork-or-fresh.toml --seed 7\n"));
    }
}

#[test]
fn names_cannot_break_a_report() {
    let mut results = results(CONSTANT, 2);
    "a|b\n\u{1b}[2J,\"c\"".clone_into(&mut results.variants[0].name);
    let shown = markdown::render(&header(), &results, View::Compare, &[]);
    assert!(shown.contains("| a\\|b\\\\n\\\\u{1b}\\[2J,\"c\" |"), "{shown}");
    let text = text::render(&header(), &results, View::Compare, &[]);
    assert!(!text.contains('\u{1b}'));
    let first = csv::render(&results).lines().nth(1).map(str::to_owned).unwrap();
    assert!(first.starts_with("\"a|b"), "{first}");
}

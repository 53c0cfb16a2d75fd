//! The built-in published cases: each comes out, and the page that shows them is what the program
//! writes today.

use serde_json::Value;

use crate::support::program::{expect, json, read, root};

const PAGE: &str = "scenarios/validation/README.md";

#[test]
fn every_published_case_comes_out_and_its_page_is_current() {
    let (page, _) = expect(0, &["validate", "--markdown"]);
    let committed = read(root().join(PAGE));
    assert!(page == committed, "`forkcast validate --markdown --out {PAGE}` writes another page");
}

#[test]
fn cases_are_chosen_by_the_beginning_of_their_names() {
    let found = json(&["validate", "E1", "C2"]);
    let cases = found["cases"].as_array().expect("a list");
    assert!(cases.iter().all(|case| case["verdict"] == "ok" && case["source"].is_string()));
    let of = |id: &str| cases.iter().filter(|case| case["case"] == id).count();
    assert_eq!((of("E1"), of("E10"), of("C2"), of("E2")), (2, 2, 1, 0));
    let first: &Value = &cases[0];
    assert_eq!((&first["id"], first["expected"].as_f64()), (&"E1.1".into(), Some(0.5526)));
    let (_, message) = expect(2, &["validate", "nothing"]);
    assert!(message.contains("no case is named `nothing`"), "{message}");
}

//! What variance reduction came to: the intervals with it and without it.

use serde_json::{Value, json};

use crate::experiment::{Reduced, Results, UnusedControl, VarianceReduction, VariantResults};
use crate::report::document::{Block, Table};
use crate::report::number::{count, plain, significant};

/// Returns the method, and controls that were of no use, as an object; `None` without a method.
pub(super) fn method(results: &Results) -> Option<Value> {
    let unused = |of: &UnusedControl| {
        let UnusedControl { variant, control, reason } = of;
        json!({ "variant": variant, "control": control.name(), "reason": reason })
    };
    (results.reduction != VarianceReduction::None).then(|| {
        json!({
            "method": results.reduction.name(),
            "controls_not_used": results.unused_controls.iter().map(unused).collect::<Vec<_>>(),
        })
    })
}

/// Returns what it came to for one mean as an object.
pub(super) fn value(reduced: &Reduced) -> Value {
    json!({
        "controls": reduced.controls.iter().map(|control| control.name()).collect::<Vec<_>>(),
        "sample_mean_usd": reduced.sample_mean_usd,
        "variance_without_usd2": reduced.variance_without,
        "variance_with_usd2": reduced.variance_with,
        "factor": reduced.factor,
        "replications_without": reduced.replications_without,
        "replications_saved": reduced.replications_saved,
    })
}

/// Returns what it came to for a variant as columns of a row; nothing without a method.
pub(super) fn columns(results: &VariantResults) -> Vec<(String, Value)> {
    let object = results.reduced.as_ref().map(value);
    let entries = object.iter().filter_map(Value::as_object).flatten();
    let column = |(key, value): (&String, &Value)| {
        let value = match value.as_array() {
            Some(names) => {
                names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ").into()
            }
            None => value.clone(),
        };
        (format!("variance_reduction_{key}"), value)
    };
    entries.map(column).collect()
}

/// Returns what it came to for people; nothing without a method.
pub(super) fn blocks(results: &Results) -> Vec<Block> {
    if results.reduction == VarianceReduction::None {
        return Vec::new();
    }
    let variants = results.variants.iter().map(|of| (plain(&of.name), of.reduced.as_ref()));
    let pairs = results.differences.iter();
    let pairs =
        pairs.map(|of| (format!("{} - {}", plain(&of.b), plain(&of.a)), of.reduced.as_ref()));
    let all: Vec<(String, &Reduced)> = variants
        .chain(pairs)
        .filter_map(|(name, reduced)| reduced.map(|reduced| (name, reduced)))
        .collect();
    let mut blocks = vec![
        Block::Heading("Variance reduction".to_owned()),
        Block::Paragraph(sentence(results, &all)),
    ];
    let row = |(name, reduced): &(String, &Reduced)| {
        let saved = reduced.replications_saved;
        let sign = if saved < 0 { "-" } else { "" };
        vec![
            name.clone(),
            significant(reduced.variance_without),
            significant(reduced.variance_with),
            factor(reduced.factor),
            count(reduced.replications_without as f64),
            format!("{sign}{}", count(saved.unsigned_abs() as f64)),
        ]
    };
    let heading =
        ["mean cost of", "variance ($²)", "with it", "factor", "replications without", "saved"];
    blocks.push(Block::Table(Table {
        heading: heading.map(str::to_owned).into(),
        rows: all.iter().map(row).collect(),
        names: 1,
    }));
    blocks
}

fn factor(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { count(value.round()) }
}

fn sentence(results: &Results, all: &[(String, &Reduced)]) -> String {
    let mut sentences = Vec::new();
    if results.reduction.unit() == 2 {
        sentences.push(
            "Every second replication runs on the mirror image of the random numbers of the one \
             before it; a pair is one observation."
                .to_owned(),
        );
    }
    if results.reduction.has_controls() {
        let mut controls: Vec<&str> = Vec::new();
        for control in all.iter().flat_map(|(_, reduced)| &reduced.controls) {
            if !controls.contains(&control.name()) {
                controls.push(control.name());
            }
        }
        sentences.push(if controls.is_empty() {
            "No control varies or can be used, so no mean is corrected.".to_owned()
        } else {
            format!(
                "Mean costs are corrected for drawing more or less work than expected ({}). \
                 Tables of their parts show the sample as it is.",
                controls.join(", ")
            )
        });
    }
    for UnusedControl { variant, control, reason } in &results.unused_controls {
        let variant = plain(variant);
        sentences.push(format!("Not used for `{variant}`: {}, for {reason}.", control.name()));
    }
    sentences.join(" ")
}

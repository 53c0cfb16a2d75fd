//! What the closed form of fork against fresh says, beside the simulated result.

use serde_json::{Value, json};

use crate::report::number::{plain, usd};
use crate::scenario::{ClosedForm, Flip};

/// Returns the sentences for people.
pub fn sentences(form: &ClosedForm) -> Vec<String> {
    let (fork, fresh) = (plain(&form.fork), plain(&form.fresh));
    let mut sentences = vec![format!(
        "Closed form, means only (warm parent, no pauses): one child of `{fork}` costs {}, one of \
         `{fresh}` {}.",
        usd(form.fork_usd),
        usd(form.fresh_usd)
    )];
    let fork_is_cheaper = form.fork_usd < form.fresh_usd;
    sentences.push(match form.break_even {
        Some(at) => {
            let side = if fork_is_cheaper == (at > form.iterations) { "below" } else { "above" };
            format!(
                "`{fork}` is cheaper {side} {at:.2} requests per task, those to find out again not \
                 counted; you are at {:.2}.",
                form.iterations
            )
        }
        None if fork_is_cheaper => {
            format!("`{fork}` is cheaper at any number of requests per task.")
        }
        None => format!("`{fresh}` is cheaper at any number of requests per task."),
    });
    if !form.flips.is_empty() {
        let flips: Vec<String> = form.flips.iter().take(FLIPS_SHOWN).map(flip).collect();
        sentences.push(format!("All else equal, both cost the same at: {}.", flips.join("; ")));
    }
    sentences
}

/// Most inputs named at which the verdict turns.
const FLIPS_SHOWN: usize = 4;

fn flip(flip: &Flip) -> String {
    format!("{} {}, now {}", flip.input, significant(flip.then), significant(flip.now))
}

/// Writes a number with four significant digits or all digits before the point.
fn significant(value: f64) -> String {
    if value >= 1_000.0 {
        return crate::units::Tokens::new((value + 0.5) as u64).to_string();
    }
    if value >= 0.01 {
        return format!("{value:.2}");
    }
    format!("{value:.3e}")
}

/// Returns the same as JSON.
pub fn value(form: &ClosedForm) -> Value {
    let flips: Vec<Value> = form
        .flips
        .iter()
        .map(|flip| json!({ "input": flip.input, "now": flip.now, "then": flip.then }))
        .collect();
    json!({
        "fork": form.fork,
        "fresh": form.fresh,
        "fork_usd_per_child": form.fork_usd,
        "fresh_usd_per_child": form.fresh_usd,
        "break_even_iterations": form.break_even,
        "iterations": form.iterations,
        "flips": flips,
    })
}

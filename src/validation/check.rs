//! What came out, held against what must come out.

use serde_json::Value;

use crate::validation::answer::answer;
use crate::validation::{Case, Expectation};

/// Half a unit in the last place of sums that are printed as doubles.
const ROUNDING: f64 = 1e-9;

/// A case and what came of it.
#[derive(Clone, Debug)]
pub struct CheckedCase {
    /// Its short name.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// What to know beside.
    pub note: Option<String>,
    /// One entry for each expectation, in order.
    pub findings: Vec<Finding>,
}

impl CheckedCase {
    /// Whether everything came out as it must.
    pub fn is_ok(&self) -> bool {
        self.findings.iter().all(|finding| finding.is_ok)
    }
}

/// An expectation and what came out.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was looked at.
    pub value: String,
    /// What must come out.
    pub expected: Value,
    /// What came out; text says why nothing did.
    pub got: Value,
    /// How far apart they may be, in words.
    pub tolerance: String,
    /// Whether they are no further apart.
    pub is_ok: bool,
}

/// Answers a case and compares.
pub fn check(case: &Case) -> CheckedCase {
    let answer = answer(case);
    let findings = case.expect.iter().map(|expectation| match &answer {
        Ok(answer) => compare(expectation, answer),
        Err(why) => failed(expectation, why),
    });
    CheckedCase {
        id: case.id.clone(),
        title: case.title.clone(),
        source: case.source.clone(),
        note: case.note.clone(),
        findings: findings.collect(),
    }
}

fn compare(expectation: &Expectation, answer: &Value) -> Finding {
    let expected = expected(expectation);
    let got = match looked_up(expectation, answer) {
        Ok(got) => got,
        Err(why) => return failed(expectation, &why),
    };
    let (tolerance, is_ok) = match (expected.as_f64(), got.as_f64()) {
        (Some(wanted), Some(number)) => {
            let (words, largest) = tolerance(expectation, answer, wanted);
            (words, (number - wanted).abs() <= largest)
        }
        _ => ("exact".to_owned(), expected == got),
    };
    Finding { value: name(expectation), expected, got, tolerance, is_ok }
}

fn failed(expectation: &Expectation, why: &str) -> Finding {
    Finding {
        value: name(expectation),
        expected: expected(expectation),
        got: Value::String(why.to_owned()),
        tolerance: String::new(),
        is_ok: false,
    }
}

fn expected(expectation: &Expectation) -> Value {
    serde_json::to_value(&expectation.is).unwrap_or(Value::Null)
}

fn name(expectation: &Expectation) -> String {
    let over = expectation.over.iter().map(|other| format!(" / {other}"));
    let minus = expectation.minus.iter().map(|other| format!(" - {other}"));
    std::iter::once(expectation.value.clone()).chain(over).chain(minus).collect()
}

/// How far apart numbers may be, in words and as a number.
fn tolerance(expectation: &Expectation, answer: &Value, wanted: f64) -> (String, f64) {
    if let Some(within) = expectation.within {
        return (format!("{within}"), within);
    }
    let Some(errors) = expectation.standard_errors else {
        return ("exact".to_owned(), ROUNDING * wanted.abs().max(1.0));
    };
    let path = expectation.value.strip_suffix(".mean").unwrap_or(&expectation.value);
    // The half-width of a 95 % interval of many replications is 1.96 standard errors.
    let half_width = find(answer, &format!("{path}.half_width")).and_then(Value::as_f64);
    let largest = half_width.map_or(0.0, |half_width| errors * half_width / 1.96);
    (format!("{errors} standard errors, {largest:.2e}"), largest)
}

fn looked_up(expectation: &Expectation, answer: &Value) -> Result<Value, String> {
    let get = |path: &str| {
        let found = find(answer, path);
        found.ok_or_else(|| format!("the answer has no `{path}`"))
    };
    let value = get(&expectation.value)?;
    let number = |path: &str| {
        let found = get(path)?;
        found.as_f64().ok_or_else(|| format!("`{path}` is no number"))
    };
    match (&expectation.over, &expectation.minus) {
        (None, None) => Ok(value.clone()),
        (Some(other), _) => Ok((number(&expectation.value)? / number(other)?).into()),
        (None, Some(other)) => Ok((number(&expectation.value)? - number(other)?).into()),
    }
}

/// Follows keys with dots; entries of lists go by `name`, by `agent`, or by their number.
fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| match value {
        Value::Array(entries) => {
            let is_named =
                |entry: &&Value| ["name", "agent"].iter().any(|by| entry[by].as_str() == Some(key));
            let counted = || key.parse::<usize>().ok().and_then(|index| entries.get(index));
            entries.iter().find(is_named).or_else(counted)
        }
        _ => value.get(key),
    })
}

/// Goal: a wrong number fails, a right one passes, and both are shown. Method: a bill worked out
/// by hand: 1,000,000 tokens of input at $5.
#[cfg(test)]
mod tests {
    use super::*;

    fn checked(expect: &str) -> CheckedCase {
        let text = format!(
            "id = 'x'\ntitle = 't'\nsource = 's'\nexpect = [{expect}]\n\
             [bills.a]\nmodel = 'claude-opus-5'\nusage = [{{ input = 1_000_000 }}]"
        );
        check(&toml::from_str(&text).unwrap())
    }

    #[test]
    fn only_what_comes_out_as_stated_is_ok() {
        let path = "value = 'bills.a.cost_usd'";
        assert!(checked(&format!("{{ {path}, is = 5.0 }}")).is_ok());
        assert!(checked(&format!("{{ {path}, is = 5.01, within = 0.02 }}")).is_ok());
        assert!(checked(&format!("{{ {path}, over = 'bills.a.cost_usd', is = 1 }}")).is_ok());
        assert!(!checked(&format!("{{ {path}, is = 5.000_001 }}")).is_ok());
        assert!(!checked(&format!("{{ {path}, is = 5.03, within = 0.02 }}")).is_ok());
        assert!(!checked("{ value = 'bills.b.cost_usd', is = 5 }").is_ok());
        let both = format!("{{ {path}, is = 5 }}, {{ {path}, is = 6 }}");
        let verdicts: Vec<_> = checked(&both).findings.iter().map(|one| one.is_ok).collect();
        assert_eq!(verdicts, [true, false]);
    }
}

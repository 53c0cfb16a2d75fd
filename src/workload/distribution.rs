//! Distributions as users state them, checked, and what they compile to.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::des::Family;
use crate::workload::fit::{PARAMETRIC, Parameters, Show};
use crate::workload::{Quantity, Sampler, Tables};

/// A distribution of a quantity, valid by construction.
///
/// In files: a bare value, or a table with one family and optionally `min` and `max`, between which
/// the distribution is then conditional:
/// `{ lognormal = { median = 24, mean = 35 }, max = 200 }`.
/// The families are `constant`, `sequence` (values in order, the last repeats), `uniform`,
/// `exponential`, `lognormal`, `weibull`, `gamma`, `pareto`, `mixture`, `empirical` (a list or a
/// file of equally likely values) and `quantiles` (points of probability and value, log-linear
/// between, constant outside).
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution<Q> {
    pub(super) law: Law,
    pub(super) quantity: PhantomData<fn() -> Q>,
}

/// A distribution without its quantity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Law {
    pub(super) shape: Shape,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
}

/// The family of a law as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Constant(f64),
    Sequence(Vec<f64>),
    /// Values are empty until the file is read.
    Empirical {
        file: Option<String>,
        values: Vec<f64>,
    },
    Parametric(Parameters, Family),
    Mixture(Vec<(f64, Law)>),
    Quantiles(Vec<(f64, f64)>),
}

impl<Q: Quantity> Distribution<Q> {
    /// Returns the distribution that is always `value`, in the base unit.
    pub fn constant(value: f64) -> Distribution<Q> {
        assert!(value.is_finite() && value >= 0.0, "a constant must be a number of at least 0");
        Distribution::from_law(Law { shape: Shape::Constant(value), min: None, max: None })
    }

    pub(super) fn from_law(law: Law) -> Distribution<Q> {
        Distribution { law, quantity: PhantomData }
    }

    /// Returns whether every draw gives the same value.
    pub fn is_constant(&self) -> bool {
        match &self.law.shape {
            Shape::Constant(_) => true,
            Shape::Sequence(values) => values.len() == 1,
            Shape::Empirical { .. }
            | Shape::Parametric(..)
            | Shape::Mixture(_)
            | Shape::Quantiles(_) => false,
        }
    }

    /// Returns the mean in the base unit, after truncation; of a sequence, that of its values.
    ///
    /// Closed forms throughout. Files must have been read.
    pub fn mean(&self) -> f64 {
        match &self.law.shape {
            Shape::Sequence(values) => Family::Values(values.clone()).mean(),
            Shape::Constant(_)
            | Shape::Empirical { .. }
            | Shape::Parametric(..)
            | Shape::Mixture(_)
            | Shape::Quantiles(_) => self.law.family().mean(),
        }
    }

    /// Returns the greatest value that can be drawn, in the base unit; may be infinite.
    pub fn greatest(&self) -> f64 {
        self.law.greatest()
    }

    /// Returns the sampler. Files must have been read.
    pub fn compile(&self) -> Sampler {
        self.compile_with(&Tables::default())
    }

    /// Makes it ready to draw from, with the tables that others of the same law have.
    pub fn compile_with(&self, tables: &Tables) -> Sampler {
        match &self.law.shape {
            Shape::Constant(value) => return Sampler::Constant(*value),
            Shape::Sequence(values) => return Sampler::Sequence(values.as_slice().into()),
            Shape::Empirical { .. }
            | Shape::Parametric(..)
            | Shape::Mixture(_)
            | Shape::Quantiles(_) => {}
        }
        match self.law.family() {
            Family::Values(values) => Sampler::Empirical(values.into()),
            Family::Uniform { low, high } => Sampler::Uniform { low, width: high - low },
            family => Sampler::Table(tables.get(family)),
        }
    }

    /// Reads the files that empirical distributions name, one value a line.
    ///
    /// `read` returns the text of a file; empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// When a file cannot be read, has no value, or a line is no value of the quantity.
    pub fn resolve_files(
        &mut self,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<(), String> {
        self.law.resolve_files(&mut |name| values_of_file::<Q>(name, &read(name)?))?;
        self.law.check(Q::show)
    }
}

fn values_of_file<Q: Quantity>(name: &str, text: &str) -> Result<Vec<f64>, String> {
    let mut values = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            let value = Q::parse(line);
            values.push(value.map_err(|error| format!("{name}, line {}: {error}", index + 1))?);
        }
    }
    if values.is_empty() {
        return Err(format!("{name}: has no value; write one value a line"));
    }
    Ok(values)
}

impl Law {
    /// Returns how deep mixtures nest in it: 0 where it is none.
    pub(super) fn mixture_depth(&self) -> usize {
        match &self.shape {
            Shape::Mixture(laws) => {
                1 + laws.iter().map(|(_, law)| law.mixture_depth()).max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    fn greatest(&self) -> f64 {
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        let whole = match &self.shape {
            Shape::Constant(value) => *value,
            Shape::Sequence(values) | Shape::Empirical { values, .. } => {
                largest(&mut values.iter().copied())
            }
            Shape::Parametric(_, Family::Uniform { high, .. }) => *high,
            Shape::Parametric(..) => f64::INFINITY,
            Shape::Mixture(components) => {
                let drawn = components.iter().filter(|(weight, _)| *weight > 0.0);
                largest(&mut drawn.map(|(_, law)| law.greatest()))
            }
            Shape::Quantiles(points) => largest(&mut points.iter().map(|(_, value)| *value)),
        };
        whole.min(self.max.unwrap_or(f64::INFINITY))
    }

    /// Returns the family after truncation. Checks have shown that something is left of it.
    fn family(&self) -> Family {
        let family = self.whole_family();
        self.cut(&family).map_or(family, |(cut, _)| cut)
    }

    fn whole_family(&self) -> Family {
        match &self.shape {
            Shape::Constant(value) => Family::Values(vec![*value]),
            Shape::Empirical { values, .. } => {
                assert!(!values.is_empty(), "files must be read before a distribution is used");
                let mut values = values.clone();
                values.sort_by(f64::total_cmp);
                Family::Values(values)
            }
            Shape::Parametric(_, family) => family.clone(),
            Shape::Mixture(components) => {
                let total: f64 = components.iter().map(|(weight, _)| weight).sum();
                let drawn = components.iter().filter(|(weight, _)| *weight > 0.0);
                Family::Mixture(drawn.map(|(weight, law)| (weight / total, law.family())).collect())
            }
            Shape::Quantiles(points) => Family::Points(points.clone()),
            Shape::Sequence(_) => unreachable!("a sequence has no family"),
        }
    }

    /// Returns what the limits leave of the family; `None` without limits or when nothing is left.
    fn cut(&self, family: &Family) -> Option<(Family, f64)> {
        if self.min.is_none() && self.max.is_none() {
            return None;
        }
        family.truncated(self.min.unwrap_or(0.0), self.max.unwrap_or(f64::INFINITY))
    }

    /// Checks the limits against each other and the shape.
    pub(super) fn check(&self, show: Show) -> Result<(), String> {
        let (min, max) = (self.min.unwrap_or(0.0), self.max.unwrap_or(f64::INFINITY));
        if min > max {
            return Err(format!("min {} is above max {}", show(min), show(max)));
        }
        let values = match &self.shape {
            Shape::Constant(value) => std::slice::from_ref(value),
            Shape::Sequence(values) | Shape::Empirical { values, .. } => values,
            Shape::Parametric(..) | Shape::Mixture(_) | Shape::Quantiles(_) => &[],
        };
        if let Some(value) = values.iter().find(|value| !(min..=max).contains(*value)) {
            return Err(format!("the value {} lies outside min and max", show(*value)));
        }
        if let Shape::Parametric(_, Family::Pareto { shape, .. }) = self.shape
            && shape <= 1.0
            && self.max.is_none()
        {
            return Err(format!(
                "pareto: shape {shape} has no finite mean; set it above 1 or give `max`"
            ));
        }
        let limited = self.min.is_some() || self.max.is_some();
        if limited
            && values.is_empty()
            && self.is_read()
            && self.cut(&self.whole_family()).is_none()
        {
            let text = self.text(show);
            return Err(format!("min and max leave nothing of {text}"));
        }
        Ok(())
    }

    /// Returns whether no file is left to read.
    fn is_read(&self) -> bool {
        match &self.shape {
            Shape::Empirical { values, .. } => !values.is_empty(),
            Shape::Mixture(components) => components.iter().all(|(_, law)| law.is_read()),
            Shape::Constant(_)
            | Shape::Sequence(_)
            | Shape::Parametric(..)
            | Shape::Quantiles(_) => true,
        }
    }

    fn resolve_files(
        &mut self,
        read: &mut dyn FnMut(&str) -> Result<Vec<f64>, String>,
    ) -> Result<(), String> {
        match &mut self.shape {
            Shape::Empirical { file: Some(name), values } => *values = read(name)?,
            Shape::Mixture(components) => {
                for (_, law) in components {
                    law.resolve_files(read)?;
                }
            }
            Shape::Empirical { file: None, .. }
            | Shape::Constant(_)
            | Shape::Sequence(_)
            | Shape::Parametric(..)
            | Shape::Quantiles(_) => {}
        }
        Ok(())
    }

    /// Returns the text for people.
    fn text(&self, show: Show) -> String {
        let (name, mut parts) = match &self.shape {
            Shape::Constant(value) => return show(*value),
            Shape::Sequence(values) => ("sequence", listed(values, show)),
            Shape::Empirical { file: Some(name), .. } => {
                ("empirical", vec![format!("file {name}")])
            }
            Shape::Empirical { values, .. } => {
                ("empirical", vec![format!("{} values", values.len())])
            }
            Shape::Parametric(parameters, _) => {
                let text = |(name, value): &(&'static str, f64)| {
                    let value = if parameters.family.numbers.contains(name) {
                        value.to_string()
                    } else {
                        show(*value)
                    };
                    format!("{name} {value}")
                };
                (parameters.family.name, parameters.values.iter().map(text).collect())
            }
            Shape::Mixture(components) => {
                let text = |(weight, law): &(f64, Law)| format!("{weight} of {}", law.text(show));
                ("mixture", components.iter().map(text).collect())
            }
            Shape::Quantiles(points) => {
                let text = |(p, value): &(f64, f64)| format!("{p}: {}", show(*value));
                ("quantiles", points.iter().map(text).collect())
            }
        };
        parts.extend(self.min.map(|min| format!("min {}", show(min))));
        parts.extend(self.max.map(|max| format!("max {}", show(max))));
        format!("{name} ({})", parts.join(", "))
    }
}

/// Returns the first values of a list, and that there are more.
fn listed(values: &[f64], show: Show) -> Vec<String> {
    const SHOWN: usize = 6;
    let mut texts: Vec<String> = values.iter().take(SHOWN).map(|value| show(*value)).collect();
    if values.len() > SHOWN {
        texts.push("...".to_owned());
    }
    texts
}

impl<Q: Quantity> fmt::Display for Distribution<Q> {
    /// Writes the distribution the way a person says it: `lognormal (median 24, mean 35)`, `500`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.law.text(Q::show))
    }
}

impl<Q: Quantity> Serialize for Distribution<Q> {
    /// Writes what [`fmt::Display`] does: the reference of settings states defaults so.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<Q: Quantity> JsonSchema for Distribution<Q> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Distribution", Q::NAME).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<Q>().to_value();
        let itself = generator.subschema_for::<Distribution<Q>>().to_value();
        let mut properties = Map::new();
        let mut add =
            |name: &str, schema: Schema| properties.insert(name.into(), schema.to_value());
        add("min", limit_schema("Least value; the distribution is conditional on it.", &value));
        add("max", limit_schema("Greatest value; the distribution is conditional on it.", &value));
        add("constant", limit_schema("Always this value.", &value));
        add("sequence", list_schema("Values in order; the last repeats.", &value));
        for family in &PARAMETRIC {
            add(family.name, parametric_schema(family, &value));
        }
        add("mixture", mixture_schema(&itself));
        add("empirical", empirical_schema(&value));
        add("quantiles", quantiles_schema(&value));
        json_schema!({
            "description": "A value, or a table with exactly one family, and min and max.",
            "anyOf": [
                value,
                {
                    "type": "object",
                    "properties": properties,
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 3
                }
            ]
        })
    }
}

fn limit_schema(description: &str, value: &Value) -> Schema {
    json_schema!({ "description": description, "allOf": [value] })
}

fn list_schema(description: &str, value: &Value) -> Schema {
    json_schema!({ "description": description, "type": "array", "items": value, "minItems": 1 })
}

fn parametric_schema(family: &crate::workload::fit::Parametric, value: &Value) -> Schema {
    let quantities = family.quantities.iter().chain(&["min", "max"]);
    let mut keys: Map<String, Value> =
        quantities.map(|name| ((*name).to_owned(), value.clone())).collect();
    for name in family.numbers {
        let number = json_schema!({ "type": "number", "exclusiveMinimum": 0 });
        keys.insert((*name).to_owned(), number.to_value());
    }
    json_schema!({
        "description": family.description,
        "type": "object",
        "properties": keys,
        "additionalProperties": false
    })
}

fn mixture_schema(itself: &Value) -> Schema {
    json_schema!({
        "description": "One of several distributions, chosen by weight.",
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": { "weight": { "type": "number", "minimum": 0 }, "of": itself },
            "required": ["weight", "of"],
            "additionalProperties": false
        }
    })
}

fn empirical_schema(value: &Value) -> Schema {
    json_schema!({
        "description": "Equally likely values: a list, or a file with one value a line.",
        "anyOf": [
            { "type": "array", "items": value, "minItems": 1 },
            {
                "type": "object",
                "properties": { "file": { "type": "string" }, "min": value, "max": value },
                "required": ["file"],
                "additionalProperties": false
            }
        ]
    })
}

fn quantiles_schema(value: &Value) -> Schema {
    json_schema!({
        "description": "Points [probability, value], both rising; log-linear between points whose \
                        values are above 0, else linear; constant outside.",
        "type": "array",
        "minItems": 2,
        "items": {
            "type": "array",
            "prefixItems": [{ "type": "number", "minimum": 0, "maximum": 1 }, value],
            "minItems": 2,
            "maxItems": 2
        }
    })
}

#[cfg(test)]
#[path = "distribution_tests.rs"]
mod tests;

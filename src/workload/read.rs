//! Reading distributions from files, with every check of their parameters.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::workload::distribution::{Law, Shape};
use crate::workload::fit::{PARAMETRIC, Parameters, Parametric, Show, quoted};
use crate::workload::{Distribution, Quantity};

/// Families without a table of parameters of their own.
const OTHERS: [&str; 5] = ["constant", "sequence", "mixture", "empirical", "quantiles"];

impl<'de, Q: Quantity> Deserialize<'de> for Distribution<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Distribution<Q>, D::Error> {
        deserializer.deserialize_any(DistributionVisitor(PhantomData))
    }
}

struct DistributionVisitor<Q>(PhantomData<Q>);

impl<Q: Quantity> DistributionVisitor<Q> {
    fn constant<E: de::Error>(text: &str) -> Result<Distribution<Q>, E> {
        let value = Q::parse_constant(text).map_err(E::custom)?;
        Ok(Distribution::constant(value))
    }
}

impl<'de, Q: Quantity> Visitor<'de> for DistributionVisitor<Q> {
    type Value = Distribution<Q>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, or a distribution such as {{ exponential = {{ ", Q::EXPECTED)?;
        formatter.write_str("mean = 24 } }")
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Distribution<Q>, E> {
        Self::constant(&value.to_string())
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Distribution<Q>, E> {
        Self::constant(&value.to_string())
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Distribution<Q>, E> {
        Self::constant(&value.to_string())
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<Distribution<Q>, E> {
        Self::constant(value)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Distribution<Q>, A::Error> {
        let mut limits = Limits::default();
        let mut found: Option<(String, Shape)> = None;
        while let Some(key) = map.next_key::<String>()? {
            if limits.accept::<Q, A>(&key, &mut map)? {
                continue;
            }
            if let Some((first, _)) = &found {
                let message = format!("a distribution has one family, found `{first}` and `{key}`");
                return Err(A::Error::custom(message));
            }
            let shape = read_shape::<Q, A>(&key, &mut map, &mut limits)?;
            found = Some((key, shape));
        }
        let (_, shape) = found.ok_or_else(|| {
            A::Error::custom(format!(
                "a family is missing, expected one of {}",
                quoted(&families())
            ))
        })?;
        let law = Law { shape, min: limits.min, max: limits.max };
        law.check(Q::show).map_err(A::Error::custom)?;
        Ok(Distribution::from_law(law))
    }
}

fn families() -> Vec<&'static str> {
    OTHERS.into_iter().chain(PARAMETRIC.iter().map(|family| family.name)).collect()
}

/// Reads the value of a family's key.
fn read_shape<'de, Q: Quantity, A: MapAccess<'de>>(
    key: &str,
    map: &mut A,
    limits: &mut Limits,
) -> Result<Shape, A::Error> {
    if let Some(family) = PARAMETRIC.iter().find(|family| family.name == key) {
        let seed = ParametersSeed::<Q> { family, limits, quantity: PhantomData };
        let parameters = map.next_value_seed(seed)?;
        let fitted = parameters.fit(Q::show).map_err(A::Error::custom)?;
        return Ok(Shape::Parametric(parameters, fitted));
    }
    let shape = match key {
        "constant" => Ok(Shape::Constant(map.next_value::<Constant<Q>>()?.0)),
        "sequence" => sequence(&map.next_value::<Vec<Constant<Q>>>()?),
        "mixture" => mixture(map.next_value::<Vec<Component<Q>>>()?),
        "empirical" => {
            let read = map.next_value::<Empirical<Q>>()?;
            limits.merge(&read.limits).map_err(A::Error::custom)?;
            empirical(read.file, read.values)
        }
        "quantiles" => quantiles(&map.next_value::<Vec<(f64, Parameter<Q>)>>()?, Q::show),
        _ => Err(unknown("distribution", key, &families())),
    };
    shape.map_err(A::Error::custom)
}

fn sequence<Q>(values: &[Constant<Q>]) -> Result<Shape, String> {
    if values.is_empty() {
        return Err("sequence: needs at least one value".to_owned());
    }
    Ok(Shape::Sequence(values.iter().map(|value| value.0).collect()))
}

/// How deep mixtures may nest: each level is inverted numerically in the one above.
const MIXTURE_DEPTH_MAX: usize = 3;

fn mixture<Q>(components: Vec<Component<Q>>) -> Result<Shape, String> {
    let mut laws = Vec::new();
    for Component { weight, of } in components {
        if !(weight.is_finite() && weight >= 0.0) {
            return Err(format!("mixture: weight {weight} must be a number of at least 0"));
        }
        if of.law.mixture_depth() >= MIXTURE_DEPTH_MAX {
            return Err(format!("mixture: nested more than {MIXTURE_DEPTH_MAX} deep"));
        }
        if let Shape::Sequence(_) = of.law.shape {
            return Err("mixture: a sequence has an order and cannot be a component".to_owned());
        }
        laws.push((weight, of.law));
    }
    let total: f64 = laws.iter().map(|(weight, _)| weight).sum();
    if !(total > 0.0 && total.is_finite()) {
        return Err("mixture: needs a component with a weight above 0".to_owned());
    }
    Ok(Shape::Mixture(laws))
}

fn empirical(file: Option<String>, values: Vec<f64>) -> Result<Shape, String> {
    if file.is_none() && values.is_empty() {
        return Err("empirical: needs at least one value".to_owned());
    }
    Ok(Shape::Empirical { file, values })
}

fn quantiles<Q>(points: &[(f64, Parameter<Q>)], show: Show) -> Result<Shape, String> {
    let points: Vec<(f64, f64)> = points.iter().map(|(p, value)| (*p, value.0)).collect();
    if points.len() < 2 {
        return Err("quantiles: needs at least two points [probability, value]".to_owned());
    }
    if let Some((p, _)) = points.iter().find(|(p, _)| !(0.0..=1.0).contains(p)) {
        return Err(format!("quantiles: probability {p} is not from 0 to 1"));
    }
    for pair in points.windows(2) {
        let ((before, low), (after, high)) = (pair[0], pair[1]);
        if after <= before {
            return Err(format!("quantiles: probability {after} does not rise above {before}"));
        }
        if high < low {
            let (low, high) = (show(low), show(high));
            return Err(format!("quantiles: value {high} at {after} is below {low} at {before}"));
        }
    }
    Ok(Shape::Quantiles(points))
}

/// Says that a key is unknown, what is accepted and the nearest of it.
fn unknown(what: &str, key: &str, accepted: &[&str]) -> String {
    let distance = |name: &&&str| strsim::damerau_levenshtein(name, key);
    let nearest = accepted.iter().min_by_key(distance).filter(|name| distance(name) <= 3);
    let hint = nearest.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
    format!("unknown {what} `{key}`, expected one of {}{hint}", quoted(accepted))
}

/// The keys `min` and `max`, beside a family or inside its table.
#[derive(Default)]
struct Limits {
    min: Option<f64>,
    max: Option<f64>,
}

impl Limits {
    /// Reads the value if the key is a limit.
    fn accept<'de, Q: Quantity, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
    ) -> Result<bool, A::Error> {
        let mut read = Limits::default();
        match key {
            "min" => read.min = Some(map.next_value::<Parameter<Q>>()?.0),
            "max" => read.max = Some(map.next_value::<Parameter<Q>>()?.0),
            _ => return Ok(false),
        }
        self.merge(&read).map_err(A::Error::custom)?;
        Ok(true)
    }

    fn merge(&mut self, other: &Limits) -> Result<(), String> {
        let limits = [("min", &mut self.min, other.min), ("max", &mut self.max, other.max)];
        for (name, limit, new) in limits {
            if new.is_some() && limit.is_some() {
                return Err(format!("`{name}` is given twice"));
            }
            *limit = limit.or(new);
        }
        Ok(())
    }
}

/// Reads the table of a family's parameters, limits among them.
struct ParametersSeed<'a, Q> {
    family: &'static Parametric,
    limits: &'a mut Limits,
    quantity: PhantomData<Q>,
}

impl<'de, Q: Quantity> DeserializeSeed<'de> for ParametersSeed<'_, Q> {
    type Value = Parameters;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parameters, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, Q: Quantity> Visitor<'de> for ParametersSeed<'_, Q> {
    type Value = Parameters;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = [self.family.quantities, self.family.numbers].concat();
        write!(formatter, "the parameters of {}: {}", self.family.name, quoted(&keys))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parameters, A::Error> {
        let mut values = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if self.limits.accept::<Q, A>(&key, &mut map)? {
                continue;
            }
            let Some(name) = self.family.parameter(&key) else {
                let keys = [self.family.quantities, self.family.numbers, &["min", "max"]].concat();
                let what = format!("{} key", self.family.name);
                return Err(A::Error::custom(unknown(&what, &key, &keys)));
            };
            let value = if self.family.numbers.contains(&name) {
                map.next_value::<f64>()?
            } else {
                map.next_value::<Parameter<Q>>()?.0
            };
            values.push((name, value));
        }
        Ok(Parameters { family: self.family, values })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
struct Component<Q> {
    weight: f64,
    of: Distribution<Q>,
}

/// The value of `empirical`: a list, or a table with a file.
struct Empirical<Q> {
    file: Option<String>,
    values: Vec<f64>,
    limits: Limits,
    quantity: PhantomData<Q>,
}

impl<'de, Q: Quantity> Deserialize<'de> for Empirical<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Empirical<Q>, D::Error> {
        deserializer.deserialize_any(EmpiricalVisitor(PhantomData))
    }
}

struct EmpiricalVisitor<Q>(PhantomData<Q>);

impl<'de, Q: Quantity> Visitor<'de> for EmpiricalVisitor<Q> {
    type Value = Empirical<Q>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of values, or { file = \"values.csv\" }")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Empirical<Q>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = sequence.next_element::<Parameter<Q>>()? {
            values.push(value.0);
        }
        Ok(Empirical { file: None, values, limits: Limits::default(), quantity: PhantomData })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Empirical<Q>, A::Error> {
        let mut limits = Limits::default();
        let mut file = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "file" {
                file = Some(map.next_value()?);
            } else if !limits.accept::<Q, A>(&key, &mut map)? {
                let message = unknown("empirical key", &key, &["file", "min", "max"]);
                return Err(A::Error::custom(message));
            }
        }
        Ok(Empirical { file, values: Vec::new(), limits, quantity: PhantomData })
    }
}

/// A number or text that is parsed as a parameter.
struct Parameter<Q>(f64, PhantomData<Q>);

/// A number or text that is parsed as a constant.
struct Constant<Q>(f64, PhantomData<Q>);

impl<'de, Q: Quantity> Deserialize<'de> for Parameter<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Parameter<Q>, D::Error> {
        let text = deserializer.deserialize_any(TextVisitor(Q::EXPECTED))?;
        Ok(Parameter(Q::parse(&text).map_err(D::Error::custom)?, PhantomData))
    }
}

impl<'de, Q: Quantity> Deserialize<'de> for Constant<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Constant<Q>, D::Error> {
        let text = deserializer.deserialize_any(TextVisitor(Q::EXPECTED))?;
        Ok(Constant(Q::parse_constant(&text).map_err(D::Error::custom)?, PhantomData))
    }
}

/// Reads a number or a text as a text.
struct TextVisitor(&'static str);

impl Visitor<'_> for TextVisitor {
    type Value = String;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<String, E> {
        Ok(value.to_string())
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<String, E> {
        Ok(value.to_string())
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<String, E> {
        Ok(value.to_string())
    }
    fn visit_str<E: de::Error>(self, value: &str) -> Result<String, E> {
        Ok(value.to_owned())
    }
}

//! Families by their parameters: which keys each takes, and the family that they fit.

use crate::des::Family;
use crate::des::special::normal_quantile;

/// Writes a value of the quantity at hand, for messages.
pub(super) type Show = fn(f64) -> String;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Uniform,
    Exponential,
    Lognormal,
    Weibull,
    Gamma,
    Pareto,
}

/// A family that is written as a table of parameters.
#[derive(Debug, PartialEq)]
pub(super) struct Parametric {
    kind: Kind,
    /// Key of the family.
    pub(super) name: &'static str,
    /// Parameters that are quantities, with units.
    pub(super) quantities: &'static [&'static str],
    /// Parameters that are plain numbers.
    pub(super) numbers: &'static [&'static str],
    /// What the table holds, in words.
    pub(super) description: &'static str,
}

/// Every family with parameters.
pub(super) static PARAMETRIC: [Parametric; 6] = [
    Parametric {
        kind: Kind::Uniform,
        name: "uniform",
        quantities: &["low", "high"],
        numbers: &[],
        description: "Uniform from low to high.",
    },
    Parametric {
        kind: Kind::Exponential,
        name: "exponential",
        quantities: &["mean"],
        numbers: &[],
        description: "Exponential with a mean above 0.",
    },
    Parametric {
        kind: Kind::Lognormal,
        name: "lognormal",
        quantities: &["median", "mean", "p90", "p95", "p99"],
        numbers: &["sigma"],
        description: "Lognormal: the median and one of mean, sigma (standard deviation of the \
                      logarithm, above 0 and at most 10), p90, p95, p99 (above the median).",
    },
    Parametric {
        kind: Kind::Weibull,
        name: "weibull",
        quantities: &["scale", "mean"],
        numbers: &["shape"],
        description: "Weibull: the shape, from 0.1 to 100, and one of scale and mean.",
    },
    Parametric {
        kind: Kind::Gamma,
        name: "gamma",
        quantities: &["scale", "mean"],
        numbers: &["shape"],
        description: "Gamma: the shape, from 0.05 to 1000, and one of scale and mean.",
    },
    Parametric {
        kind: Kind::Pareto,
        name: "pareto",
        quantities: &["scale"],
        numbers: &["shape"],
        description: "Pareto: scale, the least value, and shape, above 1 unless max is given.",
    },
];

impl Parametric {
    /// Returns the static name of a parameter of this family.
    pub(super) fn parameter(&self, key: &str) -> Option<&'static str> {
        self.quantities.iter().chain(self.numbers).copied().find(|name| *name == key)
    }
}

/// The parameters of one family as they were written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameters {
    pub(super) family: &'static Parametric,
    pub(super) values: Vec<(&'static str, f64)>,
}

impl Parameters {
    /// Returns the family with these parameters.
    pub(super) fn fit(&self, show: Show) -> Result<Family, String> {
        let fitted = match self.family.kind {
            Kind::Uniform => self.uniform(show),
            Kind::Exponential => {
                self.positive("mean", show).map(|mean| Family::Exponential { mean })
            }
            Kind::Lognormal => self.lognormal(show),
            Kind::Weibull => self.weibull(show),
            Kind::Gamma => self.gamma(show),
            Kind::Pareto => self.pareto(show),
        };
        fitted.map_err(|problem| format!("{}: {problem}", self.family.name))
    }

    fn uniform(&self, show: Show) -> Result<Family, String> {
        let (low, high) = (self.require("low")?, self.require("high")?);
        if low > high {
            return Err(format!("low {} is above high {}", show(low), show(high)));
        }
        Ok(Family::Uniform { low, high })
    }

    /// The median is exp(location); the mean is exp(location + sigma^2 / 2); a quantile is
    /// exp(location + sigma z).
    fn lognormal(&self, show: Show) -> Result<Family, String> {
        let median = self.positive("median", show)?;
        let (key, value) = self.one_of(&["mean", "sigma", "p90", "p95", "p99"])?;
        let sigma = if key == "sigma" {
            value
        } else if value > median {
            let log = libm::log(value / median);
            match key {
                "mean" => (2.0 * log).sqrt(),
                "p90" => log / normal_quantile(0.90),
                "p95" => log / normal_quantile(0.95),
                _ => log / normal_quantile(0.99),
            }
        } else {
            return Err(format!("{key} {} is not above the median {}", show(value), show(median)));
        };
        if !(sigma > 0.0 && sigma <= 10.0) {
            return Err(format!("sigma is {sigma}; it must be above 0 and at most 10"));
        }
        Ok(Family::Lognormal { location: libm::log(median), sigma })
    }

    fn weibull(&self, show: Show) -> Result<Family, String> {
        let shape = self.shape(0.1, 100.0)?;
        let (key, _) = self.one_of(&["scale", "mean"])?;
        let value = self.positive(key, show)?;
        let unit_mean = libm::tgamma(1.0 + 1.0 / shape);
        Ok(Family::Weibull { shape, scale: if key == "mean" { value / unit_mean } else { value } })
    }

    fn gamma(&self, show: Show) -> Result<Family, String> {
        let shape = self.shape(0.05, 1000.0)?;
        let (key, _) = self.one_of(&["scale", "mean"])?;
        let value = self.positive(key, show)?;
        Ok(Family::Gamma { shape, scale: if key == "mean" { value / shape } else { value } })
    }

    fn pareto(&self, show: Show) -> Result<Family, String> {
        let scale = self.positive("scale", show)?;
        Ok(Family::Pareto { shape: self.shape(0.1, 1000.0)?, scale })
    }

    fn get(&self, key: &str) -> Option<f64> {
        self.values.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn require(&self, key: &str) -> Result<f64, String> {
        self.get(key).ok_or_else(|| format!("`{key}` is missing"))
    }

    fn positive(&self, key: &str, show: Show) -> Result<f64, String> {
        let value = self.require(key)?;
        if value > 0.0 { Ok(value) } else { Err(format!("{key} {} must be above 0", show(value))) }
    }

    fn shape(&self, least: f64, most: f64) -> Result<f64, String> {
        let shape = self.require("shape")?;
        if (least..=most).contains(&shape) {
            Ok(shape)
        } else {
            Err(format!("shape is {shape}; it must be from {least} to {most}"))
        }
    }

    /// Returns the only parameter of `keys` that is given.
    fn one_of(&self, keys: &[&'static str]) -> Result<(&'static str, f64), String> {
        let given: Vec<(&'static str, f64)> =
            keys.iter().filter_map(|key| self.get(key).map(|value| (*key, value))).collect();
        if let [only] = given[..] {
            return Ok(only);
        }
        let found: Vec<&str> = given.iter().map(|(key, _)| *key).collect();
        let found = if found.is_empty() { "none".to_owned() } else { quoted(&found) };
        Err(format!("exactly one of {} is needed, found {found}", quoted(keys)))
    }
}

/// Returns names in code quotes, separated by commas.
pub(super) fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

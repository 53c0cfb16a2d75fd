//! The prices of a scenario: a book, shipped or a file, an inline table, and single prices set
//! over it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::pricing::{Model, PriceBook};
use crate::scenario::{
    DEFAULT_PRICES, Entry, Layers, Node, Origin, PRICE_BOOKS, Problem, Problems, ReadFile, Sources,
    Tree, Value, decode, join_key, split_key,
};
use crate::units::Date;

/// Where prices come from, as the layers of a scenario say it.
#[derive(Clone, Debug)]
pub(super) struct PriceSource {
    /// Name of a book and where it is written; the default book where there is none.
    book: Option<(String, Origin)>,
    /// Whether the scenario states its own models, instead of a book's.
    is_inline: bool,
    /// Models of its own, or single prices over the book's.
    models: Layers,
}

/// Prices ready to be asked.
#[derive(Clone, Debug)]
pub(super) struct LoadedPrices {
    pub(super) book: PriceBook,
}

impl Default for PriceSource {
    fn default() -> PriceSource {
        PriceSource { book: None, is_inline: false, models: Layers::new(is_model) }
    }
}

/// In a table of models each model is a table of settings.
fn is_model(path: &str) -> bool {
    !path.contains('.')
}

/// In a book the models are, and what stands around them.
fn is_book_table(path: &str) -> bool {
    split_key(path).is_ok_and(|parts| parts.len() < 2 || (parts.len() == 2 && parts[0] == "models"))
}

impl PriceSource {
    /// Takes the `prices` of a layer: the name of a book, or models of its own.
    pub(super) fn add(&mut self, node: &Node) {
        match &node.value {
            Value::String(name) => {
                self.book = Some((name.clone(), node.origin.clone()));
                self.is_inline = false;
                self.models = Layers::new(is_model);
            }
            Value::Table(models) => {
                self.is_inline = true;
                for (name, entry) in models {
                    let key = join_key(&[name]);
                    let _ = self.models.set_entry(&key, entry.clone());
                }
            }
            _ => self.book = Some((String::new(), node.origin.clone())),
        }
    }

    /// Sets `prices` or one price, as `--set prices.MODEL.KEY=VALUE` does.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), Problem> {
        let origin = Origin::Override { text: format!("{key}={value}") };
        let node = Node::from_text(value, &origin);
        self.set_entry(key, Entry { key: origin, node })
    }

    pub(super) fn set_entry(&mut self, key: &str, entry: Entry) -> Result<(), Problem> {
        let parts = split_key(key).unwrap_or_default();
        match parts.get(1..) {
            None | Some([]) => {
                self.add(&entry.node);
                Ok(())
            }
            Some(rest) => self.models.set_entry(&join_key(rest), entry),
        }
    }

    /// Reads the book and sets single prices over it.
    pub(super) fn load(
        &self,
        settings: &Tree,
        sources: &mut Sources,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<LoadedPrices, Vec<Problem>> {
        if self.is_inline {
            return self.inline();
        }
        let name = self.book.as_ref().map_or(DEFAULT_PRICES, |(name, _)| name);
        let text = match book_text(name, read) {
            Ok(text) => text,
            Err(message) => {
                let mut problem = settings.problem("prices", message);
                if let Some((_, origin)) = &self.book {
                    problem.origin = origin.clone();
                }
                return Err(vec![problem]);
            }
        };
        let source = sources.add(format!("prices {name}"), text);
        let mut layers = Layers::new(is_book_table);
        layers.merge(Tree::parse(sources, source)?);
        let problems = self.set_over(&mut layers);
        if !problems.is_empty() {
            return Err(problems);
        }
        book_of(layers.tree()).map(|book| LoadedPrices { book })
    }

    /// Sets single prices over a book's; they must be of models that it has.
    fn set_over(&self, layers: &mut Layers) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (model, entry) in self.models.tree().root().entries() {
            let key = join_key(&["models", model]);
            if layers.get(&key).is_none() {
                problems.push(Problem {
                    path: join_key(&["prices", model]),
                    message: format!("the price book has no model `{model}`"),
                    help: None,
                    origin: entry.key.clone(),
                });
                continue;
            }
            for (price, entry) in entry.node.entries() {
                let key = join_key(&["models", model, price]);
                problems.extend(layers.set_entry(&key, entry.clone()).err());
            }
        }
        problems
    }

    fn inline(&self) -> Result<LoadedPrices, Vec<Problem>> {
        let (models, mut problems) = decode::<BTreeMap<String, Model>>(self.models.tree());
        for problem in &mut problems {
            problem.path = format!("prices.{}", problem.path);
        }
        match models {
            Some(models) if problems.is_empty() => {
                let book = PriceBook::inline(models, default_date());
                Ok(LoadedPrices { book })
            }
            _ => Err(problems),
        }
    }
}

/// The date of the default book, at which inline prices are taken to hold.
fn default_date() -> Date {
    #[derive(Deserialize)]
    struct Dated {
        as_of: Date,
    }
    let dated = toml::from_str::<Dated>(PRICE_BOOKS[0].1);
    dated.map(|dated| dated.as_of).expect("the shipped price book has a date")
}

fn book_text(
    name: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    if let Some((_, text)) = PRICE_BOOKS.iter().find(|(known, _)| *known == name) {
        return Ok((*text).to_owned());
    }
    let known: Vec<&str> = PRICE_BOOKS.iter().map(|(name, _)| *name).collect();
    read(name).map_err(|reason| {
        format!(
            "`{name}` is neither a shipped price book ({}) nor a file: {reason}",
            known.join(", ")
        )
    })
}

fn book_of(tree: &Tree) -> Result<PriceBook, Vec<Problem>> {
    let (book, mut problems) = decode::<PriceBook>(tree);
    if let Some(book) = &book {
        let semantic = book.problems().into_iter();
        problems.extend(semantic.map(|(path, message)| tree.problem(&path, message)));
    }
    match book {
        Some(book) if problems.is_empty() => Ok(book),
        _ => Err(problems),
    }
}

/// Reads a price book, shipped or a file.
///
/// # Errors
/// All problems at once.
pub fn load_book(name: &str, read: ReadFile<'_>) -> Result<PriceBook, Problems> {
    let mut sources = Sources::new();
    let mut price_source = PriceSource::default();
    price_source.add(&Node::new(Value::String(name.to_owned()), Origin::None));
    match price_source.load(&Tree::default(), &mut sources, read) {
        Ok(prices) => Ok(prices.book),
        Err(problems) => Err(Problems::new(problems, &sources)),
    }
}

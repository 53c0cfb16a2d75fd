//! The prices of a scenario: a book, shipped or a file, an inline table, and single prices set
//! over it.

use std::collections::BTreeMap;
use std::sync::Arc;

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

/// Price books that have been read.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    /// What is written in them, by name.
    layers: BTreeMap<String, Arc<Layers>>,
    /// The books by themselves, without single prices over them, by name.
    whole: BTreeMap<String, Arc<PriceBook>>,
    /// The last one with single prices over it: name, prices, book. Variants share it.
    last: Option<(String, Tree, Arc<PriceBook>)>,
}

/// Prices ready to be asked.
#[derive(Clone, Debug)]
pub(super) struct LoadedPrices {
    pub(super) book: Arc<PriceBook>,
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
    fn add(&mut self, node: &Node) -> Result<(), Problem> {
        match &node.value {
            Value::String(name) => {
                self.book = Some((name.clone(), node.origin.clone()));
                self.is_inline = false;
                self.models = Layers::new(is_model);
                Ok(())
            }
            Value::Table(models) => {
                self.is_inline = true;
                models.iter().try_for_each(|(name, entry)| {
                    self.models.set_entry(&join_key(&[name]), entry.clone())
                })
            }
            _ => Err(problem("prices", EXPECTED_PRICES, &node.origin)),
        }
    }

    /// Sets `prices` or one price: `prices.MODEL.KEY`.
    pub(super) fn set_entry(&mut self, key: &str, entry: Entry) -> Result<(), Problem> {
        let parts = split_key(key).unwrap_or_default();
        match parts.get(1..) {
            None | Some([]) => self.add(&entry.node),
            Some([model]) if !matches!(entry.node.value, Value::Table(_)) => {
                let message = format!(
                    "one value for all prices of `{model}`; set prices.{model}.KEY, KEY one of \
                     input, cache_write_5m, cache_write_1h, cache_read, output"
                );
                Err(problem(key, &message, &entry.key))
            }
            Some(rest) => self.models.set_entry(&join_key(rest), entry),
        }
    }

    /// Reads the book and sets single prices over it.
    pub(super) fn load(
        &self,
        sources: &mut Sources,
        known: &mut Books,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<LoadedPrices, Vec<Problem>> {
        if self.is_inline {
            return self.inline();
        }
        let default = (DEFAULT_PRICES.to_owned(), Origin::None);
        let (name, origin) = self.book.as_ref().unwrap_or(&default);
        let is_whole = self.models.tree().root().entries().next().is_none();
        if is_whole && let Some(book) = known.whole.get(name) {
            return Ok(LoadedPrices { book: Arc::clone(book) });
        }
        if let Some((last, prices, book)) = &known.last
            && last == name
            && prices == self.models.tree()
        {
            return Ok(LoadedPrices { book: Arc::clone(book) });
        }
        if !known.layers.contains_key(name) {
            let text = book_text(name, read)
                .map_err(|message| vec![problem("prices", &message, origin)])?;
            let source = sources.add(format!("prices {name}"), text);
            let mut layers = Layers::new(is_book_table);
            layers.merge(Tree::parse(sources, source)?);
            known.layers.insert(name.clone(), Arc::new(layers));
        }
        let mut layers = Layers::clone(&known.layers[name]);
        let problems = self.set_over(&mut layers);
        if !problems.is_empty() {
            return Err(problems);
        }
        let book = Arc::new(book_of(layers.tree())?);
        if is_whole {
            known.whole.insert(name.clone(), Arc::clone(&book));
        } else {
            known.last = Some((name.clone(), self.models.tree().clone(), Arc::clone(&book)));
        }
        Ok(LoadedPrices { book })
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
        let tree = self.models.tree();
        let (models, mut problems) = decode::<BTreeMap<String, Model>>(tree);
        let book = PriceBook::inline(models.unwrap_or_default(), default_date());
        let semantic = book.problems().into_iter().map(|(path, message)| {
            tree.problem(path.strip_prefix("models.").unwrap_or(&path), message)
        });
        if problems.is_empty() {
            problems.extend(semantic);
        }
        if problems.is_empty() {
            return Ok(LoadedPrices { book: Arc::new(book) });
        }
        for problem in &mut problems {
            problem.path = format!("prices.{}", problem.path);
        }
        Err(problems)
    }
}

const EXPECTED_PRICES: &str =
    "expected the name of a price book, the path of one, or a table of models with their prices";

fn problem(path: &str, message: &str, origin: &Origin) -> Problem {
    let (path, message) = (path.to_owned(), message.to_owned());
    Problem { path, message, help: None, origin: origin.clone() }
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
    if name.is_empty() {
        return Err(format!("the name is empty; shipped price books: {}", known.join(", ")));
    }
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
    let book = Some((name.to_owned(), Origin::None));
    let source = PriceSource { book, ..PriceSource::default() };
    match source.load(&mut sources, &mut Books::default(), read) {
        Ok(prices) => Ok(Arc::unwrap_or_clone(prices.book)),
        Err(problems) => Err(Problems::new(problems, &sources)),
    }
}

//! Layers of settings: a later one wins over those before it.

use std::collections::btree_map;

use crate::scenario::key::{join_key, split_key};
use crate::scenario::problem::describe;
use crate::scenario::{Entry, Node, Origin, Problem, Tree, Value};

/// Tells whether the table at a dotted path is a table of settings, merged key by key.
///
/// Any other table is one value, such as a distribution, and is replaced as a whole.
pub type IsSettings = fn(path: &str) -> bool;

/// Settings merged so far.
#[derive(Clone, Debug)]
pub struct Layers {
    tree: Tree,
    is_settings: IsSettings,
}

impl Layers {
    /// Returns settings without any layer.
    pub fn new(is_settings: IsSettings) -> Layers {
        Layers { tree: Tree::default(), is_settings }
    }

    /// Adds a layer: tables of settings are merged, everything else is replaced.
    pub fn merge(&mut self, layer: Tree) {
        merge(&mut self.tree.root, layer.root, &mut Vec::new(), self.is_settings);
    }

    /// Sets one value, as `--set KEY=VALUE` does. A value that is no TOML is a string.
    ///
    /// # Errors
    /// When the key is malformed or leads through something that is no table.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Problem> {
        let origin = Origin::Override { text: format!("{key}={value}") };
        let node = Node::from_text(value, &origin);
        self.set_entry(key, Entry { key: origin, node })
    }

    /// Sets one value that is parsed already and keeps its origin.
    ///
    /// # Errors
    /// When the key is malformed or leads through something that is no table.
    pub fn set_entry(&mut self, key: &str, entry: Entry) -> Result<(), Problem> {
        let origin = entry.key.clone();
        let placed = match split_key(key) {
            Ok(parts) => self.place(&parts, entry),
            Err(reason) => Err(format!("the key {reason}")),
        };
        placed.map_err(|message| {
            let path = key.trim().to_owned();
            Problem { path, message, help: None, origin }
        })
    }

    /// Sets every entry of a table whose keys are dotted, such as the `set` of a variant.
    ///
    /// Returns the problems of the entries that could not be set.
    pub fn set_all(&mut self, table: &Node) -> Vec<Problem> {
        let entries = table.entries();
        entries.filter_map(|(key, entry)| self.set_entry(key, entry.clone()).err()).collect()
    }

    /// Takes out the value at a dotted key.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        self.tree.remove(key)
    }

    /// Returns the value at a dotted key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.tree.get(key)
    }

    /// Returns the merged settings.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the merged settings by themselves.
    pub(super) fn into_tree(self) -> Tree {
        self.tree
    }

    fn place(&mut self, parts: &[String], entry: Entry) -> Result<(), String> {
        let mut node = &mut self.tree.root;
        for depth in 1..parts.len() {
            node = enter(node, &parts[..depth], &entry.key, self.is_settings)?;
        }
        let mut path = parts.to_vec();
        match (&mut node.value, parts.last()) {
            (Value::Table(table), Some(last)) => {
                merge_entry(table.entry(last.clone()), entry, &mut path, self.is_settings);
            }
            _ => merge(item_mut(node, parts)?, entry.node, &mut path, self.is_settings),
        }
        Ok(())
    }
}

fn merge(lower: &mut Node, upper: Node, path: &mut Vec<String>, is_settings: IsSettings) {
    match (&mut lower.value, upper.value) {
        (Value::Table(table), Value::Table(entries))
            if path.is_empty() || is_settings(&join_key(path)) =>
        {
            lower.origin = upper.origin;
            for (key, entry) in entries {
                path.push(key.clone());
                merge_entry(table.entry(key), entry, path, is_settings);
                path.pop();
            }
        }
        (_, value) => *lower = Node::new(value, upper.origin),
    }
}

fn merge_entry(
    place: btree_map::Entry<'_, String, Entry>,
    entry: Entry,
    path: &mut Vec<String>,
    is_settings: IsSettings,
) {
    match place {
        btree_map::Entry::Vacant(place) => {
            place.insert(entry);
        }
        btree_map::Entry::Occupied(mut place) => {
            place.get_mut().key = entry.key;
            merge(&mut place.get_mut().node, entry.node, path, is_settings);
        }
    }
}

/// Goes from the parent of `path` to what stands at `path`: a table, made where there is none, or
/// a list.
fn enter<'a>(
    parent: &'a mut Node,
    path: &[String],
    origin: &Origin,
    is_settings: IsSettings,
) -> Result<&'a mut Node, String> {
    if let (Value::Table(table), Some(key)) = (&mut parent.value, path.last()) {
        let made = || Entry { key: origin.clone(), node: Node::table(origin.clone()) };
        table.entry(key.clone()).or_insert_with(made);
    }
    let node = item_mut(parent, path)?;
    match node.value {
        Value::Table(_) | Value::Array(_) => node.origin = origin.clone(),
        _ if is_settings(&join_key(path)) => *node = Node::table(origin.clone()),
        _ => return Err(not_a_table(node, path)),
    }
    Ok(node)
}

/// Returns what `path` ends in, below its parent: an entry that is there, or an item of a list.
fn item_mut<'a>(parent: &'a mut Node, path: &[String]) -> Result<&'a mut Node, String> {
    let Some((part, above)) = path.split_last() else { return Ok(parent) };
    let length = parent.items().len();
    let message = || {
        let list = join_key(above);
        format!("`{list}` is a list of {length}; write a position in it, counted from 0")
    };
    parent.child_mut(part).ok_or_else(message)
}

fn not_a_table(node: &Node, path: &[String]) -> String {
    let path = join_key(path);
    format!("`{path}` is {}, which has no keys; set `{path}` as a whole", describe(node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Sources;

    fn is_settings(path: &str) -> bool {
        matches!(path, "fanout" | "task" | "prices") || path.starts_with("prices.")
    }

    fn layered(texts: &[&str]) -> (Layers, Sources) {
        let mut sources = Sources::new();
        let mut layers = Layers::new(is_settings);
        for (index, text) in texts.iter().enumerate() {
            let source = sources.add(format!("{index}.toml"), *text);
            layers.merge(Tree::parse(&sources, source).unwrap());
        }
        (layers, sources)
    }

    fn text_at<'a>(layers: &Layers, sources: &'a Sources, key: &str) -> &'a str {
        match &layers.get(key).unwrap().origin {
            Origin::File { source, span } => &sources.text(*source)[span.clone()],
            other => panic!("{key} is from {other:?}"),
        }
    }

    #[test]
    fn the_later_layer_wins_and_each_value_keeps_its_origin() {
        let profile = "[fanout]\nagent = 'fresh'\ntasks = 1\nmodel = 'a'\nqueue = 'q'";
        let scenario = "fanout.tasks = 2\nfanout.model = 'b'\nfanout.queue = 'r'\n\
                        [[variant]]\nset = { 'fanout.model' = 'c', 'fanout.queue' = 's' }";
        let (mut layers, sources) = layered(&[profile, scenario]);
        let set = layers.get("variant.0.set").unwrap().clone();
        assert!(layers.set_all(&set).is_empty());
        layers.set("fanout.queue", "t").unwrap();
        assert_eq!(text_at(&layers, &sources, "fanout.agent"), "'fresh'");
        assert_eq!(text_at(&layers, &sources, "fanout.tasks"), "2");
        assert_eq!(text_at(&layers, &sources, "fanout.model"), "'c'");
        let queue = layers.get("fanout.queue").unwrap();
        assert_eq!(queue.as_str(), Some("t"));
        assert_eq!(queue.origin, Origin::Override { text: "fanout.queue=t".to_owned() });
    }

    #[test]
    fn a_distribution_is_replaced_as_a_whole() {
        let lower = "task.think = { exponential = { mean = 3 } }\nlist = [1, 2]";
        let upper = "[task.think.lognormal]\nmedian = 4\n[task]\nlist = [3]";
        let (mut layers, _) = layered(&[lower, upper]);
        let keys = |layers: &Layers| -> Vec<String> {
            let think = layers.get("task.think").unwrap();
            think.entries().map(|(key, _)| key.to_owned()).collect()
        };
        assert_eq!(keys(&layers), ["lognormal"]);
        assert_eq!(layers.get("task.list").unwrap().items().len(), 1);
        layers.set("task.think", "{ weibull = { shape = 2 } }").unwrap();
        assert_eq!(keys(&layers), ["weibull"]);
        layers.set("task.think.weibull.shape", "3").unwrap();
        assert_eq!(layers.get("task.think.weibull.shape").unwrap().value, Value::Integer(3));
    }

    #[test]
    fn sets_through_quotes_lists_and_tables_that_are_not_there() {
        let (mut layers, _) = layered(&["[[stage]]\ntasks = 1\n[[stage]]\ntasks = 2"]);
        layers.set("prices.\"claude-3.5\".input", "6.25").unwrap();
        layers.set("stage.1.tasks", "7").unwrap();
        layers.set("stage.0", "{ tasks = 8 }").unwrap();
        layers.set("title", "5m and more").unwrap();
        layers.set("empty", "").unwrap();
        let value = |key: &str| layers.get(key).unwrap().value.clone();
        assert_eq!(value("prices.'claude-3.5'.input"), Value::Float(6.25));
        assert_eq!(value("stage.1.tasks"), Value::Integer(7));
        assert_eq!(value("stage.0.tasks"), Value::Integer(8));
        assert_eq!(value("title"), Value::String("5m and more".to_owned()));
        assert_eq!(value("empty"), Value::String(String::new()));
        assert!(layers.remove("stage.0").is_some());
        assert_eq!(layers.get("stage").unwrap().items().len(), 1);
        assert!(layers.remove("stage.1").is_none() && layers.remove("no.such.key").is_none());
    }

    #[test]
    fn a_set_through_a_value_is_refused_unless_settings_belong_there() {
        let (mut layers, _) = layered(&["speed = 24\nprices = 'book'\nlist = [1]"]);
        layers.set("prices.opus.input", "5").unwrap();
        let cases = [
            ("speed.lognormal.median", "`speed` is the number `24`, which has no keys"),
            ("list.first", "`list` is a list of 1; write a position"),
            ("list.1", "`list` is a list of 1; write a position"),
            ("list.0.a", "`list.0` is the number `1`, which has no keys"),
            ("", "the key is empty"),
            ("a..b", "the key has an empty part"),
        ];
        for (key, message) in cases {
            let problem = layers.set(key, "1").unwrap_err();
            assert!(problem.message.starts_with(message), "{key}: {}", problem.message);
            assert_eq!(problem.origin, Origin::Override { text: format!("{key}=1") });
        }
        let table = Node::from_text("{ 'a..b' = 1, speed = 2 }", &Origin::None);
        assert_eq!(layers.set_all(&table).len(), 1);
        assert_eq!(layers.get("speed").unwrap().value, Value::Integer(2));
    }
}

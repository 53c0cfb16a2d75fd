//! What real sessions cost, as objects for programs and as rows.

use serde_json::{Map, Value, json};

use crate::cache::Cause;
use crate::ledger::{Bill, ITEM_NAMES, Role};
use crate::pricing::Usage;
use crate::report::number::instant;
use crate::report::sessions::{Breakdown, SessionsReport, hit_ratio, tree};
use crate::transcript::{AgentBill, CompactionEstimate, Miss, SessionBill, UnknownOutput, Unseen};
use crate::units::{Money, SimDuration};

impl SessionsReport<'_> {
    /// Returns the rows of a breakdown as objects.
    pub(super) fn rows(&self, by: Breakdown) -> Vec<Value> {
        let bill = self.bill;
        let named = |key: &str, name: String, sum: &Bill| {
            let mut row = Map::new();
            row.insert(key.to_owned(), name.into());
            row.extend(sum_value(sum));
            Value::Object(row)
        };
        let parts = |key: &str, parts: Vec<(&'static str, Money)>| -> Vec<Value> {
            let row = |(name, cost)| json!({ key: name, "cost_usd": usd_value(cost) });
            parts.into_iter().map(row).collect()
        };
        match by {
            Breakdown::Session => bill.sessions.iter().map(session_row).collect(),
            Breakdown::Agent => bill.sessions.iter().flat_map(agent_rows).collect(),
            Breakdown::Day => {
                bill.days.iter().map(|(day, sum)| named("day", day.to_string(), sum)).collect()
            }
            Breakdown::Project => bill
                .projects
                .iter()
                .map(|(name, sum)| named("project", name.clone(), sum))
                .collect(),
            Breakdown::Model => {
                bill.models.iter().map(|(name, sum)| named("model", name.clone(), sum)).collect()
            }
            Breakdown::Item => {
                parts("item", ITEM_NAMES.into_iter().zip(bill.total.items).collect())
            }
            Breakdown::Cause => {
                let names = Cause::ALL.map(Cause::name);
                parts("cause", names.into_iter().zip(bill.total.causes).collect())
            }
            Breakdown::Role => {
                let names = Role::ALL.map(Role::name);
                parts("role", names.into_iter().zip(bill.total.roles).collect())
            }
            Breakdown::Miss => bill.sessions.iter().flat_map(miss_rows).collect(),
        }
    }

    /// Returns the whole as one object.
    pub(super) fn value(&self) -> Value {
        let bill = self.bill;
        let mut value = Map::new();
        let mut put = |key: &str, part: Value| value.insert(key.to_owned(), part);
        put("format_version", json!(1));
        put("program", json!(concat!("forkcast ", env!("CARGO_PKG_VERSION"))));
        put("prices", json!({ "book": self.book.name, "as_of": self.book.as_of.to_string() }));
        put("since", json!(self.since.map(|day| day.to_string())));
        put("until", json!(self.until.map(|day| day.to_string())));
        for (key, part) in sum_value(&bill.total) {
            put(&key, part);
        }
        let estimate = bill.compaction();
        put("compaction_estimate", estimate_value(&estimate));
        put("cost_with_estimates_usd", usd_value(bill.total.total + estimate.cost));
        put("unknown_output", unknown_value(&bill.unknown_output()));
        put("unseen", unseen_value(bill.unseen()));
        let unpriced = bill.unpriced.iter().map(|one| {
            json!({
                "model": one.model,
                "reason": one.reason,
                "requests": one.requests,
                "tokens": one.tokens.get(),
            })
        });
        put("unpriced", unpriced.collect());
        put("days", self.rows(Breakdown::Day).into());
        put("projects", self.rows(Breakdown::Project).into());
        put("models", self.rows(Breakdown::Model).into());
        put("sessions", bill.sessions.iter().map(session_value).collect());
        put("files", json!(self.files));
        put("broken_lines", json!(self.broken_lines));
        put("unknown_records", json!(self.unknown_records));
        let assumed = bill.assumed.iter();
        let warnings = assumed.map(|text| json!({ "code": "assumed_price", "message": text }));
        put("warnings", warnings.collect());
        Value::Object(value)
    }
}

fn sum_value(bill: &Bill) -> Map<String, Value> {
    let named = |names: Vec<&'static str>, parts: &[Money]| -> Value {
        let parts = names.into_iter().zip(parts.iter().copied());
        Value::Object(parts.map(|(name, cost)| (name.to_owned(), usd_value(cost))).collect())
    };
    let mut value = Map::new();
    let mut put = |key: &str, part: Value| value.insert(key.to_owned(), part);
    put("cost_usd", usd_value(bill.total));
    put("requests", json!(bill.requests));
    put("tokens", usage_value(&bill.tokens));
    put("cost_by_item_usd", named(ITEM_NAMES.to_vec(), &bill.items));
    put("cost_by_role_usd", named(Role::ALL.map(Role::name).to_vec(), &bill.roles));
    put("cost_by_cause_usd", named(Cause::ALL.map(Cause::name).to_vec(), &bill.causes));
    put("hit_ratio_tokens", json!(hit_ratio(bill)));
    put("misses", json!(bill.misses));
    put("expected_rebuilds", json!(bill.expected_rebuilds));
    put(
        "bounds",
        json!({
            "no_cache_usd": usd_value(bill.no_cache),
            "perfect_cache_usd": usd_value(bill.perfect_cache),
        }),
    );
    value
}

fn session_row(session: &SessionBill) -> Value {
    let mut row = Map::new();
    let mut put = |key: &str, part: Value| row.insert(key.to_owned(), part);
    put("session", json!(session.id));
    put("project", json!(session.project));
    put("version", json!(session.version));
    put("first", json!(instant(session.first)));
    put("last", json!(instant(session.last)));
    put("models", json!(session.models.iter().cloned().collect::<Vec<_>>().join(" ")));
    for (key, part) in sum_value(&session.bill) {
        put(&key, part);
    }
    put("compaction_estimate_usd", usd_value(session.compaction.cost));
    Value::Object(row)
}

fn miss_rows(session: &SessionBill) -> Vec<Value> {
    let row = |miss: &Miss| {
        json!({
            "session": session.id,
            "agent": miss.agent,
            "at": instant(miss.at),
            "since_last_s": miss.since_last.map(SimDuration::as_seconds),
            "cause": miss.cause.name(),
            "tokens": miss.tokens.get(),
            "cost_usd": usd_value(miss.cost),
        })
    };
    session.misses.iter().map(row).collect()
}

fn agent_rows(session: &SessionBill) -> Vec<Value> {
    let row = |(depth, agent): (usize, &AgentBill)| {
        let mut row = Map::new();
        row.insert("session".to_owned(), json!(session.id));
        row.insert("depth".to_owned(), json!(depth));
        row.extend(agent_value(agent));
        Value::Object(row)
    };
    tree(&session.agents).into_iter().map(row).collect()
}

fn agent_value(agent: &AgentBill) -> Map<String, Value> {
    let mut value = Map::new();
    let mut put = |key: &str, part: Value| value.insert(key.to_owned(), part);
    put("agent", json!(agent.name));
    put("kind", json!(agent.kind));
    put("parent", json!(agent.parent));
    put("role", json!(agent.role.name()));
    put("origin", json!(agent.origin.name()));
    for (key, part) in sum_value(&agent.bill) {
        put(&key, part);
    }
    put("last_request_tokens", json!(agent.last_request.get()));
    value
}

fn session_value(session: &SessionBill) -> Value {
    let mut value = session_row(session);
    if let Some(value) = value.as_object_mut() {
        value.insert("models".to_owned(), json!(session.models));
        value.remove("compaction_estimate_usd");
        value.insert("compaction_estimate".to_owned(), estimate_value(&session.compaction));
        value.insert("unknown_output".to_owned(), unknown_value(&session.unknown_output));
        value.insert("unseen".to_owned(), unseen_value(session.unseen));
        let agents = session.agents.iter().map(|agent| Value::Object(agent_value(agent)));
        value.insert("agents".to_owned(), agents.collect());
        value.insert("misses_listed".to_owned(), miss_rows(session).into());
    }
    value
}

fn estimate_value(estimate: &CompactionEstimate) -> Value {
    json!({
        "requests": estimate.requests,
        "cost_usd": usd_value(estimate.cost),
        "tokens": usage_value(&estimate.tokens),
    })
}

fn unknown_value(unknown: &UnknownOutput) -> Value {
    json!({
        "requests": unknown.requests,
        "recorded_tokens": unknown.recorded.get(),
        "likely_missing_tokens": unknown.likely_missing.get(),
        "likely_missing_usd": usd_value(unknown.likely_missing_cost),
        "most_missing_tokens": unknown.most_missing.get(),
        "most_missing_usd": usd_value(unknown.most_missing_cost),
    })
}

fn unseen_value(unseen: Unseen) -> Value {
    json!({ "requests": unseen.requests, "tokens": unseen.tokens.get() })
}

fn usage_value(usage: &Usage) -> Value {
    json!({
        "uncached": usage.uncached.get(),
        "cache_write_5m": usage.cache_write_5m.get(),
        "cache_write_1h": usage.cache_write_1h.get(),
        "cache_read": usage.cache_read.get(),
        "output": usage.output.get(),
    })
}

fn usd_value(cost: Money) -> Value {
    json!(cost.as_usd())
}

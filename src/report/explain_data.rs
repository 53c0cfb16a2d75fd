//! One replication for programs: an object, or a row for each request.

use serde_json::{Map, Value, json};

use crate::cache::{Category, Cause};
use crate::explain::{AgentAccount, CauseAccount, Explanation, Moment, Remedy};
use crate::ledger::{ITEM_NAMES, RequestRecord, Role, agent_name};
use crate::orchestration::{Launches, RequestPurpose};
use crate::pricing::{self, Usage};
use crate::report::csv;
use crate::units::{Money, SimDuration, SimTime};

/// Returns an instant as decimal seconds, exactly.
pub(super) fn seconds(at: SimTime) -> Value {
    let text = at.to_string();
    text.parse::<i64>().map_or_else(|_| json!(at.as_seconds()), |whole| json!(whole))
}

/// Returns a length of time as decimal seconds, exactly.
pub(super) fn length(duration: SimDuration) -> Value {
    seconds(SimTime::from_micros(duration.as_micros()))
}

/// Returns an amount of money in US dollars.
pub(super) fn usd(money: Money) -> Value {
    json!(money.as_usd())
}

/// Returns the keys of the object of an explained replication.
pub(super) fn value(explanation: &Explanation) -> Value {
    let (bill, record) = (&explanation.bill, &explanation.record);
    let prompt = bill.tokens.prompt().get();
    let read = bill.tokens.cache_read.get() as f64 / prompt.max(1) as f64;
    json!({
        "replication": explanation.replication,
        "variant": explanation.variant,
        "cost_usd": usd(bill.total),
        "makespan_s": length(record.makespan),
        "wait_s": length(record.wait),
        "outcome": record.outcome.name(),
        "tokens": usage(&bill.tokens),
        "cost_by_item_usd": costs(ITEM_NAMES.into_iter().zip(bill.items)),
        "cost_by_role_usd": costs(Role::ALL.map(Role::name).into_iter().zip(bill.roles)),
        "cost_by_cause_usd": costs(Cause::ALL.map(Cause::name).into_iter().zip(bill.causes)),
        "hit_ratio_tokens": read,
        "misses": bill.misses,
        "expected_rebuilds": bill.expected_rebuilds,
        "launches": launches(&record.launches),
        "failed_attempts": { "429": record.rate_limited, "529": record.overloaded },
        "bounds": {
            "no_cache_usd": usd(bill.no_cache),
            "perfect_cache_usd": usd(bill.perfect_cache),
        },
        "agents": explanation.agents.iter().map(agent).collect::<Vec<_>>(),
        "requests": requests(explanation),
        "moments": explanation.moments.iter().map(moment).collect::<Vec<_>>(),
    })
}

fn costs(parts: impl Iterator<Item = (&'static str, Money)>) -> Value {
    Value::Object(parts.map(|(name, cost)| (name.to_owned(), usd(cost))).collect::<Map<_, _>>())
}

/// Returns tokens by line item.
pub(super) fn usage(usage: &Usage) -> Value {
    let parts = pricing::Category::ALL.map(|category| usage.tokens(category).get());
    let entries = ITEM_NAMES.into_iter().zip(parts);
    Value::Object(entries.map(|(name, used)| (name.to_owned(), used.into())).collect::<Map<_, _>>())
}

fn launches(launches: &Launches) -> Value {
    json!({
        "attempted": launches.attempted,
        "started": launches.started,
        "refused_depth": launches.refused_depth,
        "refused_concurrency": launches.refused_concurrency,
        "refused_other": launches.refused_other,
        "completed": launches.completed,
        "failed": launches.failed,
    })
}

fn agent(agent: &AgentAccount) -> Value {
    json!({
        "agent": agent.name,
        "kind": agent.kind.map_or("main", |kind| kind.name()),
        "model": agent.model,
        "cost_usd": usd(agent.bill.cost),
        "requests": agent.bill.requests,
        "last_request_tokens": agent.bill.last_request.get(),
    })
}

/// Requests that were charged, in the order of their starts.
fn requests(explanation: &Explanation) -> Vec<Value> {
    let records = explanation.log.run.requests.iter().enumerate();
    let charged = records.filter(|(_, record)| !record.is_paid);
    let request = |(number, record): (usize, &RequestRecord)| {
        let mut object = json!({ "request": number, "agent": agent_name(record.agent) });
        for (key, value) in request_entries(explanation, number) {
            object[key] = value;
        }
        object["start_s"] = seconds(record.start);
        object["first_token_s"] = seconds(record.first_token);
        object["end_s"] = seconds(record.end);
        object
    };
    charged.map(request).collect()
}

/// Returns what a request was and cost, by key; its agent and its number are the caller's.
pub(super) fn request_entries(
    explanation: &Explanation,
    number: usize,
) -> Vec<(&'static str, Value)> {
    let record = &explanation.log.run.requests[number];
    let account = &explanation.requests[number];
    let mut entries = vec![("purpose", account.purpose.name().into())];
    if let RequestPurpose::Iteration { number, of } | RequestPurpose::Rediscovery { number, of } =
        account.purpose
    {
        entries.extend([("number", number.into()), ("of", of.into())]);
    }
    entries.extend([
        ("role", record.role.name().into()),
        ("model", explanation.models[record.model].as_str().into()),
        ("prompt_tokens", record.usage().prompt().get().into()),
        ("tokens", usage(&record.usage())),
        ("causes", account.causes.iter().map(cause).collect()),
        ("miss", record.is_miss.into()),
        ("expected_rebuild", record.is_expected_rebuild.into()),
        ("cost_usd", usd(record.cost)),
        ("total_usd", usd(account.running_total)),
    ]);
    entries
}

fn cause(one: &CauseAccount) -> Value {
    let ttl = match one.category {
        Category::Uncached => Value::Null,
        Category::Write5m => "5m".into(),
        Category::Write1h => "1h".into(),
    };
    json!({
        "cause": one.cause.name(),
        "ttl": ttl,
        "tokens": one.tokens.get(),
        "cost_usd": usd(one.cost),
    })
}

fn moment(moment: &Moment) -> Value {
    json!({
        "what": moment.kind.name(),
        "start_s": seconds(moment.start),
        "end_s": seconds(moment.end),
        "agents": moment.agents.iter().map(|agent| agent_name(*agent)).collect::<Vec<_>>(),
        "requests": moment.requests,
        "tokens": moment.tokens.get(),
        "cost_usd": usd(moment.cost),
        "remedies": moment.remedies.iter().map(remedy).collect::<Vec<_>>(),
        "in_vain": moment.in_vain.iter().map(remedy).collect::<Vec<_>>(),
    })
}

fn remedy(remedy: &Remedy) -> Value {
    let set = remedy.change.set.iter().map(|(key, value)| (key.clone(), value.as_str().into()));
    json!({
        "set": Value::Object(set.collect::<Map<_, _>>()),
        "meaning": remedy.change.meaning,
        "saved_usd": usd(remedy.saved),
        "cost_usd": usd(remedy.cost),
        "makespan_s": length(remedy.makespan),
        "keeps_work": remedy.keeps_work,
    })
}

/// Returns one row for each request, its tokens by cause in columns of their own.
pub(super) fn csv(explanation: &Explanation) -> String {
    let rows = requests(explanation).into_iter().map(|mut request| {
        let causes = request.as_object_mut().and_then(|object| object.remove("causes"));
        let mut sums = Cause::ALL.map(|_| 0);
        for one in causes.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let place = Cause::ALL.iter().position(|cause| one["cause"] == cause.name());
            if let Some(place) = place {
                sums[place] += one["tokens"].as_u64().unwrap_or(0);
            }
        }
        for (cause, sum) in Cause::ALL.into_iter().zip(sums) {
            if !matches!(cause, Cause::Output | Cause::Read | Cause::Fees) {
                request[format!("tokens_{}", cause.name())] = sum.into();
            }
        }
        request
    });
    csv::objects(&rows.collect::<Vec<_>>())
}

//! `forkcast replay`: what real sessions would have cost under another policy.

use forkcast::cache::KeepAlive;
use forkcast::orchestration::Launch;
use forkcast::report::replay::{ReplayReport, render};
use forkcast::scenario::{DEFAULT_PRICES, ReplaySettings, replay_settings};
use forkcast::transcript::{ReplayLaunch, ReplayOptions as Asked, ReplayPolicy, replay_sessions};

use super::bill::{format_of, refuse_unpriced};
use super::failure::Failure;
use super::session_args::{ReplayOptions, add_prices};
use super::{files, prices, transcripts};

/// Replays sessions.
pub(super) fn run(options: &ReplayOptions) -> Result<(), Failure> {
    let sessions = &options.sessions;
    let settings = replay_settings(&options.set.sets).map_err(|found| Failure::problems(&found))?;
    transcripts::refuse_output(&sessions.paths, options.output.out.as_deref())?;
    let mut book = prices::open(sessions.prices.as_deref().unwrap_or(DEFAULT_PRICES))?;
    add_prices(&mut book, &sessions.price)?;
    for model in [&settings.main_model, &settings.subagent_model].into_iter().flatten() {
        if book.model(model).is_none() {
            let known: Vec<&str> = book.models.keys().map(String::as_str).collect();
            return Err(Failure::Message {
                message: format!("the price book has no model `{model}`"),
                hint: Some(format!("known models: {}", known.join(", "))),
            });
        }
    }
    let mut reading = transcripts::read(&sessions.paths, options.quiet)?;
    keep_days(options, &mut reading.sessions);
    let mut asked = Asked::default();
    let mut assumptions = assumptions();
    if !options.set.sets.is_empty() {
        assumptions.extend(further_assumptions(&settings));
        asked.cache = rules_of(&settings);
        asked.policies.push((name_of(&options.set.sets), policy_of(&settings)));
    }
    let found = replay_sessions(&reading.sessions, &book, &asked);
    let report = ReplayReport { replay: &found, book: &book, assumptions: &assumptions };
    let text = render(&report, format_of(&options.output));
    files::write_out(options.output.out.as_deref(), &text)?;
    refuse_unpriced(&found.unpriced)
}

/// Drops sessions that do not lie in the days asked for; one that reaches into them is kept whole,
/// since its prompts build on each other.
fn keep_days(options: &ReplayOptions, sessions: &mut Vec<forkcast::transcript::Session>) {
    use forkcast::units::Date;
    let (since, until) = (options.sessions.since, options.sessions.until);
    sessions.retain(|session| {
        let mut days = session
            .agents
            .iter()
            .flat_map(|agent| &agent.requests)
            .map(|request| Date::of(request.start));
        days.any(|day| {
            since.is_none_or(|since| since <= day) && until.is_none_or(|until| day <= until)
        })
    });
}

/// Returns the rules by which the sessions are understood: those asked for, without what the policy
/// changes of lifetimes, keep-alives and caching at all.
fn rules_of(settings: &ReplaySettings) -> forkcast::cache::CachePolicy {
    let mut rules = settings.policy.cache.clone();
    rules.enabled = true;
    rules.keep_alive = KeepAlive::Off;
    rules.ttl = None;
    rules.early_miss_probability = 0.0;
    rules
}

fn policy_of(settings: &ReplaySettings) -> ReplayPolicy {
    ReplayPolicy {
        cache: settings.policy.cache.clone(),
        main_ttl: settings.policy.main_ttl,
        subagent_ttl: settings.policy.subagent_ttl,
        main_model: settings.main_model.clone(),
        subagent_model: settings.subagent_model.clone(),
        compaction: settings.compaction.clone(),
        launch: match settings.launch {
            Some(Launch::Staggered(interval)) => ReplayLaunch::Staggered(interval),
            Some(Launch::HoldFirst(most)) => ReplayLaunch::HoldFirst(most),
            Some(Launch::Together | Launch::Prewarm(_)) | None => ReplayLaunch::AsRecorded,
        },
    }
}

fn name_of(sets: &[(String, String)]) -> String {
    let named: Vec<String> = sets.iter().map(|(key, value)| format!("{key}={value}")).collect();
    named.join(" ")
}

/// What every replay takes for granted.
fn assumptions() -> Vec<String> {
    [
        "Requests are sent when they were, with the prompts and outputs that they had.",
        "What was missed though it lived is missed under every policy: a prompt that had changed \
         has changed.",
        "What was read though nobody in these transcripts wrote it, such as tools and system kept \
         warm by other sessions, is read under every policy where it was read; where a shorter \
         lifetime makes more expire, nothing else keeps it warm.",
        "Entries live as long as their lifetime says: the early misses of one-hour entries \
         (semantics E8) are not drawn.",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// What the policy asked for takes for granted besides.
fn further_assumptions(settings: &ReplaySettings) -> Vec<String> {
    let mut more: Vec<&str> = Vec::new();
    if settings.main_model.is_some() || settings.subagent_model.is_some() {
        more.push(
            "Another model needs the same requests, and counts the same tokens; modifiers such as \
             fast mode are left out.",
        );
    }
    if settings.compaction.window.is_some() || settings.compaction.trigger.is_some() {
        more.push(
            "After an earlier compaction the same work goes on: the first prompt, the summary and \
             what is read again stay, and nothing that was summarized has to be found out again.",
        );
    }
    if settings.launch.is_some() {
        more.push(
            "Subagents that start later end later; whoever waits for them does not. What siblings \
             share is known only where one of them was seen to read it.",
        );
    }
    if settings.policy.cache.keep_alive != KeepAlive::Off {
        more.push("Keep-alives are sent in every pause between two requests of an agent.");
    }
    more.into_iter().map(str::to_owned).collect()
}

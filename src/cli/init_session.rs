//! `forkcast init --from`: a scenario that goes on from where a real session stands.

use std::fmt::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use forkcast::cache::RoleTtl;
use forkcast::report::number::instant;
use forkcast::scenario::{DEFAULT_PRICES, PROFILES, find_profile};
use forkcast::transcript::Standing;
use forkcast::units::{SimDuration, SimTime};

use super::failure::Failure;
use super::{prices, terminal, transcripts};

/// Returns a scenario of the session in a file, as it stands now or at an instant.
pub(super) fn scenario(file: &Path, at: Option<SimTime>) -> Result<String, Failure> {
    let reading = transcripts::read(&[file.to_path_buf()], true)?;
    let mut standing: Vec<Standing> = reading.sessions.iter().filter_map(Standing::of).collect();
    standing.sort_by_key(|one| one.ended);
    let Some(standing) = standing.pop() else {
        let message = format!("`{}` holds no request of a main session", file.display());
        return Err(Failure::hinted(message, "name the .jsonl file of a session"));
    };
    let now = at.unwrap_or_else(now);
    if now < standing.sent {
        let message = format!(
            "the last request was sent at {}, after {}",
            instant(standing.sent),
            instant(now)
        );
        return Err(Failure::hinted(message, "give --at an instant after it"));
    }
    let book = prices::open(DEFAULT_PRICES)?;
    let known = book.model(&standing.model).map(|(id, _)| id.to_owned());
    Ok(text(&standing, now, known.as_deref()))
}

fn now() -> SimTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    SimTime::from_micros(since.as_micros() as i64)
}

fn text(standing: &Standing, now: SimTime, known: Option<&str>) -> String {
    let age = now.since(standing.sent);
    let longest = standing.main_ttl.unwrap_or_default();
    let ttl = longest.head.max(longest.tail);
    let is_warm = now < standing.sent + ttl.duration();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "# Session {},\n# as it stood at {}: fork or fresh from here?\n#\n\
         # Its last request was sent at {} and had a prompt of {} tokens.",
        standing.session,
        instant(now),
        instant(standing.sent),
        standing.context,
    );
    if standing.is_compacted {
        let _ = writeln!(
            text,
            "# The client has compacted the conversation since, so the next prompt is shorter: \
             change `context`."
        );
    }
    let _ = writeln!(
        text,
        "\nformat_version = 1\ntitle = \"From here on: fork or fresh?\"\n{}\nprices = \
         \"{DEFAULT_PRICES}\"\n\n[session]\nmodel = \"{}\"{}\ncontext = {}\nage = \"{}\" # {}\n\
         answer = 300 # output of the parent after receipts, notices and results",
        profile(standing.version.as_deref()),
        terminal::printable(known.unwrap_or(&standing.model)),
        if known.is_some() { "" } else { " # the price book does not know it" },
        standing.context.get(),
        SimDuration::from_seconds(age.as_micros() / 1_000_000),
        if is_warm { "its entries live" } else { "its entries have expired" },
    );
    let roles = [("main", standing.main_ttl), ("subagent", standing.subagent_ttl)];
    let stated: Vec<String> = roles
        .into_iter()
        .filter_map(|(role, ttl)| ttl.map(|ttl| format!("{role} = {}", ttl_text(ttl))))
        .collect();
    if !stated.is_empty() {
        let _ =
            writeln!(text, "\n[cache]\nttl = {{ {} }} # as this session wrote", stated.join(", "));
    }
    text.push_str(include_str!("starters/work.toml"));
    text
}

fn ttl_text(ttl: RoleTtl) -> String {
    if ttl.head == ttl.tail {
        return format!("\"{}\"", ttl.tail.name());
    }
    format!("{{ head = \"{}\", tail = \"{}\" }}", ttl.head.name(), ttl.tail.name())
}

/// Returns the line of the profile: that of the version, else the oldest there is.
fn profile(version: Option<&str>) -> String {
    let asked = version.map(|version| format!("claude-code@{version}"));
    if let Some(name) = asked.filter(|name| find_profile(name).is_some()) {
        return format!("profile = \"{name}\"");
    }
    let oldest = PROFILES.iter().map(|(name, _)| *name).find(|name| name.contains('@'));
    let why = "no profile of the session's version: the oldest";
    format!("profile = \"{}\" # {why}", oldest.unwrap_or("plain"))
}

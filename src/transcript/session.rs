//! Sessions: the files of a transcript put together, each request counted once.

use std::collections::BTreeMap;

use crate::ledger::Role;
use crate::transcript::file::{FileReader, Thread, ThreadKey};
use crate::transcript::layout::FileRole;
use crate::transcript::{ChildLink, CompactionMark, Request};

/// Where the requests of an agent were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// In the file of the session, as its own.
    Session,
    /// In a file of their own.
    File,
    /// In the file of the session, as a sidechain.
    Sidechain,
    /// Only in `agent_progress` records, which other programs leave out.
    Progress,
}

impl Origin {
    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Session => "session",
            Origin::File => "file",
            Origin::Sidechain => "sidechain",
            Origin::Progress => "progress",
        }
    }
}

/// One agent of a session, with the requests that are its own.
#[derive(Clone, Debug)]
pub struct Agent {
    /// `main`, or the id of a subagent.
    pub name: String,
    /// Kind of a subagent, where it is told.
    pub kind: Option<String>,
    /// On whose behalf its requests were made.
    pub role: Role,
    /// Where they were found.
    pub origin: Origin,
    /// Name of the agent that launched it; `None` for `main`.
    pub parent: Option<String>,
    /// Its requests, in the order of the file.
    pub requests: Vec<Request>,
    /// Its compactions.
    pub compactions: Vec<CompactionMark>,
    /// A request of another agent or session with whose history it begins: a fork or a resumed
    /// session.
    pub continues: Option<String>,
    /// Agents that it launched.
    children: Vec<ChildLink>,
}

/// One session.
#[derive(Clone, Debug)]
pub struct Session {
    /// Folder of its project.
    pub project: String,
    /// Its id.
    pub id: String,
    /// Version of the client that wrote its end.
    pub version: Option<String>,
    /// Its agents: `main` first if it has requests, then the others by their starts.
    pub agents: Vec<Agent>,
}

/// Where a request was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// Progress records count last, sidechains after the session's own.
    rank: u8,
    file: usize,
    thread: usize,
    row: usize,
}

/// Puts the files of any number of sessions together, in the order of their paths.
///
/// A request that stands in several files, because a resumed session copied its history, a fork
/// begins with its parent's or progress records repeat a subagent's, is counted once: where it is
/// the session's own, else in the first file. Its largest output counts.
pub fn put_together(mut files: Vec<FileReader>) -> Vec<Session> {
    repair_outputs(&mut files);
    let owners = owners(&files);
    let mut sessions: BTreeMap<(String, String), Session> = BTreeMap::new();
    for (file_index, file) in files.iter_mut().enumerate() {
        let (project, id) = session_of(file);
        let session = sessions.entry((project.clone(), id.clone())).or_insert_with(|| Session {
            project,
            id,
            version: None,
            agents: Vec::new(),
        });
        session.version = file.version.take().or(session.version.take());
        for (thread_index, thread) in file.threads.drain(..).enumerate() {
            let place = |row| Place {
                rank: rank(&thread.key),
                file: file_index,
                thread: thread_index,
                row,
            };
            let is_own: Vec<bool> = (0..thread.requests.len())
                .map(|row| owners[&thread.requests[row].id] == place(row))
                .collect();
            session.agents.push(agent_of(thread, &is_own));
        }
    }
    let mut sessions: Vec<Session> = sessions.into_values().collect();
    sessions.iter_mut().for_each(finish);
    sessions.retain(|session| !session.agents.is_empty());
    sessions
}

fn rank(key: &ThreadKey) -> u8 {
    match key {
        ThreadKey::Main => 0,
        ThreadKey::Agent(_) | ThreadKey::Sidechain(_) => 1,
        ThreadKey::Progress(_) => 2,
    }
}

/// Gives every copy of a request the largest output that one of them states.
fn repair_outputs(files: &mut [FileReader]) {
    let mut largest = BTreeMap::new();
    for request in files.iter().flat_map(|file| &file.threads).flat_map(|thread| &thread.requests) {
        let known = largest.entry(request.id.clone()).or_insert((request.usage.output, false));
        known.0 = known.0.max(request.usage.output);
        known.1 |= request.is_output_final;
    }
    for thread in files.iter_mut().flat_map(|file| &mut file.threads) {
        for request in &mut thread.requests {
            let (output, is_final) = largest[&request.id];
            request.usage.output = output;
            request.is_output_final = is_final;
        }
    }
}

fn owners(files: &[FileReader]) -> BTreeMap<String, Place> {
    let mut owners: BTreeMap<String, Place> = BTreeMap::new();
    for (file, reader) in files.iter().enumerate() {
        for (number, thread) in reader.threads.iter().enumerate() {
            for (row, request) in thread.requests.iter().enumerate() {
                let place = Place { rank: rank(&thread.key), file, thread: number, row };
                let owner = owners.entry(request.id.clone()).or_insert(place);
                *owner = (*owner).min(place);
            }
        }
    }
    owners
}

fn session_of(file: &FileReader) -> (String, String) {
    let project = file.role().project().to_owned();
    match file.role() {
        FileRole::Session { session, .. } | FileRole::Agent { session: Some(session), .. } => {
            (project, session.clone())
        }
        FileRole::Agent { agent, .. } => {
            (project, file.session().map_or_else(|| format!("agent-{agent}"), str::to_owned))
        }
    }
}

/// Makes an agent of the requests of a thread that are its own.
fn agent_of(thread: Thread, is_own: &[bool]) -> Agent {
    let own_before = |row: usize| is_own[..row].iter().filter(|own| **own).count();
    // The history that a resumed session copies holds its compactions too; what comes after one
    // tells whose it is.
    let is_copied = |mark: &CompactionMark| {
        let next = is_own.get(mark.requests_before);
        !next.copied().unwrap_or(mark.requests_before == 0 || is_own[mark.requests_before - 1])
    };
    let compactions = thread
        .compactions
        .iter()
        .filter(|mark| !is_copied(mark))
        .map(|mark| CompactionMark { requests_before: own_before(mark.requests_before), ..*mark })
        .collect();
    let copied = is_own.iter().take_while(|own| !**own).count();
    let continues = copied.checked_sub(1).map(|row| thread.requests[row].id.clone());
    let (name, origin) = match thread.key {
        ThreadKey::Main => ("main".to_owned(), Origin::Session),
        ThreadKey::Agent(id) => (id, Origin::File),
        ThreadKey::Progress(id) => (id, Origin::Progress),
        ThreadKey::Sidechain(id) => (id, Origin::Sidechain),
    };
    let role = match origin {
        Origin::Session => Role::Main,
        _ if FileRole::is_summary(&name) => Role::Compaction,
        _ => Role::Subagent,
    };
    let own = thread.requests.into_iter().zip(is_own).filter(|(_, own)| **own);
    Agent {
        name,
        kind: thread.kind,
        role,
        origin,
        parent: None,
        requests: own.map(|(request, _)| request).collect(),
        compactions,
        continues,
        children: thread.children,
    }
}

/// Finds the parents and kinds of the agents, and drops those without requests.
fn finish(session: &mut Session) {
    let mut links: BTreeMap<String, (String, Option<String>)> = BTreeMap::new();
    for agent in &session.agents {
        for ChildLink { agent: child, kind } in &agent.children {
            let link = links.entry(child.clone()).or_insert((agent.name.clone(), None));
            if link.1.is_none() {
                link.1.clone_from(kind);
            }
        }
    }
    for agent in session.agents.iter_mut().filter(|agent| agent.role != Role::Main) {
        let (parent, kind) = links.remove(&agent.name).unwrap_or(("main".to_owned(), None));
        agent.parent = Some(parent);
        agent.kind = kind.or(agent.kind.take());
    }
    session.agents.retain(|agent| !agent.requests.is_empty());
    session.agents.sort_by(|a, b| {
        let key = |agent: &Agent| (agent.role != Role::Main, agent.requests[0].start);
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
}

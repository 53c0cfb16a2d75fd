//! What the path of a file says: project, session, agent.
//!
//! Three layouts are known. Subagents stand inside the session's file (up to client 1.0), beside
//! it as `agent-ID.jsonl` (2.0.28 to 2.1.1), or in the session's folder under `subagents/` (from
//! 2.1.2), those of workflows one folder deeper.

/// Where a file stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileRole {
    /// The file of a session.
    Session {
        /// Its project, as its folder is named.
        project: String,
        /// Its id.
        session: String,
    },
    /// The file of a subagent.
    Agent {
        /// Its project, as the folder is named.
        project: String,
        /// Session of the parent, where the path tells it.
        session: Option<String>,
        /// Its id.
        agent: String,
    },
}

/// Stem of files that hold the summary request of a compaction.
const SUMMARY: &str = "acompact-";

impl FileRole {
    /// Returns what the parts of a path say, folders first; `None` for a file that is none of a
    /// transcript.
    ///
    /// # Example
    /// ```
    /// use forkcast::transcript::FileRole;
    ///
    /// let role = FileRole::of(&["work", "5d73bc6c", "subagents", "agent-683e.jsonl"]);
    /// let Some(FileRole::Agent { session, agent, .. }) = role else { panic!("an agent") };
    /// assert_eq!((session.as_deref(), agent.as_str()), (Some("5d73bc6c"), "683e"));
    /// assert_eq!(FileRole::of(&["work", "5d73bc6c", "journal.jsonl"]), None);
    /// ```
    pub fn of(parts: &[&str]) -> Option<FileRole> {
        let (name, folders) = parts.split_last()?;
        let stem = name.strip_suffix(".jsonl")?;
        let above = |from_end: usize| {
            folders.len().checked_sub(from_end).map_or("", |index| folders[index]).to_owned()
        };
        let subagents = folders.iter().rposition(|folder| *folder == "subagents");
        match (stem.strip_prefix("agent-"), subagents) {
            (Some(agent), Some(at)) => Some(FileRole::Agent {
                project: at.checked_sub(2).map_or("", |index| folders[index]).to_owned(),
                session: at.checked_sub(1).map(|index| folders[index].to_owned()),
                agent: agent.to_owned(),
            }),
            (Some(agent), None) => {
                Some(FileRole::Agent { project: above(1), session: None, agent: agent.to_owned() })
            }
            (None, Some(_)) => None,
            (None, None) if stem == "journal" => None,
            (None, None) => Some(FileRole::Session { project: above(1), session: stem.to_owned() }),
        }
    }

    /// Returns the name of the project's folder.
    pub fn project(&self) -> &str {
        match self {
            FileRole::Session { project, .. } | FileRole::Agent { project, .. } => project,
        }
    }

    /// Returns whether an agent of this id sends the summary request of a compaction.
    pub(super) fn is_summary(agent: &str) -> bool {
        agent.starts_with(SUMMARY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_is_told_apart() {
        let agent = |session: Option<&str>, agent: &str| {
            let session = session.map(str::to_owned);
            Some(FileRole::Agent { project: "p".to_owned(), session, agent: agent.to_owned() })
        };
        let session = FileRole::Session { project: "p".to_owned(), session: "s".to_owned() };
        let cases = [
            ("projects/p/s.jsonl", Some(session)),
            ("projects/p/agent-1a2b.jsonl", agent(None, "1a2b")),
            ("projects/p/s/subagents/agent-1a2b.jsonl", agent(Some("s"), "1a2b")),
            ("p/s/subagents/workflows/w/agent-1a2b.jsonl", agent(Some("s"), "1a2b")),
            ("p/s/subagents/agent-acompact-1.jsonl", agent(Some("s"), "acompact-1")),
            ("p/s/subagents/workflows/w/journal.jsonl", None),
            ("p/s/subagents/agent-1a2b.meta.json", None),
        ];
        for (path, role) in cases {
            let parts: Vec<&str> = path.split('/').collect();
            assert_eq!(FileRole::of(&parts), role, "{path}");
        }
        assert!(FileRole::is_summary("acompact-1"));
    }
}

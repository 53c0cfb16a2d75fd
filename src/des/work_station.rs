//! A station of equal servers at which jobs of known work queue or share (semantics L4).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::units::{SimDuration, SimTime};

/// Fractions of a microsecond of work, so that shares of a server add up.
const FRACTION: u128 = 1 << 32;

/// How jobs above the number of servers are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// First come, first served: they wait.
    Queue,
    /// All progress, each with an equal share, at most one server.
    Sharing,
}

/// Servers and the jobs at them. Each job has a number that its owner knows it by.
#[derive(Clone, Debug)]
pub struct WorkStation {
    servers: u64,
    discipline: Discipline,
    /// Jobs in service by the moment of their end: of the clock (queue) or of attained work
    /// (sharing), then by arrival.
    running: BinaryHeap<Reverse<(u128, u64, usize)>>,
    waiting: VecDeque<(SimDuration, u64, usize)>,
    /// Work that each sharing job has attained since the start, in fractions.
    attained: u128,
    updated: SimTime,
    arrivals: u64,
}

impl WorkStation {
    /// Returns an idle station.
    pub fn new(servers: u32, discipline: Discipline) -> WorkStation {
        WorkStation {
            servers: servers.into(),
            discipline,
            running: BinaryHeap::new(),
            waiting: VecDeque::new(),
            attained: 0,
            updated: SimTime::ZERO,
            arrivals: 0,
        }
    }

    /// Makes it idle again and keeps its memory.
    pub fn clear(&mut self) {
        self.running.clear();
        self.waiting.clear();
        self.attained = 0;
        self.updated = SimTime::ZERO;
        self.arrivals = 0;
    }

    /// Takes a job in.
    pub fn arrive(&mut self, job: usize, work: SimDuration, now: SimTime) {
        self.advance(now);
        let arrival = self.arrivals;
        self.arrivals += 1;
        let micros = work.as_micros() as u128;
        match self.discipline {
            Discipline::Sharing => {
                let end = self.attained + micros * FRACTION;
                self.running.push(Reverse((end, arrival, job)));
            }
            Discipline::Queue if (self.running.len() as u64) < self.servers => {
                let end = now.as_micros() as u128 + micros;
                self.running.push(Reverse((end, arrival, job)));
            }
            Discipline::Queue => self.waiting.push_back((work, arrival, job)),
        }
    }

    /// Returns when the next job ends if no other arrives.
    pub fn next_end(&self) -> Option<SimTime> {
        let Reverse((end, ..)) = self.running.peek()?;
        if self.discipline == Discipline::Queue {
            return Some(SimTime::from_micros(*end as i64));
        }
        let jobs = self.running.len() as u128;
        let servers = u128::from(self.servers).min(jobs);
        let left = end.saturating_sub(self.attained) * jobs;
        let micros = left.div_ceil(servers * FRACTION);
        Some(self.updated + SimDuration::from_micros(micros as i64))
    }

    /// Takes out a job that has ended by `now`.
    pub fn depart(&mut self, now: SimTime) -> Option<usize> {
        if self.next_end()? > now {
            return None;
        }
        self.advance(now);
        let Reverse((end, _, job)) = self.running.pop()?;
        self.attained = match self.discipline {
            Discipline::Sharing if self.attained < end => end,
            _ => self.attained,
        };
        if let Some((work, arrival, next)) = self.waiting.pop_front() {
            let end = now.as_micros() as u128 + work.as_micros() as u128;
            self.running.push(Reverse((end, arrival, next)));
        }
        Some(job)
    }

    fn advance(&mut self, now: SimTime) {
        let elapsed = now.since(self.updated).as_micros() as u128;
        let jobs = self.running.len() as u128;
        if self.discipline == Discipline::Sharing && jobs > 0 {
            let servers = u128::from(self.servers).min(jobs);
            self.attained += elapsed * FRACTION * servers / jobs;
        }
        self.updated = self.updated.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs jobs of (arrival, work) in seconds and returns when each ends, in seconds.
    fn ends(discipline: Discipline, servers: u32, jobs: &[(i64, i64)]) -> Vec<f64> {
        let mut station = WorkStation::new(servers, discipline);
        let mut ends = vec![0.0; jobs.len()];
        let mut next = 0;
        loop {
            let arrival = jobs.get(next).map(|job| SimTime::from_micros(job.0 * 1_000_000));
            let end = station.next_end();
            match (arrival, end) {
                (None, None) => return ends,
                (Some(arrival), end) if end.is_none_or(|end| arrival < end) => {
                    station.arrive(next, SimDuration::from_seconds(jobs[next].1), arrival);
                    next += 1;
                }
                (_, Some(end)) => {
                    let job = station.depart(end).expect("a job ends");
                    ends[job] = end.as_seconds();
                }
                (Some(_), None) => unreachable!("an arrival comes before nothing"),
            }
        }
    }

    #[test]
    fn a_queue_serves_in_order_of_arrival() {
        let jobs = [(0, 7), (0, 3), (0, 9), (0, 2), (0, 5)];
        assert_eq!(ends(Discipline::Queue, 3, &jobs), [7.0, 3.0, 9.0, 5.0, 10.0]);
    }

    #[test]
    fn sharing_gives_everybody_an_equal_part() {
        // Two servers, three jobs of 4 s: each progresses at 2/3, all end at 6 s.
        assert_eq!(ends(Discipline::Sharing, 2, &[(0, 4), (0, 4), (0, 4)]), [6.0, 6.0, 6.0]);
        // One server: 2 s alone, then two share, 1 left of the first after 2 s: 2 + 2 = 4.
        assert_eq!(ends(Discipline::Sharing, 1, &[(0, 3), (2, 4)]), [4.0, 7.0]);
        // No more jobs than servers: nobody is slowed down.
        assert_eq!(ends(Discipline::Sharing, 4, &[(0, 3), (1, 4)]), [3.0, 5.0]);
    }
}

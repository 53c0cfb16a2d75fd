//! Many points of a design, in parallel, delivered in their order.
//!
//! A [`Points`] says which level each factor has at point `i`, a function of the design, the seed
//! and `i` alone. [`in_order`] works on points in a thread pool and hands over their results one
//! by one in order, a bounded number of them ahead. All points use the same seed and the same
//! replication numbers, so they are compared on common random numbers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rayon::ThreadPool;

use crate::des::StreamKey;

/// Points that may be ahead of the one that is delivered next, for each thread.
const AHEAD: usize = 8;

/// The points of a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Points {
    /// Number of levels of each factor.
    levels: Vec<usize>,
    count: usize,
    /// Of a Latin hypercube: by factor and point, which stratum the point lies in.
    strata: Option<Vec<Vec<u32>>>,
}

impl Points {
    /// Returns the full grid of factors with these numbers of levels; the last one varies fastest.
    pub fn grid(levels: &[usize]) -> Points {
        Points { levels: levels.to_vec(), count: levels.iter().product(), strata: None }
    }

    /// Returns a Latin hypercube: each factor's levels are cut into `count` strata of equal length,
    /// and each stratum of each factor has one point (`McKay` et al. 1979).
    ///
    /// With as many points as levels, each level occurs once; with `k` times as many, `k` times.
    pub fn latin_hypercube(levels: &[usize], count: usize, seed: u64) -> Points {
        // No replication has the number 0, so its streams are free.
        let shuffled = |factor: usize| {
            let stream = StreamKey::new(seed, 0, factor as u64, 0).stream();
            let mut order: Vec<u32> = (0..count as u32).collect();
            for last in (1..count).rev() {
                let product = u128::from(stream.at(last as u64)) * (last as u128 + 1);
                order.swap(last, (product >> u64::BITS) as usize);
            }
            order
        };
        let strata = Some((0..levels.len()).map(shuffled).collect());
        Points { levels: levels.to_vec(), count, strata }
    }

    /// Returns the number of points.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the level of each factor at a point, counted from 0.
    pub fn at(&self, point: usize) -> Vec<usize> {
        if let Some(strata) = &self.strata {
            let level = |(levels, strata): (&usize, &Vec<u32>)| {
                (u64::from(strata[point]) * *levels as u64 / self.count as u64) as usize
            };
            return self.levels.iter().zip(strata).map(level).collect();
        }
        let mut rest = point;
        let mut at: Vec<usize> = Vec::with_capacity(self.levels.len());
        for levels in self.levels.iter().rev() {
            at.push(rest % levels);
            rest /= levels;
        }
        at.reverse();
        at
    }
}

/// How far a run has come.
#[derive(Debug)]
struct Window {
    next: usize,
    /// The job that is delivered next.
    due: usize,
    is_stopped: bool,
}

/// What the workers share.
#[derive(Debug)]
struct Jobs {
    window: Mutex<Window>,
    moved: Condvar,
    end: usize,
    ahead: usize,
}

enum Message<T> {
    Done(usize, T),
    /// A worker has ended, by a panic if need be.
    End,
}

/// Calls `work` for each job in the threads of a pool, and `deliver` with each result in order.
///
/// A job may be parallel itself. Must be called from outside of the pool.
///
/// # Errors
/// The first error of `deliver`; the jobs that have begun are then finished, and no others begin.
pub fn in_order<T: Send, E>(
    pool: &ThreadPool,
    jobs: Range<usize>,
    work: &(dyn Fn(usize) -> T + Sync),
    mut deliver: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = pool.current_num_threads();
    let window = Window { next: jobs.start, due: jobs.start, is_stopped: false };
    let (moved, ahead) = (Condvar::new(), AHEAD * threads);
    let jobs = Jobs { window: Mutex::new(window), moved, end: jobs.end, ahead };
    let (sender, receiver) = channel();
    pool.in_place_scope(|scope| {
        let jobs = &jobs;
        scope.spawn_broadcast(move |_, _| {
            let worker = Worker { jobs, sender: sender.clone() };
            while let Some(job) = jobs.take() {
                // Nobody listens any more only after an error, which has been told.
                let _ = worker.sender.send(Message::Done(job, work(job)));
            }
        });
        let mut waiting = BTreeMap::new();
        let (mut running, mut due) = (threads, jobs.lock().due);
        while running > 0 {
            match receiver.recv() {
                Ok(Message::Done(job, result)) => waiting.insert(job, result),
                Ok(Message::End) | Err(_) => {
                    running -= 1;
                    continue;
                }
            };
            while let Some(result) = waiting.remove(&due) {
                if let Err(error) = deliver(due, result) {
                    jobs.stop();
                    return Err(error);
                }
                due += 1;
                jobs.lock().due = due;
                jobs.moved.notify_all();
            }
        }
        Ok(())
    })
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next job, as soon as it is not too far ahead.
    fn take(&self) -> Option<usize> {
        let mut window = self.lock();
        while !window.is_stopped && window.next < self.end {
            if window.next < window.due + self.ahead {
                window.next += 1;
                return Some(window.next - 1);
            }
            window = self.moved.wait(window).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn stop(&self) {
        self.lock().is_stopped = true;
        self.moved.notify_all();
    }
}

/// Tells of its end, also when its job panics; then the others must not wait for it.
struct Worker<'a, T> {
    jobs: &'a Jobs,
    sender: Sender<Message<T>>,
}

impl<T> Drop for Worker<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.jobs.stop();
        }
        let _ = self.sender.send(Message::End);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(threads: usize) -> ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    #[test]
    fn a_grid_has_every_combination_once() {
        let points = Points::grid(&[2, 3]);
        let all: Vec<_> = (0..points.count()).map(|point| points.at(point)).collect();
        assert_eq!(all, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        assert_eq!((Points::grid(&[]).count(), Points::grid(&[]).at(0)), (1, vec![]));
    }

    #[test]
    fn a_latin_hypercube_covers_each_stratum_once() {
        let points = Points::latin_hypercube(&[40, 20, 3], 40, 7);
        for (factor, times) in [(0, 1..2), (1, 2..3), (2, 13..15)] {
            let mut counts = BTreeMap::new();
            for point in 0..40 {
                *counts.entry(points.at(point)[factor]).or_insert(0) += 1;
            }
            assert!(counts.values().all(|count| times.contains(count)), "{factor}: {counts:?}");
        }
        assert_eq!(points, Points::latin_hypercube(&[40, 20, 3], 40, 7));
        assert_ne!(points, Points::latin_hypercube(&[40, 20, 3], 40, 8));
    }

    #[test]
    fn results_come_in_order_and_an_error_ends_the_run() {
        for threads in [1, 3] {
            let mut seen = Vec::new();
            let work = |job: usize| rayon::join(|| job, || job).0 * 2;
            let all = in_order(&pool(threads), 5..500, &work, |job, result| {
                seen.push((job, result));
                Ok::<(), ()>(())
            });
            assert_eq!(all, Ok(()));
            assert_eq!(seen, (5..500).map(|job| (job, job * 2)).collect::<Vec<_>>());
            let stop = |job, _| if job == 100 { Err(job) } else { Ok(()) };
            assert_eq!(in_order(&pool(threads), 0..10_000, &work, stop), Err(100));
        }
    }

    #[test]
    #[should_panic(expected = "at 7")]
    fn a_panic_of_a_job_is_passed_on() {
        let work = |job: usize| assert!(job != 7, "at {job}");
        let _ = in_order(&pool(2), 0..1_000, &work, |_, ()| Ok::<(), ()>(()));
    }
}

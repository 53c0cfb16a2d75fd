//! Rate limits, retries and contention of tool work against closed forms.
//!
//! Expected values: validation 2.2 (closed loops) and 2.3 (token buckets); C18 for the client's
//! schedule of retries. Exact where nothing is random, else |z| < 4 at fixed seeds.

use forkcast::orchestration::System;
use forkcast::units::SimTime;

use crate::support::{run, scenario};

/// Children that all start at once and process `tokens` each, in the foreground of a small parent.
fn burst(children: u32, tokens: &str, provider: &str) -> System {
    let text = format!(
        "[session]\ncontext = 1\n[fanout]\ntasks = {children}\nbackground = false\n\
         [task]\nprompt = \"{tokens}\"\n[latency]\nfirst_token = 0\n[provider]\n{provider}\n"
    );
    run(&text, &[])
}

#[test]
fn a_burst_waits_as_the_bucket_says() {
    // Sum and last of the waits in seconds (validation 2.3); with a limit of requests the parent's
    // own turn afterwards waits 1.2 s for the next one.
    let cases = [
        (80, "1", "requests_per_minute = 50", 558.0 + 1.2, 36.0),
        (20, "50k", "input_tokens_per_minute = \"400k\"", 585.0, 90.0),
        (10, "90k", "input_tokens_per_minute = \"200k\"", 924.0, 210.0),
        (20, "5k", "input_tokens_per_minute = \"400k\"", 0.0, 0.0),
        (
            30,
            "20k",
            "requests_per_minute = 50\nrequests_burst = 10\ninput_tokens_per_minute = \"100k\"",
            3_900.0,
            300.0,
        ),
    ];
    for (children, tokens, provider, sum, last) in cases {
        let system = burst(children, tokens, provider);
        let record = system.record();
        assert!((record.wait.as_seconds() - sum).abs() < 1e-3, "{provider}: {}", record.wait);
        // The parent's own turn comes after the last child.
        let span = record.makespan.as_seconds();
        assert!(span >= last - 1e-3 && span < last + 15.0, "{provider}: {span}");
    }
}

#[test]
fn reads_do_not_count_as_input() {
    let text = "[session]\ncontext = \"400k\"\n[fanout]\nagent = \"fork\"\ntasks = 20\n\
                background = false\n[fork]\ntail_tokens = 5000\n[latency]\nfirst_token = 0\n\
                [provider]\ninput_tokens_per_minute = \"400k\"\n";
    assert_eq!(run(text, &[]).record().rate_limited, 0);
}

fn assert_mean(observations: &[f64], expected: f64, what: &str) {
    let count = observations.len() as f64;
    let mean = observations.iter().sum::<f64>() / count;
    let variance = observations.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let z = (mean - expected) / (variance / count).sqrt();
    assert!(z.abs() < 4.0, "{what}: mean {mean}, expected {expected}, z = {z:.2}");
}

/// Failures with probability p up to m attempts: (1 - p^m) / (1 - p) attempts on average, p^m give
/// up; waits of 0.5 s x 2^(n-1) x 1.125 on average after each failed attempt but the last.
#[test]
fn overloads_are_retried_on_the_clients_schedule() {
    let text = "[fanout]\nagent = \"inline\"\n[task]\noutput = 1\n[provider]\n\
                overload_probability = 0.3\ntries = 5\n";
    let mut system = System::new(scenario(text, &[]).base.plan, 5);
    let (mut failed, mut given_up, mut waits) = (Vec::new(), Vec::new(), Vec::new());
    for replication in 1..=200_000 {
        system.run(replication);
        let record = system.record();
        failed.push(record.overloaded as f64);
        given_up.push(f64::from(u8::from(record.overloaded == 5)));
        waits.push(record.wait.as_seconds());
    }
    assert_mean(&failed, 1.4251 - 1.0 + 0.002_43, "failed attempts");
    assert_mean(&given_up, 0.002_43, "given up");
    let expected = 0.5 * 1.125 * (0.3 + 2.0 * 0.09 + 4.0 * 0.027 + 8.0 * 0.0081);
    assert_mean(&waits, expected, "back-off");
}

#[test]
fn an_agent_that_gives_up_keeps_what_it_has_spent() {
    let text = "[session]\ncontext = 1\n[fanout]\ntasks = 2\nbackground = false\n[task]\n\
                prompt = \"300k\"\niterations = 2\noutput = 100\n[latency]\nfirst_token = 0\n\
                [provider]\ninput_tokens_per_minute = \"300k\"\ntries = 1\n";
    let system = run(text, &[]);
    let launches = system.record().launches;
    assert_eq!((launches.started, launches.failed), (2, 1));
    let costs: Vec<f64> = system.agent_bills().map(|bill| bill.cost.as_usd()).collect();
    assert!(costs[1] > 0.0 && costs[2].abs() < 1e-12, "{costs:?}");
}

/// Waiting for the limit runs the clock of the entries: what it lets lapse has its own cause.
#[test]
fn entries_that_lapse_in_a_rate_limit_are_blamed_on_it() {
    use forkcast::cache::Cause;
    // 60,000 tokens more at 10,000 a minute take six minutes; entries live five.
    let text = "[session]\ncontext = 1\n[fanout]\nbackground = false\n[task]\nprompt = \"60k\"\n\
                iterations = 2\ntool_result = \"60k\"\ntool_time = 1\n[provider]\n\
                input_tokens_per_minute = \"10k\"\ninput_tokens_burst = \"60k\"\n";
    let system = run(text, &[]);
    let cost = |cause: Cause| system.bill().causes[cause as usize].as_usd();
    assert!((cost(Cause::ExpiredWhileLimited) - 60_000.0 * 6.25e-6).abs() < 1e-12);
    assert!(cost(Cause::Expired).abs() < 1e-12);
    // The second request and the parent's turn after it.
    assert_eq!(system.record().rate_limited, 2);
}

/// Eight agents that think 10 s and need 4 s of one core: each comes round every 32 s (2.2).
#[test]
fn a_closed_loop_without_randomness_is_exact() {
    let text = "[session]\ncontext = 1\n[fanout]\ntasks = 8\nbackground = false\n[task]\n\
                iterations = 41\ntool_time = 4\n[latency]\nfirst_token = 10\n[machine]\n\
                cores = 1\ncontention = \"queue\"\n";
    let log = System::new(scenario(text, &[]).base.plan, 1).run_logged(1);
    let starts: Vec<SimTime> = log
        .requests
        .iter()
        .filter(|request| request.agent == 3 && !request.is_paid)
        .map(|request| request.start)
        .collect();
    for pair in starts[5..35].windows(2) {
        assert!((pair[1].since(pair[0]).as_seconds() - 32.0).abs() < 1e-6);
    }
}

/// Machine repair: n agents, exponential thinking Z and tools S, c cores. The mean time at the
/// station is R = N / X - Z; observed on visits that begin while all agents are busy, far from the
/// start. One observation is the mean of a replication.
#[test]
fn closed_loops_spend_the_time_at_the_station_that_theory_says() {
    let cases = [
        (8, 10, 4, 1, 22.099_830),
        (8, 10, 4, 2, 7.667_207),
        (8, 10, 4, 4, 4.152_145),
        (20, 30, 6, 4, 7.919_360),
    ];
    for (agents, think, tool, cores, expected) in cases {
        // One core shared by all is insensitive to the law; several are observed in the queue.
        let text = format!(
            "[session]\ncontext = 1\n[fanout]\ntasks = {agents}\nbackground = false\n[task]\n\
             iterations = 400\ntool_time = {{ exponential = {{ mean = \"{tool}s\" }} }}\n\
             [latency]\nfirst_token = {{ exponential = {{ mean = \"{think}s\" }} }}\n[machine]\n\
             cores = {cores}\ncontention = \"queue\"\n"
        );
        let mut system = System::new(scenario(&text, &[]).base.plan, 3);
        let window = 1_000.0..2_500.0;
        let means: Vec<f64> = (1..=200)
            .map(|replication| {
                let log = system.run_logged(replication);
                let mut stays = Vec::new();
                for agent in 1..=agents {
                    let of: Vec<_> =
                        log.requests.iter().filter(|request| request.agent == agent).collect();
                    let pairs =
                        of.windows(2).filter(|pair| window.contains(&pair[0].end.as_seconds()));
                    stays.extend(pairs.map(|pair| pair[1].start.since(pair[0].end).as_seconds()));
                }
                stays.iter().sum::<f64>() / stays.len() as f64
            })
            .collect();
        assert_mean(&means, expected, &format!("{agents} agents on {cores} cores"));
    }
}

/// The schedule that was recorded (C18): 429 with retry-after 2, then 1, then three 529s, whose
/// waits are 0.5 s doubled with each failed attempt, the 429s counted.
const SCRIPT: &str = "[session]\nprompt = 5000\n[fanout]\nagent = \"inline\"\n[task]\niterations = 2\n\
                      output = 10\ntool_time = \"1s\"\n[latency]\nfirst_token = 0\nspeed = 10\n\
                      [provider]\nbackoff_jitter = 0\nfailures = [\n\
                      { request = 2, status = 429, retry_after = \"2s\" },\n\
                      { request = 2, status = 429, retry_after = \"1s\" },\n\
                      { request = 2 },\n{ request = 2 },\n{ request = 2 },\n]\n";

#[test]
fn scripted_failures_come_one_after_another() {
    let plan = scenario(SCRIPT, &[]).base.plan;
    assert!(!plan.is_random());
    let log = System::new(plan, 1).run_logged(1);
    // The first response ends at 1 s and its tools at 2 s.
    let starts = log.attempts.iter().map(|attempt| (attempt.start.as_micros(), attempt.status));
    let expected =
        [(2, 429), (4, 429), (5, 529), (7, 529), (11, 529)].map(|(at, s)| (at * 1_000_000, s));
    assert_eq!(starts.collect::<Vec<_>>(), expected);
    assert_eq!(log.requests[1].start, SimTime::from_micros(19_000_000));
    let system = run(SCRIPT, &[]);
    assert_eq!((system.record().rate_limited, system.record().overloaded), (2, 3));
    assert!(scenario(SCRIPT, &[("provider.backoff_jitter", "0.25")]).base.plan.is_random());
}

#[test]
fn a_script_lasts_as_long_as_the_client_tries() {
    let system = run(SCRIPT, &[("provider.tries", "5")]);
    assert_eq!(system.record().outcome, forkcast::orchestration::Outcome::RateLimited);
    assert_eq!(system.bill().requests, 1);
    let system = run(SCRIPT, &[("provider.tries", "6")]);
    assert_eq!(system.bill().requests, 2);
}

#[test]
fn a_script_that_no_client_could_follow_is_refused() {
    let cases = [
        ("{ agent = \"b1\" }", "`b1` is no agent"),
        ("{ agent = \"a0\" }", "`a0` is no agent"),
        ("{ request = 0 }", "counted from 1"),
        ("{ status = 500 }", "status 500; expected 429 or 529"),
    ];
    for (failure, expected) in cases {
        let text = format!("[provider]\nfailures = [{failure}]\n");
        let Err(problems) = crate::support::try_load(&text, &[]) else {
            panic!("{failure} loads");
        };
        assert!(problems.render(false).contains(expected), "{failure}");
    }
}

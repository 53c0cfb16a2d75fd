//! One replication of a shipped scenario, per simulated request, beside its floor: the same draws
//! and the same moves of the event list without any model.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use forkcast::des::{FutureEventList, StreamKey};
use forkcast::orchestration::System;
use forkcast::scenario::{LoadInput, load};
use forkcast::units::SimTime;
use forkcast::workload::{Distribution, Sampler};

const THIRTEEN: &str = include_str!("../scenarios/thirteen-children.toml");

fn system(text: &str) -> System {
    let input = LoadInput { name: "bench", text, sets: &[], levels: &[] };
    let loaded = load(&input, &mut |name| Err(format!("{name} is not read here")));
    System::new(loaded.expect("a shipped scenario loads").base.plan, 1)
}

fn requests_per_replication(system: &mut System, replications: u64) -> u64 {
    let requests: u64 = (1..=replications)
        .map(|replication| {
            system.run(replication);
            system.bill().requests
        })
        .sum();
    requests / replications
}

/// The draws of one iteration and the two moves of its events, 13 agents at once.
fn floor(list: &mut FutureEventList, sampler: &Sampler, requests: u64) -> u64 {
    list.clear();
    for slot in 0..13 {
        list.schedule(slot, SimTime::from_micros(slot as i64), 0);
    }
    let mut sum = 0;
    for counter in 0..requests {
        for class in 0..2 {
            let Some((now, slot)) = list.pop_next() else { break };
            let mut step = 1;
            for purpose in 0..2 {
                let stream = StreamKey::new(1, counter, slot as u64, purpose).stream();
                step += sampler.sample_duration(stream, counter).as_micros();
            }
            sum += step as u64;
            list.schedule(slot, SimTime::from_micros(now.as_micros() + step), class);
        }
    }
    sum
}

fn replications(criterion: &mut Criterion) {
    let mut thirteen = system(THIRTEEN);
    let requests = requests_per_replication(&mut thirteen, 2_000);
    let mut group = criterion.benchmark_group("thirteen-children");
    group.throughput(Throughput::Elements(requests));
    let mut replication = 0;
    group.bench_function("replication", |bencher| {
        bencher.iter(|| {
            replication = replication % 2_000 + 1;
            thirteen.run(replication);
            black_box(thirteen.bill().total)
        });
    });
    let text = "x = { lognormal = { median = \"2s\", p90 = \"8s\" } }";
    let table: toml::Table = toml::from_str(text).expect("a valid table");
    let distribution: Distribution<forkcast::units::SimDuration> =
        table["x"].clone().try_into().expect("a valid distribution");
    let sampler = distribution.compile();
    let mut list = FutureEventList::new(14);
    group.bench_function("floor", |bencher| {
        bencher.iter(|| black_box(floor(&mut list, &sampler, requests)));
    });
    group.finish();
}

criterion_group!(benches, replications);
criterion_main!(benches);

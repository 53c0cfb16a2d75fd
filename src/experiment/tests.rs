//! Goal: an experiment's results do not depend on how it was run, and add up.
//! Method: a small world of three variants, on pools of 1, 2 and 8 threads and in steps.

use crate::experiment::sample::{CONSTANT, RANDOM, variants};
use crate::experiment::{Experiment, Results, StopRule, VarianceReduction, VariantResults, run};
use crate::orchestration::System;
use crate::stats::Verdict;
use crate::units::Money;

fn results(task: &str, stop: StopRule, threads: usize) -> Results {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| run(&variants(task), 7, stop, &|_| ()).results())
}

fn reduced(stop: StopRule, reduction: VarianceReduction, threads: usize) -> Results {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let experiment = Experiment::new(&variants(RANDOM), 7, stop);
    let mut experiment = experiment.with_reduction(reduction);
    pool.install(|| experiment.run(&|_| ()));
    experiment.results()
}

#[test]
fn results_are_the_same_at_any_thread_count() {
    let stop = StopRule::Count(300);
    let plain = results(RANDOM, stop, 1);
    for reduction in [
        VarianceReduction::None,
        VarianceReduction::Antithetic,
        VarianceReduction::Control,
        VarianceReduction::Both,
    ] {
        let one = reduced(stop, reduction, 1);
        assert_eq!((one.replications, one.reduction), (300, reduction));
        for threads in [2, 8] {
            let many = reduced(stop, reduction, threads);
            assert_eq!(format!("{one:?}"), format!("{many:?}"), "{reduction:?}, {threads}");
        }
        assert_eq!(one == plain, reduction == VarianceReduction::None);
    }
}

/// The sample is the same with and without controls, so are its breakdowns, which sum to its mean;
/// antithetic pairs are made of other replications.
#[test]
fn controls_correct_the_mean_and_leave_the_sample_alone() {
    let plain = reduced(StopRule::Count(400), VarianceReduction::None, 2);
    let control = reduced(StopRule::Count(400), VarianceReduction::Control, 2);
    let pairs = reduced(StopRule::Count(400), VarianceReduction::Antithetic, 2);
    for (number, corrected) in control.variants.iter().enumerate() {
        let of = &plain.variants[number];
        let reduced = corrected.reduced.as_ref().unwrap();
        assert_eq!(corrected.sample_mean_usd().to_bits(), of.cost_usd.estimate.mean.to_bits());
        assert_eq!(corrected.cost_by_item_usd, of.cost_by_item_usd);
        assert_eq!(corrected.cost_usd.p95.to_bits(), of.cost_usd.p95.to_bits());
        assert!(corrected.cost_usd.estimate.mean.to_bits() != of.cost_usd.estimate.mean.to_bits());
        assert!(reduced.factor > 5.0, "{}: {reduced:?}", of.name);
        assert_eq!(reduced.replications_saved, reduced.replications_without as i64 - 400);
        // The variance that is compared with is that of the plain interval.
        let half = of.cost_usd.estimate.half_width.unwrap();
        let error = half / crate::stats::student_t(0.95, 399);
        assert!((reduced.variance_without / (error * error * 400.0) - 1.0).abs() < 1e-9);
        let pair = &pairs.variants[number];
        assert_eq!(pair.cost_usd.estimate.count, 200);
        assert!(pair.reduced.as_ref().unwrap().factor > 1.0, "{}", of.name);
    }
}

#[test]
fn precision_takes_fewer_replications_and_whole_pairs() {
    let stop = StopRule::precision(0.02);
    let plain = reduced(stop, VarianceReduction::None, 2);
    let [pairs, control, both] =
        [VarianceReduction::Antithetic, VarianceReduction::Control, VarianceReduction::Both]
            .map(|reduction| reduced(stop, reduction, 2));
    let counts = [&plain, &pairs, &control, &both].map(|results| results.replications);
    assert!(counts[1] < counts[0] && counts[2] < counts[1], "{counts:?}");
    let loose = StopRule::precision(0.5);
    let first = reduced(loose, VarianceReduction::Both, 2).replications;
    assert_eq!(first, 128, "the first look is at 64 pairs");
    for results in [pairs, control, both] {
        assert!(results.variants.iter().all(|of| of.cost_usd.estimate.is_within(0.02)));
    }
    // A rule that ends at an odd count makes the last pair whole.
    let odd = StopRule::Precision { relative: 1e-6, count_min: 8, count_max: 21 };
    assert_eq!(reduced(odd, VarianceReduction::Antithetic, 2).replications, 22);
}

#[test]
fn where_nothing_is_random_there_is_nothing_to_reduce() {
    let experiment = Experiment::new(&variants(CONSTANT), 7, StopRule::Count(64));
    let mut experiment = experiment.with_reduction(VarianceReduction::Both);
    experiment.run(&|_| ());
    assert_eq!(experiment.results(), results(CONSTANT, StopRule::Count(64), 2));
}

#[test]
fn results_are_the_same_in_one_go_and_in_steps() {
    let variants = variants(RANDOM);
    for reduction in [VarianceReduction::None, VarianceReduction::Both] {
        let experiment =
            || Experiment::new(&variants, 7, StopRule::Count(100)).with_reduction(reduction);
        let (mut steps, mut whole) = (experiment(), experiment());
        for count in [1, 17, 64, 100] {
            steps.extend(count, count, &|_| ());
        }
        whole.run(&|_| ());
        assert_eq!(steps.results(), whole.results());
    }
}

#[test]
fn every_breakdown_sums_to_the_bill() {
    for variant in results(RANDOM, StopRule::Count(64), 2).variants {
        let VariantResults { cost_by_item_usd, cost_by_role_usd, cost_by_cause_usd, .. } = &variant;
        let total = variant.cost_usd.estimate.mean;
        let agents: f64 = variant.agents.iter().map(|agent| agent.cost_usd).sum();
        let mut sums = vec![agents];
        for breakdown in [cost_by_item_usd, cost_by_role_usd, cost_by_cause_usd] {
            sums.push(breakdown.iter().map(|(_, usd)| usd).sum());
        }
        for sum in sums {
            assert!((sum / total - 1.0).abs() < 1e-9, "{}: {sum} of {total}", variant.name);
        }
        let requests: f64 = variant.agents.iter().map(|agent| agent.requests).sum();
        assert!((requests / variant.requests - 1.0).abs() < 1e-9);
    }
}

#[test]
fn without_randomness_one_replication_is_certain() {
    for stop in [StopRule::default(), StopRule::Count(500)] {
        let results = results(CONSTANT, stop, 2);
        assert_eq!((results.replications, results.warnings.len()), (1, 0));
        for variant in &results.variants {
            let cost = &variant.cost_usd;
            assert_eq!(
                (cost.estimate.half_width, cost.p5, cost.max),
                (Some(0.0), cost.p95, cost.p50)
            );
        }
        let all_decided = results.differences.iter().all(|pair| pair.verdict != Verdict::Undecided);
        assert!(all_decided, "the sign decides");
    }
}

/// The mean difference is the exact difference of the exact sums, converted once.
#[test]
fn paired_differences_are_exact() {
    const COUNT: u64 = 40;
    let variants = variants(RANDOM);
    let total = |index: usize| -> Money {
        let mut system = System::new(variants[index].1.clone(), 7);
        let mut cost = |replication| {
            system.run(replication);
            system.bill().total
        };
        (1..=COUNT).map(&mut cost).sum()
    };
    let results = run(&variants, 7, StopRule::Count(COUNT), &|_| ()).results();
    let names: Vec<_> = results.differences.iter().map(|d| (d.a.as_str(), d.b.as_str())).collect();
    assert_eq!(names, [("fresh", "fork"), ("fresh", "inline"), ("fork", "inline")]);
    let expected = (total(1) - total(0)).as_usd() / COUNT as f64;
    assert_eq!(results.differences[0].cost_usd.mean.to_bits(), expected.to_bits());
}

#[test]
fn precision_stops_at_a_fixed_count_when_every_mean_is_precise() {
    let stop = StopRule::precision(0.05);
    let results = results(RANDOM, stop, 2);
    assert!(results.replications.is_power_of_two(), "{}", results.replications);
    let precise = |variant: &VariantResults| variant.cost_usd.estimate.is_within(0.05);
    assert!(results.variants.iter().all(precise));
    let hasty = StopRule::Precision { relative: 1e-6, count_min: 8, count_max: 20 };
    let warnings = super::run(&variants(RANDOM), 7, hasty, &|_| ()).results().warnings;
    let codes: Vec<_> = warnings.iter().map(super::Warning::code).collect();
    assert_eq!(
        codes[..4],
        ["too_few_replications", "interval_too_wide", "interval_too_wide", "interval_too_wide"]
    );
}

#[test]
fn progress_reaches_what_was_planned() {
    let last = std::sync::Mutex::new((0, 0));
    let stop = StopRule::Count(100);
    let _ = run(&variants(RANDOM), 7, stop, &|progress| {
        let mut last = last.lock().unwrap();
        *last = (last.0.max(progress.done), progress.planned);
    });
    assert_eq!(*last.lock().unwrap(), (300, 300));
}

//! A replication allocates nothing once its memory has grown: counted by the allocator.

use forkcast::orchestration::System;
use forkcast::scenario::{LoadInput, load};

use crate::support::program::{read, root};

#[test]
fn a_replication_allocates_nothing_in_steady_state() {
    for file in ["thirteen-children.toml", "fork-or-fresh.toml", "siblings-cold-start.toml"] {
        let text = read(root().join("scenarios").join(file));
        let input = LoadInput { name: file, text: &text, sets: &[], levels: &[] };
        let loaded = load(&input, &mut |name| Err(format!("{name} is not read here")))
            .unwrap_or_else(|problems| panic!("{problems}"));
        for variant in loaded.variants {
            let mut system = System::new(variant.plan, 1);
            let mut run = || (1..=300).for_each(|replication| system.run(replication));
            run();
            let counted = allocation_counter::measure(run);
            assert_eq!(counted.count_total, 0, "{file}, {}", variant.name);
        }
    }
}

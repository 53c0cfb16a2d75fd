//! Reading transcripts: bytes a second, on one thread, of a synthetic session shaped like real ones:
//! most bytes are results of tools, which stand twice, most lines are progress and attachments.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use forkcast::pricing::PriceBook;
use forkcast::transcript::{BillOptions, FileReader, FileRole, bill_sessions, put_together};

const PRICES: &str = include_str!("../scenarios/prices/anthropic-2026-11.toml");

/// Bytes of the results of tools, one after the other; their mean is that of tool results in
/// published sessions (about 1,400 tokens).
const RESULT_BYTES: [usize; 8] = [400, 900, 1_300, 2_000, 3_100, 5_000, 9_000, 23_000];

/// Writes a session of so many requests.
fn session(requests: usize) -> String {
    let mut text = String::new();
    let mut context = 30_000;
    for number in 0..requests {
        let time = |half: usize| {
            let second = number * 8 + half * 4;
            format!(
                "2026-11-{:02}T{:02}:{:02}:{:02}.000Z",
                1 + second / 86_400,
                second / 3_600 % 24,
                second / 60 % 60,
                second % 60
            )
        };
        let common = |kind: &str, time: &str| {
            format!(
                "{{\"parentUuid\":\"00000000-0000-0000-0000-{number:012}\",\"isSidechain\":false,\
                 \"userType\":\"external\",\"cwd\":\"/home/someone/project\",\"sessionId\":\"s\",\
                 \"version\":\"2.1.260\",\"gitBranch\":\"main\",\"type\":\"{kind}\",\
                 \"uuid\":\"10000000-0000-0000-0000-{number:012}\",\"timestamp\":\"{time}\""
            )
        };
        let result = "let x = \\\"a line of code\\\";\\n".repeat(RESULT_BYTES[number % 8] / 28);
        for block in ["{\"type\":\"thinking\",\"thinking\":\"", "{\"type\":\"text\",\"text\":\""] {
            let _ = writeln!(
                text,
                "{},\"message\":{{\"id\":\"msg_{number}\",\"type\":\"message\",\
                 \"role\":\"assistant\",\"model\":\"claude-opus-5\",\"content\":[{block}{}\"}}],\
                 \"stop_reason\":\"tool_use\",\"usage\":{{\"input_tokens\":2,\
                 \"cache_creation_input_tokens\":900,\"cache_read_input_tokens\":{context},\
                 \"cache_creation\":{{\"ephemeral_5m_input_tokens\":900,\
                 \"ephemeral_1h_input_tokens\":0}},\"output_tokens\":400,\
                 \"service_tier\":\"standard\"}}}}}}",
                common("assistant", &time(1)),
                "some words ".repeat(60),
            );
        }
        for _ in 0..3 {
            let _ = writeln!(
                text,
                "{},\"data\":{{\"type\":\"bash_progress\",\"output\":\"{}\"}}}}",
                common("progress", &time(1)),
                "building... ".repeat(20),
            );
        }
        let _ = writeln!(
            text,
            "{},\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\
             \"tool_use_id\":\"t\",\"content\":\"{result}\"}}]}},\
             \"toolUseResult\":{{\"stdout\":\"{result}\"}}}}",
            common("user", &time(2)),
        );
        context += 900;
    }
    text
}

fn transcripts(criterion: &mut Criterion) {
    let text = session(2_000);
    let role = FileRole::of(&["project", "session.jsonl"]).expect("a session");
    let read = || {
        let mut reader = FileReader::new(role.clone());
        text.as_bytes().split(|byte| *byte == b'\n').for_each(|line| reader.line(line));
        reader
    };
    let mut group = criterion.benchmark_group("transcripts");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("read", |bencher| bencher.iter(|| black_box(read())));
    let book: PriceBook = toml::from_str(PRICES).expect("a shipped book");
    group.bench_function("read and bill", |bencher| {
        bencher.iter(|| {
            let sessions = put_together(vec![read()]);
            black_box(bill_sessions(&sessions, &book, &BillOptions::default()).total.total)
        });
    });
    group.finish();
}

criterion_group!(benches, transcripts);
criterion_main!(benches);

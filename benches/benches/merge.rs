//! The merge of sorted streams: one stream alone, streams that take turns, streams that hold the same rows.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use skep_benches::fixture::{batches, fragments, memtable, table};
use skep_benches::readings::Readings;
use skep_engine::error::Result;
use skep_engine::model::fragment::Fragment;
use skep_engine::read::merge::Merge;

const ROWS: usize = 50_000;

type Stream = Vec<Result<Fragment>>;

fn streams(c: &mut Criterion) {
    let schema = table();
    let rows: Vec<_> = Readings::new(50, 5).take(ROWS).collect();
    let stream = |rows: &[_]| -> Stream {
        fragments(&memtable(&batches(&schema, rows))).into_iter().map(Ok).collect()
    };
    let whole = stream(&rows);
    let [even, odd] = [0, 1].map(|rest| {
        let part: Vec<_> =
            rows.iter().enumerate().filter(|(i, _)| i / 50 % 2 == rest).map(|(_, row)| *row).collect();
        stream(&part)
    });
    let copy = |streams: &[&Stream]| -> Vec<std::vec::IntoIter<Result<Fragment>>> {
        let copy = |stream: &Stream| -> Stream {
            stream.iter().map(|item| Ok(item.as_ref().expect("no stream fails").clone())).collect()
        };
        streams.iter().map(|stream| copy(stream).into_iter()).collect()
    };
    let mut group = c.benchmark_group("merge");
    group.sample_size(20);
    group.throughput(Throughput::Elements(ROWS as u64));
    for (name, inputs) in
        [("one", vec![&whole]), ("turns", vec![&even, &odd]), ("same rows", vec![&whole, &whole])]
    {
        group.bench_function(name, |b| {
            b.iter_batched(
                || copy(&inputs),
                |inputs| Merge::streams(inputs).count(),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, streams);
criterion_main!(benches);

//! Memtable: taking in batches, reading a partition back, streaming everything out for a flush.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use skep_benches::fixture::{batches, fragments, memtable, model_row, table};
use skep_benches::readings::Readings;
use skep_engine::model::clustering::ClusteringRange;
use skep_engine::model::token::Token;

const ROWS: usize = 100_000;

fn contents(c: &mut Criterion) {
    let schema = table();
    let mut group = c.benchmark_group("memtable");
    group.sample_size(20);
    for (name, late) in [("in order", 0), ("5 % late", 5)] {
        let rows: Vec<_> = Readings::new(200, late).take(ROWS).collect();
        let batches = batches(&schema, &rows);
        group.throughput(Throughput::Elements(ROWS as u64));
        group.bench_function(format!("insert/{name}"), |b| {
            b.iter_batched(|| (), |()| memtable(&batches), BatchSize::PerIteration);
        });
        let full = memtable(&batches);
        group.bench_function(format!("flush/{name}"), |b| b.iter(|| fragments(&full).len()));
        let (key, _) = model_row(&schema, &rows[0]);
        let partition = full.get(Token::of(&key), &key).expect("the partition is there");
        let mut out = Vec::new();
        group.throughput(Throughput::Elements(100));
        group.bench_function(format!("latest 100/{name}"), |b| {
            b.iter(|| {
                out.clear();
                partition
                    .read(&ClusteringRange::all(), false, u64::MAX, 100, &mut out)
                    .expect("the memtable is sound")
            });
        });
        println!("memtable/{name}: {} bytes a row", full.memory_bytes() / ROWS);
    }
    group.finish();
}

criterion_group!(benches, contents);
criterion_main!(benches);

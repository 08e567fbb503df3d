//! Record frames: framing a batch for the commit log, and reading a segment back as replay does.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use skep_engine::record::{Framer, RecordReader};
use std::hint::black_box;

fn frames(c: &mut Criterion) {
    let mut group = c.benchmark_group("record");
    let framer = Framer::new(7);
    for payload_bytes in [50, 5_000] {
        let payload = vec![0x5a; payload_bytes];
        let records = (1 << 20) / payload_bytes;
        let mut segment = Vec::new();
        group.throughput(Throughput::Bytes((records * payload_bytes) as u64));
        group.bench_function(format!("append/{payload_bytes}"), |b| {
            b.iter(|| {
                segment.clear();
                for _ in 0..records {
                    framer.append(&mut segment, black_box(&payload)).expect("within the limit");
                }
            });
        });
        group.bench_function(format!("read/{payload_bytes}"), |b| {
            b.iter(|| {
                let read = RecordReader::new(framer, black_box(&segment), 0).count();
                assert_eq!(read, records);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);

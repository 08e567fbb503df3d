//! A segment of the commit log: its records, the batches in them, and what a crash or damage left.

use crate::failure::Outcome;
use crate::inspect::findings::{Findings, Grid};
use crate::inspect::{Args, Names, words};
use crate::output::{bytes, micros, things};
use serde_json::{Value as Json, json};
use skep::commitlog::segment::{HEADER_BYTES, Header, Mark, framer};
use skep::encoding::mutation::{BatchReader, Op, OpBody};
use skep::encoding::mutation_dump;
use skep::encoding::row::Stamp;
use skep::env::parse_segment;
use skep::model::schema::TableId;
use skep::record::{End, RecordReader};
use std::collections::BTreeMap;
use std::path::Path;

/// Sums over a segment.
#[derive(Default)]
struct Sums {
    records: u64,
    operations: BTreeMap<TableId, u64>,
    first: Option<i64>,
    last: Option<i64>,
}

/// Looks at one segment.
pub(super) fn inspect(args: &Args, path: &Path, names: &Names) -> Outcome<Findings> {
    let file = super::read(path)?;
    let mut findings = Findings::new(format!("{}: segment of the commit log", path.display()));
    findings.fact_as("bytes", file.len(), bytes(file.len() as u64));
    let named = path.file_name().and_then(|name| name.to_str()).and_then(parse_segment);
    let id = match Header::decode(&file) {
        Ok(header) => {
            findings.fact("segment", header.segment);
            findings.fact("first segment of this run", header.run);
            findings.fact("bytes of the segment before", header.previous_bytes);
            header.segment
        }
        Err(error) => {
            findings.damage.push(format!("header: {}", error.message()));
            named.unwrap_or(0)
        }
    };
    let mut sums = Sums::default();
    let mut grid =
        Grid { header: vec!["offset", "bytes", "written", "operations", "tables"], rows: Vec::new() };
    let mut rows = Vec::new();
    let records = file.get(HEADER_BYTES..).unwrap_or_default();
    let mut reader = RecordReader::new(framer(id), records, HEADER_BYTES as u64);
    loop {
        for record in reader.by_ref() {
            if let Ok(Some(mark)) = Mark::decode(record.payload) {
                let text =
                    format!("segments {} to {}, by the mark at {}", mark.run, mark.upto, record.offset);
                findings.fact("synced whole", text);
                continue;
            }
            sums.records += 1;
            match batch(record.payload) {
                Ok((stamp, operations)) => {
                    sums.first = Some(sums.first.map_or(stamp.timestamp, |first| first.min(stamp.timestamp)));
                    sums.last = sums.last.max(Some(stamp.timestamp));
                    operations.iter().for_each(|op| *sums.operations.entry(op.table).or_default() += 1);
                    grid.rows.push(block(record.offset, record.payload.len(), stamp, &operations, names));
                    if args.rows {
                        rows.push(format!(
                            "at {}: {}, written {}",
                            record.offset,
                            things(operations.len() as u64, "operation"),
                            micros(stamp.timestamp)
                        ));
                        rows.extend(operations.iter().map(|op| format!("  {}", operation(op, stamp, names))));
                    }
                }
                Err(error) => {
                    findings.damage.push(format!("the batch at {}: {}", record.offset, error.message()));
                }
            }
        }
        match reader.end() {
            End::Clean { .. } => break,
            End::TornTail { offset, bytes, tail } => {
                findings.fact(
                    "torn tail",
                    format!("{bytes} bytes at {offset}: {tail}; a crash leaves this, replay ends here"),
                );
                break;
            }
            End::Corrupt { offset, resumes: Some(next) } => {
                findings
                    .damage
                    .push(format!("no record in bytes {offset} to {next}, although others follow"));
                reader.seek(next);
            }
            End::Corrupt { offset, resumes: None } => {
                findings.damage.push(format!(
                    "no record from byte {offset} on, and the search for the next was given up"
                ));
                break;
            }
        }
    }
    findings.fact("records", sums.records);
    findings.fact("operations", sums.operations.values().sum::<u64>());
    let by_table = sums.operations.iter().map(|(table, count)| (names.table(*table), json!(count)));
    let by_table: serde_json::Map<_, _> = by_table.collect();
    let text =
        by_table.iter().map(|(table, count)| format!("{table}: {count}")).collect::<Vec<_>>().join(", ");
    findings.fact_as("operations by table", by_table, text);
    if let Some((first, last)) = sums.first.zip(sums.last) {
        findings.fact_as("first written", first, micros(first));
        findings.fact_as("last written", last, micros(last));
    }
    findings.blocks = args.blocks.then_some(grid);
    findings.rows = args.rows.then(|| args.cut(rows, &mut findings.more_rows));
    if args.hex {
        findings.annotations = Some(skep::commitlog::dump::dump(id, &file, mutation_dump::dump));
        findings.bytes = file;
    }
    Ok(findings)
}

fn batch(payload: &[u8]) -> skep::Result<(Stamp, Vec<Op<'_>>)> {
    let reader = BatchReader::new(payload)?;
    Ok((reader.stamp(), reader.collect::<skep::Result<_>>()?))
}

fn block(offset: u64, length: usize, stamp: Stamp, operations: &[Op<'_>], names: &Names) -> Vec<Json> {
    let mut tables: Vec<String> = operations.iter().map(|op| names.table(op.table)).collect();
    tables.dedup();
    vec![
        offset.into(),
        length.into(),
        micros(stamp.timestamp).into(),
        operations.len().into(),
        tables.join(", ").into(),
    ]
}

/// One operation in words.
fn operation(op: &Op<'_>, stamp: Stamp, names: &Names) -> String {
    let schema = names.schema(op.table);
    let key = words::key(&op.key, schema);
    let what = match &op.body {
        OpBody::Partition(deletion) => format!("partition {}", words::deletion(*deletion)),
        OpBody::Range(range) => format!(
            "range from {} to {} {}",
            words::bound(&range.start, schema),
            words::bound(&range.end, schema),
            words::deletion(range.deletion)
        ),
        OpBody::Static(row) | OpBody::Row(row) => match row.decode(stamp) {
            Ok(decoded) if matches!(op.body, OpBody::Static(_)) => {
                format!("static row: {}", words::row(&decoded, schema))
            }
            Ok(decoded) => {
                format!(
                    "{}: {}",
                    words::clustering(&decoded.clustering, schema),
                    words::row(&decoded, schema)
                )
            }
            Err(error) => format!("DAMAGED row: {}", error.message()),
        },
    };
    format!("{} ({key}) {what}", names.table(op.table))
}

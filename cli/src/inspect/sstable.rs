//! An SSTable, alone: its card, its blocks, its rows. `skep inspect table` puts the cards of a table's files together.

use crate::failure::{Failure, Outcome};
use crate::inspect::findings::{Findings, Grid};
use crate::inspect::{Args, words};
use crate::output::{bytes, micros, second, things};
use serde_json::Value as Json;
use skep::TableSchema;
use skep::annotate::Annotation;
use skep::env::{OsEnv, parse_sstable};
use skep::model::life::NEVER;
use skep::sstable::block::decoded::{DecodedBlock, ItemKind};
use skep::sstable::block::rows::Projection;
use skep::sstable::cache::BlockCache;
use skep::sstable::reader::SsTable;
use skep::sstable::statistics::Statistics;
use std::path::Path;
use std::sync::Arc;

/// Looks at one file.
pub(super) fn inspect(args: &Args, path: &Path) -> Outcome<Findings> {
    let mut findings = Findings::new(format!("{}: SSTable", path.display()));
    let file = super::read(path)?;
    findings.fact_as("bytes", file.len(), bytes(file.len() as u64));
    match open(path) {
        Ok((table, statistics)) => {
            let schema = table.stored_schema().map_err(|error| findings.damage.push(error.to_string())).ok();
            card(&statistics, schema.as_ref(), &mut findings);
            match table.verify() {
                Ok(verified) => {
                    let text =
                        format!("all {} bytes of {} blocks are right", verified.bytes, verified.blocks);
                    findings.fact_as("checked", true, text);
                }
                Err(error) => findings.damage.push(error.to_string()),
            }
            walk(args, &table, schema.as_ref(), &mut findings);
            if args.hex {
                findings.annotations =
                    Some(table.dump().unwrap_or_else(|_| damaged_dump(&table, file.len() as u64)));
            }
        }
        Err(error) => {
            findings.damage.push(error.to_string());
            if args.hex {
                let what = format!("DAMAGED: {}", error.message());
                findings.annotations = Some(vec![Annotation::new(0, file.len() as u64, what)]);
            }
        }
    }
    if args.hex {
        findings.bytes = file;
    }
    Ok(findings)
}

fn open(path: &Path) -> skep::Result<(Arc<SsTable>, Statistics)> {
    let table = SsTable::open_alone(Arc::new(OsEnv::new()), path, Arc::new(BlockCache::new(8 << 20)))?;
    let statistics = table.statistics()?;
    Ok((table, statistics))
}

/// The facts of the file's card and statistics.
fn card(statistics: &Statistics, schema: Option<&TableSchema>, findings: &mut Findings) {
    let card = &statistics.card;
    findings.fact("file", card.id.0);
    findings.fact("table", schema.map_or_else(|| format!("number {}", card.table.0), TableSchema::full_name));
    findings.fact("level", card.level);
    findings.fact_as("created", card.created_micros, micros(card.created_micros));
    findings.fact("blocks", statistics.blocks);
    findings.fact("partitions", card.partitions);
    findings.fact("rows", card.rows);
    findings.fact("cells", card.cells);
    let per_row = card.size_bytes as f64 / card.rows.max(1) as f64;
    findings.fact_as("bytes per row", per_row, format!("{per_row:.2}"));
    let kinds = [
        ("cells", statistics.cell_tombstones),
        ("collections", statistics.complex_tombstones),
        ("rows", statistics.row_tombstones),
        ("ranges", statistics.range_tombstones),
        ("partitions", statistics.partition_tombstones),
    ];
    let kinds: Vec<_> =
        kinds.iter().filter(|kind| kind.1 > 0).map(|(name, n)| format!("{n} of {name}")).collect();
    let detail = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    findings.fact_as("tombstones", card.tombstones, format!("{}{detail}", card.tombstones));
    findings.fact("expiring", statistics.expiring);
    findings.fact_as("min timestamp", card.min_timestamp, micros(card.min_timestamp));
    findings.fact_as("max timestamp", card.max_timestamp, micros(card.max_timestamp));
    findings.fact_as("first expiry or deletion", unless_never(card.min_local), second(card.min_local));
    findings.fact_as("all expired or deleted", unless_never(card.max_local), second(card.max_local));
    findings.fact("first partition", words::key(&card.first.key, schema));
    findings.fact("last partition", words::key(&card.last.key, schema));
    findings.fact("tokens", format!("{} to {}", card.first.token.0, card.last.token.0));
    if let Some(range) = &card.clustering {
        let text = format!("{} to {}", words::bound(&range.start, schema), words::bound(&range.end, schema));
        findings.fact("rows from", text);
    }
    let sizes = statistics.partition_bytes.bins().map(|(size, n)| format!("{n} of up to {}", bytes(size)));
    findings.fact("partition sizes", sizes.collect::<Vec<_>>().join(", "));
    let ancestors: Vec<u64> = card.ancestors.iter().map(|id| id.0).collect();
    if !ancestors.is_empty() {
        let text = ancestors.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        findings.fact_as("compacted from", ancestors, text);
    }
}

fn unless_never(second: i64) -> Json {
    if second == NEVER { Json::Null } else { second.into() }
}

/// Blocks and rows, as far as they were asked for and can be read.
fn walk(args: &Args, table: &Arc<SsTable>, schema: Option<&TableSchema>, findings: &mut Findings) {
    if !args.blocks && !args.rows {
        return;
    }
    let header = vec![
        "block",
        "offset",
        "bytes",
        "partitions",
        "rows",
        "first partition",
        "first row",
        "written from",
        "to",
        "state",
    ];
    let mut grid = Grid { header, rows: Vec::new() };
    let mut rows = Vec::new();
    let blocks = match table.blocks() {
        Ok(blocks) => blocks,
        Err(error) => return findings.damage.push(error.to_string()),
    };
    for (number, entry) in blocks.enumerate() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                findings.damage.push(error.to_string());
                break;
            }
        };
        let block = table.read_block(&entry);
        let state =
            block.as_ref().map_or_else(|error| format!("DAMAGED: {}", error.message()), |_| "ok".to_owned());
        grid.rows.push(vec![
            number.into(),
            entry.offset.into(),
            entry.length.into(),
            entry.summary.partitions.into(),
            entry.summary.rows.into(),
            words::key(&entry.first.key, schema).into(),
            words::bound(&entry.summary.first, schema).into(),
            micros(entry.zone().min_timestamp).into(),
            micros(entry.zone().max_timestamp).into(),
            state.into(),
        ]);
        if !args.rows || rows.len() > args.limit {
            continue;
        }
        match block.and_then(|block| block_rows(&block, schema, &mut rows)) {
            Ok(()) => {}
            Err(error) => {
                rows.push(format!("DAMAGED block {number} at {}: {}", entry.offset, error.message()))
            }
        }
    }
    findings.blocks = args.blocks.then_some(grid);
    findings.rows = args.rows.then(|| args.cut(rows, &mut findings.more_rows));
}

/// The rows of a block, a line each, under the lines of their partitions.
fn block_rows(
    block: &DecodedBlock,
    schema: Option<&TableSchema>,
    rows: &mut Vec<String>,
) -> skep::Result<()> {
    let projection = Projection::all(block.schema());
    for p in 0..block.partitions() {
        let partition = block.partition(p);
        let deleted = partition.deletion.map(|d| format!(", {}", words::deletion(d))).unwrap_or_default();
        let goes_on = if partition.continued { " goes on" } else { "" };
        rows.push(format!("partition {}{goes_on}{deleted}", words::key(partition.key, schema)));
        for i in partition.items {
            rows.push(match block.kind(i) {
                ItemKind::Static => {
                    format!("  static row: {}", words::row(&block.to_row(i, &projection)?, schema))
                }
                ItemKind::Row => {
                    let row = block.to_row(i, &projection)?;
                    format!("  {}: {}", words::clustering(&row.clustering, schema), words::row(&row, schema))
                }
                ItemKind::Bound => {
                    let bound = block.bound(i)?;
                    let from_here =
                        bound.deletion.map_or_else(|| "nothing deleted".to_owned(), words::deletion);
                    format!("  {}: from here {from_here}", words::bound(&bound.at, schema))
                }
            });
        }
    }
    Ok(())
}

/// The bytes of a file in which something is damaged, block by block.
fn damaged_dump(table: &Arc<SsTable>, size: u64) -> Vec<Annotation> {
    let mut list = Vec::new();
    let mut at = 0;
    let mut stopped = String::new();
    match table.blocks() {
        Ok(blocks) => {
            for entry in blocks {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) => {
                        stopped = format!("DAMAGED index: {}; ", error.message());
                        break;
                    }
                };
                if at == 0 {
                    list.push(Annotation::new(0, entry.offset, "header"));
                }
                let what = match table.read_block(&entry) {
                    Ok(block) => format!("block: {} rows", block.rows()),
                    Err(error) => format!("DAMAGED block: {}", error.message()),
                };
                list.push(Annotation::new(entry.offset, entry.length.into(), what));
                at = entry.offset + u64::from(entry.length);
            }
        }
        Err(error) => stopped = format!("DAMAGED index: {}; ", error.message()),
    }
    let rest = format!("{stopped}the rest: index, filter, statistics, schema, footer");
    list.push(Annotation::new(at, size.saturating_sub(at), rest));
    list
}

/// Looks at all files of a table's directory.
pub(super) fn table(args: &Args, dir: &Path) -> Outcome<Vec<Findings>> {
    let entries = std::fs::read_dir(dir).map_err(|error| Failure::io("read it", dir, &error))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| parse_sstable(name).is_some());
    names.sort();
    let header = vec![
        "file",
        "level",
        "bytes",
        "partitions",
        "rows",
        "cells",
        "tombstones",
        "written from",
        "to",
        "expires",
        "compacted from",
        "state",
    ];
    let mut findings = Findings::new(format!("{}: {}", dir.display(), things(names.len() as u64, "SSTable")));
    let mut grid = Grid { header, rows: Vec::new() };
    let (mut total, mut rows) = (0, 0);
    for name in &names {
        let path = dir.join(name);
        match open(&path) {
            Ok((_, statistics)) => {
                let card = statistics.card;
                total += card.size_bytes;
                rows += card.rows;
                grid.rows.push(vec![
                    name.clone().into(),
                    card.level.into(),
                    card.size_bytes.into(),
                    card.partitions.into(),
                    card.rows.into(),
                    card.cells.into(),
                    card.tombstones.into(),
                    micros(card.min_timestamp).into(),
                    micros(card.max_timestamp).into(),
                    second(card.max_local).into(),
                    card.ancestors.len().into(),
                    "ok".into(),
                ]);
            }
            Err(error) => {
                findings.damage.push(error.to_string());
                let mut row = vec![Json::Null; grid.header.len()];
                row[0] = name.clone().into();
                row[grid.header.len() - 1] = "DAMAGED".into();
                grid.rows.push(row);
            }
        }
    }
    findings.fact_as("bytes", total, bytes(total));
    findings.fact("rows", rows);
    findings.blocks = Some(grid);
    let mut all = vec![findings];
    if args.blocks || args.rows || args.hex {
        for name in names {
            all.push(inspect(args, &dir.join(name))?);
        }
    }
    Ok(all)
}

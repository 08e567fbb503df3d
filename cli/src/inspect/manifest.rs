//! A manifest: its edits, and the state of the store that they amount to.

use crate::failure::Outcome;
use crate::inspect::Args;
use crate::inspect::findings::{Findings, Grid};
use crate::output::{bytes, things};
use serde_json::json;
use skep::env::{RootEntry, parse_root};
use skep::manifest::edit::{Edit, decode_edits};
use skep::manifest::load::{HEADER_BYTES, framer, read_header};
use skep::manifest::version::Version;
use skep::record::{End, RecordReader};
use std::path::Path;

/// Looks at one manifest.
pub(super) fn inspect(args: &Args, path: &Path) -> Outcome<Findings> {
    let file = super::read(path)?;
    let mut findings = Findings::new(format!("{}: manifest", path.display()));
    findings.fact_as("bytes", file.len(), bytes(file.len() as u64));
    let named = path.file_name().and_then(|name| name.to_str()).and_then(parse_root);
    let number = match read_header(&file) {
        Ok(number) => number,
        Err(error) => {
            findings.damage.push(format!("header: {}", error.message()));
            if let Some(RootEntry::Manifest(number)) = named { number } else { 0 }
        }
    };
    findings.fact("number", number);
    let (mut records, mut count) = (0u64, 0u64);
    let mut version = Version::default();
    let mut grid = Grid { header: vec!["offset", "bytes", "edits"], rows: Vec::new() };
    let mut rows = Vec::new();
    let mut reader =
        RecordReader::new(framer(number), file.get(HEADER_BYTES..).unwrap_or_default(), HEADER_BYTES as u64);
    loop {
        for record in reader.by_ref() {
            records += 1;
            let edits: Vec<Edit> = match decode_edits(record.payload, record.offset) {
                Ok(edits) => edits,
                Err(error) => {
                    findings.damage.push(format!("the edits at {}: {}", record.offset, error.message()));
                    continue;
                }
            };
            count += edits.len() as u64;
            grid.rows.push(vec![record.offset.into(), record.payload.len().into(), edits.len().into()]);
            for edit in &edits {
                rows.push(format!("at {}: {edit}", record.offset));
                if let Err(error) = version.apply(edit) {
                    findings.damage.push(format!(
                        "the edit at {} does not fit what stands before it: {error}",
                        record.offset
                    ));
                }
            }
        }
        match reader.end() {
            End::Clean { .. } => break,
            End::TornTail { offset, bytes, tail } => {
                findings.fact("torn tail", format!("{bytes} bytes at {offset}: {tail}"));
                break;
            }
            End::Corrupt { offset, resumes: Some(next) } => {
                findings
                    .damage
                    .push(format!("no record in bytes {offset} to {next}, although others follow"));
                reader.seek(next);
            }
            End::Corrupt { offset, resumes: None } => {
                findings.damage.push(format!("no record from byte {offset} on"));
                break;
            }
        }
    }
    findings.fact("records", records);
    findings.fact("edits", count);
    state(&version, &mut findings);
    findings.blocks = args.blocks.then_some(grid);
    findings.rows = args.rows.then(|| args.cut(rows, &mut findings.more_rows));
    if args.hex {
        findings.annotations = Some(skep::manifest::dump::dump(number, &file));
        findings.bytes = file;
    }
    Ok(findings)
}

/// What all edits together amount to.
fn state(version: &Version, findings: &mut Findings) {
    let keyspaces: Vec<String> = version.keyspaces.keys().cloned().collect();
    findings.fact_as("keyspaces", keyspaces.clone(), keyspaces.join(", "));
    let tables = version.tables.values().map(|table| {
        let size: u64 = table.files.values().map(|file| file.size_bytes).sum();
        let position = table.flushed;
        json!({
            "name": table.schema.full_name(),
            "id": table.schema.id.0,
            "files": table.files.len(),
            "file_bytes": size,
            "flushed_segment": position.segment,
            "flushed_offset": position.offset,
        })
    });
    let tables: Vec<_> = tables.collect();
    let text = version.tables.values().map(|table| {
        let size: u64 = table.files.values().map(|file| file.size_bytes).sum();
        format!(
            "{} ({}, {})",
            table.schema.full_name(),
            things(table.files.len() as u64, "file"),
            bytes(size)
        )
    });
    let text = text.collect::<Vec<_>>().join(", ");
    findings.fact_as("tables", tables, text);
    let next = &version.next;
    findings
        .fact("next numbers", format!("file {}, table {}, segment {}", next.file, next.table, next.segment));
}

//! Explains the bytes of a file: each section, each index entry, each block.

use crate::annotate::Annotation;
use crate::error::Result;
use crate::model::life::NEVER;
use crate::sstable::footer::{FOOTER_BYTES, HEADER_BYTES};
use crate::sstable::index::BlockEntry;
use crate::sstable::reader::SsTable;
use std::sync::Arc;

impl SsTable {
    /// What each byte of the file is, in the order of the file, without gaps: fixed parts field by field, blocks and sections
    /// with what they hold.
    ///
    /// # Errors
    /// `Corrupt` if a section or block is damaged.
    pub fn dump(self: &Arc<Self>) -> Result<Vec<Annotation>> {
        let (bytes, sections) = self.bytes_and_sections()?;
        let size = bytes.len() as u64;
        let mut out = Vec::new();
        let mut at = 0;
        let mut field = |length: u64, what: String| {
            out.push(Annotation::new(at, length, what));
            at += length;
        };
        field(8, "magic skep-sst".into());
        field(2, "version 1".into());
        field(2, "reserved".into());
        field(4, format!("schema fingerprint {:08x}", sections.fingerprint));
        field((HEADER_BYTES - 16) as u64, "checksum of the header".into());
        for entry in self.blocks()? {
            let entry = entry?;
            self.read_block(&entry)?;
            field(entry.length.into(), describe(&entry));
        }
        for page in &self.directory()?.pages {
            let what = format!("index page: {} entries from block {}", page.entries, page.first_block);
            field(page.length.into(), what);
        }
        let pages = self.directory()?.pages.len();
        field(sections.filter - sections.directory, format!("index directory: {pages} pages"));
        if sections.filter < sections.statistics {
            field(sections.statistics - sections.filter, "bloom filter".into());
        }
        let statistics = self.statistics()?;
        let card = &statistics.card;
        let what = format!(
            "statistics: file {} of table {}, {} partitions, {} rows, {} cells, {} tombstones, written {} to {}, local {} to {}",
            card.id,
            card.table.0,
            card.partitions,
            card.rows,
            card.cells,
            card.tombstones,
            card.min_timestamp,
            card.max_timestamp,
            second(card.min_local),
            second(card.max_local)
        );
        field(sections.schema - sections.statistics, what);
        let table = self.stored_schema()?;
        let what = format!("schema: {}, {} columns", table.full_name(), table.columns().len());
        field(sections.footer - sections.schema, what);
        let offsets = [
            ("index", sections.index),
            ("directory", sections.directory),
            ("filter", sections.filter),
            ("statistics", sections.statistics),
            ("schema", sections.schema),
            ("footer", sections.footer),
        ];
        for (name, offset) in offsets {
            field(8, format!("{name} at {offset}"));
        }
        field(8, format!("{} blocks", sections.blocks));
        field(4, format!("schema fingerprint {:08x}", sections.fingerprint));
        field(2, "version 1".into());
        field(2, "reserved".into());
        field(4, "checksum of the footer".into());
        field(8, "magic sst-skep".into());
        debug_assert_eq!((at, sections.footer + FOOTER_BYTES as u64), (size, size));
        Ok(out)
    }
}

fn describe(entry: &BlockEntry) -> String {
    let (summary, zone) = (&entry.summary, entry.zone());
    let mut text = format!(
        "block: partitions {} from {:?} to {:?}, items {}, rows {}, at {:?} to {:?}, written {} to {}, local {} to {}",
        summary.partitions,
        entry.first.key,
        entry.last.key,
        summary.items,
        summary.rows,
        summary.first,
        summary.last,
        zone.min_timestamp,
        zone.max_timestamp,
        second(zone.min_local),
        second(zone.max_local)
    );
    for (is, word) in [(entry.continues, ", continues"), (entry.open, ", range deletion open")] {
        text.push_str(if is { word } else { "" });
    }
    text
}

fn second(second: i64) -> String {
    if second == NEVER { "never".into() } else { second.to_string() }
}

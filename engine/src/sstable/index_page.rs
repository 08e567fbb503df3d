//! The bytes of an index page: entries of blocks, field by field, each field an integer or float lane.
//!
//! Fields of neighbouring blocks resemble each other (lengths, counts, times that climb), so that lanes take a few bits of
//! each. Keys and positions share their beginnings with the ones before. Some 30 bytes a block, and some 20 per numeric column.

use crate::encoding::bytes::{ByteReader, put_bytes};
use crate::encoding::checksum::strip_checksum;
use crate::encoding::float_lane::{decode_doubles, encode_doubles};
use crate::encoding::int_lane::{decode_ints, encode_ints};
use crate::encoding::varint::put_varint;
use crate::error::{Error, Result};
use crate::model::clustering::Bound;
use crate::model::key::DecoratedKey;
use crate::model::life::NEVER;
use crate::sstable::block::summary::{BlockSummary, ColumnZone, Zone};
use crate::sstable::index::{BlockEntry, IndexPage, PAGE_ENTRIES, PageRef};

/// The entry's first partition began in an earlier block.
const CONTINUES: i64 = 1;
/// A range deletion is in force where the block begins.
const OPEN: i64 = 2;
/// The first partition is the last one of the entry before; its key is left out.
const SAME_FIRST: i64 = 4;
/// The last partition is the first; its key is left out.
const SAME_LAST: i64 = 8;
/// No expiry or deletion; the second is left at 0.
const MIN_NEVER: i64 = 16;
/// Something lives for ever; the second is left at 0.
const MAX_NEVER: i64 = 32;

/// Fields of an entry that are numbers, in the order of their lanes.
const NUMBERS: usize = 16;

/// What stands in the lane of values' kinds.
const INTS: u8 = 0;
const FLOATS: u8 = 1;

fn flags(entry: &BlockEntry, before: Option<&BlockEntry>) -> i64 {
    let flag = |is: bool, bit: i64| if is { bit } else { 0 };
    flag(entry.continues, CONTINUES)
        | flag(entry.open, OPEN)
        | flag(before.is_some_and(|before| before.last == entry.first), SAME_FIRST)
        | flag(entry.first == entry.last, SAME_LAST)
        | flag(entry.summary.zone.min_local == NEVER, MIN_NEVER)
        | flag(entry.summary.zone.max_local == NEVER, MAX_NEVER)
}

/// The numbers of an entry, without its flags.
fn numbers(entry: &BlockEntry) -> [i64; NUMBERS] {
    let zone = &entry.summary.zone;
    let second = |second: i64| if second == NEVER { 0 } else { second };
    [
        entry.length.into(),
        entry.summary.partitions as i64,
        entry.summary.items as i64,
        entry.summary.rows as i64,
        zone.min_timestamp,
        zone.max_timestamp.wrapping_sub(zone.min_timestamp),
        second(zone.min_local),
        second(zone.max_local),
        zone.cells as i64,
        zone.cell_tombstones as i64,
        zone.complex_tombstones as i64,
        zone.row_tombstones as i64,
        zone.range_tombstones as i64,
        zone.partition_tombstones as i64,
        zone.static_rows as i64,
        zone.expiring as i64,
    ]
}

/// Appends a page of `entries`, 1 to [`PAGE_ENTRIES`] of them, without its checksum.
pub(crate) fn encode_page(entries: &[BlockEntry], out: &mut Vec<u8>) {
    let Some(first) = entries.first() else { return };
    put_varint(out, entries.len() as u64);
    put_varint(out, first.offset);
    let mut before = None;
    let mut all_flags = Vec::with_capacity(entries.len());
    for entry in entries {
        all_flags.push(flags(entry, before));
        before = Some(entry);
    }
    encode_ints(&all_flags, out);
    let rows: Vec<_> = entries.iter().map(numbers).collect();
    let mut lane = Vec::with_capacity(entries.len());
    for field in 0..NUMBERS {
        lane.clear();
        lane.extend(rows.iter().map(|row| row[field]));
        encode_ints(&lane, out);
    }
    encode_strings(entries, &all_flags, out);
    encode_columns(entries, out);
}

fn encode_strings(entries: &[BlockEntry], flags: &[i64], out: &mut Vec<u8>) {
    let mut before: &[u8] = &[];
    for (entry, flags) in entries.iter().zip(flags) {
        if flags & SAME_FIRST == 0 {
            put_bytes(out, &entry.first.key);
        }
        if flags & SAME_LAST == 0 {
            put_bytes(out, &entry.last.key);
        }
        for bound in [&entry.summary.first, &entry.summary.last] {
            let bytes = bound.as_bytes();
            let shared = before.iter().zip(bytes).take_while(|(a, b)| a == b).count();
            put_varint(out, shared as u64);
            put_bytes(out, &bytes[shared..]);
            before = bytes;
        }
    }
}

fn encode_columns(entries: &[BlockEntry], out: &mut Vec<u8>) {
    let mut slots: Vec<usize> =
        entries.iter().flat_map(|entry| entry.summary.columns.iter().map(|column| column.0)).collect();
    slots.sort_unstable();
    slots.dedup();
    put_varint(out, slots.len() as u64);
    for slot in slots {
        let zones: Vec<_> = entries.iter().map(|entry| entry.column(slot)).collect();
        let floats = zones.iter().flatten().any(|zone| matches!(zone, ColumnZone::Floats { .. }));
        put_varint(out, slot as u64);
        out.push(if floats { FLOATS } else { INTS });
        // A block without values of the column counts 0 and has no place in the lanes that follow.
        let count = |zone: &Option<&ColumnZone>| match zone {
            Some(ColumnZone::Ints { count, .. } | ColumnZone::Floats { count, .. }) => *count as i64,
            None => 0,
        };
        encode_ints(&zones.iter().map(count).collect::<Vec<_>>(), out);
        let present = || zones.iter().copied().flatten();
        if floats {
            let float = |pick: fn(&ColumnZone) -> (f64, i64)| present().map(pick).collect::<Vec<_>>();
            let lane = |pick| float(pick).iter().map(|pair| pair.0).collect::<Vec<_>>();
            let nans: Vec<_> = float(|zone| (0.0, zone.nans())).iter().map(|pair| pair.1).collect();
            encode_ints(&nans, out);
            encode_doubles(&lane(|zone| (zone.floats().0, 0)), out);
            encode_doubles(&lane(|zone| (zone.floats().1, 0)), out);
            encode_doubles(&lane(|zone| (zone.floats().2, 0)), out);
        } else {
            let lane = |pick: fn((i64, i64, i128)) -> i64| {
                present().map(|zone| pick(zone.ints())).collect::<Vec<_>>()
            };
            encode_ints(&lane(|ints| ints.0), out);
            encode_ints(&lane(|ints| ints.1.wrapping_sub(ints.0)), out);
            encode_ints(&lane(|ints| ints.2 as i64), out);
            encode_ints(&lane(|ints| (ints.2 >> 64) as i64), out);
        }
    }
}

/// The parts of a zone as its lanes hold them; of the other kind they are zeros, which [`encode_columns`] never meets.
trait Parts {
    fn nans(&self) -> i64;
    fn floats(&self) -> (f64, f64, f64);
    fn ints(&self) -> (i64, i64, i128);
}

impl Parts for ColumnZone {
    fn nans(&self) -> i64 {
        if let Self::Floats { nans, .. } = self { *nans as i64 } else { 0 }
    }

    fn floats(&self) -> (f64, f64, f64) {
        if let Self::Floats { min, max, sum, .. } = self { (*min, *max, *sum) } else { (0.0, 0.0, 0.0) }
    }

    fn ints(&self) -> (i64, i64, i128) {
        if let Self::Ints { min, max, sum, .. } = self { (*min, *max, *sum) } else { (0, 0, 0) }
    }
}

/// Reads the page in `bytes`, of which the directory says `page`; blocks end at or before `blocks_end` of the file.
///
/// # Errors
/// `Corrupt` if the checksum is wrong, or entries do not agree with the directory, are out of order or overlap.
pub(crate) fn decode_page(bytes: &[u8], page: &PageRef, blocks_end: u64) -> Result<IndexPage> {
    let body = strip_checksum(bytes, "an index page")?;
    let mut reader = ByteReader::with_base(body, page.offset);
    let count = reader.varint_up_to(PAGE_ENTRIES as u64, "entries of an index page")? as usize;
    if count != page.entries || count == 0 {
        return Err(reader.error(&format!("{count} entries in an index page, {} expected", page.entries)));
    }
    let mut offset = reader.varint()?;
    let flags = decode_ints(&mut reader, count)?;
    let mut lanes = Vec::with_capacity(NUMBERS);
    for _ in 0..NUMBERS {
        lanes.push(decode_ints(&mut reader, count)?);
    }
    let mut entries: Vec<BlockEntry> = Vec::with_capacity(count);
    let mut before: Vec<u8> = Vec::new();
    for (i, &flags) in flags.iter().enumerate() {
        let number = |field: usize| lanes[field][i];
        let (first, last) = decode_keys(&mut reader, flags, entries.last())?;
        let first_at = decode_bound(&mut reader, &mut before)?;
        let last_at = decode_bound(&mut reader, &mut before)?;
        let length =
            u32::try_from(number(0)).map_err(|_| reader.error("length of a block is out of range"))?;
        let second = |value: i64, never: i64| if flags & never != 0 { NEVER } else { value };
        let entry = BlockEntry {
            offset,
            length,
            first,
            last,
            continues: flags & CONTINUES != 0,
            open: flags & OPEN != 0,
            summary: BlockSummary {
                partitions: number(1) as usize,
                items: number(2) as usize,
                rows: number(3) as usize,
                first: first_at,
                last: last_at,
                zone: Zone {
                    min_timestamp: number(4),
                    max_timestamp: number(4).wrapping_add(number(5)),
                    min_local: second(number(6), MIN_NEVER),
                    max_local: second(number(7), MAX_NEVER),
                    cells: number(8) as u64,
                    cell_tombstones: number(9) as u64,
                    complex_tombstones: number(10) as u64,
                    row_tombstones: number(11) as u64,
                    range_tombstones: number(12) as u64,
                    partition_tombstones: number(13) as u64,
                    static_rows: number(14) as u64,
                    expiring: number(15) as u64,
                },
                columns: Vec::new(),
            },
        };
        offset = offset.saturating_add(length.into());
        check_order(entries.last(), &entry, page)?;
        entries.push(entry);
    }
    if offset > blocks_end {
        return Err(
            reader.error(&format!("blocks of an index page end at {offset}, all blocks at {blocks_end}"))
        );
    }
    decode_columns(&mut reader, &mut entries)?;
    reader.expect_end()?;
    Ok(IndexPage::new(page.first_block, entries))
}

fn check_order(before: Option<&BlockEntry>, entry: &BlockEntry, page: &PageRef) -> Result<()> {
    let ordered = match before {
        Some(before) => {
            before.last <= entry.first && before.cmp_start(&entry.first, &entry.summary.first).is_lt()
        }
        None => entry.first == page.first && entry.summary.first == page.first_at,
    };
    if ordered && entry.first <= entry.last && entry.length > 0 {
        return Ok(());
    }
    Err(Error::malformed(format!("the index entry of the block at {} is out of order", entry.offset)))
}

fn decode_keys(
    reader: &mut ByteReader<'_>,
    flags: i64,
    before: Option<&BlockEntry>,
) -> Result<(DecoratedKey, DecoratedKey)> {
    let first = match before {
        Some(before) if flags & SAME_FIRST != 0 => before.last.clone(),
        _ => DecoratedKey::new(reader.bytes()?),
    };
    let last = if flags & SAME_LAST != 0 { first.clone() } else { DecoratedKey::new(reader.bytes()?) };
    Ok((first, last))
}

fn decode_bound(reader: &mut ByteReader<'_>, before: &mut Vec<u8>) -> Result<Bound> {
    let shared = reader.varint_up_to(before.len() as u64, "shared beginning of a position")? as usize;
    before.truncate(shared);
    before.extend_from_slice(reader.bytes()?);
    Bound::from_bytes(before).ok_or_else(|| reader.error("a clustering bound ends in neither 00 nor ff"))
}

fn decode_columns(reader: &mut ByteReader<'_>, entries: &mut [BlockEntry]) -> Result<()> {
    let columns = reader.count(2, "columns")?;
    let mut last = None;
    for _ in 0..columns {
        let slot = reader.varint_up_to(u32::MAX.into(), "slot of a column")? as usize;
        if last.is_some_and(|last| last >= slot) {
            return Err(reader.error("columns of an index page are out of order"));
        }
        last = Some(slot);
        let kind = reader.u8()?;
        let counts = decode_ints(reader, entries.len())?;
        let present = counts.iter().filter(|&&count| count != 0).count();
        let zones: Vec<ColumnZone> = match kind {
            INTS => {
                let (min, span) = (decode_ints(reader, present)?, decode_ints(reader, present)?);
                let (low, high) = (decode_ints(reader, present)?, decode_ints(reader, present)?);
                let zone = |i: usize| ColumnZone::Ints {
                    count: 0,
                    min: min[i],
                    max: min[i].wrapping_add(span[i]),
                    sum: (i128::from(high[i]) << 64) | i128::from(low[i] as u64),
                };
                (0..present).map(zone).collect()
            }
            FLOATS => {
                let nans = decode_ints(reader, present)?;
                let (min, max) = (decode_doubles(reader, present)?, decode_doubles(reader, present)?);
                let sum = decode_doubles(reader, present)?;
                let zone = |i: usize| ColumnZone::Floats {
                    count: 0,
                    nans: nans[i] as u64,
                    min: min[i],
                    max: max[i],
                    sum: sum[i],
                };
                (0..present).map(zone).collect()
            }
            other => return Err(reader.error(&format!("kind of a column's zones is {other}"))),
        };
        let with_values = entries.iter_mut().zip(&counts).filter(|(_, count)| **count != 0);
        for ((entry, &values), mut zone) in with_values.zip(zones) {
            match &mut zone {
                ColumnZone::Ints { count, .. } | ColumnZone::Floats { count, .. } => *count = values as u64,
            }
            entry.summary.columns.push((slot, zone));
        }
    }
    Ok(())
}

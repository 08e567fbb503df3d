//! Merging versions of a row that no reader can tell apart any more.
//!
//! A memtable keeps a row's versions as they were written, since readers may see the one and not yet the other. Once
//! a row has many (a status that is overwritten all day), those between two neighbouring boundaries (see
//! [`Pins::boundaries`](crate::memtable::pins::Pins::boundaries)) are merged into one, which is encoded again.

use crate::encoding::row::{EncodedRow, Stamp, encode_row};
use crate::error::Result;
use crate::model::reconcile::merge_rows;
use crate::model::row::Row;

/// Versions of one row up to which nothing is merged, and versions that must be added before it is tried again.
pub(super) const MANY: usize = 8;

/// The group of a version: versions of one group look the same to every reader. A batch that is not published yet is
/// a group of its own.
pub(super) fn group(seq: u64, boundaries: &[u64]) -> u64 {
    boundaries.get(boundaries.partition_point(|&boundary| boundary < seq)).copied().unwrap_or(seq)
}

/// Whether a row of `count` versions, of which the last was just added, should be looked at.
#[inline]
pub(super) fn is_due(count: usize) -> bool {
    count > MANY && count % MANY == 1
}

/// Merges versions, given as bytes with their stamps, into a row.
///
/// # Errors
/// `Corrupt` if one is not an encoded row.
pub(super) fn merge<'a>(versions: impl IntoIterator<Item = (&'a [u8], Stamp)>) -> Result<Option<Row>> {
    let mut merged: Option<Row> = None;
    for (bytes, stamp) in versions {
        let row = EncodedRow::parse(bytes)?.decode(stamp)?;
        merged = Some(match merged {
            Some(merged) => merge_rows(merged, row),
            None => row,
        });
    }
    Ok(merged)
}

/// A stamp that an entry can hold (its second has 32 bits) and `row` encoded with it: what has other times than the stamp
/// gets them in full.
pub(super) fn encode(row: &Row, stamp: Stamp) -> (Stamp, Vec<u8>) {
    let stamp = Stamp { now: stamp.now.clamp(0, i64::from(u32::MAX)), ..stamp };
    let mut bytes = Vec::new();
    encode_row(row, stamp, &mut bytes);
    (stamp, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_lie_between_boundaries() {
        let boundaries = [3, 7];
        let groups = [1, 3, 4, 7, 8, 9].map(|seq| group(seq, &boundaries));
        assert_eq!(groups, [3, 3, 7, 7, 8, 9], "unpublished batches stay apart");
    }

    #[test]
    fn merging_is_tried_every_few_versions() {
        let due: Vec<usize> = (0..30).filter(|&count| is_due(count)).collect();
        assert_eq!(due, [9, 17, 25]);
    }
}

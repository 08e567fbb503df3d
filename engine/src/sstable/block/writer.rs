//! Lanes to bytes: encodes each, compresses it where that pays, and keeps the directory.

use crate::encoding::bytes_lane::{ByteStrings, encode_bytes};
use crate::encoding::compress::{Codec, compress_if_smaller};
use crate::encoding::float_lane::{encode_doubles, encode_floats};
use crate::encoding::int_lane::{IntPlan, encode_ints};
use crate::encoding::varint::put_varint;
use crate::sstable::block::column::OwnLives;
use crate::sstable::block::life::DeletionsBuilder;
use crate::sstable::block::values::{SparseInts, Values};

/// Directory and bodies of the lanes of one block, in ascending order of their ids. Used again for the next block.
#[derive(Debug, Default)]
pub(crate) struct LaneWriter {
    pub(crate) lanes: u64,
    pub(crate) directory: Vec<u8>,
    pub(crate) bodies: Vec<u8>,
    compressed: Vec<u8>,
}

impl LaneWriter {
    pub(crate) fn clear(&mut self) {
        self.lanes = 0;
        self.directory.clear();
        self.bodies.clear();
    }

    /// An integer lane, left out if all values are zero.
    pub(crate) fn ints(&mut self, codec: Codec, id: u64, values: &[i64]) {
        if values.iter().any(|&value| value != 0) {
            self.lane(codec, id, values.len(), |out| encode_ints(values, out));
        }
    }

    /// An integer lane that is written as planned, whatever it holds.
    pub(crate) fn planned_ints(&mut self, codec: Codec, id: u64, count: usize, plan: &IntPlan<'_>) {
        self.lane(codec, id, count, |out| plan.write(out));
    }

    pub(crate) fn sparse(&mut self, codec: Codec, id: u64, values: &SparseInts) {
        if let Some(values) = values.nonzero() {
            self.ints(codec, id, values);
        }
    }

    /// Deletions: places, timestamps and seconds in lanes `id` to `id + 2`.
    pub(crate) fn deletions(&mut self, codec: Codec, id: u64, deletions: &DeletionsBuilder) {
        self.ints(codec, id, &deletions.places);
        self.ints(codec, id + 1, &deletions.timestamps);
        self.ints(codec, id + 2, &deletions.seconds);
    }

    /// Own lives: timestamps, TTLs and seconds in lanes `id` to `id + 2`.
    pub(crate) fn own_lives(&mut self, codec: Codec, id: u64, own: &OwnLives) {
        self.ints(codec, id, &own.timestamps);
        self.ints(codec, id + 1, &own.ttls);
        self.ints(codec, id + 2, &own.seconds);
    }

    pub(crate) fn bytes(&mut self, codec: Codec, id: u64, values: &ByteStrings) {
        self.lane(codec, id, values.len(), |out| encode_bytes(values, out));
    }

    /// The values of a column: written whenever there are any, so that a column without lanes is one without cells.
    pub(crate) fn values(&mut self, codec: Codec, id: u64, values: &Values) {
        if values.len() == 0 {
            return;
        }
        self.lane(codec, id, values.len(), |out| match values {
            Values::Ints(_, values) => encode_ints(values, out),
            Values::Doubles(values) => encode_doubles(values, out),
            Values::Floats(values) => encode_floats(values, out),
            Values::Bytes(values) => encode_bytes(values, out),
        });
    }

    fn lane(&mut self, codec: Codec, id: u64, count: usize, encode: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bodies.len();
        encode(&mut self.bodies);
        let raw = self.bodies.len() - start;
        self.compressed.clear();
        let pays = compress_if_smaller(codec, &self.bodies[start..], &mut self.compressed);
        self.lanes += 1;
        put_varint(&mut self.directory, id);
        put_varint(&mut self.directory, count as u64);
        if pays {
            self.bodies.truncate(start);
            self.bodies.extend_from_slice(&self.compressed);
            self.directory.push(codec as u8);
            put_varint(&mut self.directory, self.compressed.len() as u64);
        } else {
            self.directory.push(Codec::None as u8);
        }
        put_varint(&mut self.directory, raw as u64);
    }
}

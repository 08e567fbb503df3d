//! The directory of a block: which lanes it has, how many values each, where their bodies lie; and decoding one of them.

use crate::encoding::bytes::ByteReader;
use crate::encoding::bytes_lane::{BytesLane, decode_bytes};
use crate::encoding::compress::{Codec, decompress};
use crate::encoding::float_lane::{decode_doubles, decode_floats};
use crate::encoding::int_lane::{MAX_LANE_VALUES, decode_ints};
use crate::error::{Error, Result};
use crate::sstable::block::life::Deletions;
use crate::sstable::block::values::Lane;
use crate::sstable::layout::LaneKind;

/// The most bytes that a lane may decompress to.
const MAX_RAW: u64 = 1 << 32;

/// One lane of the directory.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u64,
    values: usize,
    codec: Codec,
    start: usize,
    end: usize,
    raw: usize,
}

/// The lanes of a block, by ascending id.
#[derive(Debug)]
pub(crate) struct Directory(Vec<Entry>);

impl Directory {
    /// Reads the directory of `lanes` lanes; their bodies take the rest of the reader's bytes, all of it.
    pub(crate) fn read(reader: &mut ByteReader<'_>, lanes: usize) -> Result<Self> {
        let mut entries: Vec<Entry> = Vec::with_capacity(lanes);
        let mut length = 0usize;
        for _ in 0..lanes {
            let id = reader.varint()?;
            if entries.last().is_some_and(|before| before.id >= id) {
                return Err(reader.error("lanes of a block are out of order"));
            }
            let values = reader.varint_up_to(MAX_LANE_VALUES as u64, "number of a lane's values")? as usize;
            let codec = Codec::from_byte(reader.u8()?)?;
            let stored = reader.varint_up_to(u32::MAX.into(), "length of a lane")? as usize;
            let raw = match codec {
                Codec::None => stored,
                Codec::Lz4 => reader.varint_up_to(MAX_RAW, "length of a lane")? as usize,
            };
            entries.push(Entry { id, values, codec, start: length, end: length + stored, raw });
            length += stored;
        }
        if reader.remaining() != length {
            let text = format!("lanes of {length} bytes in a block that has {}", reader.remaining());
            return Err(reader.error(&text));
        }
        let bodies = reader.position();
        for entry in &mut entries {
            entry.start += bodies;
            entry.end += bodies;
        }
        Ok(Self(entries))
    }

    fn find(&self, id: u64) -> Option<&Entry> {
        self.0.binary_search_by_key(&id, |entry| entry.id).ok().map(|i| &self.0[i])
    }

    pub(crate) fn has(&self, id: u64) -> bool {
        self.find(id).is_some()
    }

    /// How many values lane `id` has; 0 if it was left out.
    pub(crate) fn values(&self, id: u64) -> usize {
        self.find(id).map_or(0, |entry| entry.values)
    }

    /// Refuses lanes with ids from `limit` on, which no version has written.
    pub(crate) fn check_ids(&self, limit: u64) -> Result<()> {
        match self.0.last() {
            Some(last) if last.id >= limit => Err(unexpected(last.id)),
            _ => Ok(()),
        }
    }

    /// Lane `id`, which must have `count` values if it is there.
    fn decode<T>(
        &self,
        block: &[u8],
        id: u64,
        count: usize,
        decode: impl FnOnce(&mut ByteReader<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(entry) = self.find(id) else { return Ok(None) };
        if entry.values != count {
            let text = format!("lane {id} of a block has {} values, {count} expected", entry.values);
            return Err(Error::malformed(text));
        }
        let stored = block.get(entry.start..entry.end).ok_or_else(|| unexpected(id))?;
        let read = |body: &[u8], base: usize| {
            let mut reader = ByteReader::with_base(body, base as u64);
            let lane = decode(&mut reader)?;
            reader.expect_end()?;
            Ok(lane)
        };
        let lane = match entry.codec {
            Codec::None => read(stored, entry.start),
            codec => decompress(codec, stored, entry.raw).and_then(|body| read(&body, 0)),
        };
        lane.map(Some)
            .map_err(|error: Error| Error::malformed(format!("lane {id} of a block: {}", error.message())))
    }

    /// An integer lane of `count` values; `None` if it was left out, all values being zero.
    pub(crate) fn ints(&self, block: &[u8], id: u64, count: usize) -> Result<Option<Vec<i64>>> {
        self.decode(block, id, count, |reader| decode_ints(reader, count))
    }

    /// As [`Directory::ints`], zeros written out.
    pub(crate) fn ints_or_zeros(&self, block: &[u8], id: u64, count: usize) -> Result<Vec<i64>> {
        Ok(self.ints(block, id, count)?.unwrap_or_else(|| vec![0; count]))
    }

    /// A lane of byte strings, which may only be left out if there are none.
    pub(crate) fn bytes(&self, block: &[u8], id: u64, count: usize) -> Result<BytesLane> {
        match self.decode(block, id, count, |reader| decode_bytes(reader, count))? {
            Some(lane) => Ok(lane),
            None if count == 0 => Ok(BytesLane::Plain(Default::default())),
            None => Err(missing(id)),
        }
    }

    /// A lane of column values, which may only be left out if there are none.
    pub(crate) fn lane(&self, block: &[u8], id: u64, count: usize, kind: LaneKind) -> Result<Lane> {
        let lane = match kind {
            LaneKind::Int(width) => self.ints(block, id, count)?.map(|values| Lane::Ints(width, values)),
            LaneKind::Double => {
                self.decode(block, id, count, |reader| decode_doubles(reader, count))?.map(Lane::Doubles)
            }
            LaneKind::Float => {
                self.decode(block, id, count, |reader| decode_floats(reader, count))?.map(Lane::Floats)
            }
            LaneKind::Bytes => return self.bytes(block, id, count).map(Lane::Bytes),
        };
        match lane {
            Some(lane) => Ok(lane),
            None if count == 0 => Ok(Lane::none(kind)),
            None => Err(missing(id)),
        }
    }

    /// Deletions in lanes `id` to `id + 2`, at places below `limit`.
    pub(crate) fn deletions(&self, block: &[u8], id: u64, limit: usize) -> Result<Deletions> {
        let count = self.values(id);
        if count > limit {
            return Err(Error::malformed(format!("a block has {count} deletions for {limit} places")));
        }
        let places = self.ints_or_zeros(block, id, count)?;
        let timestamps = self.ints_or_zeros(block, id + 1, count)?;
        let seconds = self.ints_or_zeros(block, id + 2, count)?;
        Deletions::new(&places, &timestamps, &seconds, limit)
    }
}

fn unexpected(id: u64) -> Error {
    Error::malformed(format!("lane {id} does not belong in a block of this schema"))
}

fn missing(id: u64) -> Error {
    Error::malformed(format!("lane {id} of a block is missing"))
}

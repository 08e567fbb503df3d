//! What a data block needs to know of its table: clustering columns, static and regular columns, and their types.
//!
//! A [`BlockSchema`] is made from the table's schema when a file is written and stored in the file, so that a file can be read
//! by itself, whatever has become of the table since. Here too: which kind of lane a type gets, and the numbers of lanes.
//! The bytes are in `FORMAT.md`, "Schema section" and "Lanes".
//!
//! # Invariants
//! 1. Columns stand in ascending order of their id, statics and regulars each; so the cells of a row come out sorted.
//! 2. A column's slot (statics first, then regulars) is its number in lane ids.

use crate::encoding::bytes::ByteReader;
use crate::encoding::varint::put_varint;
use crate::error::{Error, Result};
use crate::model::bytes::Bytes;
use crate::model::cell::ColumnId;
use crate::model::schema::{ColumnKind, Order, TableSchema};
use crate::model::types::CqlType;

/// The most columns of one kind that a stored schema may have.
const MAX_COLUMNS: u64 = 65_535;

/// How values of a type stand in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneKind {
    /// Integers of this width.
    Int(IntWidth),
    /// f64.
    Double,
    /// f32.
    Float,
    /// Anything else, in wire serialisation.
    Bytes,
}

impl LaneKind {
    /// The lane of a type.
    pub fn of(ty: &CqlType) -> Self {
        match ty.unfrozen() {
            CqlType::Tinyint => Self::Int(IntWidth::I8),
            CqlType::Boolean => Self::Int(IntWidth::U8),
            CqlType::Smallint => Self::Int(IntWidth::I16),
            CqlType::Int => Self::Int(IntWidth::I32),
            CqlType::Date => Self::Int(IntWidth::U32),
            CqlType::Bigint | CqlType::Counter | CqlType::Time | CqlType::Timestamp => {
                Self::Int(IntWidth::I64)
            }
            CqlType::Double => Self::Double,
            CqlType::Float => Self::Float,
            _ => Self::Bytes,
        }
    }
}

/// Width and sign of the wire form (big-endian) of values in an integer lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntWidth {
    /// boolean.
    U8,
    /// tinyint.
    I8,
    /// smallint.
    I16,
    /// int.
    I32,
    /// date.
    U32,
    /// bigint, counter, time, timestamp.
    I64,
}

impl IntWidth {
    /// The number that `wire` stands for; `None` if it has another length.
    #[inline]
    pub fn parse(self, wire: &[u8]) -> Option<i64> {
        Some(match self {
            Self::I64 => i64::from_be_bytes(wire.try_into().ok()?),
            Self::I32 => i32::from_be_bytes(wire.try_into().ok()?).into(),
            Self::U32 => u32::from_be_bytes(wire.try_into().ok()?).into(),
            Self::I16 => i16::from_be_bytes(wire.try_into().ok()?).into(),
            Self::I8 => i8::from_be_bytes(wire.try_into().ok()?).into(),
            Self::U8 => u8::from_be_bytes(wire.try_into().ok()?).into(),
        })
    }

    /// The wire form of `value`, cut to the width.
    #[inline]
    pub fn wire(self, value: i64) -> Bytes {
        match self {
            Self::I64 => Bytes::new(&value.to_be_bytes()),
            Self::I32 | Self::U32 => Bytes::new(&(value as i32).to_be_bytes()),
            Self::I16 => Bytes::new(&(value as i16).to_be_bytes()),
            Self::I8 | Self::U8 => Bytes::new(&[value as u8]),
        }
    }
}

/// A clustering column.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusteringColumn {
    /// Its type.
    pub ty: CqlType,
    /// Whether greater values come first.
    pub desc: bool,
}

/// A static or regular column.
#[derive(Clone, Debug, PartialEq)]
pub struct DataColumn {
    /// Its number in the table.
    pub id: ColumnId,
    /// Its type.
    pub ty: CqlType,
}

impl DataColumn {
    /// The type of a cell's value: of a non-frozen collection an element's. The cells of a set are empty, those of a user
    /// type differ; both are kept as bytes.
    pub fn cell_type(&self) -> &CqlType {
        match &self.ty {
            CqlType::List(element) => element,
            CqlType::Map(_, value) => value,
            CqlType::Set(_) | CqlType::Udt(_) => &CqlType::Blob,
            single => single,
        }
    }

    /// The type of the paths of a non-frozen collection's cells; `None` for a column of single cells.
    pub fn path_type(&self) -> Option<&CqlType> {
        match &self.ty {
            CqlType::List(_) => Some(&CqlType::Timeuuid),
            CqlType::Set(element) => Some(element),
            CqlType::Map(key, _) => Some(key),
            CqlType::Udt(_) => Some(&CqlType::Smallint),
            _ => None,
        }
    }
}

/// The columns of the blocks of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockSchema {
    clustering: Vec<ClusteringColumn>,
    columns: Vec<DataColumn>,
    statics: usize,
}

impl BlockSchema {
    /// The block schema of a table. Dropped columns that were not added again are included, since rows written before the
    /// drop may still hold cells of them.
    pub fn of(table: &TableSchema) -> Self {
        let clustering = table.clustering().iter().map(|column| ClusteringColumn {
            ty: column.ty.clone(),
            desc: column.kind == ColumnKind::Clustering(Order::Desc),
        });
        let gone = table.dropped().iter().map(|dropped| &dropped.column);
        let gone: Vec<_> = gone.filter(|column| table.column_by_id(column.id).is_none()).collect();
        let of_kind = |live: &[crate::model::schema::Column], kind| {
            let all = live.iter().chain(gone.iter().copied().filter(move |column| column.kind == kind));
            all.map(|column| DataColumn { id: column.id, ty: column.ty.clone() }).collect::<Vec<_>>()
        };
        let statics = of_kind(table.statics(), ColumnKind::Static);
        let regulars = of_kind(table.regulars(), ColumnKind::Regular);
        Self::new(clustering.collect(), statics, regulars)
    }

    /// A schema of these columns; statics and regulars are brought into the order of their ids.
    pub fn new(
        clustering: Vec<ClusteringColumn>,
        mut statics: Vec<DataColumn>,
        mut regulars: Vec<DataColumn>,
    ) -> Self {
        statics.sort_by_key(|column| column.id);
        regulars.sort_by_key(|column| column.id);
        let count = statics.len();
        statics.append(&mut regulars);
        Self { clustering, columns: statics, statics: count }
    }

    /// Clustering columns in key order.
    pub fn clustering(&self) -> &[ClusteringColumn] {
        &self.clustering
    }

    /// All data columns by slot: statics, then regulars.
    pub fn columns(&self) -> &[DataColumn] {
        &self.columns
    }

    /// The slots of static (or else of regular) columns.
    pub fn slots(&self, statics: bool) -> std::ops::Range<usize> {
        if statics { 0..self.statics } else { self.statics..self.columns.len() }
    }

    /// The slot of a column.
    pub fn slot(&self, id: ColumnId) -> Option<usize> {
        let within = |range: std::ops::Range<usize>| {
            let start = range.start;
            self.columns[range].binary_search_by_key(&id, |column| column.id).ok().map(|i| start + i)
        };
        within(self.slots(true)).or_else(|| within(self.slots(false)))
    }

    /// Appends the bytes of the schema section.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.clustering.len() as u64);
        for column in &self.clustering {
            out.push(u8::from(column.desc));
            column.ty.encode(out);
        }
        for statics in [true, false] {
            let slots = self.slots(statics);
            put_varint(out, slots.len() as u64);
            for column in &self.columns[slots] {
                put_varint(out, column.id.0.into());
                column.ty.encode(out);
            }
        }
    }

    /// Reads what [`BlockSchema::encode`] wrote.
    ///
    /// # Errors
    /// `Corrupt` for anything else: unknown types, ids out of order or repeated.
    pub fn decode(reader: &mut ByteReader<'_>) -> Result<Self> {
        let count = count_columns(reader)?;
        let mut clustering = Vec::with_capacity(count);
        for _ in 0..count {
            let desc = match reader.u8()? {
                0 => false,
                1 => true,
                other => return Err(reader.error(&format!("direction of a clustering column is {other}"))),
            };
            clustering.push(ClusteringColumn { ty: decode_type(reader)?, desc });
        }
        let statics = decode_columns(reader)?;
        let regulars = decode_columns(reader)?;
        let schema = Self::new(clustering, statics, regulars);
        let mut ids: Vec<_> = schema.columns.iter().map(|column| column.id).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::malformed("a stored schema has two columns of one id"));
        }
        Ok(schema)
    }
}

fn count_columns(reader: &mut ByteReader<'_>) -> Result<usize> {
    // A column takes a byte of type and one of id or direction.
    let count = reader.count(2, "columns")?;
    if count as u64 > MAX_COLUMNS {
        return Err(reader.error(&format!("{count} columns, at most {MAX_COLUMNS} are possible")));
    }
    Ok(count)
}

fn decode_columns(reader: &mut ByteReader<'_>) -> Result<Vec<DataColumn>> {
    let count = count_columns(reader)?;
    let mut columns: Vec<DataColumn> = Vec::with_capacity(count);
    for _ in 0..count {
        let id = ColumnId(reader.varint_up_to(u32::MAX.into(), "column id")? as u32);
        if columns.last().is_some_and(|before| before.id >= id) {
            return Err(reader.error("columns of a stored schema are out of order"));
        }
        columns.push(DataColumn { id, ty: decode_type(reader)? });
    }
    Ok(columns)
}

fn decode_type(reader: &mut ByteReader<'_>) -> Result<CqlType> {
    let (ty, length) = CqlType::decode(reader.rest()).map_err(|error| reader.error(error.message()))?;
    reader.take(length)?;
    Ok(ty)
}

/// Numbers of the lanes of a block.
pub(crate) mod lane_id {
    pub(crate) const KEY: u64 = 0;
    pub(crate) const ITEMS: u64 = 1;
    pub(crate) const PARTITION_DELETION: u64 = 2;
    pub(crate) const KIND: u64 = 5;
    pub(crate) const TS: u64 = 6;
    pub(crate) const TTL: u64 = 7;
    pub(crate) const EXPIRY: u64 = 8;
    pub(crate) const ROW_DELETION: u64 = 9;
    pub(crate) const BOUND: u64 = 12;
    pub(crate) const BOUND_DELETION: u64 = 13;
    pub(crate) const OPEN: u64 = 16;

    /// Values of clustering column `k`; its emptiness is the next lane.
    pub(crate) const fn clustering(k: usize) -> u64 {
        32 + 2 * k as u64
    }

    /// Part `part` of the column in `slot`, of a table with `clusterings` clustering columns.
    pub(crate) const fn column(clusterings: usize, slot: usize, part: u64) -> u64 {
        let room = if clusterings > 16 { clusterings } else { 16 };
        clustering(room) + 8 * slot as u64 + part
    }

    pub(crate) const STATE: u64 = 0;
    pub(crate) const VALUE: u64 = 1;
    pub(crate) const OWN: u64 = 2;
    pub(crate) const CELLS: u64 = 5;
    pub(crate) const PATH: u64 = 6;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> BlockSchema {
        let column = |id, ty| DataColumn { id: ColumnId(id), ty };
        BlockSchema::new(
            vec![ClusteringColumn { ty: CqlType::Timestamp, desc: true }],
            vec![column(9, CqlType::Text)],
            vec![column(300, CqlType::Double), column(4, CqlType::Set(Box::new(CqlType::Int)))],
        )
    }

    #[test]
    fn columns_stand_by_id_and_come_back_from_bytes() {
        let schema = schema();
        assert_eq!(schema.columns().iter().map(|c| c.id.0).collect::<Vec<_>>(), [9, 4, 300]);
        assert_eq!([9, 4, 300, 5].map(|id| schema.slot(ColumnId(id))), [Some(0), Some(1), Some(2), None]);
        let mut bytes = Vec::new();
        schema.encode(&mut bytes);
        let mut reader = ByteReader::new(&bytes);
        assert_eq!(BlockSchema::decode(&mut reader).unwrap(), schema);
        reader.expect_end().unwrap();
        for end in 0..bytes.len() {
            assert!(BlockSchema::decode(&mut ByteReader::new(&bytes[..end])).is_err());
        }
        // The static column takes the id of a regular one.
        let at = bytes.iter().position(|&byte| byte == 9).unwrap();
        bytes[at] = 4;
        assert!(BlockSchema::decode(&mut ByteReader::new(&bytes)).is_err());
    }

    #[test]
    fn wire_integers_come_back_at_every_width() {
        for (width, wire) in [
            (IntWidth::U8, &[255u8][..]),
            (IntWidth::I8, &[255]),
            (IntWidth::I16, &[0x80, 0]),
            (IntWidth::I32, &[0xff, 0, 0, 1]),
            (IntWidth::U32, &[0xff, 0, 0, 1]),
            (IntWidth::I64, &[0x80, 0, 0, 0, 0, 0, 0, 1]),
        ] {
            assert_eq!(width.wire(width.parse(wire).unwrap()).as_slice(), wire);
            assert_eq!(width.parse(&wire[1..]), None);
        }
        assert_eq!(IntWidth::U32.parse(&[255; 4]), Some(0xffff_ffff));
    }

    #[test]
    fn lane_numbers_leave_room_for_sixteen_clustering_columns() {
        assert_eq!(lane_id::column(1, 0, lane_id::VALUE), 65);
        assert_eq!(lane_id::column(16, 2, lane_id::STATE), 80);
        assert_eq!(lane_id::column(17, 0, lane_id::STATE), lane_id::clustering(16) + 2);
    }
}

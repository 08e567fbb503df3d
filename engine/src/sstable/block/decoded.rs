//! A data block as readers see it: checked once, each lane decoded when it is first asked for, then shared.
//!
//! The reader of an SSTable opens a block over its stored bytes and keeps it in the block cache. Projection (only the columns
//! asked for), seeking (only clustering lanes) and caching are one mechanism: a lane that nobody asks for is never decoded.
//! Rows come out of it in [`rows`](crate::sstable::block::rows), places are found in [`seek`](crate::sstable::block::seek).
//!
//! # Invariants
//! 1. Opening checks the checksum, the directory and the shape (partitions, items, kinds). A lane's first use checks the lane
//!    against that shape. What was handed out once cannot fail any more.
//! 2. Items are numbered through the block; rows too, static ones apart from all others, which is how columns count.
//!
//! # Threads
//! Everything is read-only but the lanes' once-cells: any number of threads may use a block. Two that ask for one lane at the same
//! time may both decode it; one result is kept.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::encoding::bytes::ByteReader;
use crate::encoding::bytes_lane::BytesLane;
use crate::encoding::checksum::strip_checksum;
use crate::encoding::int_lane::narrow_codes;
use crate::error::{Error, ErrorKind, Result};
use crate::model::life::Deletion;
use crate::model::types::CqlType;
use crate::sstable::block::builder::{CONTINUED, MAX_ITEMS, TS_RELATIVE, VERSION, kind};
use crate::sstable::block::column::{ColumnData, ColumnParts, Elements, OwnLives, StateCounts};
use crate::sstable::block::directory::Directory;
use crate::sstable::block::life::Deletions;
use crate::sstable::block::place::PlaceLane;
use crate::sstable::block::shape::{Kinds, Lives, read_starts, sums};
use crate::sstable::block::slots::Slots;
use crate::sstable::block::values::Lane;
use crate::sstable::layout::{BlockSchema, LaneKind, lane_id};

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// A row, with its INSERT's marker or without.
    Row,
    /// The partition's static row.
    Static,
    /// A place where the range deletion in force changes.
    Bound,
}

/// One partition of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPartition<'a> {
    /// Its serialised key.
    pub key: &'a [u8],
    /// Its items in this block.
    pub items: Range<usize>,
    /// Deletion of the whole partition.
    pub deletion: Option<Deletion>,
    /// Whether it began in an earlier block.
    pub continued: bool,
}

/// A data block over its stored bytes. See the module's page.
///
/// What a point read needs stands first, in one or two cache lines: it finds little of a block in the processor's caches.
#[repr(C, align(64))]
pub struct DecodedBlock {
    /// Second before which nothing in it expires, as far as is known without its lanes.
    lasts_until: i64,
    items: usize,
    has_row_ttls: bool,
    has_no_deletions: bool,
    continued: bool,
    ts_relative: bool,
    schema: Arc<BlockSchema>,
    places: Slots<Arc<PlaceLane>, 1>,
    columns: Slots<Arc<ColumnData>, 6>,
    kinds: Option<Box<Kinds>>,
    /// Where each partition's items begin, and the end of the last's.
    starts: Vec<u32>,
    keys: BytesLane,
    rows: usize,
    static_rows: usize,
    partition_deletions: Deletions,
    open: Option<Deletion>,
    lives: OnceLock<Lives>,
    row_deletions: OnceLock<Deletions>,
    bounds: OnceLock<Bounds>,
    directory: Directory,
    bytes: Box<dyn AsRef<[u8]> + Send + Sync>,
    /// The file it is in and where it begins there, for the errors of lanes that are looked at later.
    origin: Option<(Arc<Path>, u64)>,
}

/// The bounds of a block, in order.
pub(super) struct Bounds {
    /// 2 * values in the prefix + 1 if it stands after what has the prefix.
    pub(super) codes: Vec<u32>,
    pub(super) deletions: Deletions,
}

impl DecodedBlock {
    /// Opens the block stored in `bytes`, checksum included, written with `schema`.
    ///
    /// # Errors
    /// `Corrupt` if a byte is not as it was written or the contents do not fit together, `Unsupported` if the block is of a newer
    /// version.
    pub fn open(bytes: Box<dyn AsRef<[u8]> + Send + Sync>, schema: Arc<BlockSchema>) -> Result<Self> {
        let block = strip_checksum((*bytes).as_ref(), "block")?;
        let mut reader = ByteReader::new(block);
        let version = reader.u8()?;
        if version != VERSION {
            let text = format!("block of version {version}, this build reads {VERSION}");
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let flags = reader.u8()?;
        if flags & !(CONTINUED | TS_RELATIVE) != 0 {
            return Err(reader.error(&format!("unknown flags {flags:#x} in a block")));
        }
        let partitions = reader.varint_up_to(MAX_ITEMS as u64, "number of partitions")? as usize;
        let items = reader.varint_up_to(MAX_ITEMS as u64, "number of items")? as usize;
        let lanes = reader.count(4, "lanes")?;
        let directory = Directory::read(&mut reader, lanes)?;
        let clusterings = schema.clustering().len();
        directory.check_ids(lane_id::column(clusterings, schema.columns().len(), 0))?;
        let keys = directory.bytes(block, lane_id::KEY, partitions)?;
        let starts = read_starts(&directory, block, partitions, items)?;
        let partition_deletions = directory.deletions(block, lane_id::PARTITION_DELETION, partitions)?;
        let open = directory.deletions(block, lane_id::OPEN, 1)?.at(0);
        let kinds = match directory.ints(block, lane_id::KIND, items)? {
            Some(kinds) => Some(Box::new(Kinds::new(&kinds, &starts)?)),
            None => None,
        };
        let [rows, static_rows] = kinds.as_ref().map_or([items, 0], |kinds| kinds.rows());
        let ts_relative = flags & TS_RELATIVE != 0;
        let first_place = schema.clustering().first().map(|column| LaneKind::of(&column.ty));
        if ts_relative && !matches!(first_place, Some(LaneKind::Int(_))) {
            return Err(Error::malformed("write times of a block refer to a clustering that is no time"));
        }
        let has_no_deletions = partition_deletions.is_empty()
            && open.is_none()
            && !directory.has(lane_id::ROW_DELETION)
            && !directory.has(lane_id::BOUND_DELETION);
        Ok(Self {
            origin: None,
            lasts_until: i64::MIN,
            items,
            has_row_ttls: directory.has(lane_id::TTL),
            has_no_deletions,
            continued: flags & CONTINUED != 0,
            ts_relative,
            keys,
            starts,
            partition_deletions,
            open,
            kinds,
            rows,
            static_rows,
            lives: OnceLock::new(),
            row_deletions: OnceLock::new(),
            bounds: OnceLock::new(),
            places: Slots::new(schema.clustering().len()),
            columns: Slots::new(schema.columns().len()),
            directory,
            schema,
            bytes,
        })
    }

    /// The same block, known to be the one at `offset` of `file`, in which nothing expires before second `lasts_until`.
    pub fn from_file(self, file: &Arc<Path>, offset: u64, lasts_until: i64) -> Self {
        Self { origin: Some((Arc::clone(file), offset)), lasts_until, ..self }
    }

    fn body(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    /// The columns that the block was written with.
    pub fn schema(&self) -> &Arc<BlockSchema> {
        &self.schema
    }

    /// Number of partitions that have something in the block.
    pub fn partitions(&self) -> usize {
        self.starts.len() - 1
    }

    /// Partition `p`.
    ///
    /// # Panics
    /// If `p` is not below [`DecodedBlock::partitions`]. So do the accessors below for items out of range.
    pub fn partition(&self, p: usize) -> BlockPartition<'_> {
        BlockPartition {
            key: self.keys.get(p),
            items: self.items_of(p),
            deletion: self.partition_deletions.at(p),
            continued: p == 0 && self.continued,
        }
    }

    /// The items of partition `p`.
    #[inline]
    pub fn items_of(&self, p: usize) -> Range<usize> {
        if self.starts.len() == 2 && p == 0 {
            return 0..self.items;
        }
        self.starts[p] as usize..self.starts[p + 1] as usize
    }

    /// The partition that item `i` belongs to.
    pub fn partition_of(&self, i: usize) -> usize {
        self.starts.partition_point(|&start| start as usize <= i) - 1
    }

    /// Number of items.
    pub fn items(&self) -> usize {
        self.items
    }

    /// Number of rows without static ones.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What item `i` is.
    #[inline]
    pub fn kind(&self, i: usize) -> ItemKind {
        match self.kind_code(i) {
            kind::STATIC => ItemKind::Static,
            kind::BOUND => ItemKind::Bound,
            _ => ItemKind::Row,
        }
    }

    /// Whether all items are rows with a marker; then item `i` is row `i` of every column.
    pub fn all_rows_marked(&self) -> bool {
        self.kinds.is_none()
    }

    /// Whether item `i` is a row with the marker that INSERT writes.
    #[inline]
    pub fn is_marked(&self, i: usize) -> bool {
        self.kind_code(i) == kind::ROW
    }

    #[inline]
    pub(super) fn kind_code(&self, i: usize) -> i64 {
        self.kinds.as_ref().map_or(kind::ROW, |kinds| kinds.kinds[i].into())
    }

    /// The number of item `i` among the items of its kind: the row number that columns go by.
    #[inline]
    pub fn number(&self, i: usize) -> usize {
        self.kinds.as_ref().map_or(i, |kinds| kinds.numbers[i] as usize)
    }

    /// Number of bounds.
    pub fn bound_count(&self) -> usize {
        self.kinds.as_ref().map_or(0, |kinds| kinds.bounds)
    }

    /// Whether any item carries a TTL. Cells with a TTL of their own do not count: see [`ColumnData::is_dense`].
    #[inline]
    pub fn has_row_ttls(&self) -> bool {
        self.has_row_ttls
    }

    /// Whether no partition, row or range deletion is in the block. Tombstones of cells do not count: see [`ColumnData::is_dense`].
    #[inline]
    pub fn has_no_deletions(&self) -> bool {
        self.has_no_deletions
    }

    /// Whether all of `items` are seen at second `now`, as far as their TTLs go. Mostly the index has said so of the whole block.
    ///
    /// # Errors
    /// `Corrupt` if the lanes of lives are damaged.
    #[inline]
    pub fn all_live(&self, mut items: Range<usize>, now: i64) -> Result<bool> {
        if !self.has_row_ttls || now < self.lasts_until {
            return Ok(true);
        }
        let lives = self.lives()?;
        Ok(lives.all_live(now) || items.all(|item| lives.of(item).is_live(now)))
    }

    /// Whether all items are rows with a marker and without deletion, none has a TTL, and every regular column that has cells has a value
    /// with the row's life in every row. Decodes all lanes of rows.
    ///
    /// # Errors
    /// `Corrupt` if a lane is damaged.
    pub fn is_plain(&self) -> Result<bool> {
        self.lives()?;
        let mut plain = self.all_rows_marked() && !self.has_row_ttls() && self.has_no_deletions();
        for slot in self.schema.slots(false) {
            let column = self.column(slot)?;
            plain &= column.is_dense() || column.is_absent();
        }
        Ok(plain)
    }

    /// The range deletion in force where the block begins, in its first partition.
    pub fn open_deletion(&self) -> Option<Deletion> {
        self.open
    }

    /// Write times and TTLs of all items.
    ///
    /// # Errors
    /// `Corrupt` if the lanes are damaged; so for all lanes below, at their first use.
    pub fn lives(&self) -> Result<&Lives> {
        self.first_use(&self.lives, || {
            let (block, items) = (self.body(), self.items());
            let mut timestamps = self.directory.ints_or_zeros(block, lane_id::TS, items)?;
            if self.ts_relative
                && let Lane::Ints(_, places) = self.place(0)?.values()
            {
                for (timestamp, place) in timestamps.iter_mut().zip(places) {
                    *timestamp = timestamp.wrapping_add(place.wrapping_mul(1000));
                }
            }
            let ttls = self.directory.ints(block, lane_id::TTL, items)?;
            if ttls.iter().flatten().any(|&ttl| i32::try_from(ttl).is_err()) {
                return Err(Error::malformed("a row's TTL is out of range"));
            }
            let expiries = self.directory.ints(block, lane_id::EXPIRY, items)?;
            Ok(Lives::new(timestamps, ttls, expiries))
        })
    }

    /// Deletions of rows, by item.
    pub(super) fn row_deletions(&self) -> Result<&Deletions> {
        let decode = || self.directory.deletions(self.body(), lane_id::ROW_DELETION, self.items());
        self.first_use(&self.row_deletions, decode)
    }

    pub(super) fn bounds(&self) -> Result<&Bounds> {
        self.first_use(&self.bounds, || {
            let (block, count) = (self.body(), self.bound_count());
            let codes = self.directory.ints_or_zeros(block, lane_id::BOUND, count)?;
            let limit = 2 * self.schema.clustering().len() as u64 + 2;
            let codes = narrow_codes(&codes, limit, "bounds")?;
            let deletions = self.directory.deletions(block, lane_id::BOUND_DELETION, count)?;
            Ok(Bounds { codes, deletions })
        })
    }

    /// The values of clustering column `k`, one per item.
    pub fn place(&self, k: usize) -> Result<&PlaceLane> {
        self.shared_place(k).map(Arc::as_ref)
    }

    /// The same, to be held without the block.
    pub(crate) fn shared_place(&self, k: usize) -> Result<&Arc<PlaceLane>> {
        self.first_use(&self.places[k], || {
            let column = &self.schema.clustering()[k];
            self.read_place(lane_id::clustering(k), self.items(), &column.ty, column.desc).map(Arc::new)
        })
    }

    /// The first clustering lane, if it was asked for before.
    #[inline]
    pub(super) fn known_place(&self) -> Option<&PlaceLane> {
        self.places.get(0)?.get().map(Arc::as_ref)
    }

    /// Number of clustering columns.
    #[inline]
    pub(super) fn places_count(&self) -> usize {
        self.places.len()
    }

    /// All clustering lanes; decoded when this returns.
    pub(super) fn all_places(&self) -> Result<impl Iterator<Item = &PlaceLane> + Clone> {
        for k in 0..self.places.len() {
            self.place(k)?;
        }
        Ok(self.places.filled().map(Arc::as_ref))
    }

    fn read_place(&self, id: u64, count: usize, ty: &CqlType, desc: bool) -> Result<PlaceLane> {
        let block = self.body();
        let kind = LaneKind::of(ty);
        let values = self.directory.lane(block, id, count, kind)?;
        let empties = self.directory.ints(block, id + 1, count)?;
        if kind == LaneKind::Bytes && empties.is_some() {
            return Err(Error::malformed(format!("lane {} does not belong to byte strings", id + 1)));
        }
        Ok(PlaceLane::new(ty, desc, values, empties))
    }

    /// The cells of the column in `slot` of [`DecodedBlock::schema`].
    pub fn column(&self, slot: usize) -> Result<&ColumnData> {
        self.shared_column(slot).map(Arc::as_ref)
    }

    /// The same, if it was asked for before.
    #[inline]
    pub(crate) fn known_column(&self, slot: usize) -> Option<&ColumnData> {
        self.columns.get(slot)?.get().map(Arc::as_ref)
    }

    /// The same, to be held without the block.
    pub(crate) fn shared_column(&self, slot: usize) -> Result<&Arc<ColumnData>> {
        self.first_use(&self.columns[slot], || {
            self.read_column(slot).map(Arc::new).map_err(|error| {
                let column = self.schema.columns()[slot].id.0;
                Error::malformed(format!("column {column} of a block: {}", error.message()))
            })
        })
    }

    fn read_column(&self, slot: usize) -> Result<ColumnData> {
        let (block, directory) = (self.body(), &self.directory);
        let id = |part| lane_id::column(self.places.len(), slot, part);
        let column = &self.schema.columns()[slot];
        let rows = if self.schema.slots(true).contains(&slot) { self.static_rows } else { self.rows };
        let starts = match column.path_type() {
            Some(_) => {
                let cells = directory.ints_or_zeros(block, id(lane_id::CELLS), rows)?;
                Some(sums(&cells, directory.values(id(lane_id::PATH)), "elements of collections")?)
            }
            None => None,
        };
        let elements = starts.as_ref().map_or(rows, |starts| starts[rows] as usize);
        let states = directory.ints(block, id(lane_id::STATE), elements)?;
        let kind = LaneKind::of(column.cell_type());
        let numeric = kind != LaneKind::Bytes;
        let absent = starts.is_none() && states.is_none() && !directory.has(id(lane_id::VALUE));
        let counts = match &states {
            Some(states) => StateCounts::of(states, numeric, starts.as_deref())
                .ok_or_else(|| Error::malformed("unknown or misplaced states of cells"))?,
            None => StateCounts { values: if absent { 0 } else { elements }, own: 0 },
        };
        let values = directory.lane(block, id(lane_id::VALUE), counts.values, kind)?;
        let own = OwnLives {
            timestamps: directory.ints_or_zeros(block, id(lane_id::OWN), counts.own)?,
            ttls: directory.ints_or_zeros(block, id(lane_id::OWN) + 1, counts.own)?,
            seconds: directory.ints_or_zeros(block, id(lane_id::OWN) + 2, counts.own)?,
        };
        let elements = match (starts, column.path_type()) {
            (Some(starts), Some(ty)) => {
                let paths = self.read_place(id(lane_id::PATH), elements, ty, false)?;
                Some(Elements { starts, paths })
            }
            _ => None,
        };
        ColumnData::new(ColumnParts { rows, numeric, states, values, own, elements })
    }

    /// Integers of the column in `slot`: one per row that has one ([`ColumnData::value_of`]); `None` for other types.
    pub fn int_column(&self, slot: usize) -> Result<Option<&[i64]>> {
        Ok(if let Lane::Ints(_, values) = self.column(slot)?.values() { Some(values) } else { None })
    }

    /// Doubles of the column in `slot`: one per row that has one; `None` for other types, single floats among them.
    pub fn double_column(&self, slot: usize) -> Result<Option<&[f64]>> {
        Ok(if let Lane::Doubles(values) = self.column(slot)?.values() { Some(values) } else { None })
    }

    /// Byte strings of the column in `slot`: one per row that has one; `None` for numeric types.
    pub fn bytes_column(&self, slot: usize) -> Result<Option<&BytesLane>> {
        Ok(if let Lane::Bytes(values) = self.column(slot)?.values() { Some(values) } else { None })
    }

    /// What is in `cell`, decoded at the first use.
    #[inline]
    fn first_use<'a, T>(&self, cell: &'a OnceLock<T>, init: impl FnOnce() -> Result<T>) -> Result<&'a T> {
        match cell.get() {
            Some(value) => Ok(value),
            None => {
                let value = init().map_err(|error| match &self.origin {
                    Some((file, offset)) => error.at(file, *offset),
                    None => error,
                })?;
                Ok(cell.get_or_init(|| value))
            }
        }
    }

    /// Bytes of memory held now: the stored block and the lanes decoded so far. Grows as lanes are used.
    pub fn memory_bytes(&self) -> usize {
        let places = self.places.filled().map(|lane| lane.memory_bytes()).sum::<usize>();
        let columns = self.columns.filled().map(|column| column.memory_bytes()).sum::<usize>();
        let lives = self.lives.get().map_or(0, Lives::memory_bytes);
        let deletions = self.row_deletions.get().map_or(0, Deletions::memory_bytes);
        let bounds = self.bounds.get().map_or(0, |b| 4 * b.codes.len() + b.deletions.memory_bytes());
        let kinds = self.kinds.as_ref().map_or(0, |kinds| 5 * kinds.kinds.len());
        let fixed = size_of::<Self>() + self.keys.memory_bytes() + 4 * self.starts.len();
        let slots = self.columns.heap_bytes() + self.places.heap_bytes();
        fixed + slots + self.body().len() + places + columns + lives + deletions + bounds + kinds
    }
}

impl std::fmt::Debug for DecodedBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (partitions, items) = (self.partitions(), self.items());
        f.debug_struct("DecodedBlock").field("partitions", &partitions).field("items", &items).finish()
    }
}

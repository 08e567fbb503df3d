//! What a writer keeps in mind: its options, the partition that is being written, and the block that is being filled.

use crate::encoding::compress::Codec;
use crate::model::clustering::{Bound, Clustering};
use crate::model::key::DecoratedKey;
use crate::model::life::Deletion;
use crate::model::schema::TableSchema;
use crate::sstable::meta::FileId;
use std::cmp::Ordering;

/// What a writer needs to know beside the table.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Number of the file.
    pub id: FileId,
    /// Its level; 0 for a flush.
    pub level: u32,
    /// The time of writing, micros.
    pub created_micros: i64,
    /// Wanted rate of false positives of the bloom filter; 1: no filter.
    pub fp_chance: f64,
    /// General-purpose compression of lanes.
    pub codec: Codec,
    /// Files that this one is compacted from.
    pub ancestors: Vec<FileId>,
}

impl WriterOptions {
    /// File `id` of `table`, written at `created_micros`, with the table's own filter and compression. A compression class other
    /// than LZ4 falls back to LZ4, `enabled = false` and an empty class mean none.
    pub fn of(table: &TableSchema, id: FileId, created_micros: i64) -> Self {
        let compression = &table.options.compression;
        let enabled = compression.get("enabled").is_none_or(|enabled| enabled != "false");
        let named = ["class", "sstable_compression"].iter().any(|name| {
            compression.get(*name).is_some_and(|class| !class.is_empty() && !class.contains("Noop"))
        });
        Self {
            id,
            level: 0,
            created_micros,
            fp_chance: table.options.bloom_filter_fp_chance,
            codec: if enabled && named { Codec::Lz4 } else { Codec::None },
            ancestors: Vec::new(),
        }
    }
}

/// Where the last item of the partition stands.
#[derive(Debug)]
pub(super) enum Place {
    /// At the partition's beginning: nothing yet.
    Start,
    /// At the static row.
    Static,
    /// At a row.
    Row(Clustering),
    /// At a bound.
    Bound(Bound),
}

impl Place {
    /// Whether a row may follow.
    #[inline]
    pub(super) fn before_row(&self, row: &Clustering) -> bool {
        self.before_order(row.order())
    }

    /// Whether a row with the clustering `order` may follow.
    #[inline]
    pub(super) fn before_order(&self, order: &[u8]) -> bool {
        match self {
            Self::Start | Self::Static => true,
            Self::Row(last) => last.order() < order,
            Self::Bound(last) => last.cmp_row(order) == Ordering::Less,
        }
    }

    /// Whether a bound may follow.
    pub(super) fn before_bound(&self, bound: &Bound) -> bool {
        match self {
            Self::Start | Self::Static => true,
            Self::Row(last) => bound.cmp_row(last.order()) == Ordering::Greater,
            Self::Bound(last) => last < bound,
        }
    }
}

/// The partition that items are pushed to.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) key: DecoratedKey,
    pub(super) deletion: Option<Deletion>,
    /// Begun in a block; else it waits for its first item (invariant 3).
    pub(super) begun: bool,
    pub(super) place: Place,
    /// Range deletion in force at the place.
    pub(super) open: Option<Deletion>,
}

/// The block that is being filled.
#[derive(Debug, Default)]
pub(super) struct OpenBlock {
    pub(super) first: Option<DecoratedKey>,
    pub(super) continues: bool,
    pub(super) open: Option<Deletion>,
    /// Items of each partition.
    pub(super) items: Vec<u64>,
    /// The first partition's deletion stood in the block before.
    pub(super) repeats: bool,
}

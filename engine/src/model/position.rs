//! A place in the commit log.

/// Position of a record in the commit log: segment number, then the byte just after the record.
///
/// A table's flushed position says that everything of that table up to it is in SSTables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition {
    /// Number of the segment; segments are numbered upwards for the life of the store.
    pub segment: u64,
    /// Byte offset of the record's end in the segment.
    pub offset: u64,
}

impl LogPosition {
    /// Before everything.
    pub const START: Self = Self { segment: 0, offset: 0 };
}

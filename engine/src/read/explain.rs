//! Why a read did what it did: which memtables and files it looked at, which not and for what reason, and what it met there.
//!
//! Filled in by `gather` and the readers where a caller asks for it; printed by tools and by tracing.

use crate::read::resolve::Counts;
use crate::sstable::cache::Looks;
use crate::sstable::meta::FileId;
use std::collections::BTreeMap;
use std::fmt;

/// How many considered sources are named one by one; all of them are counted.
pub const MAX_CONSIDERED: usize = 1024;

/// A memtable or file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceName {
    /// A memtable: 0 is the one that takes writes, 1 the newest of those being flushed.
    Memtable(usize),
    /// A file.
    File(FileId),
}

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memtable(n) => write!(f, "memtable {n}"),
            Self::File(id) => write!(f, "file {id}"),
        }
    }
}

/// Why a source was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuledOut {
    /// Its first and last partition leave the key out.
    KeyRange,
    /// Its filter says that it has not the key.
    Filter,
    /// It has not the partition. Of a file: the filter said it might.
    NotThere,
    /// All its rows stand outside the clusterings that were asked for.
    Clustering,
    /// All in it is older than the partition's deletion.
    Deleted,
    /// All in it has expired, and nothing older is left that it could hide.
    Expired,
    /// A newer source has the whole row.
    Older,
}

impl fmt::Display for RuledOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KeyRange => "key range",
            Self::Filter => "filter",
            Self::NotThere => "not there",
            Self::Clustering => "clustering range",
            Self::Deleted => "partition deleted since",
            Self::Expired => "expired",
            Self::Older => "older than the row found",
        })
    }
}

/// One source of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    /// Which.
    pub source: SourceName,
    /// Why it was not read; `None` if it was.
    pub ruled_out: Option<RuledOut>,
}

/// What became of one source, in all partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// Partitions for which it was read.
    pub read: u64,
    /// Partitions for which it was not, by reason.
    pub ruled_out: BTreeMap<RuledOut, u64>,
}

/// The story of a read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explain {
    /// For each partition that was opened, in order: every memtable and file of the table. The first [`MAX_CONSIDERED`] of them.
    pub considered: Vec<Considered>,
    /// Every memtable and file, with what became of it in all partitions.
    pub sources: BTreeMap<SourceName, Fate>,
    /// Partitions that were opened.
    pub partitions: u64,
    /// Batches handed out as they stand in a block.
    pub column_batches: u64,
    /// Batches built row by row.
    pub row_batches: u64,
    /// Blocks and index pages that were asked for.
    pub looks: Looks,
    /// Blocks that an aggregate did not need to read: the index told all about them.
    pub blocks_from_index: u64,
    /// Rows, cells and tombstones met.
    pub counts: Counts,
}

impl Explain {
    pub(crate) fn note(&mut self, source: SourceName, ruled_out: Option<RuledOut>) {
        if self.considered.len() < MAX_CONSIDERED {
            self.considered.push(Considered { source, ruled_out });
        }
        let fate = self.sources.entry(source).or_default();
        match ruled_out {
            None => fate.read += 1,
            Some(reason) => *fate.ruled_out.entry(reason).or_default() += 1,
        }
    }

    /// How many sources were read; one that was read for several partitions counts for each.
    pub fn sources_read(&self) -> usize {
        self.sources.values().map(|fate| usize::try_from(fate.read).unwrap_or(usize::MAX)).sum()
    }

    /// Adds the story of another read of the same table.
    pub fn add(&mut self, other: &Self) {
        let room = MAX_CONSIDERED.saturating_sub(self.considered.len());
        self.considered.extend(other.considered.iter().take(room).cloned());
        for (source, fate) in &other.sources {
            let mine = self.sources.entry(*source).or_default();
            mine.read += fate.read;
            for (reason, times) in &fate.ruled_out {
                *mine.ruled_out.entry(*reason).or_default() += times;
            }
        }
        self.partitions += other.partitions;
        self.column_batches += other.column_batches;
        self.row_batches += other.row_batches;
        self.looks.add(other.looks);
        self.blocks_from_index += other.blocks_from_index;
        self.counts.live_rows += other.counts.live_rows;
        self.counts.live_cells += other.counts.live_cells;
        self.counts.tombstones += other.counts.tombstones;
    }
}

impl fmt::Display for Explain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { live_rows, live_cells, tombstones } = self.counts;
        writeln!(f, "{live_rows} rows, {live_cells} live cells, {tombstones} tombstones")?;
        writeln!(
            f,
            "{} partitions, {} batches as columns, {} row by row",
            self.partitions, self.column_batches, self.row_batches
        )?;
        for Considered { source, ruled_out } in &self.considered {
            match ruled_out {
                None => writeln!(f, "{source}: read")?,
                Some(reason) => writeln!(f, "{source}: ruled out by {reason}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_story_counts_everything_and_names_a_part() {
        let mut explain = Explain::default();
        for _ in 0..2 * MAX_CONSIDERED {
            explain.note(SourceName::Memtable(0), None);
            explain.note(SourceName::File(FileId(7)), Some(RuledOut::Filter));
        }
        assert_eq!(explain.considered.len(), MAX_CONSIDERED);
        let times = 2 * MAX_CONSIDERED as u64;
        assert_eq!(explain.sources[&SourceName::Memtable(0)].read, times);
        assert_eq!(explain.sources[&SourceName::File(FileId(7))].ruled_out[&RuledOut::Filter], times);
        assert_eq!(explain.sources_read(), 2 * MAX_CONSIDERED);
        let mut sum = Explain::default();
        sum.add(&explain);
        sum.add(&explain);
        assert_eq!(sum.considered.len(), MAX_CONSIDERED);
        assert_eq!(sum.sources[&SourceName::Memtable(0)].read, 2 * times);
    }
}

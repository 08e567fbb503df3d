//! Which partitions a reader goes through: a given list, or those of a range of tokens, from all sources.
//!
//! For a range, each file's keys come from its blocks in order, and from the index alone where it names all partitions of a block;
//! memtables give theirs sorted. The next partition is the least of all.

use crate::error::Result;
use crate::memtable::shards::InOrder;
use crate::model::fragment::Fragment;
use crate::model::key::{DecoratedKey, TokenRange};
use crate::sstable::scan::Scan;
use crate::view::TableView;
use std::collections::VecDeque;

/// Partitions to read.
pub(crate) enum Keys {
    /// These, in this order.
    List(VecDeque<DecoratedKey>),
    /// Those of a range of tokens, in token order.
    Range(TokenRange),
    /// The same, begun.
    Scan(Box<KeyScan>),
}

impl Keys {
    /// Goes on with the partition `key`, where a page ended.
    pub(crate) fn resume_at(&mut self, key: &[u8]) {
        match self {
            Self::List(keys) => {
                // Unless the list has changed, in which case it is read from the start.
                if let Some(at) = keys.iter().position(|other| *other.key == *key) {
                    keys.drain(..at);
                }
            }
            Self::Range(tokens) => {
                let key = DecoratedKey::new(key);
                tokens.first = tokens.first.max(key.token);
                *self = Self::Scan(Box::new(KeyScan::new(*tokens, Some(key))));
            }
            Self::Scan(_) => {}
        }
    }

    /// The next partition.
    pub(crate) fn next(&mut self, view: &TableView) -> Result<Option<DecoratedKey>> {
        match self {
            Self::List(keys) => Ok(keys.pop_front()),
            Self::Scan(scan) => scan.next(view),
            Self::Range(tokens) => {
                let mut scan = Box::new(KeyScan::new(*tokens, None));
                let key = scan.next(view)?;
                *self = Self::Scan(scan);
                Ok(key)
            }
        }
    }
}

/// Keys of all sources in token order, each once.
pub(crate) struct KeyScan {
    tokens: TokenRange,
    /// Keys before this one are passed over.
    from: Option<DecoratedKey>,
    sources: Option<Vec<KeySource>>,
}

struct KeySource {
    head: Option<DecoratedKey>,
    keys: KeyStream,
}

enum KeyStream {
    Memory(InOrder),
    /// And the last partition of a block that the scan has passed, the first one having been told.
    File(Scan, Option<DecoratedKey>),
}

impl KeyScan {
    fn new(tokens: TokenRange, from: Option<DecoratedKey>) -> Self {
        Self { tokens, from, sources: None }
    }

    fn begin(&self, view: &TableView) -> Result<Vec<KeySource>> {
        let mut sources = Vec::new();
        for memtable in view.memtables() {
            let keys = KeyStream::Memory(memtable.partitions(self.tokens, None));
            sources.push(KeySource { head: None, keys });
        }
        for file in &view.files {
            let own = file.meta().tokens();
            if own.first <= self.tokens.last && self.tokens.first <= own.last {
                let keys = KeyStream::File(file.scan(self.tokens)?, None);
                sources.push(KeySource { head: None, keys });
            }
        }
        for source in &mut sources {
            source.advance()?;
            while source.head.as_ref().is_some_and(|key| self.from.as_ref().is_some_and(|from| key < from)) {
                source.advance()?;
            }
        }
        Ok(sources)
    }

    fn next(&mut self, view: &TableView) -> Result<Option<DecoratedKey>> {
        if self.sources.is_none() {
            self.sources = Some(self.begin(view)?);
        }
        let Some(sources) = &mut self.sources else { return Ok(None) };
        let Some(least) = sources.iter().filter_map(|source| source.head.as_ref()).min().cloned() else {
            return Ok(None);
        };
        for source in sources {
            if source.head.as_ref() == Some(&least) {
                source.advance()?;
            }
        }
        Ok(Some(least))
    }
}

impl KeySource {
    fn advance(&mut self) -> Result<()> {
        self.head = match &mut self.keys {
            KeyStream::Memory(keys) => keys.next().map(|(key, _)| key),
            KeyStream::File(scan, last) => next_key(scan, last)?,
        };
        Ok(())
    }
}

/// The next partition of a file. Where a block has one or two partitions, its index entry names them and the block is not looked at.
fn next_key(scan: &mut Scan, last: &mut Option<DecoratedKey>) -> Result<Option<DecoratedKey>> {
    loop {
        if let Some(key) = last.take() {
            return Ok(Some(key));
        }
        if let Some((_, items)) = scan.peek_run() {
            scan.pass_items(items.len());
        }
        let tokens = scan.tokens();
        let asked_for = |key: &DecoratedKey| tokens.contains(key.token).then(|| key.clone());
        while let Some(block) = scan.peek_block().filter(|block| block.summary.partitions <= 2) {
            let first = if block.continues { None } else { asked_for(&block.first) };
            *last = if block.summary.partitions == 2 { asked_for(&block.last) } else { None };
            scan.pass_block()?;
            if let Some(key) = first.or_else(|| last.take()) {
                return Ok(Some(key));
            }
        }
        match scan.next().transpose()? {
            Some(Fragment::Partition { key, .. }) => return Ok(Some(key)),
            Some(_) => {}
            None => return Ok(None),
        }
    }
}

//! What a table holds beside the inputs of a compaction, as the purge rule asks for it.

use crate::compact::purge::Outside;
use crate::model::key::DecoratedKey;
use crate::model::token::hash128;
use crate::sstable::meta::FileMeta;
use crate::sstable::reader::SsTable;
use std::sync::Arc;

/// Files outside of a compaction that share partitions with its inputs.
#[derive(Debug)]
pub struct FilesOutside {
    files: Vec<Arc<SsTable>>,
}

impl FilesOutside {
    /// Of all `live` files those that are not among `inputs` and overlap one of them.
    pub fn new(live: &[Arc<SsTable>], inputs: &[Arc<FileMeta>]) -> Self {
        let is_input = |file: &SsTable| inputs.iter().any(|input| input.id == file.id());
        let meets = |file: &SsTable| inputs.iter().any(|input| input.overlaps(file.meta()));
        let files = live.iter().filter(|file| !is_input(file) && meets(file)).cloned().collect();
        Self { files }
    }
}

impl Outside for FilesOutside {
    fn min_timestamp(&self, key: &DecoratedKey) -> Option<i64> {
        let hash = hash128(&key.key);
        // A filter that cannot be read says nothing: then the partition may be there.
        let holds = |file: &&Arc<SsTable>| file.may_contain_hashed(key, hash).unwrap_or(true);
        self.files.iter().filter(holds).map(|file| file.meta().min_timestamp).min()
    }
}

/// An answer by a function: how the caller speaks for its memtables, which this module does not know.
#[derive(Clone, Copy, Debug)]
pub struct Asked<F>(pub F);

impl<F: Fn(&DecoratedKey) -> Option<i64>> Outside for Asked<F> {
    fn min_timestamp(&self, key: &DecoratedKey) -> Option<i64> {
        (self.0)(key)
    }
}

/// Two parts of what is outside, such as files and memtables.
#[derive(Clone, Copy, Debug)]
pub struct Both<A, B>(pub A, pub B);

impl<A: Outside, B: Outside> Outside for Both<A, B> {
    fn min_timestamp(&self, key: &DecoratedKey) -> Option<i64> {
        let (a, b) = (self.0.min_timestamp(key), self.1.min_timestamp(key));
        a.into_iter().chain(b).min()
    }
}

//! Locks on partitions, for whoever reads before writing: counters, conditions, views.
//!
//! Writers that do not take them go on meanwhile; the locks order those who do among each other.

use crate::db::Db;
use crate::model::schema::TableId;
use crate::model::token::Token;
use parking_lot::{Mutex, MutexGuard};

const COUNT: usize = 256;

/// Locks by partition; two partitions may share one.
#[derive(Debug)]
pub(crate) struct Locks([Mutex<()>; COUNT]);

impl Default for Locks {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::new(())))
    }
}

/// Locked partitions; they are free again when it is dropped.
#[derive(Debug)]
#[must_use = "the partitions are free again as soon as this is dropped"]
pub struct PartitionGuard<'a> {
    _locks: Vec<MutexGuard<'a, ()>>,
}

impl Db {
    /// Waits until nobody else holds the locks of these partitions (table and serialised key), and takes them: who reads, decides and
    /// writes under them sees no other such writer in between. In any number and order, without deadlocks, as long as a thread
    /// that holds a guard takes no second one. [`Table::add`](crate::Table::add) takes its partition's lock itself.
    pub fn lock_partitions(&self, keys: &[(TableId, &[u8])]) -> PartitionGuard<'_> {
        let mut places: Vec<usize> = keys.iter().map(|(table, key)| place(*table, key)).collect();
        places.sort_unstable();
        places.dedup();
        PartitionGuard { _locks: places.iter().map(|place| self.inner.locks.0[*place].lock()).collect() }
    }
}

/// Which lock a partition has.
fn place(table: TableId, key: &[u8]) -> usize {
    let token = Token::of(key).0 as u64;
    (token.wrapping_add(u64::from(table.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 56) as usize % COUNT
}

//! One file per engine: how it is set up, and its calls behind the trait.

pub mod fjall;
pub mod redb;
#[cfg(feature = "rocksdb")]
pub mod rocks;
pub mod skep;
pub mod sqlite;

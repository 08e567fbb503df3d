//! The read path.

pub mod merge;
#[cfg(test)]
mod testing;

//! Guard rails of batches: sizes and spreads that Cassandra warns of, or refuses.

use crate::answer::Run;
use crate::error::{CqlError, Result};
use crate::mutation::Mutations;
use crate::syntax::ast::BatchKind;
use std::collections::{BTreeSet, HashSet};

/// A batch over several partitions of more bytes gets a warning.
const WARN_BYTES: usize = 5 << 10;

/// A batch over several partitions of more bytes is refused.
const FAIL_BYTES: usize = 50 << 10;

/// An unlogged batch over more partitions gets a warning.
const WARN_PARTITIONS: usize = 10;

/// Checks what a batch without conditions writes.
///
/// # Errors
/// `Invalid`: "Batch too large".
pub fn check(mutations: &Mutations, kind: BatchKind, run: &mut Run<'_>) -> Result<()> {
    let written = || mutations.partitions().iter();
    if kind == BatchKind::Logged {
        let forgetful: BTreeSet<String> = written()
            .filter(|part| part.table.schema.options.gc_grace_seconds == 0)
            .map(|part| part.table.full_name())
            .collect();
        if !forgetful.is_empty() {
            let (s, tables) = listed(&forgetful);
            run.warn(format!(
                "Executing a LOGGED BATCH on table{s} {tables}, configured with a gc_grace_seconds of 0. The \
                 gc_grace_seconds is used to TTL batchlog entries, so setting gc_grace_seconds too low on tables involved \
                 in an atomic batch might cause batchlog entries to expire before being replayed."
            ));
        }
    }
    // The tables of one keyspace share a partition's key: that is one mutation to Cassandra.
    let parts: HashSet<(&str, &[u8])> =
        written().map(|part| (part.table.keyspace(), &part.key[..])).collect();
    if parts.len() <= 1 {
        return Ok(());
    }
    let tables: BTreeSet<String> = written().map(|part| part.table.full_name()).collect();
    let (s, tables) = listed(&tables);
    let size = mutations.data_bytes();
    if size > FAIL_BYTES {
        return Err(CqlError::invalid("Batch too large").hint(format!(
            "a batch over several partitions may have {FAIL_BYTES} bytes, this one has {size}"
        )));
    }
    if size > WARN_BYTES {
        run.warn(format!(
            "Batch for {tables} is of size {}, exceeding specified threshold of {} by {}.",
            kibibytes(size),
            kibibytes(WARN_BYTES),
            kibibytes(size - WARN_BYTES)
        ));
    }
    let keys: HashSet<&[u8]> = written().map(|part| &part.key[..]).collect();
    if kind != BatchKind::Logged && keys.len() > WARN_PARTITIONS {
        run.warn(format!(
            "Unlogged batch covering {} partitions detected against table{s} {tables}. You should use a logged batch for \
             atomicity, or asynchronous writes for performance.",
            keys.len()
        ));
    }
    Ok(())
}

fn listed(tables: &BTreeSet<String>) -> (&'static str, String) {
    let names: Vec<&str> = tables.iter().map(String::as_str).collect();
    (if names.len() == 1 { "" } else { "s" }, format!("[{}]", names.join(", ")))
}

fn kibibytes(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        _ => format!("{:.3}KiB", bytes as f64 / 1024.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_as_cassandra_does() {
        assert_eq!((kibibytes(5 << 10), kibibytes(1_023)), ("5.000KiB".to_owned(), "1023B".to_owned()));
    }
}

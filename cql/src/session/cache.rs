//! Prepared statements by keyspace and text, the ones used longest ago making room.

use crate::session::plan::Prepared;
use std::collections::HashMap;

/// How many statements a session keeps.
const STATEMENTS: usize = 512;

/// Longest text that is kept, bytes: one that long is a literal-filled insert and will not come again.
const TEXT_BYTES: usize = 16 << 10;

/// The statements of a session.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// By keyspace, then text.
    known: HashMap<String, HashMap<String, Entry>>,
    count: usize,
    now: u64,
}

#[derive(Debug)]
struct Entry {
    prepared: Prepared,
    used: u64,
}

impl Cache {
    /// The statement prepared from this text in this keyspace.
    pub(crate) fn get(&mut self, keyspace: &str, text: &str) -> Option<Prepared> {
        let entry = self.known.get_mut(keyspace)?.get_mut(text)?;
        self.now += 1;
        entry.used = self.now;
        Some(entry.prepared.clone())
    }

    /// Keeps a statement; of a full cache the older half goes.
    pub(crate) fn put(&mut self, keyspace: String, text: &str, prepared: Prepared) {
        if text.len() > TEXT_BYTES {
            return;
        }
        if self.count >= STATEMENTS {
            self.halve();
        }
        self.now += 1;
        let entry = Entry { prepared, used: self.now };
        let before = self.known.entry(keyspace).or_default().insert(text.to_owned(), entry);
        self.count += usize::from(before.is_none());
    }

    fn halve(&mut self) {
        let mut uses: Vec<u64> =
            self.known.values().flat_map(|texts| texts.values().map(|entry| entry.used)).collect();
        uses.sort_unstable();
        let oldest = uses.get(uses.len() / 2).copied().unwrap_or(0);
        self.known.values_mut().for_each(|texts| texts.retain(|_, entry| entry.used >= oldest));
        self.known.retain(|_, texts| !texts.is_empty());
        self.count = self.known.values().map(HashMap::len).sum();
    }
}

//! The names of files in a store's directory, and the way back from a name to its number.
//!
//! ```text
//! DIR/LOCK                                         held by an OS lock while a process has the store open
//! DIR/FORMAT                                       version of the layout
//! DIR/CURRENT                                      which manifest rules; replaced atomically
//! DIR/MANIFEST-000001                              schema and live files
//! DIR/commitlog/0000000001.log                     segments of the commit log
//! DIR/data/<keyspace>/<table>-<id>/0000000001.sst  SSTables; the id is the table's number in hex
//! DIR/snapshots/<name>/...                         hard links
//! ```
//!
//! A name that ends in `.tmp` is unfinished: whoever opens the store removes it.
//!
//! # Invariants
//! 1. Parsing accepts exactly what is written here: `parse(name(n)) == n`, and any other spelling (missing or
//!    extra zeros, a sign, upper-case hex) is a foreign file, which is left alone.
//! 2. A keyspace's name has only letters, digits and underscores, a table's one `#` between them too: no name leaves its directory.
//!
//! # Not here
//! Table directories carry the id, so that a table dropped and created again never meets its old files, and two
//! names that differ only in case do not clash where the file system ignores it.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::schema::TableId;

/// Ending of a file that is not finished.
const TEMPORARY: &str = ".tmp";
/// Longest name of a keyspace, in bytes (Cassandra's limit).
const MAX_KEYSPACE_NAME: usize = 48;
/// Longest name of a table, in bytes: Cassandra's limit of 222, and what a table that serves another one adds. With its number it still fits
/// into the 255 bytes that file systems give a name.
const MAX_TABLE_NAME: usize = 236;
/// Longest name of a snapshot, in bytes.
const MAX_SNAPSHOT_NAME: usize = 128;

/// Paths in a store's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataDir(PathBuf);

impl DataDir {
    /// The layout under `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self(root.into())
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.0
    }

    /// The file that is locked while a process has the store open.
    pub fn lock(&self) -> PathBuf {
        self.0.join("LOCK")
    }

    /// The file with the version of the layout.
    pub fn format(&self) -> PathBuf {
        self.0.join("FORMAT")
    }

    /// The file that says which manifest rules.
    pub fn current(&self) -> PathBuf {
        self.0.join("CURRENT")
    }

    /// Manifest number `number`.
    pub fn manifest(&self, number: u64) -> PathBuf {
        self.0.join(format!("MANIFEST-{number:06}"))
    }

    /// The directory of the commit log.
    pub fn commitlog(&self) -> PathBuf {
        self.0.join("commitlog")
    }

    /// Segment number `number` of the commit log.
    pub fn segment(&self, number: u64) -> PathBuf {
        self.commitlog().join(format!("{number:010}.log"))
    }

    /// The directory of all tables.
    pub fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    /// The directory of a keyspace's tables.
    ///
    /// # Errors
    /// [`Invalid`](crate::error::ErrorKind::Invalid) if `keyspace` breaks invariant 2.
    pub fn keyspace(&self, keyspace: &str) -> Result<PathBuf> {
        check_keyspace_name(keyspace)?;
        Ok(self.data().join(keyspace))
    }

    /// The directory of a table's SSTables.
    ///
    /// # Errors
    /// [`Invalid`](crate::error::ErrorKind::Invalid) if a name breaks invariant 2.
    pub fn table(&self, keyspace: &str, table: &str, id: TableId) -> Result<PathBuf> {
        check_table_name(table)?;
        Ok(self.keyspace(keyspace)?.join(format!("{table}-{:08x}", id.0)))
    }

    /// The directory of all snapshots.
    pub fn snapshots(&self) -> PathBuf {
        self.0.join("snapshots")
    }

    /// The directory of one snapshot, itself laid out like a store.
    ///
    /// # Errors
    /// [`Invalid`](crate::error::ErrorKind::Invalid) if the name breaks the rule of [`check_snapshot_name`].
    pub fn snapshot(&self, name: &str) -> Result<PathBuf> {
        check_snapshot_name(name)?;
        Ok(self.snapshots().join(name))
    }
}

/// SSTable number `number` in a table's directory.
pub fn sstable_path(table_dir: &Path, number: u64) -> PathBuf {
    table_dir.join(format!("{number:010}.sst"))
}

/// What a name directly in the store's directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootEntry {
    /// `LOCK`
    Lock,
    /// `FORMAT`
    Format,
    /// `CURRENT`
    Current,
    /// `MANIFEST-<number>`
    Manifest(u64),
    /// `commitlog/`
    CommitLog,
    /// `data/`
    Data,
    /// `snapshots/`
    Snapshots,
}

/// Reads a name in the store's directory; `None` for a foreign or temporary one.
pub fn parse_root(name: &str) -> Option<RootEntry> {
    Some(match name {
        "LOCK" => RootEntry::Lock,
        "FORMAT" => RootEntry::Format,
        "CURRENT" => RootEntry::Current,
        "commitlog" => RootEntry::CommitLog,
        "data" => RootEntry::Data,
        "snapshots" => RootEntry::Snapshots,
        _ => RootEntry::Manifest(padded(name.strip_prefix("MANIFEST-")?, 6)?),
    })
}

/// Reads a commit log segment's name: `0000000012.log` is 12.
pub fn parse_segment(name: &str) -> Option<u64> {
    padded(name.strip_suffix(".log")?, 10)
}

/// Reads an SSTable's name: `0000000012.sst` is 12.
pub fn parse_sstable(name: &str) -> Option<u64> {
    padded(name.strip_suffix(".sst")?, 10)
}

/// Reads a table directory's name: the table's name and id.
pub fn parse_table_dir(name: &str) -> Option<(&str, TableId)> {
    let (table, hex) = name.split_once('-')?;
    check_table_name(table).ok()?;
    if hex.len() != 8 || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    Some((table, TableId(u32::from_str_radix(hex, 16).ok()?)))
}

/// The name under which `path` is written until it is finished: `.tmp` is added.
pub fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(TEMPORARY);
    PathBuf::from(name)
}

/// Whether a name is one of an unfinished file.
pub fn is_temporary(name: &str) -> bool {
    name.ends_with(TEMPORARY)
}

/// Checks a keyspace's name: 1 to 48 letters (a-z, A-Z), digits and underscores, as in Cassandra.
///
/// # Errors
/// [`Invalid`](crate::error::ErrorKind::Invalid), with the rule.
pub fn check_keyspace_name(name: &str) -> Result<()> {
    if (1..=MAX_KEYSPACE_NAME).contains(&name.len()) && is_word(name) {
        return Ok(());
    }
    let rule = format!("is not 1 to {MAX_KEYSPACE_NAME} letters, digits and underscores");
    Err(Error::invalid(format!("keyspace name {name:?} {rule}")))
}

/// Checks a table's name: 1 to 236 letters (a-z, A-Z), digits and underscores. A `#` may divide it in two: so are tables named that serve
/// another one (an index's), which no statement can name.
///
/// # Errors
/// [`Invalid`](crate::error::ErrorKind::Invalid), with the rule.
pub fn check_table_name(name: &str) -> Result<()> {
    let (first, second) = name.split_once('#').map_or((name, None), |(first, second)| (first, Some(second)));
    if (1..=MAX_TABLE_NAME).contains(&name.len()) && is_word(first) && second.is_none_or(is_word) {
        return Ok(());
    }
    let rule = format!("is not 1 to {MAX_TABLE_NAME} letters, digits and underscores");
    Err(Error::invalid(format!("table name {name:?} {rule}")))
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Checks a snapshot's name: 1 to 128 letters, digits, `_`, `-` and `.`, not starting with `.` and not ending in
/// `.` or `.tmp`.
///
/// # Errors
/// [`Invalid`](crate::error::ErrorKind::Invalid), with the rule.
pub fn check_snapshot_name(name: &str) -> Result<()> {
    let fits = (1..=MAX_SNAPSHOT_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !is_temporary(name);
    if fits {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "snapshot name {name:?} is not 1 to {MAX_SNAPSHOT_NAME} letters, digits, '_', '-' and '.' \
         (no '.' at either end, no '.tmp')"
    )))
}

/// A decimal number padded with zeros to `width` digits, in exactly that spelling.
fn padded(digits: &str, width: usize) -> Option<u64> {
    if digits.len() < width || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if digits.len() > width && digits.starts_with('0') {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, proptest};

    fn last(path: &Path) -> &str {
        path.file_name().unwrap().to_str().unwrap()
    }

    #[test]
    fn paths_are_those_of_the_layout() {
        let dir = DataDir::new("d");
        let table = dir.table("hives", "minutes", TableId(0xab)).unwrap();
        let expected = "d/data/hives/minutes-000000ab/0000000007.sst";
        assert_eq!(sstable_path(&table, 7), Path::new(expected));
        assert_eq!(dir.manifest(1), Path::new("d/MANIFEST-000001"));
        assert_eq!(dir.segment(12), Path::new("d/commitlog/0000000012.log"));
        assert_eq!(dir.snapshot("before-1.0").unwrap(), Path::new("d/snapshots/before-1.0"));
        assert_eq!(temporary(&dir.current()), Path::new("d/CURRENT.tmp"));
        for (path, entry) in [
            (dir.lock(), RootEntry::Lock),
            (dir.format(), RootEntry::Format),
            (dir.current(), RootEntry::Current),
            (dir.commitlog(), RootEntry::CommitLog),
            (dir.data(), RootEntry::Data),
            (dir.snapshots(), RootEntry::Snapshots),
        ] {
            assert_eq!(parse_root(last(&path)), Some(entry));
        }
    }

    #[test]
    fn other_spellings_are_foreign() {
        for name in
            ["MANIFEST-1", "MANIFEST-0000001", "MANIFEST-00000x", "MANIFEST-+00001", "MANIFEST-000001.tmp"]
        {
            assert_eq!(parse_root(name), None, "{name}");
        }
        for name in
            ["1.log", "00000000001.log", "0000000001.sst", "0000000001.log.tmp", "99999999999999999999.log"]
        {
            assert_eq!(parse_segment(name), None, "{name}");
        }
        assert_eq!(parse_sstable("0000000001.SST"), None);
        let hex = "0123abcd";
        assert!(parse_table_dir(&format!("t-{hex}")).is_some());
        for name in
            [hex.to_string(), format!("-{hex}"), format!("t-{hex}0"), format!("t-{}", hex.to_uppercase())]
        {
            assert_eq!(parse_table_dir(&name), None, "{name}");
        }
    }

    #[test]
    fn no_name_leaves_its_directory() {
        let dir = DataDir::new("d");
        for name in ["", "..", "a/b", "a.b", "a-b", "\u{e9}", "#", "a#", "#a", "a#b#c", &"x".repeat(237)] {
            assert!(dir.keyspace(name).is_err(), "{name:?}");
            assert!(dir.table("ks", name, TableId(0)).is_err(), "{name:?}");
        }
        assert!(dir.keyspace(&"x".repeat(48)).is_ok());
        assert!(dir.keyspace(&"x".repeat(49)).is_err());
        assert!(dir.keyspace("a#index").is_err());
        assert!(dir.table("ks", "a#index", TableId(0)).is_ok());
        let longest = dir.table("ks", &"x".repeat(236), TableId(u32::MAX)).unwrap();
        assert!(last(&longest).len() <= 255);
        for name in ["", ".", "..", ".hidden", "a/b", "a.tmp", "end.", &"x".repeat(129)] {
            assert!(dir.snapshot(name).is_err(), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn names_and_numbers_go_both_ways(number in any::<u64>(), id in any::<u32>()) {
            let dir = DataDir::new("d");
            assert_eq!(parse_root(last(&dir.manifest(number))), Some(RootEntry::Manifest(number)));
            assert_eq!(parse_segment(last(&dir.segment(number))), Some(number));
            assert_eq!(parse_sstable(last(&sstable_path(Path::new("t"), number))), Some(number));
            assert_eq!(parse_table_dir(last(&dir.table("ks", "t_1", TableId(id)).unwrap())), Some(("t_1", TableId(id))));
        }
    }
}

//! Is this directory a store, may one be made here, and of which layout is it?
//!
//! `db/open` asks [`inspect`] before it changes anything, the lock included: whatever is refused stays untouched to the byte.

use crate::env::{DataDir, Env, RootEntry, is_temporary, parse_root, replace_file};
use crate::error::{Error, ErrorKind, Result};

/// Version of the layout that this build writes and reads.
pub const LAYOUT: u32 = 1;

const PREFIX: &str = "skep store, layout ";

/// What stands at the path of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing, an empty directory, or one in which the making of a store was cut short: a store may be made here.
    Nothing,
    /// A store of this layout.
    Store,
}

/// Looks at the directory without changing it.
///
/// # Errors
/// `Unsupported` for a store of another layout and for a directory that is none of skep's, naming what was found there; `Corrupt`
/// for a store that lacks `FORMAT` or `CURRENT`; errors of the disk.
pub fn inspect(env: &dyn Env, dir: &DataDir) -> Result<Found> {
    if !env.exists(dir.root())? {
        return Ok(Found::Nothing);
    }
    let names: Vec<String> = env.list_dir(dir.root())?.into_iter().map(|entry| entry.name).collect();
    let has = |entry: RootEntry| names.iter().any(|name| parse_root(name) == Some(entry));
    if has(RootEntry::Format) {
        check_layout(env, dir)?;
        return match has(RootEntry::Current) {
            true => Ok(Found::Store),
            false => unfinished(env, dir, &names).map(|()| Found::Nothing),
        };
    }
    if has(RootEntry::Current) {
        return Err(Error::corrupt(dir.format(), 0, "the file with the layout's version is missing")
            .hint("restore it from a copy or a snapshot of the store"));
    }
    let ours = |name: &String| parse_root(name) == Some(RootEntry::Lock) || is_temporary(name);
    match names.iter().find(|name| !ours(name)) {
        None => Ok(Found::Nothing),
        Some(foreign) => {
            let message = format!("this directory is not empty and no store of skep: it has {foreign}");
            Err(Error::new(ErrorKind::Unsupported, message)
                .in_file(dir.root())
                .hint("name an empty or a new directory; nothing was changed"))
        }
    }
}

/// Writes `FORMAT`, the first file of a new store, into the existing directory.
///
/// # Errors
/// From the disk.
pub fn write_layout(env: &dyn Env, dir: &DataDir) -> Result<()> {
    replace_file(env, &dir.format(), format!("{PREFIX}{LAYOUT}\n").as_bytes())
}

fn check_layout(env: &dyn Env, dir: &DataDir) -> Result<()> {
    let path = dir.format();
    let content = env.read(&path)?;
    let text = std::str::from_utf8(&content).unwrap_or_default();
    let number = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix('\n')).map(str::parse::<u32>);
    let refuse = |message: String, hint: &str| {
        Err(Error::new(ErrorKind::Unsupported, message).in_file(&path).hint(hint))
    };
    match number {
        Some(Ok(LAYOUT)) => Ok(()),
        Some(Ok(newer)) if newer > LAYOUT => refuse(
            format!("this store has layout {newer}, this build reads {LAYOUT}"),
            "open it with a newer skep; nothing was changed",
        ),
        Some(Ok(older)) => refuse(
            format!("this store has layout {older}, this build reads {LAYOUT}"),
            "open it with the skep that wrote it; nothing was changed",
        ),
        _ => refuse(
            "this is not the FORMAT file of a store of skep".to_owned(),
            "name another directory, or restore the file; nothing was changed",
        ),
    }
}

/// A store without `CURRENT`: fine if nothing was ever in it.
fn unfinished(env: &dyn Env, dir: &DataDir, names: &[String]) -> Result<()> {
    for name in names {
        let holds_data = match parse_root(name) {
            Some(RootEntry::Manifest(number)) => number > 1,
            Some(RootEntry::CommitLog | RootEntry::Data | RootEntry::Snapshots) => {
                !env.list_dir(&dir.root().join(name))?.is_empty()
            }
            _ => false,
        };
        if holds_data {
            let message = format!("the file that names the manifest is missing, but {name} is there");
            return Err(Error::corrupt(dir.current(), 0, message)
                .hint("restore it from a copy or a snapshot of the store"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::sim::SimDisk;
    use std::path::Path;

    fn put(env: &dyn Env, path: &Path, content: &str) {
        env.create_dir_all(path.parent().unwrap()).unwrap();
        env.create(path).unwrap().append(content.as_bytes()).unwrap();
    }

    #[test]
    fn foreign_newer_and_older_directories_are_refused_untouched() {
        let dir = DataDir::new("/d");
        for (file, content, words) in [
            ("/d/notes.txt", "mine", "it has notes.txt"),
            ("/d/data/x", "mine", "it has data"),
            ("/d/FORMAT", "skep store, layout 2\n", "layout 2"),
            ("/d/FORMAT", "skep store, layout 0\n", "layout 0"),
            ("/d/FORMAT", "GIF89a", "not the FORMAT file"),
        ] {
            let disk = SimDisk::new(1);
            put(&*disk.env(), Path::new(file), content);
            let before = disk.dump();
            let error = inspect(&*disk.env(), &dir).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(
                error.to_string().contains(words) && error.to_string().contains("nothing was changed"),
                "{error}"
            );
            assert_eq!(disk.dump(), before);
        }
    }

    #[test]
    fn a_store_may_be_made_where_nothing_is_or_its_making_was_cut_short() {
        let dir = DataDir::new("/d");
        let env = SimDisk::new(1).env();
        assert_eq!(inspect(&*env, &dir).unwrap(), Found::Nothing);
        put(&*env, &dir.lock(), "17\n");
        put(&*env, Path::new("/d/FORMAT.tmp"), "sk");
        assert_eq!(inspect(&*env, &dir).unwrap(), Found::Nothing);
        write_layout(&*env, &dir).unwrap();
        put(&*env, &dir.manifest(1), "");
        env.create_dir_all(&dir.commitlog()).unwrap();
        assert_eq!(inspect(&*env, &dir).unwrap(), Found::Nothing);
        put(&*env, &dir.current(), "");
        assert_eq!(inspect(&*env, &dir).unwrap(), Found::Store);
    }

    #[test]
    fn a_store_that_lost_a_file_is_not_taken_for_an_empty_one() {
        let dir = DataDir::new("/d");
        for lost in ["/d/data/ks/t/1.sst", "/d/commitlog/0000000001.log", "/d/MANIFEST-000002"] {
            let env = SimDisk::new(1).env();
            env.create_dir_all(dir.root()).unwrap();
            write_layout(&*env, &dir).unwrap();
            put(&*env, Path::new(lost), "x");
            assert_eq!(inspect(&*env, &dir).unwrap_err().kind(), ErrorKind::Corrupt, "{lost}");
        }
        let env = SimDisk::new(1).env();
        put(&*env, &dir.current(), "x");
        assert_eq!(inspect(&*env, &dir).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}

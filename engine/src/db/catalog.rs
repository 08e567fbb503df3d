//! The manifest of an open store: one to append to, or a fixed version of a store that is only read.

use crate::db::DEFAULT_KEYSPACE;
use crate::env::{DataDir, Env};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::Manifest;
use crate::manifest::directory::{Found, inspect};
use crate::manifest::edit::{Edit, Keyspace};
use crate::manifest::load::load;
use crate::manifest::version::Version;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the store consists of, and how to change that.
#[derive(Debug)]
pub(crate) enum Catalog {
    /// Open for writing.
    Open(Box<Manifest>),
    /// Read, and left alone.
    Fixed(Arc<Version>),
}

impl Catalog {
    /// Opens the manifest of a store, or makes the store. The caller holds the lock.
    pub(crate) fn open(env: &Arc<dyn Env>, dir: &DataDir, read_only: bool) -> Result<Self> {
        // Asked again under the lock: another process may have made the store meanwhile.
        let found = inspect(&**env, dir)?;
        if read_only {
            return Ok(Self::Fixed(Arc::new(load(&**env, dir)?.version)));
        }
        let mut manifest = match found {
            Found::Store => Manifest::open(Arc::clone(env), dir)?,
            Found::Nothing => Manifest::create(Arc::clone(env), dir)?,
        };
        if !manifest.version().keyspaces.contains_key(DEFAULT_KEYSPACE) && matches!(found, Found::Nothing) {
            let keyspace = Keyspace { name: DEFAULT_KEYSPACE.to_owned(), options: BTreeMap::new() };
            manifest.apply(&[Edit::PutKeyspace(Arc::new(keyspace))])?;
        }
        Ok(Self::Open(Box::new(manifest)))
    }

    /// The live set.
    pub(crate) fn version(&self) -> Arc<Version> {
        match self {
            Self::Open(manifest) => Arc::clone(manifest.version()),
            Self::Fixed(version) => Arc::clone(version),
        }
    }

    /// Makes edits, all or none, durably.
    pub(crate) fn apply(&mut self, edits: &[Edit]) -> Result<()> {
        match self {
            Self::Open(manifest) => manifest.apply(edits),
            Self::Fixed(_) => Err(Error::closed("the store was opened read-only")),
        }
    }

    /// Makes the loss of its last records noticeable from now on, before anything goes that could make up for it. A full disk is no
    /// reason against going on: what goes gives space.
    pub(crate) fn protect(&mut self) -> Result<()> {
        match self {
            Self::Open(manifest) => match manifest.protect() {
                Err(error) if error.kind() == ErrorKind::NoSpace => Ok(()),
                done => done,
            },
            Self::Fixed(_) => Ok(()),
        }
    }

    /// Ends it in order: from now on the loss of its last records would be noticed.
    pub(crate) fn close(&self) -> Result<()> {
        match self {
            Self::Open(manifest) => manifest.close(),
            Self::Fixed(_) => Ok(()),
        }
    }
}

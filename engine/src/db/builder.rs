//! What a store is opened with: settings and components. `open` opens it.

use crate::env::{Clock, Env};
use crate::options::{Options, SyncMode};
use std::path::PathBuf;
use std::sync::Arc;

/// Made by [`Db::builder`](crate::Db::builder), used up by [`Builder::open`].
#[derive(Debug)]
pub struct Builder {
    pub(crate) path: PathBuf,
    pub(crate) options: Options,
    pub(crate) env: Option<Arc<dyn Env>>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) background: bool,
    pub(crate) read_only: bool,
}

impl Builder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, options: Options::default(), env: None, clock: None, background: true, read_only: false }
    }

    /// All settings at once.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// When a write is acknowledged.
    #[must_use]
    pub fn sync(mut self, sync: SyncMode) -> Self {
        self.options.sync = sync;
        self
    }

    /// Memory of all memtables together, bytes.
    #[must_use]
    pub fn memtable_bytes(mut self, bytes: usize) -> Self {
        self.options.memtable_bytes = bytes;
        self
    }

    /// Memory of decoded blocks kept for reading, bytes.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.options.cache_bytes = bytes;
        self
    }

    /// Fails instead of creating a store where there is none.
    #[must_use]
    pub fn must_exist(mut self) -> Self {
        self.options.create = false;
        self
    }

    /// The clock that timestamps, TTLs and expiry go by: a [`ManualClock`](crate::ManualClock) for tests, simulations
    /// and replays of the past.
    #[must_use]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// The disk, for tests on a simulated one. Its clock is used unless [`Builder::clock`] gives another.
    #[must_use]
    pub fn env(self, env: Arc<dyn Env>) -> Self {
        Self { env: Some(env), ..self }
    }

    /// Whether flush, compaction, syncs and expiry run on threads of the store (default) or only inside calls: flushes
    /// in the write that fills a memtable, everything else in [`Db::tick`](crate::Db::tick).
    #[must_use]
    pub fn background(self, background: bool) -> Self {
        Self { background, ..self }
    }

    /// Opens without changing anything in the directory, which may lie on a file system that takes no writes. The log is read into
    /// memory, writes are refused. Any number may read a store at a time, none while it is open for writing.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self.options.create = false;
        self
    }
}

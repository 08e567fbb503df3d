//! Running compactions beside each other and installing what they made.
//!
//! Strategies choose (`compact::strategy`), jobs merge (`compact::job`); this module keeps the books: which files are busy,
//! what was done, what failed, whether the clock is believed.
//!
//! # Invariants
//! 1. A file takes part in at most one compaction at a time.
//! 2. Inputs leave and outputs enter in one manifest record and one swap of the view.
//! 3. A compaction whose inputs are no longer live (a truncated or dropped table) is thrown away.

use crate::compact::expired::{Blocked, ClockGuard, ClockVerdict, Unflushed};
use crate::compact::history::{History, Record};
use crate::compact::input::StrategyInput;
use crate::compact::job::{self, Job, Running};
use crate::compact::outside::{Both, FilesOutside};
use crate::compact::pace::{Cancel, Pace};
use crate::compact::progress::Progress;
use crate::compact::purge::Outside;
use crate::compact::settings::CompactionOptions;
use crate::compact::strategy;
use crate::compact::task::Task;
use crate::db::Inner;
use crate::db::files::discard_unless_installed;
use crate::db::worker::guarded;
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::edit::Edit;
use crate::memtable::Memtable;
use crate::model::key::DecoratedKey;
use crate::model::schema::TableId;
use crate::sstable::meta::{FileId, FileMeta};
use crate::view::TableView;
use crate::write::tables::TableState;
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Pause of a table after a compaction of it failed.
const RETRY: Duration = Duration::from_secs(5);

/// The books.
#[derive(Debug, Default)]
pub(crate) struct Compactor {
    books: Mutex<Books>,
    changed: Condvar,
    guard: Mutex<ClockGuard>,
    cancel: Cancel,
    /// Where the next look for work begins, so that no table waits for ever.
    turn: AtomicUsize,
}

#[derive(Debug, Default)]
struct Books {
    tables: HashMap<TableId, TableBooks>,
    running: usize,
}

#[derive(Debug, Default)]
struct TableBooks {
    /// Files in a running compaction.
    busy: BTreeSet<FileId>,
    /// Damaged files, left out until the store is opened again.
    set_aside: BTreeSet<FileId>,
    history: History,
    retry_at: Option<Instant>,
    running: Vec<Running>,
}

/// Sums over all tables since opening.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) count: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
}

/// Memtables as the purge rule sees them: what is in one is as old as its oldest write.
struct MemtablesOutside(Vec<Arc<Memtable>>);

impl Outside for MemtablesOutside {
    fn min_timestamp(&self, key: &DecoratedKey) -> Option<i64> {
        let holds = |memtable: &&Arc<Memtable>| memtable.get(key.token, &key.key).is_some();
        self.0.iter().filter(holds).map(|memtable| memtable.times().min_timestamp).min()
    }
}

impl Compactor {
    pub(crate) fn confirm_clock(&self, now: i64) {
        self.guard.lock().confirm(now);
    }

    /// Stops running compactions at their next look.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    pub(crate) fn totals(&self) -> Totals {
        let books = self.books.lock();
        books.tables.values().map(|t| t.history.totals()).fold(Totals::default(), |sum, t| Totals {
            count: sum.count + t.finished,
            read_bytes: sum.read_bytes + t.bytes_read,
            written_bytes: sum.written_bytes + t.bytes_written,
        })
    }

    /// The compactions of a table since opening, oldest first.
    pub(crate) fn history(&self, table: TableId) -> Vec<Record> {
        self.books.lock().tables.get(&table).map_or_else(Vec::new, |t| t.history.records().cloned().collect())
    }

    /// Damaged files of a table, which are left alone.
    pub(crate) fn set_aside(&self, table: TableId) -> BTreeSet<FileId> {
        self.books.lock().tables.get(&table).map_or_else(BTreeSet::new, |t| t.set_aside.clone())
    }

    pub(crate) fn forget(&self, table: TableId) {
        self.books.lock().tables.remove(&table);
    }

    /// The compactions of a table that are under way.
    pub(crate) fn running(&self, table: TableId) -> Vec<Running> {
        self.books.lock().tables.get(&table).map_or_else(Vec::new, |t| t.running.clone())
    }

    /// Expired files that something keeps, in words.
    pub(crate) fn blocked(&self, inner: &Inner, table: &TableState) -> Vec<String> {
        let looked = inner.with_input(table, |input, verdict| {
            let jumped = matches!(verdict, ClockVerdict::Jumped { .. }).then(|| verdict.to_string());
            jumped.into_iter().chain(input.expired().blocked.iter().map(ToString::to_string)).collect()
        });
        looked.unwrap_or_default()
    }

    /// Expired files that something keeps.
    pub(crate) fn blockers(&self, inner: &Inner, table: &TableState) -> Vec<Blocked> {
        inner.with_input(table, |input, _| input.expired().blocked).unwrap_or_default()
    }

    /// How many compactions of a table are due.
    pub(crate) fn pending(&self, inner: &Inner, table: &TableState) -> usize {
        inner.with_input(table, |input, _| strategy::pick(input).len()).unwrap_or_default()
    }
}

impl Inner {
    /// Shows `look` what a strategy may know of a table now.
    fn with_input<T>(
        &self,
        table: &TableState,
        look: impl FnOnce(&StrategyInput<'_>, ClockVerdict) -> T,
    ) -> Result<T> {
        let view = table.view();
        let options = CompactionOptions::parse(&view.schema.options.compaction)?;
        let files: Vec<Arc<FileMeta>> = view.files.iter().map(|file| Arc::clone(file.meta())).collect();
        let now = self.now_seconds();
        let newest = files.iter().map(|meta| meta.created_micros.div_euclid(1_000_000)).max();
        let newest = newest.max(self.commit.last_write_second());
        let verdict = self.compactor.guard.lock().check(now, newest, self.options.max_clock_jump);
        let memtables = view.sealed.iter().chain([&view.active]).filter(|m| !m.is_empty());
        let unflushed =
            memtables.map(|m| m.times().min_timestamp).min().map(|min_timestamp| Unflushed { min_timestamp });
        let books = self.compactor.books.lock();
        let nothing = TableBooks::default();
        let table = books.tables.get(&table.id()).unwrap_or(&nothing);
        let busy = table.busy.union(&table.set_aside).copied().collect();
        let input = StrategyInput {
            files: &files,
            busy: &busy,
            options: &options,
            gc_grace_seconds: view.schema.options.gc_grace_seconds,
            unflushed,
            now_seconds: now,
            clock_believed: verdict == ClockVerdict::Believed,
            history: &table.history,
        };
        Ok(look(&input, verdict))
    }

    /// Takes the next task that is due for a table, its files marked as busy.
    fn claim(
        &self,
        table: &TableState,
        choose: fn(&StrategyInput<'_>) -> Vec<Task>,
        impatient: bool,
    ) -> Result<Option<Task>> {
        if !impatient {
            let books = self.compactor.books.lock();
            let retry_at = books.tables.get(&table.id()).and_then(|t| t.retry_at);
            if retry_at.is_some_and(|at| Instant::now() < at) {
                return Ok(None);
            }
        }
        let tasks = self.with_input(table, |input, _| choose(input))?;
        let mut books = self.compactor.books.lock();
        let entry = books.tables.entry(table.id()).or_default();
        let free = |task: &Task| !task.inputs.iter().any(|id| entry.busy.contains(id));
        let Some(task) = tasks.into_iter().find(free) else { return Ok(None) };
        entry.busy.extend(task.inputs.iter().copied());
        books.running += 1;
        Ok(Some(task))
    }

    /// Runs one compaction of any table, if one is due.
    pub(crate) fn compact_once(&self) -> Result<bool> {
        let mut tables = self.commit.tables.all();
        if tables.is_empty() {
            return Ok(false);
        }
        tables.sort_by_key(|table| table.id());
        let turn = self.compactor.turn.fetch_add(1, Ordering::Relaxed) % tables.len();
        tables.rotate_left(turn);
        for table in tables {
            if let Some(task) = self.claim(&table, strategy::pick, false)? {
                self.compact(&table, task)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Compacts until nothing is due. Other tables go on when one fails; the first error is returned.
    pub(crate) fn compact_all(&self) -> Result<()> {
        let mut first = Ok(());
        for table in self.commit.tables.all() {
            loop {
                match self.claim(&table, strategy::pick, false) {
                    Ok(Some(task)) => {
                        let done = self.compact(&table, task);
                        let failed = done.is_err();
                        first = first.and(done);
                        if failed {
                            break;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => {
                        first = first.and(Err(error));
                        break;
                    }
                }
            }
        }
        first
    }

    /// Compacts a table into as few files as its strategy allows, after the compactions that are running.
    pub(crate) fn compact_major(&self, table: &Arc<TableState>) -> Result<()> {
        self.check_writable()?;
        self.wait_free(table.id())?;
        let tasks = self.with_input(table, |input, _| strategy::major(input))?;
        for task in tasks {
            {
                let mut books = self.compactor.books.lock();
                let entry = books.tables.entry(table.id()).or_default();
                if task.inputs.iter().any(|id| entry.busy.contains(id)) {
                    continue; // a background compaction took it first: its output is as good
                }
                entry.busy.extend(task.inputs.iter().copied());
                books.running += 1;
            }
            self.compact(table, task)?;
        }
        Ok(())
    }

    fn wait_free(&self, table: TableId) -> Result<()> {
        let mut books = self.compactor.books.lock();
        while books.tables.get(&table).is_some_and(|t| !t.busy.is_empty()) {
            if self.workers.stopping() {
                return Err(Error::closed("the store is being closed"));
            }
            self.compactor.changed.wait_for(&mut books, Duration::from_millis(50));
        }
        Ok(())
    }

    /// Waits until no compaction runs and none is due.
    pub(crate) fn wait_compacted(&self, end: Option<Instant>) -> Result<()> {
        loop {
            if !self.background {
                self.compact_all()?;
            }
            let mut due = false;
            for table in self.commit.tables.all() {
                due |= self.with_input(&table, |input, _| !strategy::pick(input).is_empty())?;
            }
            let mut books = self.compactor.books.lock();
            if books.running == 0 && !due {
                return Ok(());
            }
            if books.running == 0 {
                drop(books);
                self.first_failure()?;
                self.workers.wake();
                books = self.compactor.books.lock();
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return Err(Error::new(ErrorKind::Busy, "compactions are still under way"));
            }
            self.compactor.changed.wait_for(&mut books, Duration::from_millis(5));
        }
    }

    /// Runs a claimed task and gives its files free again.
    fn compact(&self, table: &Arc<TableState>, task: Task) -> Result<()> {
        let name = table.view().schema.full_name();
        let done = guarded(&name, "compaction", || self.run_task(table, &task));
        let mut books = self.compactor.books.lock();
        books.running -= 1;
        let entry = books.tables.entry(table.id()).or_default();
        task.inputs.iter().for_each(|id| {
            entry.busy.remove(id);
        });
        entry.running.retain(|running| running.task.inputs != task.inputs);
        match &done {
            Ok(record) => {
                entry.retry_at = None;
                record.iter().for_each(|record| entry.history.record(record.clone()));
                self.set_failure(table, None);
            }
            Err(error) if self.workers.stopping() && error.kind() == ErrorKind::Closed => {}
            Err(error) => {
                entry.retry_at = Some(Instant::now() + RETRY);
                if error.kind() == ErrorKind::Corrupt {
                    // The damaged file is left alone from now on; the others go on being compacted.
                    let damaged = task.inputs.iter().copied().filter(|id| self.is_file(table, *id, error));
                    entry.set_aside.extend(damaged);
                }
                self.set_failure(table, Some(error));
            }
        }
        drop(books);
        self.compactor.changed.notify_all();
        done.map(|_| ())
    }

    fn is_file(&self, table: &TableState, id: FileId, error: &Error) -> bool {
        let path = self.file_path(&table.view().schema, id).ok();
        path.is_some_and(|path| error.file() == Some(path.as_path()))
    }

    fn run_task(&self, table: &Arc<TableState>, task: &Task) -> Result<Option<Record>> {
        let view = table.view();
        let inputs: Vec<_> =
            view.files.iter().filter(|file| task.inputs.contains(&file.meta().id)).cloned().collect();
        if inputs.len() != task.inputs.len() {
            return Ok(None); // truncated or dropped since
        }
        let metas: Vec<_> = inputs.iter().map(|file| Arc::clone(file.meta())).collect();
        let memtables = view.sealed.iter().chain([&view.active]).cloned().collect();
        let outside = Both(FilesOutside::new(&view.files, &metas), MemtablesOutside(memtables));
        let directory = self.dir.table(&view.schema.keyspace, &view.schema.name, view.schema.id)?;
        let next_id = || Ok(self.next_file());
        let pace = Pace::new(Arc::clone(&self.env), self.options.compaction_bytes_per_second);
        let progress = Arc::new(Progress::default());
        let running = Running {
            task: task.clone(),
            started_micros: self.env.now_micros(),
            progress: Arc::clone(&progress),
        };
        self.compactor.books.lock().tables.entry(table.id()).or_default().running.push(running);
        let job = Job {
            env: &self.env,
            directory: &directory,
            schema: &view.schema,
            task,
            inputs,
            outside: &outside,
            now_seconds: self.now_seconds(),
            next_id: &next_id,
            reserved_bytes: 0,
            pace: &pace,
            cancel: &self.compactor.cancel,
            progress: &progress,
        };
        let outcome = job::run(&job)?;
        let outputs: Vec<Arc<FileMeta>> = outcome.outputs.into_iter().map(Arc::new).collect();
        let installed = self.install(table, task, &outputs);
        discard_unless_installed(self, &view.schema, &outputs, &installed);
        Ok(installed?.then_some(outcome.record))
    }

    /// Replaces a task's inputs by its outputs. `false` if an input is not live any more.
    fn install(&self, table: &TableState, task: &Task, outputs: &[Arc<FileMeta>]) -> Result<bool> {
        let mut manifest = self.manifest.lock();
        let view = table.view();
        let live = |id: &FileId| view.files.iter().any(|file| file.meta().id == *id);
        if table.is_dropped() || !task.inputs.iter().all(live) {
            return Ok(false);
        }
        let add = outputs.iter().map(|meta| Edit::AddFile(Arc::clone(meta)));
        let remove = task.inputs.iter().map(|file| Edit::RemoveFile { table: table.id(), file: *file });
        manifest.apply(&add.chain(remove).collect::<Vec<_>>())?;
        let opened: Vec<_> = outputs.iter().map(|meta| self.open_file(&view.schema, meta)).collect();
        let mut gone = Vec::new();
        table.change(|view| {
            let (inputs, kept): (Vec<_>, Vec<_>) =
                view.files.iter().cloned().partition(|file| task.inputs.contains(&file.meta().id));
            gone = inputs;
            TableView { files: kept.into_iter().chain(opened).collect(), ..view.clone() }
        });
        drop(manifest);
        // Readers that still hold the old view keep the files; the last one removes them.
        gone.iter().for_each(|file| file.mark_obsolete());
        Ok(true)
    }
}

//! The store's threads: one flushes, some compact, one keeps time. Others live only as long as a call: those that replay the log
//! or check files.
//!
//! With `background(false)` there are none: [`Inner::run_pending`] does their work inside the caller's calls.

use crate::db::Inner;
use crate::error::{Error, Result};
use crate::options::SyncMode;
use parking_lot::{Condvar, Mutex};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// How long a thread sleeps at most before it looks whether the store was closed.
const NAP: Duration = Duration::from_millis(200);

/// Starts, wakes and stops the threads.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    threads: Mutex<Vec<JoinHandle<()>>>,
    stop: AtomicBool,
    woken: Mutex<bool>,
    wake: Condvar,
    /// Ends the time thread's sleep when the store is closed.
    ended: Condvar,
}

impl Workers {
    /// Wakes the compaction threads: something changed that may give them work.
    pub(crate) fn wake(&self) {
        *self.woken.lock() = true;
        self.wake.notify_all();
    }

    /// Whether the store is being closed: long work stops early.
    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Starts the threads of `inner`.
    pub(crate) fn start(inner: &Arc<Inner>) -> Result<()> {
        Self::spawn(inner, "skep-flush", flush_loop)?;
        Self::spawn(inner, "skep-time", time_loop)?;
        for _ in 0..inner.options.compaction_threads {
            Self::spawn(inner, "skep-compact", compact_loop)?;
        }
        Ok(())
    }

    fn spawn(inner: &Arc<Inner>, name: &str, run: fn(&Inner)) -> Result<()> {
        let shared = Arc::clone(inner);
        let thread = Builder::new().name(name.to_owned()).spawn(move || run(&shared));
        let thread = thread.map_err(|error| Error::io("start a thread for", inner.dir.root(), error))?;
        inner.workers.threads.lock().push(thread);
        Ok(())
    }

    /// Stops all threads and waits for them.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wake();
        self.ended.notify_all();
        for thread in self.threads.lock().drain(..) {
            // The last handle may be dropped by one of the threads themselves: they hold the store, too.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }

    /// Sleeps for `time`, or until the store is closed.
    fn sleep(&self, time: Duration) {
        let mut woken = self.woken.lock();
        if !self.stopping() {
            self.ended.wait_for(&mut woken, time);
        }
    }

    fn nap(&self, time: Duration) {
        let mut woken = self.woken.lock();
        if !*woken && !self.stopping() {
            self.wake.wait_for(&mut woken, time);
        }
        *woken = false;
    }
}

fn flush_loop(inner: &Inner) {
    while !inner.workers.stopping() {
        if let Some(task) = inner.commit.queue.next(NAP) {
            let _ = inner.flush_one(task); // the queue and the budget remember the failure
        }
    }
}

fn compact_loop(inner: &Inner) {
    while !inner.workers.stopping() {
        if !inner.compact_once().unwrap_or(false) {
            inner.workers.nap(NAP);
        }
    }
}

fn time_loop(inner: &Inner) {
    let period = match inner.options.sync {
        SyncMode::Periodic(period) => Some(period),
        SyncMode::Batch | SyncMode::Off => None,
    };
    let (mut last_expiry, mut last_sync) = (Instant::now(), Instant::now());
    while !inner.workers.stopping() {
        let to_sync = period.map_or(NAP, |period| period.saturating_sub(last_sync.elapsed()));
        inner.workers.sleep(to_sync.min(NAP));
        if period.is_some_and(|period| last_sync.elapsed() >= period) {
            // From the beginning of the one to that of the next: a sync may take long.
            last_sync = Instant::now();
            let _ = inner.commit.sync(); // a failure stops writing, and the next write says so
        }
        inner.keep_time();
        if last_expiry.elapsed() >= inner.options.expiry_check {
            last_expiry = Instant::now();
            inner.workers.wake();
        }
    }
}

impl Inner {
    /// Flushes one sealed memtable, or puts it back and remembers why not.
    pub(crate) fn flush_one(&self, task: crate::write::queue::FlushTask) -> Result<()> {
        let name = task.table.view().schema.full_name();
        let flushed = guarded(&name, "flush", || crate::db::flush::flush(self, &task));
        match flushed {
            Ok(()) => {
                self.commit.budget.free(task.bytes);
                self.commit.queue.done(&task);
                self.set_failure(&task.table, None);
                self.workers.wake();
                Ok(())
            }
            Err(error) => {
                self.commit.budget.flush_failed(&error);
                self.set_failure(&task.table, Some(&error));
                self.commit.queue.failed(task);
                Err(error)
            }
        }
    }

    /// Does everything that is due now, on this thread.
    pub(crate) fn run_pending(&self) -> Result<()> {
        while let Some(task) = self.commit.queue.try_next() {
            self.flush_one(task)?;
        }
        Ok(())
    }
}

/// Runs background work of one table so that a panic in it becomes that table's error and leaves the rest alone.
pub(crate) fn guarded<T>(table: &str, what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| error.in_table(table)),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Err(Error::invalid(format!("{what} panicked: {text}")).in_table(table).hint("please report this"))
        }
    }
}

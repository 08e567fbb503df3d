//! A statement whose plan was overtaken: it names an index, a view or a column that somebody has dropped since. Nothing was written then, so
//! that it is planned and run again, and meets the schema as it is.

use crate::catalog::Catalog;
use crate::error::{CqlError, Result};
use skep_engine::ErrorKind;
use std::time::Duration;

/// How often a statement is run at most: enough for whoever does not change the schema without end.
const RUNS: u32 = 32;

/// How long the schema's number is waited for, which a change raises last.
const WAIT: Duration = Duration::from_millis(1);

/// Why a run failed.
#[derive(Debug)]
pub(crate) struct Failed {
    error: CqlError,
    /// The epoch of the plan that it followed; None if no other plan would help.
    epoch: Option<u64>,
}

impl From<CqlError> for Failed {
    fn from(error: CqlError) -> Self {
        Self { error, epoch: None }
    }
}

impl Failed {
    /// By a plan that was made at `epoch`.
    pub(crate) fn by_plan(error: CqlError, epoch: u64) -> Self {
        Self { error, epoch: Some(epoch) }
    }

    /// Whether another plan may do better.
    fn is_overtaken(&self, catalog: &Catalog) -> bool {
        let Some(epoch) = self.epoch else { return false };
        match self.error.engine().map(skep_engine::Error::kind) {
            Some(ErrorKind::NotFound) => {
                if catalog.epoch() == epoch {
                    std::thread::sleep(WAIT);
                }
                true
            }
            Some(ErrorKind::Busy) => catalog.epoch() != epoch,
            _ => false,
        }
    }
}

/// Calls `run` until its plan holds, a bounded number of times.
pub(crate) fn repeat<T>(
    catalog: &Catalog,
    mut run: impl FnMut() -> std::result::Result<T, Failed>,
) -> Result<T> {
    for _ in 1..RUNS {
        match run() {
            Err(failed) if failed.is_overtaken(catalog) => {}
            done => return done.map_err(|failed| failed.error),
        }
    }
    run().map_err(|failed| failed.error)
}

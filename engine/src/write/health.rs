//! Whether the store still takes writes.
//!
//! After a failed sync nobody knows what reached the disk (the system may have dropped the dirty pages), so that going on
//! would acknowledge writes that are lost. The store therefore stops writing, keeps reading, and says why; reopening
//! recovers what the log holds.

use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The state of a store's write side; shared by all that write.
#[derive(Debug, Default)]
pub struct Health {
    stopped: AtomicBool,
    cause: Mutex<Option<String>>,
}

impl Health {
    /// Fails once writing has been stopped.
    ///
    /// # Errors
    /// `Closed`, with the cause.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(self.error());
        }
        Ok(())
    }

    /// Stops writing for good; the first cause is kept. Returns the error for the caller at hand.
    pub fn stop(&self, cause: &Error) -> Error {
        let mut kept = self.cause.lock();
        kept.get_or_insert_with(|| cause.to_string());
        self.stopped.store(true, Ordering::Release);
        drop(kept);
        self.error()
    }

    /// Stops writing because the store was closed.
    pub fn close(&self) {
        self.cause.lock().get_or_insert_with(|| "it was closed".to_owned());
        self.stopped.store(true, Ordering::Release);
    }

    fn error(&self) -> Error {
        let cause = self.cause.lock().clone().unwrap_or_default();
        Error::closed(format!("the store takes no more writes: {cause}"))
            .hint("reads go on; reopen the store to write again")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn the_first_cause_stays() {
        let health = Health::default();
        assert!(health.check().is_ok());
        health.stop(&Error::invalid("first"));
        health.stop(&Error::invalid("second"));
        let error = health.check().unwrap_err();
        assert!(error.kind() == ErrorKind::Closed && error.message().contains("first"), "{error}");
    }
}

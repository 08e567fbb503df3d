//! What layers above keep with an open store: one value of each type, made when it is first asked for.
//!
//! CQL keeps its catalogue here, so that all sessions of a process share it. Values are let go when the store closes.

use crate::db::Db;
use parking_lot::Mutex;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The values by type.
#[derive(Default)]
pub(crate) struct Attachments(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Attachments {
    /// Lets go of all of them.
    pub(crate) fn clear(&self) {
        let values = std::mem::take(&mut *self.0.lock());
        drop(values); // without the lock: a value may be the last to hold another store
    }
}

impl fmt::Debug for Attachments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attachments").field("count", &self.0.lock().len()).finish()
    }
}

impl Db {
    /// The value of type `T` that is kept with the open store; the first call makes it by `init`, which gets a handle as
    /// [`Db::detached`] gives it. Only such a handle (or tables from it) may be kept in the value: an ordinary one
    /// would keep the store open for ever. `init` must not ask for an attachment itself.
    pub fn attachment<T: Any + Send + Sync>(&self, init: impl FnOnce(Db) -> T) -> Arc<T> {
        let mut values = self.inner.attachments.0.lock();
        let known = values.get(&TypeId::of::<T>()).cloned().and_then(|value| value.downcast::<T>().ok());
        if let Some(value) = known {
            return value;
        }
        let value = Arc::new(init(self.detached()));
        if !self.inner.closed.load(Ordering::Acquire) {
            let kept: Arc<dyn Any + Send + Sync> = value.clone();
            values.insert(TypeId::of::<T>(), kept);
        }
        value
    }

    /// A handle on the same store that does not keep it open: the store closes when the last ordinary handle goes, and this one then answers
    /// with `Closed`, as do tables taken from it.
    #[must_use]
    pub fn detached(&self) -> Db {
        Db { inner: Arc::clone(&self.inner), _open: None }
    }
}

//! The name of what a schema statement is about.

use crate::catalog::names;
use crate::error::{CqlError, Result};
use crate::syntax::ast::TableName;

/// A thing's name with its keyspace.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Keyspace.
    pub keyspace: &'a str,
    /// Name.
    pub name: &'a str,
}

impl<'a> Named<'a> {
    /// The name as written, in the session's keyspace unless it says another.
    ///
    /// # Errors
    /// If there is no keyspace, or it is one of Cassandra's own, which cannot be changed.
    pub fn of(name: &'a TableName, session: Option<&'a str>) -> Result<Self> {
        let keyspace = name.keyspace.as_ref().map(|keyspace| keyspace.text.as_str()).or(session);
        let keyspace = keyspace.ok_or_else(no_keyspace)?;
        names::check_modifiable(keyspace)?;
        Ok(Self { keyspace, name: &name.name.text })
    }

    /// `keyspace.name`, bare.
    #[must_use]
    pub fn full(self) -> String {
        format!("{}.{}", self.keyspace, self.name)
    }
}

/// The error of a name without keyspace in a session without.
#[must_use]
pub fn no_keyspace() -> CqlError {
    CqlError::invalid(
        "No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename",
    )
}

//! Names: which keyspaces belong to the system, which names the store can keep, how to write one.

use crate::error::{CqlError, Result};

/// Longest name of a keyspace, in characters.
pub const MAX_KEYSPACE: usize = 48;

/// Longest name of a table, in characters: a directory bears it.
pub const MAX_TABLE: usize = 222;

/// Keyspaces that Cassandra keeps for itself and lets nobody change.
pub const SYSTEM: [&str; 4] = ["system", "system_schema", "system_views", "system_virtual_schema"];

/// Keyspaces that Cassandra makes by itself and replicates.
const REPLICATED: [&str; 3] = ["system_auth", "system_distributed", "system_traces"];

/// Whether a keyspace is one of Cassandra's own, which cannot be changed.
#[must_use]
pub fn is_system(keyspace: &str) -> bool {
    SYSTEM.contains(&keyspace)
}

/// Whether a keyspace's name is one of those that no user may create.
#[must_use]
pub fn is_reserved(keyspace: &str) -> bool {
    is_system(keyspace) || REPLICATED.contains(&keyspace)
}

/// Refuses changes in Cassandra's own keyspaces.
///
/// # Errors
/// `Unauthorized` in Cassandra's words.
pub fn check_modifiable(keyspace: &str) -> Result<()> {
    if is_system(keyspace) {
        let text = format!("{keyspace} keyspace is not user-modifiable.");
        return Err(CqlError::new(crate::error::Code::Unauthorized, text));
    }
    Ok(())
}

/// Whether a name has only letters, digits and `_`, and at least one of them.
#[must_use]
pub fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Checks the name of a new keyspace.
///
/// # Errors
/// `Invalid` in Cassandra's words.
pub fn check_keyspace(name: &str) -> Result<()> {
    if !is_word(name) {
        return Err(CqlError::invalid(format!(
            "Keyspace name must not be empty and must contain alphanumeric or underscore characters only (got \"{name}\")"
        )));
    }
    if name.len() > MAX_KEYSPACE {
        return Err(CqlError::invalid(format!(
            "Keyspace name must not be more than {MAX_KEYSPACE} characters long (got {} characters for \"{name}\")",
            name.len()
        )));
    }
    Ok(())
}

/// Checks the name of a new table or view.
///
/// # Errors
/// `Config` in Cassandra's words.
pub fn check_table(keyspace: &str, name: &str) -> Result<()> {
    if !is_word(name) {
        return Err(CqlError::config(format!(
            "{keyspace}.{name}: Table name must not be empty or not contain non-alphanumeric-underscore characters \
             (got \"{name}\")"
        )));
    }
    if name.len() > MAX_TABLE {
        return Err(CqlError::config(format!(
            "{keyspace}.{name}: Table name must not be more than {MAX_TABLE} characters long (got {} characters for \
             \"{name}\")",
            name.len()
        )));
    }
    Ok(())
}

/// `keyspace.table` as messages show it.
#[must_use]
pub fn full(keyspace: &str, name: &str) -> String {
    format!("{}.{}", crate::catalog::types::name(keyspace), crate::catalog::types::name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_store_cannot_keep_are_refused() {
        assert!(check_keyspace("a_1").is_ok());
        assert!(check_keyspace("a-1").is_err());
        assert!(check_keyspace(&"k".repeat(48)).is_ok());
        assert!(check_keyspace(&"k".repeat(49)).is_err());
        assert!(check_table("k", &"t".repeat(222)).is_ok());
        assert!(check_table("k", &"t".repeat(223)).is_err());
        assert!(check_table("k", "").is_err());
        assert!(check_modifiable("system").is_err());
        assert!(check_modifiable("system_auth").is_ok());
    }
}

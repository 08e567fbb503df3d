//! The replication option of keyspaces: checked, kept and shown as Cassandra does. There is one node, so that it has no effect.

use crate::error::{CqlError, Result};
use std::collections::BTreeMap;

/// The package in which Cassandra looks up a class without dots.
const PACKAGE: &str = "org.apache.cassandra.locator.";

/// The name of the only data centre.
const DATACENTER: &str = "datacenter1";

/// The option's map with the class's full name; and a warning, if there is one.
///
/// # Errors
/// In Cassandra's words: no class or an unknown one, an option that the strategy does not know, a factor that is no number.
pub fn check(
    keyspace: &str,
    given: &[(String, String)],
) -> Result<(BTreeMap<String, String>, Option<String>)> {
    let mut map: BTreeMap<String, String> = given.iter().cloned().collect();
    let Some(class) = map.remove("class") else {
        return Err(CqlError::config("Missing replication strategy class"));
    };
    let full = if class.contains('.') { class.clone() } else { format!("{PACKAGE}{class}") };
    let short = full.strip_prefix(PACKAGE).unwrap_or(&full).to_owned();
    let mut highest = 0;
    match short.as_str() {
        "LocalStrategy" => {
            let text = "Unable to use given strategy class: LocalStrategy is reserved for internal use.";
            return Err(CqlError::invalid(text));
        }
        "SimpleStrategy" => {
            let unknown: Vec<_> = map.keys().filter(|name| *name != "replication_factor").cloned().collect();
            refuse(&unknown, &short, keyspace)?;
            match map.get("replication_factor") {
                Some(text) => highest = factor(text)?,
                None => {
                    map.insert("replication_factor".to_owned(), "1".to_owned());
                }
            }
        }
        "NetworkTopologyStrategy" => {
            if let Some(all) = map.remove("replication_factor") {
                map.entry(DATACENTER.to_owned()).or_insert(all);
            }
            let unknown: Vec<_> = map.keys().filter(|name| *name != DATACENTER).cloned().collect();
            refuse(&unknown, &short, keyspace)?;
            map.entry(DATACENTER.to_owned()).or_insert_with(|| "1".to_owned());
            for text in map.values() {
                highest = highest.max(factor(text)?);
            }
        }
        _ => return Err(CqlError::config(format!("Unable to find replication strategy class '{full}'"))),
    }
    map.insert("class".to_owned(), full);
    let warning = (highest > 1).then(|| {
        format!(
            "Your replication factor {highest} for keyspace {keyspace} is higher than the number of nodes 1"
        )
    });
    Ok((map, warning))
}

fn refuse(unknown: &[String], class: &str, keyspace: &str) -> Result<()> {
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(CqlError::config(format!(
            "Unrecognized strategy option {{{}}} passed to {class} for keyspace {keyspace}",
            unknown.join(", ")
        ))),
    }
}

/// A factor, which may not be negative. Transient replicas (`3/1`) are off in Cassandra too.
fn factor(text: &str) -> Result<i32> {
    let number: i32 =
        text.trim().parse().map_err(|_| CqlError::config(format!("For input string: \"{text}\"")))?;
    if number < 0 {
        return Err(CqlError::config(format!("Replication factor must be non-negative, found {number}")));
    }
    Ok(number)
}

/// How many copies a replication that was checked asks for.
#[must_use]
pub fn copies(replication: &BTreeMap<String, String>) -> i32 {
    let factors =
        replication.iter().filter(|(name, _)| *name != "class").map(|(_, text)| factor(text).unwrap_or(0));
    factors.fold(0, i32::saturating_add)
}

/// The map for DESCRIBE: the class by its short name, first.
#[must_use]
pub fn describe(replication: &BTreeMap<String, String>) -> String {
    let quote = crate::schema::properties::quote;
    let class = replication.get("class").map_or("", String::as_str);
    let class = class.strip_prefix(PACKAGE).unwrap_or(class);
    let mut text = format!("{{'class': {}", quote(class));
    for (name, value) in replication.iter().filter(|(name, _)| *name != "class") {
        text.push_str(&format!(", {}: {}", quote(name), quote(value)));
    }
    text + "}"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(pairs: &[(&str, &str)]) -> Result<(BTreeMap<String, String>, Option<String>)> {
        let pairs: Vec<_> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        check("ks", &pairs)
    }

    #[test]
    fn classes_get_their_package_and_factors_a_warning() {
        let (map, warning) = checked(&[("class", "SimpleStrategy"), ("replication_factor", "2")]).unwrap();
        assert_eq!(map["class"], "org.apache.cassandra.locator.SimpleStrategy");
        assert!(warning.unwrap().contains("higher than the number of nodes 1"));
        assert_eq!(describe(&map), "{'class': 'SimpleStrategy', 'replication_factor': '2'}");
        let (map, warning) = checked(&[("class", "NetworkTopologyStrategy"), ("datacenter1", "1")]).unwrap();
        assert_eq!((map["datacenter1"].as_str(), warning), ("1", None));
        assert_eq!(copies(&map), 1);
    }

    #[test]
    fn what_no_strategy_takes_is_refused() {
        for wrong in [
            &[("replication_factor", "1")][..],
            &[("class", "LocalStrategy")],
            &[("class", "NoSuch")],
            &[("class", "SimpleStrategy"), ("replication_factor", "x")],
            &[("class", "SimpleStrategy"), ("replication_factor", "-1")],
            &[("class", "SimpleStrategy"), ("other", "1")],
            &[("class", "NetworkTopologyStrategy"), ("nosuchdc", "1")],
        ] {
            assert!(checked(wrong).is_err(), "{wrong:?}");
        }
    }
}

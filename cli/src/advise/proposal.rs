//! The definition that follows the advice, as CQL.

use crate::advise::rules::{Advice, is_time};
use skep::cql::syntax::print;
use skep::model::schema::Column;
use skep::{ColumnKind, Order, TableSchema};

/// CREATE TABLE of a better table.
pub(super) fn create_table(schema: &TableSchema, advice: &Advice) -> String {
    let mut lines = Vec::new();
    let taken = |name: &str| schema.column(name).is_some();
    let bucket = advice.bucket.map(|bucket| {
        let name =
            if taken(bucket.name) { format!("{}_bucket", bucket.name) } else { bucket.name.to_owned() };
        (name, bucket)
    });
    // What tells series apart, if the table has something like it.
    let subject = schema.clustering().iter().find(|column| !is_time(&column.ty));
    if advice.spread && subject.is_none() {
        lines.push("    series text,  -- what the data is about".to_owned());
    }
    if let Some((name, bucket)) = &bucket {
        lines.push(format!("    {name} {},  -- {}", bucket.ty, bucket.how));
    }
    for column in schema.declared() {
        let is_static = if column.kind == ColumnKind::Static { " static" } else { "" };
        lines.push(format!("    {} {}{is_static},", print::name(&column.name), column.ty));
    }
    let mut key: Vec<String> = Vec::new();
    let mut clustering: Vec<(String, bool)> = Vec::new();
    if advice.spread {
        key.push(subject.map_or_else(|| "series".to_owned(), |column| print::name(&column.name)));
    }
    let time_only = advice.spread;
    for column in schema.partition_key() {
        match time_only && column.ty != skep::CqlType::Date {
            // A moment as a key becomes the order of the rows.
            true => clustering.push((print::name(&column.name), true)),
            false => key.push(print::name(&column.name)),
        }
    }
    key.extend(bucket.map(|(name, _)| name));
    let left = schema
        .clustering()
        .iter()
        .filter(|column| !advice.spread || subject.is_none_or(|subject| subject.id != column.id));
    clustering.extend(left.map(|column| (print::name(&column.name), descending(column))));
    let parts = if key.len() == 1 { format!("({})", key[0]) } else { format!("({})", key.join(", ")) };
    let names: Vec<_> =
        std::iter::once(parts).chain(clustering.iter().map(|(name, _)| name.clone())).collect();
    lines.push(format!("    PRIMARY KEY ({})", names.join(", ")));
    let mut options = Vec::new();
    if !clustering.is_empty() {
        let order = |(name, descending): &(String, bool)| {
            format!("{name} {}", if *descending { "DESC" } else { "ASC" })
        };
        options.push(format!(
            "CLUSTERING ORDER BY ({})",
            clustering.iter().map(order).collect::<Vec<_>>().join(", ")
        ));
    }
    match advice.window_days {
        Some(window) => options.push(format!("compaction = {}", compaction(window))),
        None => {
            let map: Vec<_> =
                schema.options.compaction.iter().map(|(k, v)| format!("'{k}': '{v}'")).collect();
            options.push(format!("compaction = {{{}}}", map.join(", ")));
        }
    }
    let ttl = advice.ttl.unwrap_or(schema.options.default_time_to_live);
    if ttl > 0 {
        options.push(format!("default_time_to_live = {ttl}"));
    }
    let name = format!("{}.{}", print::name(&schema.keyspace), print::name(&format!("{}_2", schema.name)));
    format!("CREATE TABLE {name} (\n{}\n) WITH {};", lines.join("\n"), options.join("\n  AND "))
}

/// A time is best read from its newest end.
fn descending(column: &Column) -> bool {
    column.kind == ColumnKind::Clustering(Order::Desc) || is_time(&column.ty)
}

fn compaction(days: f64) -> String {
    let (size, unit) = match days {
        days if days >= 1.0 => (days, "DAYS"),
        days if days * 24.0 >= 1.0 => (days * 24.0, "HOURS"),
        days => (days * 1440.0, "MINUTES"),
    };
    format!(
        "{{'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': '{unit}', 'compaction_window_size': '{:.0}'}}",
        size.max(1.0)
    )
}

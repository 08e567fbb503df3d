//! WHERE as text, with the values of a run, split by what becomes of it: for EXPLAIN, traces and warnings.

use crate::catalog::types::name;
use crate::restrict::Where;
use crate::restrict::operand::{Words, key_lists, key_parts, literal, value};
use crate::restrict::restriction::{Contains, LeftKind, Restriction, Test};
use crate::term::EvalContext;
use skep_engine::model::bytes::Bytes;
use skep_engine::model::schema::Column;
use skep_engine::{CqlType, TableSchema};

/// What WHERE asks, by how it is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Decides which partitions are read.
    pub(crate) partitions: Vec<String>,
    /// Decides which rows of them are read.
    pub(crate) rows: Vec<String>,
    /// Is asked of every row that is read.
    pub(crate) filter: Vec<String>,
}

impl Where {
    /// All of it.
    pub(crate) fn told(&self, cx: &EvalContext<'_>) -> Told {
        let schema = &self.table.schema;
        let texts =
            |all: &[Restriction]| all.iter().flat_map(|one| texts_of(one, schema, cx)).collect::<Vec<_>>();
        let (ranged, behind) = self.clustering.split_at(self.ranged.min(self.clustering.len()));
        let keys = texts(&self.keys);
        let mut told = Told { rows: texts(ranged), ..Told::default() };
        match self.filters_keys {
            true => told.filter = keys,
            false => told.partitions = keys,
        }
        told.partitions.extend(self.token.iter().flat_map(|token| texts_of(token, schema, cx)));
        told.filter.extend(texts(behind));
        told.filter.extend(texts(&self.others));
        told
    }

    /// What is said of the clustering, as messages restate it: `c <= 1000`, with values. Nothing where a value has none.
    pub(crate) fn restated(&self, cx: &EvalContext<'_>) -> Vec<String> {
        let plain = self.clustering.iter().filter(|restriction| !restriction.is_contains());
        plain.flat_map(|restriction| texts_of(restriction, &self.table.schema, cx)).collect()
    }
}

/// One restriction; nothing where a value is null or unset.
fn texts_of(restriction: &Restriction, schema: &TableSchema, cx: &EvalContext<'_>) -> Vec<String> {
    let columns: Vec<&Column> =
        restriction.columns.iter().filter_map(|place| schema.columns().get(*place)).collect();
    let is_token = restriction.left == LeftKind::Token;
    let left = |width: usize| {
        let names: Vec<String> = columns.iter().take(width).map(|column| name(&column.name)).collect();
        match () {
            () if is_token => format!(
                "token({})",
                schema.partition_key().iter().map(|column| name(&column.name)).collect::<Vec<_>>().join(", ")
            ),
            () if width == 1 => names.concat(),
            () => format!("({})", names.join(", ")),
        }
    };
    let right = |wires: &[Bytes]| {
        let types = columns.iter().map(|column| if is_token { &CqlType::Bigint } else { &column.ty });
        let values: Vec<String> = types.zip(wires).map(|(ty, wire)| literal(wire, ty)).collect();
        if wires.len() == 1 { values.concat() } else { format!("({})", values.join(", ")) }
    };
    let mut texts = Vec::new();
    match &restriction.test {
        Test::Eq(operand) => {
            if let Ok(wires) = key_parts(operand, restriction, schema, cx) {
                texts.push(format!("{} = {}", left(wires.len()), right(&wires)));
            }
        }
        Test::In(operands) => {
            if let Ok(lists) = key_lists(operands, restriction, schema, cx) {
                let values: Vec<String> = lists.iter().map(|wires| right(wires)).collect();
                texts.push(format!("{} IN ({})", left(restriction.columns.len()), values.join(", ")));
            }
        }
        Test::Slice(slice) => {
            for (end, sign) in [(&slice.start, '>'), (&slice.end, '<')] {
                let Some(end) = end else { continue };
                let Ok(wires) = key_parts(&end.operand, restriction, schema, cx) else { continue };
                let equal = if end.inclusive { "=" } else { "" };
                texts.push(format!("{} {sign}{equal} {}", left(wires.len()), right(&wires)));
            }
        }
        Test::Contains(all) => {
            if let Some(column) = columns.first() {
                contains(all, column, cx, &mut texts);
            }
        }
    }
    texts
}

fn contains(all: &Contains, column: &Column, cx: &EvalContext<'_>, texts: &mut Vec<String>) {
    let (key, element) = match column.ty.unfrozen() {
        CqlType::Map(key, value) => (&**key, &**value),
        CqlType::List(of) | CqlType::Set(of) => (&**of, &**of),
        other => (other, other),
    };
    let shown = name(&column.name);
    let text = |term, ty: &CqlType| {
        value(term, &column.name, Words::Filter, cx).map(|wire| literal(&wire, ty)).unwrap_or_default()
    };
    texts.extend(all.values.iter().map(|term| format!("{shown} CONTAINS {}", text(term, element))));
    texts.extend(all.keys.iter().map(|term| format!("{shown} CONTAINS KEY {}", text(term, key))));
    let entries = all.entries.iter();
    texts.extend(entries.map(|(at, term)| format!("{shown}[{}] = {}", text(at, key), text(term, element))));
}

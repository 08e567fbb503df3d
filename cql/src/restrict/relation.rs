//! From one relation of WHERE, as written, to a restriction of the table's columns.
//!
//! Here a relation is checked by itself: the columns exist, the operator fits the column's type, the terms fit the column. What several
//! relations mean together is decided by `Restriction::merge` and in the module above. Checks come in Cassandra's order, so that of several
//! mistakes the same one is told.

use crate::catalog::TableInfo;
use crate::catalog::types::{self, cql_text};
use crate::error::{CqlError, Result};
use crate::restrict::restriction::{
    Contains, End, LeftKind, Operand, Operands, Restriction, Slice, Test, names,
};
use crate::syntax::ast::{Comparison, Expr, Left, Marker, Name, Relation, Right};
use crate::term::{Preparing, Term, text};
use crate::value::ColumnSpec;
use skep_engine::model::schema::Column;
use skep_engine::{ColumnKind, CqlType, TableSchema};

/// Prepares relations against one table.
pub(crate) struct Maker<'a, 'b> {
    /// The table.
    pub(crate) table: &'a TableInfo,
    /// Its definition.
    pub(crate) schema: &'a TableSchema,
    /// Markers and everything that terms need.
    pub(crate) cx: &'a mut Preparing<'b>,
}

impl Maker<'_, '_> {
    /// The restriction that a relation is.
    pub(crate) fn restriction(&mut self, relation: &Relation) -> Result<Restriction> {
        self.make(relation).map_err(|error| error.at(relation.place))
    }

    fn make(&mut self, relation: &Relation) -> Result<Restriction> {
        match relation.comparison {
            Comparison::Ne => {
                return Err(CqlError::invalid(format!(
                    "Unsupported \"!=\" relation: {}",
                    text_of(relation, &self.schema.keyspace)
                ))
                .hint("WHERE knows =, <, <=, >, >=, IN, CONTAINS and CONTAINS KEY"));
            }
            Comparison::IsNot => {
                return Err(CqlError::invalid(format!(
                    "Unsupported restriction: {}",
                    text_of(relation, &self.schema.keyspace)
                )));
            }
            _ => {}
        }
        match &relation.left {
            Left::Column(name) => self.single(relation, name, None),
            Left::Element(name, key) => self.single(relation, name, Some(key)),
            Left::Columns(columns) => self.multi(relation, columns),
            Left::Token(columns) => self.token(relation, columns),
        }
    }

    fn single(&mut self, relation: &Relation, name: &Name, key: Option<&Expr>) -> Result<Restriction> {
        let place = column_place(self.table, name)?;
        let column = &self.schema.columns()[place];
        if is_slice(relation.comparison) && mentions_duration(&column.ty) {
            let what = match column.ty.unfrozen() {
                CqlType::List(_) | CqlType::Set(_) | CqlType::Map(..) => "collections containing durations",
                CqlType::Tuple(_) => "tuples containing durations",
                CqlType::Udt(_) => "UDTs containing durations",
                _ => "duration columns",
            };
            return Err(CqlError::invalid(format!("Slice restrictions are not supported on {what}")));
        }
        check_operator(column, relation, key.is_some())?;
        let test = match (relation.comparison, key) {
            (_, Some(key)) => {
                let (key_ty, value_ty) = map_types(&column.ty);
                let key = self.term(key, &self.spec(format!("key({})", column.name), key_ty))?;
                let receiver = self.spec(format!("value({})", column.name), value_ty);
                let value = self.term(right_term(relation)?, &receiver)?;
                Test::Contains(Contains { entries: vec![(key, value)], ..Contains::default() })
            }
            (Comparison::ContainsKey, _) => {
                let receiver = self.spec(format!("key({})", column.name), map_types(&column.ty).0);
                let keys = vec![self.term(right_term(relation)?, &receiver)?];
                Test::Contains(Contains { keys, ..Contains::default() })
            }
            (Comparison::Contains, _) => {
                let receiver = self.spec(format!("value({})", column.name), element_type(&column.ty));
                let values = vec![self.term(right_term(relation)?, &receiver)?];
                Test::Contains(Contains { values, ..Contains::default() })
            }
            (Comparison::In, _) => {
                let receiver = self.spec(column.name.clone(), column.ty.clone());
                match &relation.right {
                    Right::List(items) => {
                        let items = items.iter().map(|item| self.term(item, &receiver));
                        let items: Vec<Term> = items.collect::<Result<_>>()?;
                        in_list(items.into_iter().map(|item| Operand::Each(vec![item])).collect())
                    }
                    Right::Marker(marker) => {
                        let list = CqlType::List(Box::new(column.ty.clone()));
                        Test::In(Operands::Marker(self.marker(
                            marker,
                            format!("in({})", column.name),
                            list,
                        )?))
                    }
                    Right::Term(term) => in_list(vec![Operand::Each(vec![self.term(term, &receiver)?])]),
                }
            }
            (comparison, _) => {
                let receiver = self.spec(column.name.clone(), column.ty.clone());
                let term = self.term(right_term(relation)?, &receiver)?;
                if comparison == Comparison::Like {
                    // No index here serves LIKE.
                    let text = "LIKE restriction is only supported on properly indexed columns.";
                    return Err(CqlError::invalid(format!(
                        "{text} {} is not valid.",
                        text_of(relation, &self.schema.keyspace)
                    )));
                }
                compared(comparison, Operand::Each(vec![term]))
            }
        };
        Ok(Restriction { columns: vec![place], left: LeftKind::Single, test })
    }

    fn multi(&mut self, relation: &Relation, columns: &[Name]) -> Result<Restriction> {
        let mut places: Vec<usize> = Vec::with_capacity(columns.len());
        for name in columns {
            let place = column_place(self.table, name)?;
            let column = &self.schema.columns()[place];
            if !matches!(column.kind, ColumnKind::Clustering(_)) {
                return Err(CqlError::invalid(format!(
                    "Multi-column relations can only be applied to clustering columns but was applied to: {}",
                    column.name
                )));
            }
            if places.contains(&place) {
                let text = text_of(relation, &self.schema.keyspace);
                return Err(CqlError::invalid(format!(
                    "Column \"{}\" appeared twice in a relation: {text}",
                    column.name
                )));
            }
            if places.last().is_some_and(|last| place != last + 1) {
                return Err(CqlError::invalid(format!(
                    "Clustering columns must appear in the PRIMARY KEY order in multi-column relations: {}",
                    text_of(relation, &self.schema.keyspace)
                )));
            }
            places.push(place);
        }
        let test = match relation.comparison {
            Comparison::In => match &relation.right {
                Right::List(items) => {
                    let items = items.iter().map(|item| self.operand(item, &places));
                    in_list(items.collect::<Result<_>>()?)
                }
                Right::Marker(marker) => {
                    let list = CqlType::List(Box::new(self.tuple_type(&places)));
                    let name = format!("in({})", self.tuple_name(&places));
                    Test::In(Operands::Marker(self.marker(marker, name, list)?))
                }
                Right::Term(term) => in_list(vec![self.operand(term, &places)?]),
            },
            Comparison::Contains | Comparison::ContainsKey | Comparison::Like => {
                let text =
                    format!("{} cannot be used for multi-column relations", operator(relation.comparison));
                return Err(CqlError::invalid(text));
            }
            comparison => compared(comparison, self.operand(right_term(relation)?, &places)?),
        };
        Ok(Restriction { columns: places, left: LeftKind::Multi, test })
    }

    fn token(&mut self, relation: &Relation, columns: &[Name]) -> Result<Restriction> {
        let places = columns.iter().map(|name| column_place(self.table, name)).collect::<Result<Vec<_>>>()?;
        let keys: Vec<usize> = (0..self.schema.partition_key().len()).collect();
        if places != keys {
            let text = if !keys.iter().all(|key| places.contains(key)) {
                "The token() function must be applied to all partition key components or none of them"
                    .to_owned()
            } else if places.iter().enumerate().any(|(i, place)| places[..i].contains(place)) {
                "The token() function contains duplicate partition key components".to_owned()
            } else if places.len() > keys.len() {
                "The token() function must contains only partition key components".to_owned()
            } else {
                let order = names(self.schema, &keys);
                format!("The token function arguments must be in the partition key order: {order}")
            };
            return Err(CqlError::invalid(text));
        }
        if matches!(
            relation.comparison,
            Comparison::In | Comparison::Contains | Comparison::ContainsKey | Comparison::Like
        ) {
            let text = format!("{} cannot be used with the token function", operator(relation.comparison));
            return Err(CqlError::invalid(text));
        }
        let receiver = self.spec("partition key token".to_owned(), CqlType::Bigint);
        let term = self.term(right_term(relation)?, &receiver)?;
        let test = compared(relation.comparison, Operand::Each(vec![term]));
        Ok(Restriction { columns: places, left: LeftKind::Token, test })
    }

    /// The right side of a multi-column relation, or an item of its IN.
    fn operand(&mut self, expr: &Expr, places: &[usize]) -> Result<Operand> {
        match expr {
            Expr::Tuple(items) => {
                if items.len() != places.len() {
                    return Err(CqlError::invalid(format!(
                        "Expected {} elements in value tuple, but got {}: {}",
                        places.len(),
                        items.len(),
                        text::of(expr, &self.schema.keyspace)
                    )));
                }
                let terms = places.iter().zip(items).map(|(place, item)| {
                    let column = &self.schema.columns()[*place];
                    let receiver = self.spec(column.name.clone(), column.ty.clone());
                    self.term(item, &receiver)
                });
                Ok(Operand::Each(terms.collect::<Result<_>>()?))
            }
            other => {
                let receiver = self.spec(format!("({})", self.tuple_name(places)), self.tuple_type(places));
                Ok(Operand::Tuple(self.term(other, &receiver)?, places.len()))
            }
        }
    }

    fn tuple_type(&self, places: &[usize]) -> CqlType {
        CqlType::Tuple(places.iter().map(|place| self.schema.columns()[*place].ty.clone()).collect())
    }

    /// `a,b`: how Cassandra names the marker of a tuple.
    fn tuple_name(&self, places: &[usize]) -> String {
        names(self.schema, places).replace(", ", ",")
    }

    fn marker(&mut self, marker: &Marker, name: String, ty: CqlType) -> Result<Term> {
        let receiver = self.spec(name, ty);
        self.term(&Expr::Marker(marker.clone()), &receiver)
    }

    fn term(&mut self, expr: &Expr, receiver: &ColumnSpec) -> Result<Term> {
        Term::prepare(expr, receiver, self.cx)
    }

    fn spec(&self, name: String, ty: CqlType) -> ColumnSpec {
        ColumnSpec { keyspace: self.schema.keyspace.clone(), table: self.schema.name.clone(), name, ty }
    }
}

/// The place in the schema of a column that a statement names.
///
/// # Errors
/// Cassandra's words for a name that the table has not.
pub fn column_place(table: &TableInfo, name: &Name) -> Result<usize> {
    let place = table.schema.columns().iter().position(|column| column.name == name.text);
    match place {
        Some(place) => Ok(place),
        None => Err(table
            .column(&name.text)
            .err()
            .unwrap_or_else(|| CqlError::invalid("no such column"))
            .at(name.place)),
    }
}

/// Whether the operator has a meaning for a column of this type.
fn check_operator(column: &Column, relation: &Relation, element: bool) -> Result<()> {
    let (name, ty) = (&column.name, column.ty.unfrozen());
    let comparison = relation.comparison;
    let is_map = matches!(ty, CqlType::Map(..));
    let fail = |text: String| Err(CqlError::invalid(text));
    if comparison == Comparison::ContainsKey && !is_map {
        return fail(format!("Cannot use CONTAINS KEY on non-map column {name}"));
    }
    if comparison == Comparison::Contains && !ty.is_collection() {
        return fail(format!("Cannot use CONTAINS on non-collection column {name}"));
    }
    if element {
        if matches!(ty, CqlType::List(_)) {
            return fail(format!(
                "Indexes on list entries ({name}[index] = value) are not currently supported."
            ));
        }
        if !is_map {
            return fail(format!("Column {name} cannot be used as a map"));
        }
        if !column.ty.is_multicell() {
            return fail(format!(
                "Map-entry equality predicates on frozen map column {name} are not supported"
            ));
        }
        if comparison != Comparison::Eq {
            return fail("Only EQ relations are supported on map entries".to_owned());
        }
        return Ok(());
    }
    if column.ty.is_multicell() {
        if matches!(ty, CqlType::Udt(_)) {
            let ty = cql_text(&column.ty);
            return fail(format!(
                "Non-frozen UDT column '{name}' ({ty}) cannot be restricted by any relation"
            ));
        }
        if !matches!(comparison, Comparison::Contains | Comparison::ContainsKey) {
            let (ty, operator) = (cql_text(&column.ty), operator(comparison));
            return fail(format!(
                "Collection column '{name}' ({ty}) cannot be restricted by a '{operator}' relation"
            ));
        }
    }
    Ok(())
}

fn is_slice(comparison: Comparison) -> bool {
    matches!(comparison, Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge)
}

fn mentions_duration(ty: &CqlType) -> bool {
    match ty {
        CqlType::Duration => true,
        CqlType::List(inner) | CqlType::Set(inner) | CqlType::Vector(inner, _) | CqlType::Frozen(inner) => {
            mentions_duration(inner)
        }
        CqlType::Map(key, value) => mentions_duration(key) || mentions_duration(value),
        CqlType::Tuple(types) => types.iter().any(mentions_duration),
        CqlType::Udt(udt) => udt.fields.iter().any(|(_, ty)| mentions_duration(ty)),
        _ => false,
    }
}

/// =, <, <=, >, >= against a value.
fn compared(comparison: Comparison, operand: Operand) -> Test {
    let inclusive = matches!(comparison, Comparison::Le | Comparison::Ge);
    match comparison {
        Comparison::Lt | Comparison::Le => {
            Test::Slice(Slice { start: None, end: Some(End { operand, inclusive }) })
        }
        Comparison::Gt | Comparison::Ge => {
            Test::Slice(Slice { start: Some(End { operand, inclusive }), end: None })
        }
        _ => Test::Eq(operand),
    }
}

/// IN a list; of one value it is `=`, as in Cassandra.
fn in_list(mut items: Vec<Operand>) -> Test {
    match items.len() {
        1 => Test::Eq(items.remove(0)),
        _ => Test::In(Operands::List(items)),
    }
}

fn right_term(relation: &Relation) -> Result<&Expr> {
    match &relation.right {
        Right::Term(term) => Ok(term),
        // The grammar knows lists after IN only.
        Right::List(_) | Right::Marker(_) => {
            Err(CqlError::invalid(format!("Unsupported restriction: {}", text_of(relation, ""))))
        }
    }
}

fn map_types(ty: &CqlType) -> (CqlType, CqlType) {
    match ty.unfrozen() {
        CqlType::Map(key, value) => ((**key).clone(), (**value).clone()),
        other => (other.clone(), other.clone()),
    }
}

fn element_type(ty: &CqlType) -> CqlType {
    match ty.unfrozen() {
        CqlType::List(element) | CqlType::Set(element) | CqlType::Map(_, element) => (**element).clone(),
        other => other.clone(),
    }
}

/// An operator as CQL writes it.
pub(crate) fn operator(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Eq => "=",
        Comparison::Ne => "!=",
        Comparison::Lt => "<",
        Comparison::Le => "<=",
        Comparison::Gt => ">",
        Comparison::Ge => ">=",
        Comparison::In => "IN",
        Comparison::Contains => "CONTAINS",
        Comparison::ContainsKey => "CONTAINS KEY",
        Comparison::Like => "LIKE",
        Comparison::IsNot => "IS NOT",
    }
}

/// A relation as messages show it.
pub(crate) fn text_of(relation: &Relation, keyspace: &str) -> String {
    let list =
        |columns: &[Name]| columns.iter().map(|name| types::name(&name.text)).collect::<Vec<_>>().join(", ");
    let left = match &relation.left {
        Left::Column(name) => types::name(&name.text),
        Left::Element(name, key) => format!("{}[{}]", types::name(&name.text), text::of(key, keyspace)),
        Left::Columns(columns) => format!("({})", list(columns)),
        Left::Token(columns) => format!("token({})", list(columns)),
    };
    let right = match &relation.right {
        Right::Term(term) => text::of(term, keyspace),
        Right::List(items) => {
            let items: Vec<String> = items.iter().map(|item| text::of(item, keyspace)).collect();
            format!("({})", items.join(", "))
        }
        Right::Marker(_) => "?".to_owned(),
    };
    format!("{left} {} {right}", operator(relation.comparison))
}

//! INSERT, UPDATE, DELETE and batches of them.

use crate::error::Place;
use crate::syntax::ast::{
    Assignment, Batch, BatchKind, Delete, Expr, Insert, InsertValues, Literal, Name, Operation, Statement,
    Target, Update, Using,
};
use crate::syntax::parse::cursor::{Parse, Parser, is_name};
use crate::syntax::token::{Keyword, Kind, Sign};

impl Parser<'_> {
    /// Behind INSERT.
    pub(super) fn insert(&mut self) -> Parse<Insert> {
        self.expect(Keyword::Into)?;
        let table = self.table_name()?;
        let values = if self.eat(Keyword::Json) {
            let json = self.json_value()?;
            let mut default_unset = false;
            if self.eat(Keyword::Default) {
                default_unset = !self.eat(Keyword::Null);
                if default_unset {
                    self.expect(Keyword::Unset)?;
                }
            }
            InsertValues::Json { json, default_unset }
        } else {
            self.expect_sign(Sign::Open)?;
            let columns = self.comma_list(Self::column)?;
            self.expect_sign(Sign::Close)?;
            self.expect(Keyword::Values)?;
            self.expect_sign(Sign::Open)?;
            let terms = self.comma_list(Self::term)?;
            self.expect_sign(Sign::Close)?;
            InsertValues::Columns(columns, terms)
        };
        let if_not_exists = self.if_not_exists()?;
        let using = self.using()?;
        Ok(Insert { table, values, if_not_exists, using })
    }

    fn json_value(&mut self) -> Parse<Expr> {
        if let Some(marker) = self.marker()? {
            return Ok(Expr::Marker(marker));
        }
        let place = self.place();
        let text = self.string()?;
        Ok(Expr::Constant { kind: Literal::String, text, place })
    }

    /// USING with TTL and TIMESTAMP, if it is here; of repeated ones the last counts.
    fn using(&mut self) -> Parse<Using> {
        let mut using = Using::default();
        if !self.eat(Keyword::Using) {
            return Ok(using);
        }
        loop {
            if self.eat(Keyword::Timestamp) {
                using.timestamp = Some(self.int_value()?);
            } else {
                self.expect(Keyword::Ttl)?;
                using.ttl = Some(self.int_value()?);
            }
            if !self.eat(Keyword::And) {
                return Ok(using);
            }
        }
    }

    /// Behind UPDATE.
    pub(super) fn update(&mut self) -> Parse<Update> {
        let table = self.table_name()?;
        let using = self.using()?;
        self.expect(Keyword::Set)?;
        let mut assignments: Vec<Assignment> = Vec::new();
        loop {
            let place = self.place();
            let assignment = self.assignment()?;
            if !self.sign_at(0, Sign::Comma) && !self.keyword_at(0, Keyword::Where) {
                self.note(",");
                self.note("WHERE");
                return self.unexpected();
            }
            if assignments.iter().any(|earlier| conflict(earlier, &assignment)) {
                self.note_error(
                    place,
                    format!("Multiple incompatible setting of column {}", assignment.column.text),
                );
            }
            assignments.push(assignment);
            if !self.eat_sign(Sign::Comma) {
                break;
            }
        }
        self.expect(Keyword::Where)?;
        let relations = self.relations()?;
        let condition = self.condition()?;
        Ok(Update { table, using, assignments, relations, condition })
    }

    fn assignment(&mut self) -> Parse<Assignment> {
        let column = self.column()?;
        let target = self.target()?;
        if target != Target::Whole {
            self.expect_sign(Sign::Eq)?;
            let operation = Operation::Set(self.term()?);
            return Ok(Assignment { column, target, operation });
        }
        let operation = if self.eat_sign(Sign::PlusEq) {
            Operation::Add(self.term()?)
        } else if self.eat_sign(Sign::MinusEq) {
            Operation::Subtract(self.term()?)
        } else {
            self.expect_sign(Sign::Eq)?;
            self.assigned(&column)?
        };
        Ok(Assignment { column, target, operation })
    }

    /// Right side of `c =`: a term, `c + term`, `c - term`, `term + c`.
    fn assigned(&mut self, column: &Name) -> Parse<Operation> {
        let own = is_name(self.peek()) || self.peek() == Kind::EmptyQuotedName;
        let call = matches!(self.peek_at(1), Kind::Sign(Sign::Open | Sign::Point));
        if !own || call {
            let value = self.term()?;
            if !self.sign_at(0, Sign::Plus) {
                return Ok(Operation::Set(value));
            }
            self.bump();
            let place = self.place();
            let own = self.column()?;
            self.check_same(column, &own, "<value> + X", place);
            return Ok(Operation::Prepend(value));
        }
        let place = self.place();
        let token = self.bump();
        let own = self.name_of(token);
        let (operation, form) = match self.peek() {
            Kind::Sign(Sign::Plus) => {
                self.bump();
                (Operation::Add(self.term()?), "X +<value>")
            }
            Kind::Sign(Sign::Minus) => {
                self.bump();
                (Operation::Subtract(self.term()?), "X -<value>")
            }
            Kind::Integer => {
                // `c = c -1` is a name and a number for the lexer; so is `c = c 1`.
                let negative = self.source(self.token(0)).starts_with('-');
                (Operation::Add(self.int_value()?), if negative { "X - <value>" } else { "X + <value>" })
            }
            _ => {
                for what in ["+", "-", "("] {
                    self.note(what);
                }
                return self.unexpected();
            }
        };
        self.check_same(column, &own, form, place);
        Ok(operation)
    }

    fn check_same(&mut self, column: &Name, own: &Name, form: &str, place: Place) {
        let ended = self.sign_at(0, Sign::Comma) || self.keyword_at(0, Keyword::Where);
        if own != column && ended {
            self.note_error(place, format!("Only expressions of the form X = {form} are supported."));
        }
    }

    /// Behind DELETE.
    pub(super) fn delete(&mut self) -> Parse<Delete> {
        let mut columns = Vec::new();
        if is_name(self.peek()) || self.peek() == Kind::EmptyQuotedName {
            columns = self.comma_list(|p| Ok((p.column()?, p.target()?)))?;
        }
        self.expect(Keyword::From)?;
        let table = self.table_name()?;
        let mut using = Using::default();
        if self.eat(Keyword::Using) {
            self.expect(Keyword::Timestamp)?;
            using.timestamp = Some(self.int_value()?);
        }
        self.expect(Keyword::Where)?;
        let relations = self.relations()?;
        let condition = self.condition()?;
        Ok(Delete { columns, table, using, relations, condition })
    }

    /// Behind BEGIN.
    pub(super) fn batch(&mut self) -> Parse<Batch> {
        let kind = if self.eat(Keyword::Unlogged) {
            BatchKind::Unlogged
        } else if self.eat(Keyword::Counter) {
            BatchKind::Counter
        } else {
            BatchKind::Logged
        };
        self.expect(Keyword::Batch)?;
        let using = self.using()?;
        let mut statements = Vec::new();
        loop {
            if self.eat(Keyword::Insert) {
                statements.push(Statement::Insert(self.insert()?));
            } else if self.eat(Keyword::Update) {
                statements.push(Statement::Update(self.update()?));
            } else if self.eat(Keyword::Delete) {
                statements.push(Statement::Delete(self.delete()?));
            } else {
                break;
            }
            self.eat_sign(Sign::Semicolon);
        }
        self.expect(Keyword::Apply)?;
        self.expect(Keyword::Batch)?;
        Ok(Batch { kind, using, statements })
    }
}

/// Whether two assignments of one statement cannot stand together: one sets all of a column that the other changes, or both set one field.
fn conflict(earlier: &Assignment, later: &Assignment) -> bool {
    let sets_all = |a: &Assignment| a.target == Target::Whole && matches!(a.operation, Operation::Set(_));
    if earlier.column != later.column {
        return false;
    }
    match (&earlier.target, &later.target) {
        (Target::Field(a), Target::Field(b)) => a == b,
        _ => sets_all(earlier) || sets_all(later),
    }
}

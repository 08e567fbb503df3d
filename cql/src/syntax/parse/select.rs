//! SELECT, its relations, and the conditions of UPDATE and DELETE, which are their kin.

use crate::error::{Code, CqlError};
use crate::syntax::ast::{
    ColumnCondition, Comparison, Condition, Expr, Left, Name, Ordering, Relation, Right, Select, Target,
};
use crate::syntax::parse::cursor::{Failed, Parse, Parser, is_name};
use crate::syntax::token::{Keyword, Kind, Sign};

/// Selectors with their aliases.
type Selectors = Vec<(Expr, Option<Name>)>;

impl Parser<'_> {
    /// Behind SELECT.
    pub(super) fn select(&mut self) -> Parse<Select> {
        // JSON and DISTINCT may be columns too: that reading comes second.
        let mark = self.mark();
        let mut json = self.keyword_at(0, Keyword::Json);
        let clause = if json {
            self.bump();
            match self.select_clause() {
                Err(Failed::Token(_)) => {
                    self.rewind(mark);
                    json = false;
                    self.select_clause()
                }
                other => other,
            }
        } else {
            self.select_clause()
        };
        let (distinct, selectors) = clause?;
        self.expect(Keyword::From)?;
        let table = self.table_name()?;
        let relations = if self.eat(Keyword::Where) { self.relations()? } else { Vec::new() };
        let mut group_by = Vec::new();
        if self.eat(Keyword::Group) {
            self.expect(Keyword::By)?;
            group_by = self.comma_list(Self::selector)?;
        }
        let mut order_by = Vec::new();
        if self.eat(Keyword::Order) {
            self.expect(Keyword::By)?;
            order_by = self.comma_list(Self::ordering)?;
        }
        let mut per_partition_limit = None;
        if self.eat(Keyword::Per) {
            self.expect(Keyword::Partition)?;
            self.expect(Keyword::Limit)?;
            per_partition_limit = Some(self.int_value()?);
        }
        let limit = if self.eat(Keyword::Limit) { Some(self.int_value()?) } else { None };
        let allow_filtering = self.eat(Keyword::Allow);
        if allow_filtering {
            self.expect(Keyword::Filtering)?;
        }
        Ok(Select {
            json,
            distinct,
            selectors,
            table,
            relations,
            group_by,
            order_by,
            per_partition_limit,
            limit,
            allow_filtering,
        })
    }

    fn select_clause(&mut self) -> Parse<(bool, Selectors)> {
        if !self.keyword_at(0, Keyword::Distinct) {
            return Ok((false, self.selectors()?));
        }
        let mark = self.mark();
        self.bump();
        match self.selectors() {
            Err(Failed::Token(_)) => {
                self.rewind(mark);
                Ok((false, self.selectors()?))
            }
            other => other.map(|selectors| (true, selectors)),
        }
    }

    fn ordering(&mut self) -> Parse<Ordering> {
        let column = self.column()?;
        let ann_of = if self.eat(Keyword::Ann) {
            self.expect(Keyword::Of)?;
            Some(self.term()?)
        } else {
            None
        };
        let descending = !self.eat(Keyword::Asc) && self.eat(Keyword::Desc);
        Ok(Ordering { column, descending, ann_of })
    }

    /// Relations with AND between.
    pub(super) fn relations(&mut self) -> Parse<Vec<Relation>> {
        let mut relations = vec![self.relation()?];
        while self.eat(Keyword::And) {
            relations.push(self.relation()?);
        }
        Ok(relations)
    }

    fn relation(&mut self) -> Parse<Relation> {
        let place = self.place();
        match self.peek() {
            Kind::Sign(Sign::Open) => {
                let tuple = is_name(self.peek_at(1))
                    && matches!(self.peek_at(2), Kind::Sign(Sign::Comma | Sign::Close));
                if tuple {
                    return self.tuple_relation();
                }
                self.bump();
                let inner = self.nested(Self::relation)?;
                self.expect_sign(Sign::Close)?;
                return Ok(inner);
            }
            Kind::Keyword(Keyword::Token) => {
                self.bump();
                let columns = self.columns_in_brackets()?;
                let comparison = self.comparison()?;
                let right = Right::Term(self.term()?);
                return Ok(Relation { left: Left::Token(columns), comparison, right, place });
            }
            Kind::ExprOpen => {
                let error =
                    CqlError::new(Code::Invalid, "custom index expressions are not supported").at(place);
                return self.fail(error);
            }
            _ => {}
        }
        let column = self.column()?;
        if self.eat_sign(Sign::OpenSquare) {
            let key = self.term()?;
            self.expect_sign(Sign::CloseSquare)?;
            let comparison = self.comparison()?;
            let right = Right::Term(self.term()?);
            return Ok(Relation { left: Left::Element(column, key), comparison, right, place });
        }
        let left = Left::Column(column);
        if self.eat(Keyword::Is) {
            self.expect(Keyword::Not)?;
            self.expect(Keyword::Null)?;
            return Ok(Relation {
                left,
                comparison: Comparison::IsNot,
                right: Right::Term(Expr::Null),
                place,
            });
        }
        if self.eat(Keyword::Like) {
            let right = Right::Term(self.term()?);
            return Ok(Relation { left, comparison: Comparison::Like, right, place });
        }
        let (comparison, right) = self.compared()?;
        Ok(Relation { left, comparison, right, place })
    }

    fn columns_in_brackets(&mut self) -> Parse<Vec<Name>> {
        self.expect_sign(Sign::Open)?;
        let columns = self.comma_list(Self::column)?;
        self.expect_sign(Sign::Close)?;
        Ok(columns)
    }

    fn tuple_relation(&mut self) -> Parse<Relation> {
        let place = self.place();
        let left = Left::Columns(self.columns_in_brackets()?);
        if self.eat(Keyword::In) {
            let right = self.tuples_in()?;
            return Ok(Relation { left, comparison: Comparison::In, right, place });
        }
        let comparison = self.comparison()?;
        let right = if self.sign_at(0, Sign::Open) {
            self.tuple_term()?
        } else if let Some(marker) = self.marker()? {
            Expr::Marker(marker)
        } else {
            self.note("(");
            self.note("a bind marker");
            return self.unexpected();
        };
        Ok(Relation { left, comparison, right: Right::Term(right), place })
    }

    /// Behind `(a, b) IN`: tuples or markers, but not both.
    fn tuples_in(&mut self) -> Parse<Right> {
        if let Some(marker) = self.marker()? {
            return Ok(Right::Marker(marker));
        }
        self.expect_sign(Sign::Open)?;
        let items = match self.peek() {
            Kind::Sign(Sign::Close) => Vec::new(),
            Kind::Sign(Sign::Open) => self.comma_list(Self::tuple_term)?,
            _ => self.comma_list(|p| match p.marker()? {
                Some(marker) => Ok(Expr::Marker(marker)),
                None => {
                    p.note("a tuple");
                    p.note("a bind marker");
                    p.unexpected()
                }
            })?,
        };
        self.expect_sign(Sign::Close)?;
        Ok(Right::List(items))
    }

    /// `=`, `<`, ...
    fn comparison(&mut self) -> Parse<Comparison> {
        let comparison = match self.peek() {
            Kind::Sign(Sign::Eq) => Comparison::Eq,
            Kind::Sign(Sign::Ne) => Comparison::Ne,
            Kind::Sign(Sign::Lt) => Comparison::Lt,
            Kind::Sign(Sign::Le) => Comparison::Le,
            Kind::Sign(Sign::Gt) => Comparison::Gt,
            Kind::Sign(Sign::Ge) => Comparison::Ge,
            _ => {
                self.note("a comparison");
                return self.unexpected();
            }
        };
        self.bump();
        Ok(comparison)
    }

    /// Operator and right side of a relation or condition on one column.
    fn compared(&mut self) -> Parse<(Comparison, Right)> {
        if self.keyword_at(0, Keyword::Contains) {
            self.bump();
            // KEY may begin a function's name only with a keyspace before it: `CONTAINS key.f()`.
            let key = self.keyword_at(0, Keyword::Key) && !self.sign_at(1, Sign::Point);
            if key {
                self.bump();
            }
            let comparison = if key { Comparison::ContainsKey } else { Comparison::Contains };
            return Ok((comparison, Right::Term(self.term()?)));
        }
        self.compared_plainly()
    }

    fn compared_plainly(&mut self) -> Parse<(Comparison, Right)> {
        if !self.eat(Keyword::In) {
            let comparison = self.comparison()?;
            return Ok((comparison, Right::Term(self.term()?)));
        }
        if let Some(marker) = self.marker()? {
            return Ok((Comparison::In, Right::Marker(marker)));
        }
        self.expect_sign(Sign::Open)?;
        if self.eat_sign(Sign::Close) {
            return Ok((Comparison::In, Right::List(Vec::new())));
        }
        let items = self.comma_list(Self::term)?;
        self.expect_sign(Sign::Close)?;
        Ok((Comparison::In, Right::List(items)))
    }

    /// IF of UPDATE and DELETE, if it is here.
    pub(super) fn condition(&mut self) -> Parse<Condition> {
        if !self.eat(Keyword::If) {
            return Ok(Condition::None);
        }
        // EXISTS may be a column: then something follows.
        if self.keyword_at(0, Keyword::Exists) && !self.goes_on_as_condition(1) {
            self.bump();
            return Ok(Condition::Exists);
        }
        self.note("EXISTS");
        let mut conditions = vec![self.column_condition()?];
        while self.eat(Keyword::And) {
            conditions.push(self.column_condition()?);
        }
        Ok(Condition::If(conditions))
    }

    fn goes_on_as_condition(&self, ahead: usize) -> bool {
        match self.peek_at(ahead) {
            Kind::Sign(sign) => !matches!(sign, Sign::Semicolon),
            Kind::Keyword(Keyword::In | Keyword::Contains) => true,
            _ => false,
        }
    }

    fn column_condition(&mut self) -> Parse<ColumnCondition> {
        let column = self.column()?;
        let target = self.target()?;
        let (comparison, right) =
            if target == Target::Whole { self.compared()? } else { self.compared_plainly()? };
        Ok(ColumnCondition { column, target, comparison, right })
    }

    /// `[key]` or `.field` behind a column, if it is here.
    pub(super) fn target(&mut self) -> Parse<Target> {
        if self.eat_sign(Sign::OpenSquare) {
            let key = self.term()?;
            self.expect_sign(Sign::CloseSquare)?;
            return Ok(Target::Element(key));
        }
        if self.eat_sign(Sign::Point) {
            return Ok(Target::Field(self.name()?));
        }
        Ok(Target::Whole)
    }
}

//! Selectors: what SELECT gives and GROUP BY groups by. They may name columns.
//!
//! Where Cassandra's grammar tries one reading and falls back to another (type hints, fields and elements), so does this one: the place of
//! an error depends on it.

use crate::syntax::ast::{Expr, LifeFunction, Name, Operator};
use crate::syntax::parse::cursor::{Failed, Parse, Parser, is_function_name, is_name};
use crate::syntax::token::{Keyword, Kind, Sign};

impl Parser<'_> {
    /// `*`, given as no selector, or selectors with their aliases.
    pub(super) fn selectors(&mut self) -> Parse<Vec<(Expr, Option<Name>)>> {
        if self.eat_sign(Sign::Star) {
            return Ok(Vec::new());
        }
        self.comma_list(|p| {
            let selector = p.selector()?;
            let alias = if p.eat(Keyword::As) { Some(p.name()?) } else { None };
            Ok((selector, alias))
        })
    }

    /// A selector without its alias.
    pub(super) fn selector(&mut self) -> Parse<Expr> {
        self.nested(Self::selector_sum)
    }

    fn selector_sum(&mut self) -> Parse<Expr> {
        let mut left = self.selector_product()?;
        loop {
            let operator = match self.peek() {
                Kind::Sign(Sign::Plus) => Operator::Add,
                Kind::Sign(Sign::Minus) => Operator::Subtract,
                _ => return Ok(left),
            };
            left = self.binary(operator, left, Self::selector_product)?;
        }
    }

    fn selector_product(&mut self) -> Parse<Expr> {
        let mut left = self.selector_group()?;
        while let Some(operator) = self.product_operator() {
            left = self.binary(operator, left, Self::selector_group)?;
        }
        Ok(left)
    }

    fn selector_group(&mut self) -> Parse<Expr> {
        if self.sign_at(0, Sign::Minus) {
            self.bump();
            return Ok(Expr::Negate(Box::new(self.nested(Self::selector_group)?)));
        }
        let base = self.simple_selector()?;
        // Cassandra looks two tokens ahead behind what may have fields.
        self.fault_met |= matches!(base, Expr::Constant { .. }) && self.peek_at(1) == Kind::Fault;
        if !matches!(self.peek(), Kind::Sign(Sign::Point | Sign::OpenSquare)) {
            return Ok(base);
        }
        let mark = self.mark();
        let modified = self.modifiers(base.clone()).and_then(|modified| {
            self.ends_selector()?;
            Ok(modified)
        });
        match modified {
            Err(Failed::Token(_)) => {
                self.rewind(mark);
                Ok(base)
            }
            other => other,
        }
    }

    /// `.field`, `[key]`, `[from..to]`, as many as there are.
    fn modifiers(&mut self, mut base: Expr) -> Parse<Expr> {
        loop {
            match self.peek() {
                Kind::Sign(Sign::Point) => {
                    self.count_operator()?;
                    self.bump();
                    base = Expr::Field(Box::new(base), self.name()?);
                }
                Kind::Sign(Sign::OpenSquare) => {
                    self.count_operator()?;
                    self.bump();
                    base = self.element(base)?;
                    self.expect_sign(Sign::CloseSquare)?;
                }
                _ => return Ok(base),
            }
        }
    }

    fn element(&mut self, base: Expr) -> Parse<Expr> {
        if self.eat_sign(Sign::Range) {
            return Ok(Expr::Slice(Box::new(base), None, Some(Box::new(self.term()?))));
        }
        let key = self.term()?;
        if !self.eat_sign(Sign::Range) {
            return Ok(Expr::Element(Box::new(base), Box::new(key)));
        }
        let to = if self.sign_at(0, Sign::CloseSquare) { None } else { Some(Box::new(self.term()?)) };
        Ok(Expr::Slice(Box::new(base), Some(Box::new(key)), to))
    }

    fn simple_selector(&mut self) -> Parse<Expr> {
        if let Some(literal) = self.literal()? {
            return Ok(literal);
        }
        match self.peek() {
            Kind::Sign(Sign::Open) => self.bracketed_selector(),
            Kind::Sign(Sign::OpenSquare) => {
                self.bump();
                if self.eat_sign(Sign::CloseSquare) {
                    return Ok(Expr::List(Vec::new()));
                }
                let elements = self.comma_list(Self::selector)?;
                self.expect_sign(Sign::CloseSquare)?;
                Ok(Expr::List(elements))
            }
            Kind::Sign(Sign::OpenCurly) => self.curly_selector(),
            kind if is_name(kind) || kind == Kind::Keyword(Keyword::Token) => self.named_selector(),
            _ => {
                self.note("a column");
                self.note("a function");
                self.note("a value");
                self.unexpected()
            }
        }
    }

    fn bracketed_selector(&mut self) -> Parse<Expr> {
        let mark = self.mark();
        match self.hinted_selector() {
            Err(Failed::Token(_)) => self.rewind(mark),
            other => return other,
        }
        self.bump();
        let elements = self.comma_list(Self::selector)?;
        self.expect_sign(Sign::Close)?;
        Ok(Expr::Tuple(elements))
    }

    fn hinted_selector(&mut self) -> Parse<Expr> {
        self.bump();
        let ty = self.type_name()?;
        self.expect_sign(Sign::Close)?;
        if self.keyword_at(0, Keyword::As) && is_name(self.peek_at(1)) {
            // Brackets around a column with an alias, or in a CAST; no hint for a column named `as`.
            return self.unexpected();
        }
        let inner = self.nested(Self::simple_selector)?;
        Ok(Expr::TypeHint(ty, Box::new(inner)))
    }

    fn curly_selector(&mut self) -> Parse<Expr> {
        self.bump();
        if self.eat_sign(Sign::CloseCurly) {
            return Ok(Expr::Map(Vec::new()));
        }
        let first = self.selector()?;
        if !self.eat_sign(Sign::Colon) {
            let mut elements = vec![first];
            while self.eat_sign(Sign::Comma) {
                elements.push(self.selector()?);
            }
            self.expect_sign(Sign::CloseCurly)?;
            return Ok(Expr::Set(elements));
        }
        let mut entries = vec![(first, self.selector()?)];
        while self.eat_sign(Sign::Comma) {
            let key = self.selector()?;
            self.expect_sign(Sign::Colon)?;
            entries.push((key, self.selector()?));
        }
        self.expect_sign(Sign::CloseCurly)?;
        if !entries.iter().all(|(key, _)| matches!(key, Expr::Column(_))) {
            return Ok(Expr::Map(entries));
        }
        let field = |(key, value)| match key {
            Expr::Column(name) => Some((name, value)),
            _ => None,
        };
        Ok(Expr::Udt(entries.into_iter().filter_map(field).collect()))
    }

    fn named_selector(&mut self) -> Parse<Expr> {
        if self.sign_at(1, Sign::Open) {
            match self.peek() {
                Kind::Keyword(Keyword::Count) if self.sign_at(2, Sign::Star) => {
                    let name = self.name()?;
                    self.bump();
                    self.bump();
                    self.expect_sign(Sign::Close)?;
                    return Ok(Expr::Call { keyspace: None, name, args: vec![Expr::Star] });
                }
                Kind::Keyword(Keyword::Writetime) => return self.life(LifeFunction::Writetime),
                Kind::Keyword(Keyword::MaxWritetime) => return self.life(LifeFunction::MaxWritetime),
                Kind::Keyword(Keyword::Ttl) => return self.life(LifeFunction::Ttl),
                Kind::Keyword(Keyword::Cast) => {
                    self.bump();
                    self.bump();
                    let inner = self.selector()?;
                    self.expect(Keyword::As)?;
                    let ty = self.native_type()?;
                    self.expect_sign(Sign::Close)?;
                    return Ok(Expr::Cast(Box::new(inner), ty));
                }
                kind if is_function_name(kind) => return self.call_selector(),
                _ => {}
            }
        }
        if self.keyword_at(0, Keyword::Token) {
            return self.call_selector();
        }
        if self.sign_at(1, Sign::Point) {
            let function = is_function_name(self.peek_at(2)) && self.sign_at(3, Sign::Open);
            if function || self.keyword_at(2, Keyword::Token) {
                return self.call_selector();
            }
            if !is_name(self.peek_at(2)) {
                // Neither a field nor a keyspace's function.
                self.bump();
                self.bump();
                self.note("a name");
                return self.unexpected();
            }
            if !ends_selector(self.peek_at(3)) {
                for _ in 0..3 {
                    self.bump();
                }
                return self.selector_goes_on();
            }
        }
        let name = self.name()?;
        self.fault_met |= self.peek_at(1) == Kind::Fault;
        self.note("(");
        self.ends_selector()?;
        Ok(Expr::Column(name))
    }

    /// What follows a column or field decides whether it can be one at all, before other readings are tried.
    fn ends_selector(&mut self) -> Parse<()> {
        if ends_selector(self.peek()) { Ok(()) } else { self.selector_goes_on() }
    }

    fn selector_goes_on<T>(&mut self) -> Parse<T> {
        for what in ["+", "-", "*", "/", "%", ",", "AS", "FROM"] {
            self.note(what);
        }
        self.unexpected()
    }

    fn life(&mut self, function: LifeFunction) -> Parse<Expr> {
        self.bump();
        self.bump();
        let column = Expr::Column(self.name()?);
        let what = self.modifiers(column)?;
        self.expect_sign(Sign::Close)?;
        Ok(Expr::Life(function, Box::new(what)))
    }

    fn call_selector(&mut self) -> Parse<Expr> {
        let function = self.function_name()?;
        self.expect_sign(Sign::Open)?;
        let args = if self.eat_sign(Sign::Close) {
            Vec::new()
        } else {
            let args = self.comma_list(Self::selector)?;
            self.expect_sign(Sign::Close)?;
            args
        };
        Ok(Expr::Call { keyspace: function.keyspace, name: function.name, args })
    }
}

/// Whether a token may stand behind a column or field.
fn ends_selector(kind: Kind) -> bool {
    match kind {
        Kind::Sign(sign) => matches!(
            sign,
            Sign::Comma
                | Sign::Close
                | Sign::CloseSquare
                | Sign::CloseCurly
                | Sign::Colon
                | Sign::Semicolon
                | Sign::Plus
                | Sign::Minus
                | Sign::Star
                | Sign::Slash
                | Sign::Percent
                | Sign::Point
                | Sign::OpenSquare
        ),
        Kind::Keyword(keyword) => matches!(
            keyword,
            Keyword::As | Keyword::From | Keyword::Order | Keyword::Per | Keyword::Limit | Keyword::Allow
        ),
        kind => kind == Kind::End,
    }
}

//! Terms: what stands on the right of WHERE and SET and in VALUES. They name no column.
//!
//! A term that begins with a name is a call. Where a bracket could begin a type hint, a tuple or a call, the hint is tried first.

use crate::error::Place;
use crate::syntax::ast::{Expr, Literal, Marker, Operator};
use crate::syntax::parse::cursor::{Failed, Parse, Parser, is_name};
use crate::syntax::token::{Keyword, Kind, Sign, Token};

impl Parser<'_> {
    /// A term.
    pub(super) fn term(&mut self) -> Parse<Expr> {
        self.nested(Self::term_sum)
    }

    fn term_sum(&mut self) -> Parse<Expr> {
        let mut left = self.term_product()?;
        loop {
            let operator = match self.peek() {
                Kind::Sign(Sign::Plus) if !self.prepends() => Operator::Add,
                Kind::Sign(Sign::Minus) => Operator::Subtract,
                _ => return Ok(left),
            };
            left = self.binary(operator, left, Self::term_product)?;
        }
    }

    /// Whether the plus at hand is the one of `SET l = [1] + l`.
    fn prepends(&self) -> bool {
        is_name(self.peek_at(1))
            && matches!(self.peek_at(2), Kind::Sign(Sign::Comma) | Kind::Keyword(Keyword::Where))
    }

    fn term_product(&mut self) -> Parse<Expr> {
        let mut left = self.signed_term()?;
        while let Some(operator) = self.product_operator() {
            left = self.binary(operator, left, Self::signed_term)?;
        }
        Ok(left)
    }

    /// The operator at hand if it binds like a product.
    pub(super) fn product_operator(&self) -> Option<Operator> {
        match self.peek() {
            Kind::Sign(Sign::Star) => Some(Operator::Multiply),
            Kind::Sign(Sign::Slash) => Some(Operator::Divide),
            Kind::Sign(Sign::Percent) => Some(Operator::Modulo),
            _ => None,
        }
    }

    /// Takes the operator and its right side.
    pub(super) fn binary(
        &mut self,
        operator: Operator,
        left: Expr,
        rule: impl FnOnce(&mut Self) -> Parse<Expr>,
    ) -> Parse<Expr> {
        self.count_operator()?;
        self.bump();
        let right = rule(self)?;
        Ok(Expr::Binary(operator, Box::new(left), Box::new(right)))
    }

    fn signed_term(&mut self) -> Parse<Expr> {
        if self.sign_at(0, Sign::Minus) {
            self.bump();
            return Ok(Expr::Negate(Box::new(self.simple_term()?)));
        }
        self.simple_term()
    }

    /// A term without operators outside brackets.
    fn simple_term(&mut self) -> Parse<Expr> {
        if let Some(literal) = self.literal()? {
            return Ok(literal);
        }
        match self.peek() {
            Kind::Sign(Sign::OpenSquare) => {
                self.bump();
                if self.eat_sign(Sign::CloseSquare) {
                    return Ok(Expr::List(Vec::new()));
                }
                let elements = self.comma_list(Self::term)?;
                self.expect_sign(Sign::CloseSquare)?;
                Ok(Expr::List(elements))
            }
            Kind::Sign(Sign::OpenCurly) => self.curly_term(),
            Kind::Sign(Sign::Open) => self.bracketed_term(),
            Kind::Keyword(Keyword::Cast) if self.sign_at(1, Sign::Open) => {
                self.bump();
                self.bump();
                let inner = self.nested(Self::simple_term)?;
                self.expect(Keyword::As)?;
                let ty = self.native_type()?;
                self.expect_sign(Sign::Close)?;
                Ok(Expr::Cast(Box::new(inner), ty))
            }
            kind if is_name(kind) || kind == Kind::Keyword(Keyword::Token) => self.call_term(),
            _ => {
                self.note("a value");
                self.unexpected()
            }
        }
    }

    /// Whether a simple term may begin with this token.
    fn begins_term(kind: Kind) -> bool {
        match kind {
            Kind::String
            | Kind::DollarString
            | Kind::Integer
            | Kind::Float
            | Kind::Boolean
            | Kind::Uuid
            | Kind::Hex => true,
            Kind::Duration | Kind::NegativeNan | Kind::NegativeInfinity => true,
            Kind::Keyword(Keyword::Nan | Keyword::Infinity | Keyword::Null | Keyword::Token) => true,
            Kind::Sign(sign) => {
                matches!(sign, Sign::Open | Sign::OpenSquare | Sign::OpenCurly | Sign::Colon | Sign::Question)
            }
            kind => is_name(kind),
        }
    }

    fn call_term(&mut self) -> Parse<Expr> {
        let function = self.function_name()?;
        self.expect_sign(Sign::Open)?;
        let args = if self.eat_sign(Sign::Close) {
            Vec::new()
        } else {
            let args = self.comma_list(Self::term)?;
            self.expect_sign(Sign::Close)?;
            args
        };
        Ok(Expr::Call { keyspace: function.keyspace, name: function.name, args })
    }

    fn bracketed_term(&mut self) -> Parse<Expr> {
        let mark = self.mark();
        let hint = match self.hinted_term() {
            Err(Failed::Token(at)) => at,
            other => return other,
        };
        self.rewind(mark);
        match self.tuple_term() {
            Err(Failed::Token(at)) => Err(Failed::Token(at.max(hint))),
            other => other,
        }
    }

    fn hinted_term(&mut self) -> Parse<Expr> {
        self.bump();
        let ty = self.type_name()?;
        self.expect_sign(Sign::Close)?;
        if !Self::begins_term(self.peek()) {
            return self.unexpected();
        }
        let inner = self.nested(Self::simple_term)?;
        Ok(Expr::TypeHint(ty, Box::new(inner)))
    }

    /// `(a, b)`
    pub(super) fn tuple_term(&mut self) -> Parse<Expr> {
        self.expect_sign(Sign::Open)?;
        let elements = self.comma_list(Self::term)?;
        self.expect_sign(Sign::Close)?;
        Ok(Expr::Tuple(elements))
    }

    fn curly_term(&mut self) -> Parse<Expr> {
        self.bump();
        if self.eat_sign(Sign::CloseCurly) {
            return Ok(Expr::Map(Vec::new()));
        }
        if is_name(self.peek()) && self.sign_at(1, Sign::Colon) {
            let fields = self.comma_list(|p| {
                let field = p.name()?;
                p.expect_sign(Sign::Colon)?;
                Ok((field, p.term()?))
            })?;
            self.expect_sign(Sign::CloseCurly)?;
            return Ok(Expr::Udt(fields));
        }
        let first = self.term()?;
        if !self.eat_sign(Sign::Colon) {
            let mut elements = vec![first];
            while self.eat_sign(Sign::Comma) {
                elements.push(self.term()?);
            }
            self.expect_sign(Sign::CloseCurly)?;
            return Ok(Expr::Set(elements));
        }
        let mut entries = vec![(first, self.term()?)];
        while self.eat_sign(Sign::Comma) {
            let key = self.term()?;
            self.expect_sign(Sign::Colon)?;
            entries.push((key, self.term()?));
        }
        self.expect_sign(Sign::CloseCurly)?;
        Ok(Expr::Map(entries))
    }

    /// A constant, null or a bind marker, if one is here. Terms and selectors share them.
    pub(super) fn literal(&mut self) -> Parse<Option<Expr>> {
        if let Some(constant) = self.constant()? {
            return Ok(Some(constant));
        }
        if self.keyword_at(0, Keyword::Null) {
            self.bump();
            return Ok(Some(Expr::Null));
        }
        Ok(self.marker()?.map(Expr::Marker))
    }

    /// A bind marker, if one is here.
    pub(super) fn marker(&mut self) -> Parse<Option<Marker>> {
        let name = match self.peek() {
            Kind::Sign(Sign::Question) => {
                self.bump();
                None
            }
            Kind::Sign(Sign::Colon) => {
                self.bump();
                Some(self.name()?.text)
            }
            _ => return Ok(None),
        };
        let marker = Marker { index: self.markers.len(), name };
        self.markers.push(marker.clone());
        Ok(Some(marker))
    }

    /// A constant, if one is here.
    pub(super) fn constant(&mut self) -> Parse<Option<Expr>> {
        let token = self.token(0);
        let kind = match token.kind {
            Kind::String | Kind::DollarString => Literal::String,
            Kind::Integer => Literal::Integer,
            Kind::Float | Kind::NegativeNan | Kind::NegativeInfinity => Literal::Float,
            Kind::Keyword(Keyword::Nan | Keyword::Infinity) => Literal::Float,
            Kind::Boolean => Literal::Boolean,
            Kind::Uuid => Literal::Uuid,
            Kind::Hex => Literal::Hex,
            Kind::Duration => Literal::Duration,
            _ => return Ok(None),
        };
        let text = match token.kind {
            Kind::String | Kind::DollarString => self.string_of(token),
            // NaN has no sign.
            Kind::NegativeNan | Kind::Keyword(Keyword::Nan) => "NaN".to_owned(),
            Kind::Keyword(Keyword::Infinity) => "Infinity".to_owned(),
            Kind::NegativeInfinity => "-Infinity".to_owned(),
            _ => self.source(token).to_owned(),
        };
        let place = Place { line: token.line, column: token.column };
        if token.kind == Kind::Float && !text.parse::<f64>().is_ok_and(f64::is_finite) {
            self.note_error(
                place,
                format!("line {}:{} {text} is beyond the range of a double", place.line, place.column),
            );
        }
        self.bump();
        Ok(Some(Expr::Constant { kind, text, place }))
    }

    /// Text of a string token, without its quotes.
    pub(super) fn string_of(&self, token: Token) -> String {
        let source = self.source(token);
        if token.kind == Kind::DollarString {
            return source.get(2..source.len().saturating_sub(2)).unwrap_or("").to_owned();
        }
        source.get(1..source.len().saturating_sub(1)).unwrap_or("").replace("''", "'")
    }

    /// A string literal.
    pub(super) fn string(&mut self) -> Parse<String> {
        if matches!(self.peek(), Kind::String | Kind::DollarString) {
            let token = self.bump();
            return Ok(self.string_of(token));
        }
        self.note("a text in single quotes");
        self.unexpected()
    }

    /// A whole number or a bind marker: of LIMIT, TTL, TIMESTAMP.
    pub(super) fn int_value(&mut self) -> Parse<Expr> {
        if let Some(marker) = self.marker()? {
            return Ok(Expr::Marker(marker));
        }
        if self.peek() == Kind::Integer
            && let Some(constant) = self.constant()?
        {
            return Ok(constant);
        }
        self.note("a whole number");
        self.note("a bind marker");
        self.unexpected()
    }
}

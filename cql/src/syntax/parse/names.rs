//! Names and types as written.

use crate::syntax::ast::{Name, TableName, TypeName};
use crate::syntax::parse::cursor::{Parse, Parser, is_function_name, is_name, is_type_name};
use crate::syntax::token::{Class, Keyword, Kind, Sign};

impl Parser<'_> {
    /// A name; keywords that are not reserved may be one.
    pub(super) fn name(&mut self) -> Parse<Name> {
        if is_name(self.peek()) {
            let token = self.bump();
            return Ok(self.name_of(token));
        }
        self.note("a name");
        self.unexpected()
    }

    /// A column that is there already: `""` is one that no table can have, but the grammar takes it.
    pub(super) fn column(&mut self) -> Parse<Name> {
        if self.peek() == Kind::EmptyQuotedName {
            let token = self.bump();
            return Ok(self.name_of(token));
        }
        self.name()
    }

    /// A keyspace; `?` is told apart from other mistakes.
    pub(super) fn keyspace_name(&mut self) -> Parse<Name> {
        self.name_or_marker("Bind variables cannot be used for keyspace names")
    }

    pub(super) fn name_or_marker(&mut self, refusal: &'static str) -> Parse<Name> {
        if self.sign_at(0, Sign::Question) {
            let place = self.place();
            let token = self.bump();
            if self.peek() == Kind::Ident {
                return self.unexpected();
            }
            self.note_error(place, refusal);
            return Ok(self.name_of(token));
        }
        self.name()
    }

    /// `[keyspace.]table`
    pub(super) fn table_name(&mut self) -> Parse<TableName> {
        if self.sign_at(1, Sign::Point) {
            let keyspace = self.keyspace_name()?;
            self.bump();
            let name = self.name_or_marker("Bind variables cannot be used for table names")?;
            return Ok(TableName { keyspace: Some(keyspace), name });
        }
        let name = self.name_or_marker("Bind variables cannot be used for table names")?;
        self.note(".");
        Ok(TableName { keyspace: None, name })
    }

    /// `[keyspace.]type`; names of native types are none.
    pub(super) fn user_type_name(&mut self) -> Parse<TableName> {
        let mut keyspace = None;
        if is_name(self.peek()) && (self.sign_at(1, Sign::Point) || !is_type_name(self.peek())) {
            keyspace = Some(self.name()?);
            self.expect_sign(Sign::Point)?;
        }
        if !is_type_name(self.peek()) {
            self.note("a type");
            return self.unexpected();
        }
        let token = self.bump();
        Ok(TableName { keyspace, name: self.name_of(token) })
    }

    /// `[keyspace.]function`
    pub(super) fn function_name(&mut self) -> Parse<TableName> {
        let mut keyspace = None;
        if is_name(self.peek()) && (self.sign_at(1, Sign::Point) || !is_function_name(self.peek())) {
            keyspace = Some(self.name()?);
            self.expect_sign(Sign::Point)?;
        }
        if !is_function_name(self.peek()) {
            self.note("a function");
            return self.unexpected();
        }
        let token = self.bump();
        Ok(TableName { keyspace, name: self.name_of(token) })
    }

    /// A native type, as CAST wants.
    pub(super) fn native_type(&mut self) -> Parse<TypeName> {
        if let Kind::Keyword(keyword) = self.peek()
            && keyword.class() == Class::Type
        {
            let token = self.bump();
            let name = self.name_of(token);
            return Ok(TypeName::Simple(TableName { keyspace: None, name }));
        }
        self.note("a native type");
        self.unexpected()
    }

    /// A type.
    pub(super) fn type_name(&mut self) -> Parse<TypeName> {
        self.nested(Self::type_inner)
    }

    fn type_inner(&mut self) -> Parse<TypeName> {
        let place = self.place();
        let parametric = self.sign_at(1, Sign::Lt);
        match self.peek() {
            Kind::String | Kind::DollarString => {
                let token = self.bump();
                Ok(TypeName::Custom(self.string_of(token)))
            }
            Kind::Keyword(keyword) if keyword.class() == Class::Type && !self.sign_at(1, Sign::Point) => {
                self.native_type()
            }
            Kind::Keyword(Keyword::Set) => {
                self.bump();
                self.expect_sign(Sign::Lt)?;
                let element = self.type_name()?;
                self.expect_sign(Sign::Gt)?;
                Ok(TypeName::Generic("set".to_owned(), vec![element], None, place))
            }
            Kind::Keyword(
                keyword @ (Keyword::List | Keyword::Map | Keyword::Tuple | Keyword::Frozen | Keyword::Vector),
            ) if parametric => {
                self.bump();
                self.bump();
                let mut parameters = vec![self.type_name()?];
                let mut dimension = None;
                match keyword {
                    Keyword::Map => {
                        self.expect_sign(Sign::Comma)?;
                        parameters.push(self.type_name()?);
                    }
                    Keyword::Tuple => {
                        while self.eat_sign(Sign::Comma) {
                            parameters.push(self.type_name()?);
                        }
                    }
                    Keyword::Vector => {
                        self.expect_sign(Sign::Comma)?;
                        dimension = Some(self.dimension()?);
                    }
                    _ => {}
                }
                self.expect_sign(Sign::Gt)?;
                if keyword == Keyword::Frozen {
                    self.check_frozen(&parameters, place);
                }
                Ok(TypeName::Generic(keyword.text().to_ascii_lowercase(), parameters, dimension, place))
            }
            _ => self.user_type_name().map(TypeName::Simple),
        }
    }

    /// A vector's dimension: a number that fits a Java int; 0 and below are for the analysis to refuse.
    fn dimension(&mut self) -> Parse<i32> {
        if self.peek() != Kind::Integer {
            self.note("the number of elements");
            return self.unexpected();
        }
        let place = self.place();
        let token = self.bump();
        let text = self.source(token);
        match text.parse::<i32>() {
            Ok(number) => Ok(number),
            Err(_) => {
                self.note_error(
                    place,
                    format!("Invalid vector dimension {text}: it must be less than 2147483648"),
                );
                Ok(0)
            }
        }
    }

    fn check_frozen(&mut self, parameters: &[TypeName], place: crate::error::Place) {
        if let Some(TypeName::Simple(TableName { keyspace: None, name })) = parameters.first()
            && !name.quoted
            && Keyword::of(&name.text).is_some_and(|keyword| keyword.class() == Class::Type)
        {
            let message = format!(
                "frozen<> is only allowed on collections, tuples, and user-defined types (got {})",
                name.text
            );
            self.note_error(place, message);
        }
    }
}

//! CREATE TABLE and ALTER TABLE, and the properties behind WITH, which keyspaces, indexes and views have too.

use crate::error::Place;
use crate::syntax::ast::{
    AlterTable, ColumnDefinition, CreateTable, Expr, Name, OptionValue, Options, TableChange, TableName,
};
use crate::syntax::parse::cursor::{Parse, Parser, is_name};
use crate::syntax::print;
use crate::syntax::token::{Class, Keyword, Kind, Sign};

impl Parser<'_> {
    /// Behind CREATE TABLE.
    pub(super) fn create_table(&mut self) -> Parse<CreateTable> {
        let if_not_exists = self.if_not_exists()?;
        let table = self.table_name()?;
        let mut made = CreateTable {
            if_not_exists,
            table,
            columns: Vec::new(),
            primary_keys: Vec::new(),
            clustering_order: Vec::new(),
            compact_storage: false,
            options: Vec::new(),
        };
        self.expect_sign(Sign::Open)?;
        self.table_element(&mut made)?;
        while self.eat_sign(Sign::Comma) {
            // Commas too many are taken.
            if is_name(self.peek()) || self.keyword_at(0, Keyword::Primary) {
                self.table_element(&mut made)?;
            } else {
                self.note("a name");
                self.note("PRIMARY");
            }
        }
        self.expect_sign(Sign::Close)?;
        if self.eat(Keyword::With) {
            self.table_properties(&mut made.options, &mut made.clustering_order, &mut made.compact_storage)?;
        }
        Ok(made)
    }

    fn table_element(&mut self, made: &mut CreateTable) -> Parse<()> {
        if self.eat(Keyword::Primary) {
            made.primary_keys.push(self.primary_key()?);
            return Ok(());
        }
        let mut column = self.column_definition()?;
        column.primary_key = self.eat(Keyword::Primary);
        if column.primary_key {
            self.expect(Keyword::Key)?;
        }
        made.columns.push(column);
        Ok(())
    }

    /// Name, type, STATIC and mask of a column.
    fn column_definition(&mut self) -> Parse<ColumnDefinition> {
        let name = self.name()?;
        let ty = self.type_name()?;
        let is_static = self.eat(Keyword::Static);
        let masked = if self.eat(Keyword::Masked) { Some(self.mask()?) } else { None };
        Ok(ColumnDefinition { name, ty, is_static, primary_key: false, masked })
    }

    /// Behind MASKED.
    fn mask(&mut self) -> Parse<Expr> {
        self.expect(Keyword::With)?;
        let place = self.place();
        if self.keyword_at(0, Keyword::Default)
            && !matches!(self.peek_at(1), Kind::Sign(Sign::Open | Sign::Point))
        {
            self.bump();
            let name = Name { text: "mask_default".to_owned(), quoted: false, place };
            return Ok(Expr::Call { keyspace: None, name, args: Vec::new() });
        }
        self.note("DEFAULT");
        let TableName { keyspace, name } = self.function_name()?;
        self.expect_sign(Sign::Open)?;
        let mut args = Vec::new();
        if !self.eat_sign(Sign::Close) {
            args = self.comma_list(Self::term)?;
            self.expect_sign(Sign::Close)?;
        }
        Ok(Expr::Call { keyspace, name, args })
    }

    /// Behind PRIMARY: partition key and clustering.
    pub(super) fn primary_key(&mut self) -> Parse<(Vec<Name>, Vec<Name>)> {
        self.expect(Keyword::Key)?;
        self.expect_sign(Sign::Open)?;
        let partition = if self.eat_sign(Sign::Open) {
            let columns = self.comma_list(Self::name)?;
            self.expect_sign(Sign::Close)?;
            columns
        } else {
            vec![self.name()?]
        };
        let mut clustering = Vec::new();
        while self.eat_sign(Sign::Comma) {
            clustering.push(self.name()?);
        }
        self.expect_sign(Sign::Close)?;
        Ok((partition, clustering))
    }

    /// Behind WITH of a table or view.
    pub(super) fn table_properties(
        &mut self,
        options: &mut Options,
        order: &mut Vec<(Name, bool)>,
        compact: &mut bool,
    ) -> Parse<()> {
        loop {
            if self.keyword_at(0, Keyword::Compact) && self.keyword_at(1, Keyword::Storage) {
                self.bump();
                self.bump();
                *compact = true;
            } else if self.keyword_at(0, Keyword::Clustering) && !self.sign_at(1, Sign::Eq) {
                self.bump();
                self.expect(Keyword::Order)?;
                self.expect(Keyword::By)?;
                order.extend(self.clustering_order()?);
            } else {
                self.property(options)?;
            }
            if !self.eat(Keyword::And) {
                return Ok(());
            }
        }
    }

    /// `(a ASC, b DESC)`; skep takes doubled brackets too, which documents of other tools show.
    fn clustering_order(&mut self) -> Parse<Vec<(Name, bool)>> {
        self.expect_sign(Sign::Open)?;
        let doubled = self.eat_sign(Sign::Open);
        let order = self.comma_list(|p| {
            let column = p.name()?;
            let descending = !p.eat(Keyword::Asc);
            if descending {
                p.expect(Keyword::Desc)?;
            }
            Ok((column, descending))
        })?;
        if doubled {
            self.expect_sign(Sign::Close)?;
        }
        self.expect_sign(Sign::Close)?;
        Ok(order)
    }

    /// Behind WITH of what has no clustering order.
    pub(super) fn properties(&mut self) -> Parse<Options> {
        let mut options = Vec::new();
        self.property(&mut options)?;
        while self.eat(Keyword::And) {
            self.property(&mut options)?;
        }
        Ok(options)
    }

    fn property(&mut self, options: &mut Options) -> Parse<()> {
        let name = self.name()?;
        self.expect_sign(Sign::Eq)?;
        let value =
            if self.sign_at(0, Sign::OpenCurly) { self.property_map()? } else { self.property_text()? };
        if options.iter().any(|(earlier, _)| *earlier == name) {
            self.note_error(name.place, format!("Multiple definitions for property '{}'", name.text));
        }
        options.push((name, value));
        Ok(())
    }

    fn property_text(&mut self) -> Parse<OptionValue> {
        let token = self.token(0);
        if let Kind::Keyword(keyword) = token.kind
            && keyword.class() != Class::Reserved
        {
            self.bump();
            let source = self.source(token);
            let native = keyword.class() == Class::Type;
            return Ok(OptionValue::Text(if native {
                source.to_ascii_lowercase()
            } else {
                source.to_owned()
            }));
        }
        match self.constant()? {
            Some(Expr::Constant { text, .. }) => Ok(OptionValue::Text(text)),
            _ => {
                self.note("a value");
                self.note("{");
                self.unexpected()
            }
        }
    }

    fn property_map(&mut self) -> Parse<OptionValue> {
        self.bump();
        let mut entries = Vec::new();
        if self.eat_sign(Sign::CloseCurly) {
            return Ok(OptionValue::Map(entries));
        }
        loop {
            let place = self.place();
            let key = self.term()?;
            self.expect_sign(Sign::Colon)?;
            let value = self.term()?;
            match (key, value) {
                (Expr::Constant { text: key, .. }, Expr::Constant { text: value, .. }) => {
                    entries.push((key, value))
                }
                (Expr::Constant { text: key, .. }, value) => self.refuse(place, "value", &value, &key),
                (key, _) => self.refuse(place, "name", &key, ""),
            }
            if !self.eat_sign(Sign::Comma) {
                break;
            }
        }
        self.expect_sign(Sign::CloseCurly)?;
        Ok(OptionValue::Map(entries))
    }

    fn refuse(&mut self, place: Place, what: &str, term: &Expr, key: &str) {
        let mut message = format!("Invalid property {what}: {}", print::expr(term));
        if !key.is_empty() {
            message.push_str(&format!(" for property: {key}"));
        }
        if matches!(term, Expr::Marker(_)) {
            message.push_str(" (bind variables are not supported in DDL queries)");
        }
        self.note_error(place, message);
    }

    /// Behind ALTER TABLE.
    pub(super) fn alter_table(&mut self) -> Parse<AlterTable> {
        let if_exists = self.if_exists()?;
        let table = self.table_name()?;
        let change = if self.eat(Keyword::Alter) {
            self.alter_column()?
        } else if self.eat(Keyword::Add) {
            let if_not_exists = self.if_not_exists()?;
            let columns = self.one_or_list(Self::column_definition)?;
            TableChange::Add(if_not_exists, columns)
        } else if self.eat(Keyword::Drop) {
            self.drop_columns()?
        } else if self.eat(Keyword::Rename) {
            let if_exists = self.if_exists()?;
            TableChange::Rename(if_exists, self.renames()?)
        } else {
            self.expect(Keyword::With)?;
            TableChange::Options(self.properties()?)
        };
        Ok(AlterTable { if_exists, table, change })
    }

    /// `x`, or `(x, y)`
    fn one_or_list<T>(&mut self, mut rule: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        if !self.eat_sign(Sign::Open) {
            return Ok(vec![rule(self)?]);
        }
        let list = self.comma_list(rule)?;
        self.expect_sign(Sign::Close)?;
        Ok(list)
    }

    fn alter_column(&mut self) -> Parse<TableChange> {
        let if_exists = self.if_exists()?;
        let column = self.column()?;
        if self.eat(Keyword::Masked) {
            let mask = self.mask()?;
            return Ok(TableChange::Mask(if_exists, column, Some(mask)));
        }
        if self.eat(Keyword::Drop) {
            self.expect(Keyword::Masked)?;
            return Ok(TableChange::Mask(if_exists, column, None));
        }
        self.expect(Keyword::Type)?;
        Ok(TableChange::AlterType(if_exists, column, self.type_name()?))
    }

    fn drop_columns(&mut self) -> Parse<TableChange> {
        if self.keyword_at(0, Keyword::Compact) && self.keyword_at(1, Keyword::Storage) {
            self.bump();
            self.bump();
            return Ok(TableChange::DropCompactStorage);
        }
        let if_exists = self.if_exists()?;
        let columns = self.one_or_list(Self::name)?;
        let mut timestamp = None;
        if self.eat(Keyword::Using) {
            self.expect(Keyword::Timestamp)?;
            if self.peek() != Kind::Integer {
                self.note("a whole number");
                return self.unexpected();
            }
            timestamp = self.constant()?;
        }
        Ok(TableChange::Drop(if_exists, columns, timestamp))
    }
}

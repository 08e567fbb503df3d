//! CREATE, ALTER and DROP of keyspaces, types, indexes and views; tables have a file of their own (`tables`).

use crate::syntax::ast::{
    AlterKeyspace, AlterType, AlterView, CreateIndex, CreateKeyspace, CreateType, CreateView, Drop, DropKind,
    IndexPart, Name, Statement, TableName, TypeChange,
};
use crate::syntax::parse::cursor::{Parse, Parser, is_name};
use crate::syntax::token::{Keyword, Kind, Sign};

/// Kinds of things that an embedded store does not have, behind CREATE, ALTER and DROP.
const CREATED: &[Keyword] =
    &[Keyword::User, Keyword::Role, Keyword::Trigger, Keyword::Function, Keyword::Aggregate];
const ALTERED: &[Keyword] = &[Keyword::User, Keyword::Role];
const DROPPED: &[Keyword] = &[
    Keyword::User,
    Keyword::Role,
    Keyword::Trigger,
    Keyword::Function,
    Keyword::Aggregate,
    Keyword::Identity,
];

impl Parser<'_> {
    /// Behind CREATE.
    pub(super) fn create(&mut self) -> Parse<Statement> {
        if self.eat(Keyword::Keyspace) {
            let if_not_exists = self.if_not_exists()?;
            let name = self.keyspace_name()?;
            self.expect(Keyword::With)?;
            let options = self.properties()?;
            return Ok(Statement::CreateKeyspace(CreateKeyspace { if_not_exists, name, options }));
        }
        if self.eat_table() {
            return Ok(Statement::CreateTable(self.create_table()?));
        }
        if self.eat(Keyword::Type) {
            return Ok(Statement::CreateType(self.create_type()?));
        }
        if self.eat(Keyword::Index) {
            return Ok(Statement::CreateIndex(self.create_index(false)?));
        }
        if self.eat(Keyword::Custom) {
            self.expect(Keyword::Index)?;
            return Ok(Statement::CreateIndex(self.create_index(true)?));
        }
        if self.eat(Keyword::Materialized) {
            self.expect(Keyword::View)?;
            return Ok(Statement::CreateView(self.create_view()?));
        }
        if self.keyword_at(0, Keyword::Or) {
            self.bump();
            self.expect(Keyword::Replace)?;
            if self.keyword_at(0, Keyword::Function) || self.keyword_at(0, Keyword::Aggregate) {
                return self.foreign("CREATE");
            }
            self.note("FUNCTION");
            self.note("AGGREGATE");
            return self.unexpected();
        }
        self.foreign_or_unexpected("CREATE", CREATED)
    }

    /// Behind ALTER.
    pub(super) fn alter(&mut self) -> Parse<Statement> {
        if self.eat(Keyword::Keyspace) {
            let if_exists = self.if_exists()?;
            let name = self.keyspace_name()?;
            self.expect(Keyword::With)?;
            let options = self.properties()?;
            return Ok(Statement::AlterKeyspace(AlterKeyspace { if_exists, name, options }));
        }
        if self.eat_table() {
            return Ok(Statement::AlterTable(self.alter_table()?));
        }
        if self.eat(Keyword::Type) {
            return Ok(Statement::AlterType(self.alter_type()?));
        }
        if self.eat(Keyword::Materialized) {
            self.expect(Keyword::View)?;
            let if_exists = self.if_exists()?;
            let name = self.table_name()?;
            self.expect(Keyword::With)?;
            let options = self.properties()?;
            return Ok(Statement::AlterView(AlterView { if_exists, name, options }));
        }
        self.foreign_or_unexpected("ALTER", ALTERED)
    }

    /// Behind DROP.
    pub(super) fn drop(&mut self) -> Parse<Statement> {
        if self.eat(Keyword::Keyspace) {
            let if_exists = self.if_exists()?;
            let name = TableName { keyspace: None, name: self.keyspace_name()? };
            return Ok(Statement::Drop(Drop { kind: DropKind::Keyspace, if_exists, name }));
        }
        let kind = if self.eat_table() {
            DropKind::Table
        } else if self.eat(Keyword::Type) {
            let if_exists = self.if_exists()?;
            let name = self.user_type_name()?;
            return Ok(Statement::Drop(Drop { kind: DropKind::Type, if_exists, name }));
        } else if self.eat(Keyword::Index) {
            DropKind::Index
        } else if self.eat(Keyword::Materialized) {
            self.expect(Keyword::View)?;
            DropKind::View
        } else {
            return self.foreign_or_unexpected("DROP", DROPPED);
        };
        let if_exists = self.if_exists()?;
        let name = self.table_name()?;
        Ok(Statement::Drop(Drop { kind, if_exists, name }))
    }

    /// Behind LIST, which lists users, roles and what they may do.
    pub(super) fn list(&mut self) -> Parse<Statement> {
        match self.peek() {
            Kind::Keyword(
                Keyword::Roles
                | Keyword::Users
                | Keyword::All
                | Keyword::Alter
                | Keyword::Create
                | Keyword::Drop
                | Keyword::Select
                | Keyword::Modify
                | Keyword::Authorize
                | Keyword::Describe
                | Keyword::Execute
                | Keyword::Unmask
                | Keyword::SelectMasked,
            ) => self.foreign("LIST"),
            _ => self.unexpected(),
        }
    }

    fn foreign_or_unexpected(&mut self, verb: &str, kinds: &[Keyword]) -> Parse<Statement> {
        if let Kind::Keyword(keyword) = self.peek()
            && kinds.contains(&keyword)
        {
            return self.foreign(verb);
        }
        self.unexpected()
    }

    /// A statement that only servers have: the keyword at hand names its kind, the rest is passed over.
    pub(super) fn foreign(&mut self, verb: &str) -> Parse<Statement> {
        let token = self.bump();
        let words = format!("{verb} {}", self.source(token).to_ascii_uppercase());
        self.pass_over();
        Ok(Statement::Unsupported(words))
    }

    /// Passes over the rest of the statement.
    pub(super) fn pass_over(&mut self) {
        while !matches!(self.peek(), Kind::End | Kind::Fault | Kind::Sign(Sign::Semicolon)) {
            self.bump();
        }
    }

    fn create_type(&mut self) -> Parse<CreateType> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.user_type_name()?;
        self.expect_sign(Sign::Open)?;
        let mut fields = vec![(self.name()?, self.type_name()?)];
        // Commas too many are taken.
        while self.eat_sign(Sign::Comma) {
            if is_name(self.peek()) {
                fields.push((self.name()?, self.type_name()?));
            }
        }
        self.expect_sign(Sign::Close)?;
        Ok(CreateType { if_not_exists, name, fields })
    }

    fn alter_type(&mut self) -> Parse<AlterType> {
        let if_exists = self.if_exists()?;
        let name = self.user_type_name()?;
        let change = if self.eat(Keyword::Add) {
            let if_not_exists = self.if_not_exists()?;
            TypeChange::Add(if_not_exists, self.name()?, self.type_name()?)
        } else if self.eat(Keyword::Rename) {
            let if_exists = self.if_exists()?;
            TypeChange::Rename(if_exists, self.renames()?)
        } else {
            self.expect(Keyword::Alter)?;
            self.if_exists()?;
            let field = self.name()?;
            self.expect(Keyword::Type)?;
            TypeChange::Alter(field, self.type_name()?)
        };
        Ok(AlterType { if_exists, name, change })
    }

    /// `a TO b AND c TO d`
    pub(super) fn renames(&mut self) -> Parse<Vec<(Name, Name)>> {
        let mut renames = Vec::new();
        loop {
            let from = self.name()?;
            self.expect(Keyword::To)?;
            renames.push((from, self.name()?));
            if !self.eat(Keyword::And) {
                return Ok(renames);
            }
        }
    }

    fn create_index(&mut self, custom: bool) -> Parse<CreateIndex> {
        let if_not_exists = self.if_not_exists()?;
        let name = if self.eat(Keyword::On) {
            None
        } else {
            let name = self.name_or_marker("Bind variables cannot be used for index names")?;
            self.expect(Keyword::On)?;
            Some(TableName { keyspace: None, name })
        };
        let table = self.table_name()?;
        self.expect_sign(Sign::Open)?;
        let mut targets = Vec::new();
        if !self.eat_sign(Sign::Close) {
            targets = self.comma_list(Self::index_target)?;
            self.expect_sign(Sign::Close)?;
        }
        let using = if self.eat(Keyword::Using) { Some(self.string()?) } else { None };
        let options = if self.eat(Keyword::With) { self.properties()? } else { Vec::new() };
        Ok(CreateIndex { custom, if_not_exists, name, table, targets, using, options })
    }

    fn index_target(&mut self) -> Parse<(Name, IndexPart)> {
        let part = match self.peek() {
            Kind::Keyword(Keyword::Values) => IndexPart::Values,
            Kind::Keyword(Keyword::Keys) => IndexPart::Keys,
            Kind::Keyword(Keyword::Entries) => IndexPart::Entries,
            Kind::Keyword(Keyword::Full) => IndexPart::Full,
            _ => IndexPart::Simple,
        };
        // VALUES and KEYS may be columns, ENTRIES and FULL are reserved.
        let always = matches!(part, IndexPart::Entries | IndexPart::Full);
        if part == IndexPart::Simple || !always && !self.sign_at(1, Sign::Open) {
            return Ok((self.column()?, IndexPart::Simple));
        }
        self.bump();
        self.expect_sign(Sign::Open)?;
        let column = self.column()?;
        self.expect_sign(Sign::Close)?;
        Ok((column, part))
    }

    fn create_view(&mut self) -> Parse<CreateView> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.table_name()?;
        self.expect(Keyword::As)?;
        self.expect(Keyword::Select)?;
        let selectors = self.selectors()?;
        self.expect(Keyword::From)?;
        let base = self.table_name()?;
        let relations = if self.eat(Keyword::Where) { self.relations()? } else { Vec::new() };
        self.expect(Keyword::Primary)?;
        let primary_keys = vec![self.primary_key()?];
        let mut view = CreateView {
            if_not_exists,
            name,
            selectors,
            base,
            relations,
            primary_keys,
            clustering_order: Vec::new(),
            compact_storage: false,
            options: Vec::new(),
        };
        if self.eat(Keyword::With) {
            self.table_properties(&mut view.options, &mut view.clustering_order, &mut view.compact_storage)?;
        }
        Ok(view)
    }
}

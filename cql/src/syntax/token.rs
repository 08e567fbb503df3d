//! The words of CQL: what kinds of token there are, and the keywords with what each may stand for.
//!
//! Most keywords are not reserved: `key`, `type` or `text` are names of columns wherever no keyword can stand. Which of them may be a
//! column, a function or a type differs ([`Class`]), as in Cassandra's grammar.

/// What kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A bare word that is no keyword.
    Ident,
    /// A bare word that is a keyword.
    Keyword(Keyword),
    /// `"..."` with something in it.
    QuotedName,
    /// `""`, which names no table or new column.
    EmptyQuotedName,
    /// `'...'`
    String,
    /// `$$...$$`
    DollarString,
    /// Digits, with a minus right before them.
    Integer,
    /// With a point or an exponent.
    Float,
    /// true, false
    Boolean,
    /// 8-4-4-4-12 hexadecimal digits.
    Uuid,
    /// 0x and hexadecimal digits, none too.
    Hex,
    /// `1h30m`, `P1Y2M`, ...
    Duration,
    /// `-NaN`
    NegativeNan,
    /// `-Infinity`
    NegativeInfinity,
    /// A sign: `(`, `<=`, `..`, ...
    Sign(Sign),
    /// `expr(`, which is one token.
    ExprOpen,
    /// A place where no token can be read; the text ends there for the parser.
    Fault,
    /// The end of the text.
    End,
}

/// Signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// `(`
    Open,
    /// `)`
    Close,
    /// `[`
    OpenSquare,
    /// `]`
    CloseSquare,
    /// `{`
    OpenCurly,
    /// `}`
    CloseCurly,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `:`
    Colon,
    /// `?`
    Question,
    /// `.`
    Point,
    /// `..`
    Range,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `=`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `+=`
    PlusEq,
    /// `-=`
    MinusEq,
}

impl Sign {
    /// As written.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Open => "(",
            Self::Close => ")",
            Self::OpenSquare => "[",
            Self::CloseSquare => "]",
            Self::OpenCurly => "{",
            Self::CloseCurly => "}",
            Self::Comma => ",",
            Self::Semicolon => ";",
            Self::Colon => ":",
            Self::Question => "?",
            Self::Point => ".",
            Self::Range => "..",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Star => "*",
            Self::Slash => "/",
            Self::Percent => "%",
            Self::Eq => "=",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::PlusEq => "+=",
            Self::MinusEq => "-=",
        }
    }
}

/// A token: its kind and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The kind.
    pub kind: Kind,
    /// First byte.
    pub start: u32,
    /// Byte behind the last.
    pub end: u32,
    /// Line, from 1.
    pub line: u32,
    /// Character in the line, from 0.
    pub column: u32,
}

/// What a keyword may stand for besides itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Nothing: to be a name it needs quotes.
    Reserved,
    /// Any name.
    Free,
    /// A native type: any name but a user type's.
    Type,
    /// Any name but a function's or a user type's: ttl, count, ...
    Special,
}

macro_rules! keywords {
    ($($word:literal $name:ident $class:ident,)*) => {
        /// A keyword.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Keyword {
            $(#[doc = $word] $name,)*
        }

        impl Keyword {
            const ALL: &'static [(&'static str, Keyword, Class)] = &[$(($word, Keyword::$name, Class::$class),)*];
        }
    };
}

// In alphabetical order: `Keyword::of` searches by halving. TABLE is another word for COLUMNFAMILY.
keywords! {
    "ACCESS" Access Free,
    "ADD" Add Reserved,
    "AGGREGATE" Aggregate Free,
    "AGGREGATES" Aggregates Free,
    "ALL" All Free,
    "ALLOW" Allow Reserved,
    "ALTER" Alter Reserved,
    "AND" And Reserved,
    "ANN" Ann Free,
    "APPLY" Apply Reserved,
    "AS" As Free,
    "ASC" Asc Reserved,
    "ASCII" Ascii Type,
    "AUTHORIZE" Authorize Reserved,
    "BATCH" Batch Reserved,
    "BEGIN" Begin Reserved,
    "BIGINT" Bigint Type,
    "BLOB" Blob Type,
    "BOOLEAN" Boolean Type,
    "BY" By Reserved,
    "CALLED" Called Free,
    "CAST" Cast Special,
    "CIDRS" Cidrs Free,
    "CLUSTER" Cluster Free,
    "CLUSTERING" Clustering Free,
    "COLUMNFAMILY" ColumnFamily Reserved,
    "COMPACT" Compact Free,
    "CONTAINS" Contains Free,
    "COUNT" Count Special,
    "COUNTER" Counter Type,
    "CREATE" Create Reserved,
    "CUSTOM" Custom Free,
    "DATACENTERS" Datacenters Free,
    "DATE" Date Type,
    "DECIMAL" Decimal Type,
    "DEFAULT" Default Free,
    "DELETE" Delete Reserved,
    "DESC" Desc Reserved,
    "DESCRIBE" Describe Reserved,
    "DISTINCT" Distinct Special,
    "DOUBLE" Double Type,
    "DROP" Drop Reserved,
    "DURATION" Duration Type,
    "ENTRIES" Entries Reserved,
    "EXECUTE" Execute Reserved,
    "EXISTS" Exists Free,
    "FILTERING" Filtering Free,
    "FINALFUNC" Finalfunc Free,
    "FLOAT" Float Type,
    "FROM" From Reserved,
    "FROZEN" Frozen Free,
    "FULL" Full Reserved,
    "FUNCTION" Function Free,
    "FUNCTIONS" Functions Free,
    "GRANT" Grant Reserved,
    "GROUP" Group Free,
    "HASHED" Hashed Free,
    "IDENTITY" Identity Free,
    "IF" If Reserved,
    "IN" In Reserved,
    "INDEX" Index Reserved,
    "INET" Inet Type,
    "INFINITY" Infinity Reserved,
    "INITCOND" Initcond Free,
    "INPUT" Input Free,
    "INSERT" Insert Reserved,
    "INT" Int Type,
    "INTERNALS" Internals Free,
    "INTO" Into Reserved,
    "IS" Is Reserved,
    "JSON" Json Special,
    "KEY" Key Special,
    "KEYS" Keys Free,
    "KEYSPACE" Keyspace Reserved,
    "KEYSPACES" Keyspaces Free,
    "LANGUAGE" Language Free,
    "LIKE" Like Free,
    "LIMIT" Limit Reserved,
    "LIST" List Free,
    "LOGIN" Login Free,
    "MAP" Map Free,
    "MASKED" Masked Free,
    "MATERIALIZED" Materialized Reserved,
    "MAXWRITETIME" MaxWritetime Special,
    "MBEAN" Mbean Free,
    "MBEANS" Mbeans Free,
    "MODIFY" Modify Reserved,
    "NAN" Nan Reserved,
    "NOLOGIN" Nologin Free,
    "NORECURSIVE" Norecursive Reserved,
    "NOSUPERUSER" Nosuperuser Free,
    "NOT" Not Reserved,
    "NULL" Null Reserved,
    "OF" Of Reserved,
    "ON" On Reserved,
    "ONLY" Only Free,
    "OPTIONS" Options Free,
    "OR" Or Reserved,
    "ORDER" Order Reserved,
    "PARTITION" Partition Free,
    "PASSWORD" Password Free,
    "PER" Per Free,
    "PERMISSION" Permission Free,
    "PERMISSIONS" Permissions Free,
    "PRIMARY" Primary Reserved,
    "RENAME" Rename Reserved,
    "REPLACE" Replace Free,
    "RETURNS" Returns Free,
    "REVOKE" Revoke Reserved,
    "ROLE" Role Free,
    "ROLES" Roles Free,
    "SCHEMA" Schema Reserved,
    "SELECT" Select Reserved,
    "SELECT_MASKED" SelectMasked Free,
    "SET" Set Reserved,
    "SFUNC" Sfunc Free,
    "SMALLINT" Smallint Type,
    "STATIC" Static Free,
    "STORAGE" Storage Free,
    "STYPE" Stype Free,
    "SUPERUSER" Superuser Free,
    "TABLE" Table Reserved,
    "TABLES" Tables Free,
    "TEXT" Text Type,
    "TIME" Time Type,
    "TIMESTAMP" Timestamp Type,
    "TIMEUUID" Timeuuid Type,
    "TINYINT" Tinyint Type,
    "TO" To Reserved,
    "TOKEN" Token Reserved,
    "TRIGGER" Trigger Free,
    "TRUNCATE" Truncate Reserved,
    "TTL" Ttl Special,
    "TUPLE" Tuple Free,
    "TYPE" Type Free,
    "TYPES" Types Free,
    "UNLOGGED" Unlogged Reserved,
    "UNMASK" Unmask Free,
    "UNSET" Unset Free,
    "UPDATE" Update Reserved,
    "USE" Use Reserved,
    "USER" User Free,
    "USERS" Users Free,
    "USING" Using Reserved,
    "UUID" Uuid Type,
    "VALUES" Values Free,
    "VARCHAR" Varchar Type,
    "VARINT" Varint Type,
    "VECTOR" Vector Free,
    "VIEW" View Reserved,
    "WHERE" Where Reserved,
    "WITH" With Reserved,
    "WRITETIME" Writetime Special,
}

impl Keyword {
    /// The keyword that a bare word is, in any case.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        let found = Self::ALL.binary_search_by(|(text, _, _)| {
            text.bytes().cmp(word.bytes().map(|byte| byte.to_ascii_uppercase()))
        });
        found.ok().and_then(|at| Self::ALL.get(at)).map(|entry| entry.1)
    }

    /// In capitals.
    #[must_use]
    pub fn text(self) -> &'static str {
        // The table stands in the order of the variants.
        Self::ALL.get(self as usize).map_or("", |entry| entry.0)
    }

    /// What it may stand for.
    #[must_use]
    pub fn class(self) -> Class {
        Self::ALL.get(self as usize).map_or(Class::Reserved, |entry| entry.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_in_any_case() {
        for (text, keyword, class) in Keyword::ALL {
            assert_eq!(Keyword::of(text), Some(*keyword));
            assert_eq!(Keyword::of(&text.to_ascii_lowercase()), Some(*keyword));
            assert_eq!(keyword.text(), *text);
            assert_eq!(keyword.class(), *class);
        }
        assert_eq!(Keyword::of("keyz"), None);
        assert_eq!(Keyword::of(""), None);
    }
}

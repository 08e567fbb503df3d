//! The options of COPY, under cqlsh's names.

use crate::shell::copy::words::Word;

/// Options that mean something to a fleet of processes talking to a cluster, and nothing to one that has the files: taken, without effect.
const IDLE: [&str; 13] = [
    "chunksize",
    "configfile",
    "ingestrate",
    "maxattempts",
    "maxbatchsize",
    "maxrequests",
    "minbatchsize",
    "numprocesses",
    "pagesize",
    "pagetimeout",
    "preparedstatements",
    "ratefile",
    "reportfrequency",
];

/// What COPY was told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    /// The first line names the columns.
    pub(super) header: bool,
    /// Between fields.
    pub(super) delimiter: u8,
    /// Around fields that need it.
    pub(super) quote: u8,
    /// Before a quote in a quoted field; the quote itself: it is doubled.
    pub(super) escape: u8,
    /// What stands for null.
    pub(super) null: String,
    /// The decimal point.
    pub(super) decimal: char,
    /// Between thousands; None: nothing.
    pub(super) thousands: Option<char>,
    /// How true and false are written.
    pub(super) booleans: (String, String),
    /// Digits of a float and a double; None: as many as are needed to read the number back.
    pub(super) precision: (Option<usize>, Option<usize>),
    /// Rows to leave out at the beginning.
    pub(super) skip_rows: u64,
    /// Columns to leave out.
    pub(super) skip_columns: Vec<String>,
    /// At most so many rows.
    pub(super) max_rows: Option<u64>,
    /// Rows of a file before the next one begins (`file.1`, `file.2`, ...).
    pub(super) max_output: Option<u64>,
    /// Lines that may fail to parse, and rows that may fail to be written; None: any number.
    pub(super) max_parse_errors: Option<u64>,
    pub(super) max_insert_errors: Option<u64>,
    /// Where bad lines go.
    pub(super) error_file: Option<String>,
    /// Seconds that rows live.
    pub(super) ttl: Option<i32>,
    /// First and last token.
    pub(super) tokens: (Option<i64>, Option<i64>),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            header: false,
            delimiter: b',',
            quote: b'"',
            escape: b'"',
            null: String::new(),
            decimal: '.',
            thousands: None,
            booleans: ("true".to_owned(), "false".to_owned()),
            precision: (None, None),
            skip_rows: 0,
            skip_columns: Vec::new(),
            max_rows: None,
            max_output: None,
            max_parse_errors: None,
            max_insert_errors: Some(1000),
            error_file: None,
            ttl: None,
            tokens: (None, None),
        }
    }
}

impl Options {
    /// Reads `WITH a = b AND c = d`.
    ///
    /// # Errors
    /// A sentence on an option that is unknown, has no effect in this direction or cannot have this value.
    pub(super) fn read(words: &[&Word], is_from: bool) -> Result<Self, String> {
        let mut options = Self::default();
        let mut rest = words.iter();
        let mut joint = "with";
        loop {
            match rest.next() {
                None => return Ok(options),
                Some(Word::Name(word)) if word == joint => {}
                Some(_) => {
                    return Err(format!("{} is expected before the next option", joint.to_uppercase()));
                }
            }
            joint = "and";
            let (Some(Word::Name(name)), Some(Word::Sign('='))) = (rest.next(), rest.next()) else {
                return Err("options are written name = value, with AND between them".to_owned());
            };
            let value = match rest.next() {
                Some(Word::Name(value) | Word::Text(value)) => value,
                _ => return Err(format!("{} has no value", name.to_uppercase())),
            };
            options.set(name, value, is_from)?;
        }
    }

    /// Numbers are written as CQL writes them.
    pub(super) fn is_plain(&self) -> bool {
        self.decimal == '.' && self.thousands.is_none()
    }

    /// A number of the file as CQL writes it.
    pub(super) fn plain_number(&self, text: &str) -> String {
        let without = text.chars().filter(|c| Some(*c) != self.thousands);
        without.map(|c| if c == self.decimal { '.' } else { c }).collect()
    }

    fn set(&mut self, name: &str, value: &str, is_from: bool) -> Result<(), String> {
        let only = |from: bool| match from == is_from {
            true => Ok(()),
            false => {
                let direction = if from { "FROM" } else { "TO" };
                Err(format!("{} is an option of COPY {direction} alone", name.to_uppercase()))
            }
        };
        match name {
            "header" => self.header = truth(name, value)?,
            "delimiter" => self.delimiter = byte(name, value)?,
            "quote" => {
                // cqlsh's escape is a character of its own; a doubled quote is the default here, as everywhere else.
                let doubled = self.escape == self.quote;
                self.quote = byte(name, value)?;
                self.escape = if doubled { self.quote } else { self.escape };
            }
            "escape" => self.escape = byte(name, value)?,
            "null" | "nullval" => value.clone_into(&mut self.null),
            "decimalsep" => self.decimal = character(name, value)?,
            "thousandssep" => {
                self.thousands = if value.is_empty() { None } else { Some(character(name, value)?) }
            }
            "boolstyle" => {
                let (yes, no) = value.split_once(',').ok_or("BOOLSTYLE is two words, such as 'yes,no'")?;
                let (yes, no) = (yes.trim(), no.trim());
                if yes.is_empty() || no.is_empty() || yes.eq_ignore_ascii_case(no) {
                    return Err("BOOLSTYLE is two different words, such as 'yes,no'".to_owned());
                }
                self.booleans = (yes.to_owned(), no.to_owned());
            }
            "encoding" if matches!(value.to_lowercase().as_str(), "utf8" | "utf-8") => {}
            "encoding" => return Err(format!("ENCODING is utf8, not {value}: convert the file")),
            "datetimeformat" if value == "%Y-%m-%d %H:%M:%S%z" => {}
            "datetimeformat" => {
                return Err("DATETIMEFORMAT cannot be changed: times are written as 2024-06-12 14:03:00.000Z and read in all of CQL's forms".to_owned());
            }
            "maxrows" => self.max_rows = any_number(name, value)?,
            "floatprecision" => {
                only(false)?;
                self.precision.0 = Some(number(name, value)?);
            }
            "doubleprecision" => {
                only(false)?;
                self.precision.1 = Some(number(name, value)?);
            }
            "maxoutputsize" => {
                only(false)?;
                self.max_output = any_number(name, value)?;
            }
            "begintoken" | "endtoken" => {
                only(false)?;
                let token = if value.is_empty() { None } else { Some(number(name, value)?) };
                if name == "begintoken" { self.tokens.0 = token } else { self.tokens.1 = token }
            }
            "skiprows" => {
                only(true)?;
                self.skip_rows = number(name, value)?;
            }
            "skipcols" => {
                only(true)?;
                self.skip_columns = value.split(',').map(|column| column.trim().to_owned()).collect();
            }
            "maxparseerrors" => {
                only(true)?;
                self.max_parse_errors = any_number(name, value)?;
            }
            "maxinserterrors" => {
                only(true)?;
                self.max_insert_errors = any_number(name, value)?;
            }
            "errfile" => {
                only(true)?;
                self.error_file = (!value.is_empty()).then(|| value.to_owned());
            }
            "ttl" => {
                only(true)?;
                self.ttl = Some(number(name, value)?);
            }
            idle if IDLE.contains(&idle) => {}
            unknown => return Err(format!("COPY has no option {}", unknown.to_uppercase())),
        }
        Ok(())
    }
}

fn truth(name: &str, value: &str) -> Result<bool, String> {
    match value.to_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(format!("{} is true or false, not {value}", name.to_uppercase())),
    }
}

fn byte(name: &str, value: &str) -> Result<u8, String> {
    match value {
        "\\t" => Ok(b'\t'),
        _ => match value.as_bytes() {
            [byte @ (0x09 | 0x20..0x7f)] => Ok(*byte),
            _ => Err(format!("{} is one ASCII character, not {value:?}", name.to_uppercase())),
        },
    }
}

fn character(name: &str, value: &str) -> Result<char, String> {
    let mut characters = value.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err(format!("{} is one character, not {value:?}", name.to_uppercase())),
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{} is a number, not {value}", name.to_uppercase()))
}

/// A number, or -1 for any.
fn any_number(name: &str, value: &str) -> Result<Option<u64>, String> {
    if value == "-1" { Ok(None) } else { number(name, value).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::copy::words::words;

    fn read(text: &str, is_from: bool) -> Result<Options, String> {
        let words = words(text)?;
        Options::read(&words.iter().collect::<Vec<_>>(), is_from)
    }

    #[test]
    fn options_are_read_and_unknown_ones_refused() {
        let options = read(
            "WITH HEADER = TRUE AND DELIMITER='|' AND NULL = 'n/a' AND SKIPCOLS='b, c' AND NUMPROCESSES=4",
            true,
        );
        let options = options.unwrap();
        assert!(options.header && options.delimiter == b'|' && options.null == "n/a");
        assert_eq!(options.skip_columns, ["b", "c"]);
        assert_eq!(read("", false), Ok(Options::default()));
        assert_eq!(read("WITH QUOTE = ''''", true).map(|o| (o.quote, o.escape)), Ok((b'\'', b'\'')));
        assert_eq!(
            read("WITH ESCAPE='\\' AND QUOTE=''''", true).map(|o| (o.quote, o.escape)),
            Ok((b'\'', b'\\'))
        );
        for wrong in [
            "HEADER = true",
            "WITH HEADER",
            "WITH HEADER = maybe",
            "WITH COLOUR = red",
            "WITH TTL = x",
            "WITH HEADER = true TTL = 1",
            "WITH DELIMITER = ',,'",
            "WITH ENCODING = latin1",
            "WITH BOOLSTYLE = 'yes'",
            "WITH DATETIMEFORMAT = '%d'",
        ] {
            assert!(read(wrong, true).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_option_of_the_other_direction_is_refused_rather_than_ignored() {
        assert!(read("WITH SKIPCOLS = 'b'", false).unwrap_err().contains("COPY FROM"));
        assert!(read("WITH BEGINTOKEN = 5", true).unwrap_err().contains("COPY TO"));
    }
}

//! Where skep means to answer otherwise than Cassandra: `tests/golden/differences.txt`.
//!
//! Each entry is a `file:` line, a `reason:` line, the statement as in golden files, and skep's answer; an empty line ends it. An entry
//! holds for every place of its file where the statement gets this answer. Lines that begin with `#` are comments.

/// One difference.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The file, below `tests/golden`.
    pub file: String,
    /// Why.
    pub reason: String,
    /// The statement.
    pub statement: String,
    /// skep's answer.
    pub answer: Vec<String>,
}

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences(Vec<Difference>);

impl Differences {
    /// The list of the project.
    ///
    /// # Errors
    /// As [`Differences::parse`].
    pub fn load() -> Result<Self, String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/differences.txt");
        Self::parse(&std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?)
    }

    /// Reads a list.
    ///
    /// # Errors
    /// The line that is out of place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut list = Vec::new();
        let mut current = Difference::default();
        for (number, line) in text.lines().chain([""]).enumerate() {
            if line.starts_with('#') {
                continue;
            } else if let Some(file) = line.strip_prefix("file: ") {
                current.file = file.to_owned();
            } else if let Some(reason) = line.strip_prefix("reason: ") {
                current.reason = reason.to_owned();
            } else if let Some(statement) = line.strip_prefix("> ") {
                current.statement = statement.to_owned();
            } else if let (Some(rest), true) = (line.strip_prefix("  "), current.answer.is_empty()) {
                current.statement.push('\n');
                current.statement.push_str(rest);
            } else if !line.is_empty() {
                current.answer.push(line.to_owned());
            } else if current != Difference::default() {
                let whole =
                    [&current.file, &current.reason, &current.statement].iter().all(|part| !part.is_empty());
                if !whole || current.answer.is_empty() {
                    return Err(format!(
                        "the entry before line {} lacks file, reason, statement or answer",
                        number + 1
                    ));
                }
                list.push(std::mem::take(&mut current));
            }
        }
        Ok(Self(list))
    }

    /// The entries.
    #[must_use]
    pub fn entries(&self) -> &[Difference] {
        &self.0
    }

    /// The number of the entry that says that this statement of this file is answered so.
    #[must_use]
    pub fn find(&self, file: &str, statement: &str, got: &[String]) -> Option<usize> {
        let holds = |entry: &Difference| {
            file.ends_with(&entry.file) && entry.statement == statement && entry.answer == got
        };
        self.0.iter().position(holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_holds_for_its_file_statement_and_answer_only() {
        let text = "# why\n\nfile: language/a.golden\nreason: better\n> SELECT\n   a\na int\n(0 rows)\n";
        let list = Differences::parse(text).unwrap();
        let answer = ["a int".to_owned(), "(0 rows)".to_owned()];
        assert_eq!(list.entries().len(), 1);
        assert_eq!(list.find("tests/golden/language/a.golden", "SELECT\n a", &answer), Some(0));
        assert_eq!(list.find("language/b.golden", "SELECT\n a", &answer), None);
        assert_eq!(list.find("language/a.golden", "SELECT\n a", &answer[..1]), None);
        assert!(Differences::parse("file: x\n> y\nok\n").is_err(), "it has no reason");
    }
}

//! Cuts a script down to the least that still shows a difference.
//!
//! Called by the program `differ`. The oracle is asked again for every shorter script; it is the slow part, so that large pieces are tried first.
//!
//! # Invariants
//! 1. What is returned ends with the statement that was answered otherwise, and it still is.
//! 2. No statement of it can be left out alone, nor a line of a batch.

use crate::differ::script::{Difference, Piece, first_difference};

/// Asks the oracle: the same pieces with their answers.
pub type Ask<'a> = dyn FnMut(Vec<Piece>) -> Result<Vec<Piece>, String> + 'a;

/// The shortest script found, with the difference that it shows.
///
/// # Errors
/// Those of the oracle and of the runner.
pub fn shrink(
    pieces: &[Piece],
    difference: &Difference,
    ask: &mut Ask<'_>,
) -> Result<(Vec<Piece>, Difference), String> {
    let mut cut = Cut { pieces: pieces[..=difference.place].to_vec(), difference: difference.clone(), ask };
    // What was read before seldom matters, and is half of a script.
    let last = cut.pieces.len() - 1;
    let writes = cut.pieces.iter().enumerate().filter(|(place, piece)| *place == last || !piece.reads());
    let writes = writes.map(|(_, piece)| Piece { directives: Vec::new(), ..piece.clone() }).collect();
    cut.attempt(writes)?;
    let mut size = cut.pieces.len() / 2;
    while size > 0 {
        let removed = cut.without_runs(size)?;
        // Leaving one thing out may make another needless.
        if size > 1 || !removed {
            size /= 2;
        }
    }
    cut.directives()?;
    cut.batches()?;
    Ok((cut.pieces, cut.difference))
}

struct Cut<'a, 'b> {
    pieces: Vec<Piece>,
    difference: Difference,
    ask: &'a mut Ask<'b>,
}

impl Cut<'_, '_> {
    /// Takes the shorter script if the last statement is still answered otherwise.
    fn attempt(&mut self, shorter: Vec<Piece>) -> Result<bool, String> {
        let mut shorter = (self.ask)(shorter)?;
        let Some(difference) = first_difference(&shorter, &[self.difference.way])? else { return Ok(false) };
        let stays = shorter[difference.place].statement == self.pieces[self.pieces.len() - 1].statement;
        if stays {
            shorter.truncate(difference.place + 1);
            (self.pieces, self.difference) = (shorter, difference);
        }
        Ok(stays)
    }

    /// Leaves out every run of `size` pieces that can be, from the end, where statements depend on others and not others on them.
    fn without_runs(&mut self, size: usize) -> Result<bool, String> {
        let (mut end, mut removed) = (self.pieces.len() - 1, false);
        while end > 0 {
            let begin = end.saturating_sub(size);
            let shorter = [&self.pieces[..begin], &self.pieces[end..]].concat();
            removed |= self.attempt(shorter)?;
            end = begin.min(self.pieces.len() - 1);
        }
        Ok(removed)
    }

    fn directives(&mut self) -> Result<(), String> {
        for place in 0..self.pieces.len() {
            let mut shorter = self.pieces.clone();
            if shorter.get_mut(place).is_some_and(|piece| !std::mem::take(&mut piece.directives).is_empty()) {
                self.attempt(shorter)?;
            }
        }
        Ok(())
    }

    /// Leaves out lines of batches; the first and the last are what makes them batches.
    fn batches(&mut self) -> Result<(), String> {
        for place in 0..self.pieces.len() - 1 {
            let mut line = 1;
            while let Some(piece) = self.pieces.get(place) {
                let mut lines: Vec<_> = piece.statement.split('\n').collect();
                if line + 1 >= lines.len() {
                    break;
                }
                lines.remove(line);
                let mut shorter = self.pieces.clone();
                shorter[place].statement = lines.join("\n");
                line += usize::from(!self.attempt(shorter)?);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differ::script::pieces;
    use crate::golden::Way;

    /// An oracle that answers as skep does, but counts one row too many once 2 and 3 are both there.
    fn wrong(mut asked: Vec<Piece>) -> Result<Vec<Piece>, String> {
        for piece in &mut asked {
            piece.answer = vec!["ok".to_owned()];
        }
        while let Some(found) = first_difference(&asked, &[Way::Plain])? {
            asked[found.place].answer = found.got;
        }
        let text: Vec<_> = asked.iter().map(|piece| piece.statement.as_str()).collect();
        let text = text.join("\n");
        let last = asked.last_mut().expect("a script has a statement");
        if text.contains("(2)") && text.contains("(3)") && last.answer.len() > 2 {
            last.answer[1] = "7".to_owned();
        }
        Ok(asked)
    }

    #[test]
    fn what_is_left_is_what_matters() {
        let inserts: Vec<_> = (1..6).map(|n| format!("> INSERT INTO t (a) VALUES ({n})\nok\n\n")).collect();
        let batch = "> BEGIN BATCH\n  INSERT INTO t (a) VALUES (8);\n  INSERT INTO t (a) VALUES (3);\n  APPLY BATCH\nok\n";
        let text = format!(
            "> CREATE TABLE t (a int PRIMARY KEY)\nok\n\n> SELECT a FROM t\nok\n\n{}{}{batch}\n@flush\n> SELECT count(*) FROM t\nok\n\n> SELECT a FROM t\nok\n",
            inserts[0], inserts[1]
        );
        let script = wrong(pieces(&text).into_iter().take(6).collect()).unwrap();
        let found = first_difference(&script, &Way::ALL).unwrap().unwrap();
        assert_eq!(found.place, 5);
        let (shortest, difference) = shrink(&script, &found, &mut wrong).unwrap();
        let statements: Vec<_> = shortest.iter().map(|piece| piece.statement.as_str()).collect();
        assert_eq!(
            statements,
            [
                "CREATE TABLE t (a int PRIMARY KEY)",
                "INSERT INTO t (a) VALUES (2)",
                "BEGIN BATCH\nINSERT INTO t (a) VALUES (3);\nAPPLY BATCH",
                "SELECT count(*) FROM t"
            ]
        );
        assert_eq!(difference.place, 3);
        assert!(shortest.iter().all(|piece| piece.directives.is_empty()));
    }
}

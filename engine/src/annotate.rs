//! Annotated bytes: what every dump of a file yields, and its rendering as text.
//!
//! Each format of skep can explain a file byte by byte. A dump returns a list of [`Annotation`]s in the order
//! of the file: tests compare them, the command line prints them through [`render`], and [`first_gap`] proves
//! that no byte was left out or explained twice. The type knows no format, so that it stands below all of them.

use std::fmt::Write as _;

/// How many lines of 16 bytes [`render`] shows of one field before it cuts it short.
const MAX_LINES: usize = 4;
/// Bytes shown in a line.
const LINE_BYTES: usize = 16;

/// A run of bytes in a file and what they mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Where the run begins, in bytes from the start of the file.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// The field's name and value in words, such as `length 10`.
    pub what: String,
}

impl Annotation {
    /// Says `what` the `len` bytes at `offset` are.
    pub fn new(offset: u64, len: u64, what: impl Into<String>) -> Self {
        Self { offset, len, what: what.into() }
    }

    /// The offset just behind the run.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

/// Renders annotations as text, one line for each 16 bytes: `00000010  0a 00 00 00  ...  length 10`.
///
/// `bytes` are the contents of the file from offset `base` on. A long field shows its first 64 bytes and the
/// number of the others; bytes that `bytes` does not hold are left blank.
pub fn render(annotations: &[Annotation], bytes: &[u8], base: u64) -> String {
    let mut text = String::new();
    for annotation in annotations {
        let field = slice(bytes, base, annotation);
        let _ = write!(text, "{:08x}  ", annotation.offset);
        push_hex(&mut text, field.get(..LINE_BYTES.min(field.len())).unwrap_or_default());
        let _ = writeln!(text, "  {}", annotation.what);
        let mut at = annotation.offset;
        for line in field.chunks(LINE_BYTES).take(MAX_LINES).skip(1) {
            at += LINE_BYTES as u64;
            let _ = write!(text, "{at:08x}  ");
            push_hex(&mut text, line);
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        let hidden = field.len().saturating_sub(MAX_LINES * LINE_BYTES);
        if hidden > 0 {
            let _ = writeln!(text, "{:10}... {hidden} bytes more", "");
        }
    }
    text
}

/// The first offset in `start..end` that is explained by no annotation, or by two; `None` if each byte is
/// explained exactly once. The annotations must be in the order of the file.
pub fn first_gap(annotations: &[Annotation], start: u64, end: u64) -> Option<u64> {
    let mut at = start;
    for annotation in annotations {
        if annotation.offset != at {
            return Some(at.min(annotation.offset));
        }
        at = annotation.end();
    }
    (at != end).then(|| at.min(end))
}

/// The bytes of `annotation`, as far as `bytes` (the file from `base` on) holds them.
fn slice<'a>(bytes: &'a [u8], base: u64, annotation: &Annotation) -> &'a [u8] {
    let index =
        |offset: u64| usize::try_from(offset.saturating_sub(base)).unwrap_or(usize::MAX).min(bytes.len());
    bytes.get(index(annotation.offset)..index(annotation.end())).unwrap_or_default()
}

/// Appends up to 16 bytes as hex, padded to the width of a full line so that the words line up.
fn push_hex(text: &mut String, bytes: &[u8]) {
    for place in 0..LINE_BYTES {
        match bytes.get(place) {
            Some(byte) => {
                let _ = write!(text, "{byte:02x} ");
            }
            None => text.push_str("   "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_offset_bytes_and_words() {
        let text = render(&[Annotation::new(0x12, 4, "length 10")], &[9, 9, 10, 0, 0, 0], 0x10);
        let hex = format!("{:48}", "0a 00 00 00");
        assert_eq!(text, format!("00000012  {hex}  length 10\n"));
    }

    #[test]
    fn long_fields_are_cut_and_missing_bytes_left_blank() {
        let bytes = [7u8; 100];
        let text =
            render(&[Annotation::new(0, 100, "payload"), Annotation::new(500, 9, "absent")], &bytes, 0);
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.contains("... 36 bytes more"), "{text}");
        assert!(text.ends_with("absent\n"), "{text}");
    }

    #[test]
    fn gaps_and_overlaps_are_found() {
        let list = [Annotation::new(0, 4, "a"), Annotation::new(4, 2, "b")];
        assert_eq!(first_gap(&list, 0, 6), None);
        assert_eq!(first_gap(&list, 0, 7), Some(6));
        assert_eq!(first_gap(&list, 0, 5), Some(5));
        let overlap = [Annotation::new(0, 4, "a"), Annotation::new(3, 3, "b")];
        assert_eq!(first_gap(&overlap, 0, 6), Some(3));
    }
}

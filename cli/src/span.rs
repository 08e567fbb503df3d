//! Spans of time on the command line: `90d`, `6h`, `1h30m`, in the words of CQL's durations.

use skep::CqlDuration;
use std::time::Duration;

/// The span that `text` spells, at least one second.
pub(crate) fn parse_span(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text} is no span of time such as 90d, 6h or 30m");
    let span = CqlDuration::parse(text).map_err(|_| wrong())?;
    if span.months != 0 {
        return Err("a month has no fixed length: give days".to_owned());
    }
    let seconds = i64::from(span.days) * 86_400 + span.nanos / 1_000_000_000;
    match u64::try_from(seconds) {
        Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_hours_and_minutes_add_up() {
        assert_eq!(parse_span("90d"), Ok(Duration::from_secs(90 * 86_400)));
        assert_eq!(parse_span("1h30m"), Ok(Duration::from_secs(5400)));
        for wrong in ["", "1", "-1d", "1mo", "0s", "soon"] {
            assert!(parse_span(wrong).is_err(), "{wrong}");
        }
    }
}

//! What the tour claims of the store, checked while it runs.

/// Claims, and whether they held.
#[derive(Clone, Debug, Default)]
pub(super) struct Checks(Vec<(&'static str, bool)>);

impl Checks {
    /// Notes a claim.
    pub(super) fn add(&mut self, claim: &'static str, held: bool) {
        self.0.push((claim, held));
    }

    /// All claims, in the order in which they were made.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(&'static str, bool)> {
        self.0.iter()
    }

    /// The first claim that did not hold.
    pub(super) fn broken(&self) -> Option<&'static str> {
        self.0.iter().find(|(_, held)| !held).map(|(claim, _)| *claim)
    }
}

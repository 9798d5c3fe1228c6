//! Why curves cannot be drawn.

/// A measure that was asked for cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what fields are")]
pub enum PlotError {
    /// No run has recorded a measure or column of this name.
    #[error("{name}: {why}; there are {there}")]
    Unknown {
        name: String,
        why: &'static str,
        there: String,
    },
    /// Runs of several recipes would have too many panels.
    #[error(
        "{columns} columns, and runs of several recipes have a panel for each (at most {most}); name single \
         columns, such as {first}"
    )]
    TooMany {
        columns: usize,
        most: usize,
        first: String,
    },
}

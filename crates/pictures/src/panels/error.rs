//! Why curves cannot be drawn.

/// A measure that was asked for cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what fields are")]
pub enum PlotError {
    /// No run has recorded a measure or column of this name.
    #[error("{name}: {}; there are {}{}", why(*.is_measure), .measures.join(", "), example(.column.as_deref()))]
    Unknown {
        name: String,
        is_measure: bool,
        measures: Vec<String>,
        column: Option<String>,
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

fn why(is_measure: bool) -> &'static str {
    match is_measure {
        true => "not recorded (record.measures)",
        false => "no such measure or column",
    }
}

fn example(column: Option<&str>) -> String {
    column.map_or(String::new(), |column| {
        format!(" (or one column, such as {column})")
    })
}

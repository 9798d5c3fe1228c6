//! A run and a step, as users write them: `runs/main@1500`.

use std::path::PathBuf;

use crate::failure::Failure;

/// A run's folder, and the step of a snapshot in it.
#[derive(Debug, PartialEq, Eq)]
pub struct RunAt {
    pub path: PathBuf,
    /// The step; `None` for the last snapshot.
    pub step: Option<u64>,
}

impl RunAt {
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let (path, step) = match text.rsplit_once('@') {
            None => (text, None),
            Some((run, step)) => {
                let step = step.parse().map_err(|_| {
                    Failure::usage(format!(
                        "{text}: the part after @ is a step, a whole number, as in {run}@1500"
                    ))
                })?;
                (run, Some(step))
            }
        };
        Ok(Self {
            path: path.into(),
            step,
        })
    }

    /// The same run at the step of `--step`, which must not contradict the one after @.
    pub fn or_step(mut self, step: Option<u64>) -> Result<Self, Failure> {
        match (self.step, step) {
            (Some(here), Some(there)) if here != there => Err(Failure::usage(format!(
                "--step {there} and @{here} ask for two snapshots; give one of them"
            ))),
            _ => {
                self.step = self.step.or(step);
                Ok(self)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_may_follow_the_folder() {
        let parsed = |text: &str| RunAt::parse(text).map(|run| (run.path, run.step)).ok();
        assert_eq!(parsed("runs/main"), Some(("runs/main".into(), None)));
        assert_eq!(parsed("runs/a@b@20"), Some(("runs/a@b".into(), Some(20))));
        assert_eq!(parsed("runs/main@"), None);
        let run = || RunAt::parse("a@20").unwrap();
        assert_eq!(run().or_step(Some(20)).unwrap(), run());
        assert!(run().or_step(Some(40)).is_err());
        assert_eq!(RunAt::parse("a").unwrap().or_step(Some(20)).unwrap(), run());
    }
}

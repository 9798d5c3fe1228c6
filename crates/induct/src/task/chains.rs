//! Markov chains over a prior.

use std::ops::Range;
use std::sync::Arc;

use super::{Sequence, Task, TokenBlock};
use crate::chain::{Address, DrawError, Generator, Sampler, TaskPrior};
use crate::strategy::{self, Scratch, Strategy};

impl Task for TaskPrior {
    fn states(&self) -> usize {
        self.states()
    }

    fn draw(&self, rng: &mut Generator, sequence: &mut Sequence<'_>) {
        let (tokens, laws) = (&mut *sequence.tokens, &mut sequence.laws);
        let drawn = sampler(self, sequence.scratch).draw(self, rng, tokens);
        let drawn = drawn.map(|table| {
            let laws = laws
                .iter_mut()
                .flat_map(|laws| laws.chunks_exact_mut(table.states()));
            for (position, law) in laws.enumerate() {
                table.next_distribution(&tokens[..=position], law);
            }
        });
        sequence.finish(drawn);
    }

    fn ladder(&self) -> Vec<Arc<dyn Strategy>> {
        strategy::ladder(self)
    }

    fn draw_block(
        &self,
        address: Address,
        sequences: Range<u64>,
        scratch: &mut Scratch,
        block: &mut TokenBlock,
    ) -> Result<(), DrawError> {
        sampler(self, scratch).block(self, address, sequences, block)
    }

    fn chains(&self) -> Option<&TaskPrior> {
        Some(self)
    }
}

/// The sampler among a thread's scratch buffers.
fn sampler<'a>(prior: &TaskPrior, scratch: &'a mut Scratch) -> &'a mut Sampler {
    let kept: &mut Option<Sampler> = scratch.of();
    kept.take_if(|sampler| !sampler.fits(prior));
    kept.get_or_insert_with(|| Sampler::new(prior))
}

//! One layer: what attention reads, of all rows; then attention and MLP, a group of rows at a time.

use std::ops::Range;

use super::{Pass, Slopes, Work};
use crate::model::lane::Lane;
use crate::model::ops::attention::fast::{self, Asking, Columns, Gradients, Inputs};
use crate::model::ops::{gelu, linear};
use crate::model::transformer::MLP_FACTOR;

/// Activations of one layer.
#[derive(Clone, Debug)]
pub(super) struct LayerWork {
    /// [t, d]
    pub input: Vec<Lane>,
    pub normed: Vec<Lane>,
    pub queries: Vec<Lane>,
    pub keys: Vec<Lane>,
    pub values: Vec<Lane>,
    pub mixed: Vec<Lane>,
    pub middle: Vec<Lane>,
    pub mlp_normed: Vec<Lane>,
    /// [t, 4d]; the slopes of the activation function, once it is through.
    pub hidden: Vec<Lane>,
    pub active: Vec<Lane>,
}

impl<'a> Pass<'a> {
    /// What head `h` of layer `l` reads.
    pub(super) fn head<'x>(self, l: usize, h: usize, work: &'x LayerWork) -> Inputs<'x>
    where
        'a: 'x,
    {
        let layer = &self.shape.layers[l];
        let size = self.shape.width / layer.heads;
        let columns = Columns {
            stride: self.shape.width,
            offset: h * size,
            size,
        };
        Inputs {
            queries: &work.queries,
            keys: &work.keys,
            values: &work.values,
            asking: Asking::Query,
            data: 0,
            columns,
            relative: self.shape.relative,
            positions: layer.v.clone().map_or(&[], |v| &self.params[v]),
            lag_columns: columns,
            bias: false,
        }
    }

    /// Makes the groups ready for rows of layer `l`.
    pub(super) fn turn_to(self, l: usize, work: &mut Work) {
        for h in 0..self.shape.layers[l].heads {
            work.groups[h].turn_to(&self.head(l, h, &work.layers[l]));
        }
    }

    /// Queries, keys and values of all rows: norm(h) W each.
    pub(super) fn project(self, l: usize, rows: usize, work: &mut Work) {
        let (layer, d) = (&self.shape.layers[l], self.shape.width);
        let LayerWork {
            input,
            normed,
            queries,
            keys,
            values,
            ..
        } = &mut work.layers[l];
        let source = self.normed(&layer.norm, input, normed, 0..rows * d);
        for (weight, target) in [
            (&layer.w_q, queries),
            (&layer.w_k, keys),
            (&layer.w_v, values),
        ] {
            let target = &mut target[..rows * d];
            target.fill(Lane::ZERO);
            linear::add_forward(
                self.level,
                source,
                &self.params[weight.clone()],
                d,
                d,
                target,
            );
        }
    }

    /// Queries, keys and values are norm(h) W each: adds to dh, after all rows of the layer have gone backward.
    pub(super) fn project_backward(
        self,
        l: usize,
        rows: usize,
        work: &mut Work,
        grads: &mut [Lane],
    ) {
        let (layer, d) = (&self.shape.layers[l], self.shape.width);
        let (saved, slopes) = (&work.layers[l], &mut work.slopes);
        let projected = [
            (&layer.w_q, &slopes.queries),
            (&layer.w_k, &slopes.keys),
            (&layer.w_v, &slopes.values),
        ];
        let norm = (&layer.norm, &saved.input[..], &saved.normed[..]);
        let targets = (&mut slopes.resid[..], &mut slopes.normed[..]);
        self.normed_backward(
            norm,
            0..rows * d,
            targets,
            grads,
            |source, d_source, grads| {
                for (weight, d_projected) in projected {
                    linear::backward(
                        self.level,
                        source,
                        &self.params[weight.clone()],
                        (d, d),
                        &d_projected[..rows * d],
                        d_source,
                        &mut grads[weight.clone()],
                    );
                }
            },
        );
    }

    /// The rest of the layer for a group of rows: attention, and the MLP if there is one. Leaves the group's weights behind.
    pub(super) fn forward_rows(self, l: usize, rows: Range<usize>, work: &mut Work) {
        let (layer, d, level) = (&self.shape.layers[l], self.shape.width, self.level);
        let own = rows.start * d..rows.end * d;
        let (done, rest) = work.layers.split_at_mut(l + 1);
        let saved = &mut done[l];
        let mut mixed = std::mem::take(&mut saved.mixed);
        for h in 0..layer.heads {
            let head = self.head(l, h, saved);
            fast::forward(level, &head, rows.clone(), &mut work.groups[h], &mut mixed);
        }
        saved.mixed = mixed;
        let after = rest
            .first_mut()
            .map_or(&mut work.resid, |next| &mut next.input);
        let after = &mut after[own.clone()];
        let middle = match &layer.mlp {
            Some(_) => &mut saved.middle[own.clone()],
            None => &mut *after,
        };
        // h′ = h + mixed (W_O)
        let (input, mixed) = (&saved.input[own.clone()], &saved.mixed[own.clone()]);
        match &layer.w_o {
            Some(w_o) => {
                middle.copy_from_slice(input);
                linear::add_forward(level, mixed, &self.params[w_o.clone()], d, d, middle);
            }
            None => set_to_sum(middle, input, mixed),
        }
        // h″ = h′ + gelu(norm(h′) W_in + b_in) W_out + b_out
        let Some(mlp) = &layer.mlp else { return };
        let wide = MLP_FACTOR * d;
        let own_wide = rows.start * wide..rows.end * wide;
        let source = self.normed(&mlp.norm, &saved.middle, &mut saved.mlp_normed, own.clone());
        let hidden = &mut saved.hidden[own_wide.clone()];
        let active = &mut saved.active[own_wide];
        let (w_in, b_in) = (mlp.w_in.clone(), mlp.b_in.clone());
        linear::set_rows(&self.params[b_in], hidden);
        linear::add_forward(level, source, &self.params[w_in], d, wide, hidden);
        gelu::forward(level, hidden, active);
        after.copy_from_slice(&saved.middle[own]);
        linear::add_bias(&self.params[mlp.b_out.clone()], after);
        let w_out = &self.params[mlp.w_out.clone()];
        linear::add_forward(level, active, w_out, wide, d, after);
    }

    /// Leaves the weights of a group's rows behind once more.
    pub(super) fn weights_again(self, l: usize, rows: Range<usize>, work: &mut Work) {
        for h in 0..self.shape.layers[l].heads {
            let head = self.head(l, h, &work.layers[l]);
            fast::weights(self.level, &head, rows.clone(), &mut work.groups[h]);
        }
    }

    /// The way back through [`forward_rows`](Self::forward_rows), right after it or [`weights_again`](Self::weights_again): from the
    /// gradient of the stream after the layer to that of the stream below it, without what queries, keys and values add.
    pub(super) fn backward_rows(
        self,
        l: usize,
        rows: Range<usize>,
        work: &mut Work,
        grads: &mut [Lane],
    ) {
        let (layer, d, level) = (&self.shape.layers[l], self.shape.width, self.level);
        let own = rows.start * d..rows.end * d;
        let (saved, slopes) = (&work.layers[l], &mut work.slopes);
        if layer.mlp.is_some() {
            self.mlp_backward(l, rows.clone(), saved, slopes, grads);
        }
        // h′ = h + mixed (W_O)
        let (d_resid, d_mixed) = (&slopes.resid[own.clone()], &mut slopes.mixed[own.clone()]);
        match &layer.w_o {
            Some(w_o) => {
                d_mixed.fill(Lane::ZERO);
                linear::backward(
                    level,
                    &saved.mixed[own],
                    &self.params[w_o.clone()],
                    (d, d),
                    d_resid,
                    d_mixed,
                    &mut grads[w_o.clone()],
                );
            }
            None => d_mixed.copy_from_slice(d_resid),
        }
        let Slopes {
            queries,
            keys,
            values,
            mixed,
            ..
        } = slopes;
        let mut d_read = Gradients {
            queries,
            keys,
            values: Some(values),
            positions: layer.v.clone().map_or(&mut [], |v| &mut grads[v]),
        };
        for h in 0..layer.heads {
            let (head, group) = (self.head(l, h, saved), &mut work.groups[h]);
            fast::backward(
                level,
                &head,
                rows.clone(),
                group,
                &saved.mixed,
                mixed,
                &mut d_read,
            );
        }
    }

    /// h″ = h′ + gelu(norm(h′) W_in + b_in) W_out + b_out: adds to dh′, which holds dh″, what comes through the MLP.
    fn mlp_backward(
        self,
        l: usize,
        rows: Range<usize>,
        saved: &LayerWork,
        slopes: &mut Slopes,
        grads: &mut [Lane],
    ) {
        let Some(mlp) = &self.shape.layers[l].mlp else {
            return;
        };
        let (d, level) = (self.shape.width, self.level);
        let wide = MLP_FACTOR * d;
        let own = rows.start * d..rows.end * d;
        let own_wide = rows.start * wide..rows.end * wide;
        let d_hidden = &mut slopes.hidden[own_wide.clone()];
        d_hidden.fill(Lane::ZERO);
        let d_after = &slopes.resid[own.clone()];
        linear::bias_backward(d_after, &mut grads[mlp.b_out.clone()]);
        linear::backward(
            level,
            &saved.active[own_wide.clone()],
            &self.params[mlp.w_out.clone()],
            (wide, d),
            d_after,
            d_hidden,
            &mut grads[mlp.w_out.clone()],
        );
        gelu::backward(&saved.hidden[own_wide], d_hidden);
        linear::bias_backward(d_hidden, &mut grads[mlp.b_in.clone()]);
        let norm = (&mlp.norm, &saved.middle[..], &saved.mlp_normed[..]);
        let targets = (&mut slopes.resid[..], &mut slopes.normed[..]);
        self.normed_backward(norm, own, targets, grads, |source, d_source, grads| {
            linear::backward(
                level,
                source,
                &self.params[mlp.w_in.clone()],
                (d, wide),
                d_hidden,
                d_source,
                &mut grads[mlp.w_in.clone()],
            );
        });
    }
}

fn set_to_sum(target: &mut [Lane], one: &[Lane], other: &[Lane]) {
    for ((sum, &one), &other) in target.iter_mut().zip(one).zip(other) {
        *sum = one + other;
    }
}

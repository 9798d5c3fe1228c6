//! The parameters in coordinates, and the way back for gradients: small dense products, once per step.

use std::f32::consts::LOG2_E;

use super::Coordinates;
use super::changed::Change;
use super::dense::Place;
use super::one_hot::Factors;
use super::steps::{PARAMS, Steps, TABLES, params, table};
use crate::model::choose::{BOUNDED, Kernel};
use crate::model::intervention::Port;
use crate::model::ops::attention::RelativeTerm;
use crate::scratch::Allocator;

/// One set of parameters in coordinates, with buffers for the way back.
#[derive(Clone, Debug)]
pub struct Tables {
    /// All numbers of the [`Steps`] that lead to the tables, and their gradients.
    values: Vec<Vec<f32>>,
    grads: Vec<Vec<f32>>,
    /// Whether none of a head's scores can be large, `[layer][head]`.
    pub bounded: Vec<Vec<bool>>,
    /// The first layer's heads, where their scores are bounded.
    pub factors: Vec<Factors>,
}

impl Tables {
    /// All tables, where [`Coordinates`] places them.
    pub fn data(&self) -> &[f32] {
        &self.values[TABLES]
    }
}

/// What writes to the stream: its share of the constant, and its rows of the basis after it.
struct Source {
    port: Port,
    basis: Place,
    change: Change,
}

impl Coordinates {
    /// Buffers for the tables.
    pub(super) fn new_tables(&self, buffers: &mut Allocator) -> Tables {
        let (states, length) = (self.shape.states, self.shape.length);
        let layers = &self.stages[..self.depth()];
        let by_query = self.relative == RelativeTerm::Query;
        Tables {
            values: self.steps.buffers(buffers),
            grads: self.steps.buffers(buffers),
            bounded: (layers.iter())
                .map(|stage| vec![false; stage.heads.len()])
                .collect(),
            factors: (layers[0].heads.iter())
                .map(|_| Factors::new(states, length, by_query, buffers))
                .collect(),
        }
    }

    /// The steps from the parameters to the tables.
    pub(super) fn list_steps(&self) -> Steps {
        let (shape, d, depth) = (&*self.shape, self.shape.width, self.depth());
        let mut list = Steps::new(self.size, shape.prepared_len());
        // A₀ = E₀, A_c = E_c − E₀
        let mut sources = vec![Source {
            port: Port::EMBED,
            basis: list.differences(params(&shape.embed, d)),
            change: Change::default(),
        }];
        for l in 0..depth {
            self.list_layer(l, &mut list, &mut sources);
        }
        let last = self.read(depth, Some(Port::LOGITS), &sources, &mut list);
        let output = table(&self.output, self.outputs());
        if self.ends {
            list.add_product(output, last, params(&shape.unembed, shape.states), 1.0);
        } else {
            list.add(output, last, 1.0);
        }
        list
    }

    /// The steps of a layer, which writes to the stream.
    fn list_layer(&self, l: usize, list: &mut Steps, sources: &mut Vec<Source>) {
        let (layer, stage) = (self.shape.attention(l), &self.stages[l]);
        let (d, m, size) = (layer.width, stage.m, layer.size());
        let scale = LOG2_E / (size as f32).sqrt();
        let common = self.read(l, None, sources, list);
        let readers = [
            ("queries", &layer.w_q),
            ("keys", &layer.w_k),
            ("values", &layer.w_v),
        ];
        let projected = readers.map(|(name, weight)| {
            let reader = Port::new(l, name);
            let read = match self.plan.changes(reader) {
                true => self.read(l, Some(reader), sources, list),
                false => common,
            };
            list.product(read, params(weight, d))
        });
        for (h, places) in stage.heads.iter().enumerate() {
            let own = h * size..(h + 1) * size;
            let [q, k, v] = projected.map(|all| all.columns(own.clone()));
            let keys = k.rows(1..1 + m).transposed();
            list.add_product(table(&places.qk, m), q, keys, scale);
            if let Some(v) = &layer.v {
                let positions = params(v, d).columns(own.clone());
                let other = match self.relative {
                    RelativeTerm::Query => q,
                    _ => k,
                };
                let out = table(&places.positions, 1 + m);
                list.add_product(out, positions, other.transposed(), scale);
            }
            sources.push(Source {
                port: Port::head(l, h),
                basis: match &layer.w_o {
                    Some(w_o) => list.product(v, params(w_o, d).rows(own)),
                    None => v,
                },
                change: places.change,
            });
        }
    }

    /// The basis that stage `l` reads, or one of its readers that does not see all sources: [1 + m, d].
    fn read(&self, l: usize, reader: Option<Port>, sources: &[Source], list: &mut Steps) -> Place {
        let (stage, d) = (&self.stages[l], self.shape.width);
        let Some(norm) = &stage.norm else {
            return self.stream(l, reader, sources, list);
        };
        let (gain, bias) = (params(&norm.gain, d), params(&norm.bias, d));
        let read = list.zeros(1 + stage.m, d);
        list.add(read.rows(0..1), bias, 1.0);
        let Some(form) = &stage.form else {
            // n(E) in place of E
            let units = list.centred(params(&self.shape.embed, d), true);
            let differences = list.differences(units);
            list.add_each(read, differences, gain.repeated(read.rows));
            return read;
        };
        let stream = self.stream(l, reader, sources, list);
        let (centred, rows) = (list.centred(stream, false), stream.rows);
        list.add_each(read.rows(1..1 + rows), centred, gain.repeated(rows));
        // S = Ã Ãᵀ / d
        let form = table(form, rows);
        list.add_product(form, centred, centred.transposed(), 1.0 / d as f32);
        read
    }

    /// The basis of the stream below stage `l`, as far as a reader sees it: [1 + stream, d].
    fn stream(
        &self,
        l: usize,
        reader: Option<Port>,
        sources: &[Source],
        list: &mut Steps,
    ) -> Place {
        let out = list.zeros(1 + self.stages[l].stream, self.shape.width);
        let mut end = 1;
        for source in sources {
            let (basis, change, start) = (source.basis, source.change, end);
            end += basis.rows - 1;
            let mut hidden = reader
                .into_iter()
                .flat_map(|reader| self.plan.of_reader(reader));
            if change.silent || hidden.any(|(port, _)| port == source.port) {
                continue;
            }
            let back = if change.stopped { 0.0 } else { 1.0 };
            if change.adds_constant() {
                list.add(out.rows(0..1), basis.rows(0..1), back);
            }
            list.add(out.rows(start..end), basis.rows(1..basis.rows), back);
        }
        out
    }

    /// Computes the tables of `params`.
    pub(super) fn fill_tables(&self, params: &[f32], tables: &mut Tables) {
        self.steps.run(self.level, params, &mut tables.values);
        let data = &tables.values[TABLES];
        for (l, stage) in self.stages.iter().enumerate() {
            for (h, places) in stage.heads.iter().enumerate() {
                let (qk, positions) = (&data[places.qk.clone()], &data[places.positions.clone()]);
                tables.bounded[l][h] = if stage.uses(Kernel::OneHot) {
                    tables.factors[h].fill(qk, positions)
                } else if stage.form.is_some() {
                    self.bound_after_norm(params, l, h) < BOUNDED
                } else {
                    self.bound(stage, qk, positions) * self.signed(l) < BOUNDED
                };
            }
        }
    }

    /// Adds the gradient of every parameter to `grads`, given that of every table.
    pub fn add_pulled_back(&self, tables: &mut Tables, d_tables: &[f32], grads: &mut [f32]) {
        tables.grads[TABLES].copy_from_slice(d_tables);
        let (values, d_values) = (&tables.values, &mut tables.grads);
        self.steps.run_back(self.level, values, d_values);
        for (sum, part) in grads.iter_mut().zip(&d_values[PARAMS]) {
            *sum += part;
        }
    }
}

//! Parameters as safetensors, by their names; NumPy and PyTorch read these files.

use std::collections::HashMap;

use induct::model::Model;
use induct::train::TrainState;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

/// Name of the metadata entry with the number of steps done.
const STEP: &str = "step";

fn moment_name(index: usize) -> String {
    format!("optimizer.moment_{index}")
}

/// The bytes of a snapshot, or with moments of a checkpoint.
pub fn encode(model: &Model, step: u64, params: &[f32], moments: &[Vec<f32>]) -> Vec<u8> {
    let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    for tensor in model.layout().tensors() {
        let own = bytes(&params[tensor.range.clone()], f32::to_le_bytes);
        tensors.push((tensor.name.clone(), tensor.shape.clone(), own));
    }
    for (index, moment) in moments.iter().enumerate() {
        tensors.push((
            moment_name(index),
            vec![moment.len()],
            bytes(moment, f32::to_le_bytes),
        ));
    }
    let views = tensors.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes).expect("shape fits the bytes");
        (name, view)
    });
    let metadata = HashMap::from([(STEP.to_owned(), step.to_string())]);
    safetensors::serialize(views, Some(metadata)).expect("names are distinct")
}

/// The parameters (and moments, if there are any) in a file for `model`, or what is wrong with it.
pub fn decode(model: &Model, bytes: &[u8]) -> Result<TrainState, String> {
    let unreadable = |error| format!("truncated or not a safetensors file ({error})");
    let file = SafeTensors::deserialize(bytes).map_err(unreadable)?;
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
    let step = header
        .metadata()
        .as_ref()
        .and_then(|metadata| metadata.get(STEP)?.parse().ok())
        .ok_or("not Induct's: its metadata has no step")?;
    let mut params = vec![0.0; model.layout().len()];
    for tensor in model.layout().tensors() {
        let view = file.tensor(&tensor.name).map_err(|_| {
            format!(
                "has no tensor {}, which the recipe's model needs",
                tensor.name
            )
        })?;
        if view.dtype() != Dtype::F32 || view.shape() != tensor.shape {
            return Err(format!(
                "tensor {} is {:?} {:?}; the recipe's model needs F32 {:?}",
                tensor.name,
                view.dtype(),
                view.shape(),
                tensor.shape
            ));
        }
        params[tensor.range.clone()].copy_from_slice(&numbers(view.data(), f32::from_le_bytes));
    }
    let moments = (0..)
        .map_while(|index| file.tensor(&moment_name(index)).ok())
        .map(|view| numbers(view.data(), f32::from_le_bytes))
        .collect();
    Ok(TrainState {
        step,
        params,
        moments,
    })
}

/// Numbers as bytes, each turned by `turn`.
pub fn bytes<T: Copy, const N: usize>(values: &[T], turn: fn(T) -> [u8; N]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(N * values.len());
    for &value in values {
        bytes.extend_from_slice(&turn(value));
    }
    bytes
}

/// Bytes as numbers, each turned by `turn`.
pub fn numbers<T, const N: usize>(bytes: &[u8], turn: fn([u8; N]) -> T) -> Vec<T> {
    let (chunks, _) = bytes.as_chunks();
    chunks.iter().map(|chunk| turn(*chunk)).collect()
}

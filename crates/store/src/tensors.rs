//! Parameters as safetensors, by name. NumPy and PyTorch read these files.

use std::collections::HashMap;

use induct::model::Model;
use induct::run::Checkpoint;
use induct::train::TrainState;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::seal;

/// Name of the one metadata entry. Several would be written in a different order every time.
const ABOUT: &str = "induct";

fn moment_name(index: usize) -> String {
    format!("optimizer.moment_{index}")
}

/// Name of the tensor with the last weights that were recorded with a finite loss.
const LAST_FINITE: &str = "last_record.weights";

/// The bytes of a snapshot.
pub fn encode_snapshot(model: &Model, lineage: &str, step: u64, params: &[f32]) -> Vec<u8> {
    encode(model, lineage, step, params, &[], "")
}

/// The bytes of a checkpoint.
pub fn encode_checkpoint(model: &Model, lineage: &str, checkpoint: &Checkpoint) -> Vec<u8> {
    let Checkpoint { state, last_finite } = checkpoint;
    let mut more: Vec<(String, &[f32])> = Vec::new();
    for (index, moment) in state.moments.iter().enumerate() {
        more.push((moment_name(index), moment));
    }
    let mut last_record = String::new();
    if let Some((step, params)) = last_finite {
        more.push((LAST_FINITE.into(), params));
        last_record = format!(" last_record={step}");
    }
    let (step, params) = (state.step, &state.params);
    encode(model, lineage, step, params, &more, &last_record)
}

fn encode(
    model: &Model,
    lineage: &str,
    step: u64,
    params: &[f32],
    more: &[(String, &[f32])],
    last_record: &str,
) -> Vec<u8> {
    let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    for tensor in model.layout().tensors() {
        let data = bytes(&params[tensor.range.clone()]);
        tensors.push((tensor.name.clone(), tensor.shape.clone(), data));
    }
    for (name, numbers) in more {
        tensors.push((name.clone(), vec![numbers.len()], bytes(numbers)));
    }
    let views = tensors.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes).expect("shape fits the bytes");
        (name, view)
    });
    let about = format!(
        "step={step}{last_record} lineage={lineage} checksum={}",
        seal::blank()
    );
    let metadata = HashMap::from([(ABOUT.to_owned(), about)]);
    let file = safetensors::serialize(views, Some(metadata)).expect("names are distinct");
    seal::seal(file)
}

/// The parameters (and moments, if any) in a file for `model`, or what is wrong with the file.
pub fn decode(model: &Model, lineage: &str, bytes: &[u8]) -> Result<Checkpoint, String> {
    seal::verify(bytes)?;
    let unreadable = |error| format!("it is not a safetensors file ({error})");
    let file = SafeTensors::deserialize(bytes).map_err(unreadable)?;
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
    let about = header.metadata().as_ref().and_then(|all| all.get(ABOUT));
    let about =
        about.ok_or("it was not written by Induct: its metadata has no \"induct\" entry")?;
    let entry = |key: &str| {
        let mut entries = about.split(' ');
        entries.find_map(|entry| entry.strip_prefix(key)?.strip_prefix('='))
    };
    let step = entry("step").and_then(|step| step.parse().ok());
    let step = step.ok_or("its metadata has no step")?;
    if entry("lineage") != Some(lineage) {
        return Err("it belongs to another run".into());
    }
    let mut params = vec![0.0; model.layout().len()];
    for tensor in model.layout().tensors() {
        let view = file.tensor(&tensor.name).map_err(|_| {
            format!(
                "it has no tensor {}, which the recipe's model needs",
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
        params[tensor.range.clone()].copy_from_slice(&numbers(view.data()));
    }
    let moments = (0..)
        .map_while(|index| file.tensor(&moment_name(index)).ok())
        .map(|view| numbers(view.data()))
        .collect();
    let last_record = entry("last_record").and_then(|step| step.parse().ok());
    let last_finite = file
        .tensor(LAST_FINITE)
        .ok()
        .map(|view| numbers(view.data()));
    Ok(Checkpoint {
        state: TrainState {
            step,
            params,
            moments,
        },
        last_finite: last_record.zip(last_finite),
    })
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    let (chunks, _) = bytes.as_chunks();
    chunks.iter().map(|c| f32::from_le_bytes(*c)).collect()
}

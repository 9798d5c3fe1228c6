//! Numbers as bytes, little-endian: how they travel between workers.

use crate::problem::Problem;

/// Numbers in double precision as bytes.
pub fn bytes_of_f64(numbers: &[f64]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

/// Numbers in single precision as bytes.
pub fn bytes_of_f32(numbers: &[f32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

/// The numbers in double precision of some bytes.
pub fn f64_of(bytes: &[u8]) -> Result<Vec<f64>, Problem> {
    let (chunks, rest) = bytes.as_chunks();
    check(rest)?;
    Ok(chunks
        .iter()
        .map(|&chunk| f64::from_le_bytes(chunk))
        .collect())
}

/// The numbers in single precision of some bytes.
pub fn f32_of(bytes: &[u8]) -> Result<Vec<f32>, Problem> {
    let (chunks, rest) = bytes.as_chunks();
    check(rest)?;
    Ok(chunks
        .iter()
        .map(|&chunk| f32::from_le_bytes(chunk))
        .collect())
}

fn check(rest: &[u8]) -> Result<(), Problem> {
    match rest.is_empty() {
        true => Ok(()),
        false => Err(Problem::new("an attachment ends within a number")),
    }
}

//! Arrays as a file that `numpy.load` reads: an archive with one `.npy` per array.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Named arrays, in order.
#[derive(Default)]
pub struct Npz {
    files: Vec<(String, Vec<u8>)>,
}

impl Npz {
    /// Adds an array of numbers in single precision, the last dimension contiguous.
    pub fn add_numbers(&mut self, name: &str, shape: &[usize], numbers: &[f32]) {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
        self.add(name, "<f4", shape, bytes);
    }

    /// Adds a sequence of symbols.
    pub fn add_symbols(&mut self, name: &str, symbols: &[u8]) {
        self.add(name, "|u1", &[symbols.len()], symbols.iter().copied());
    }

    fn add(&mut self, name: &str, kind: &str, shape: &[usize], bytes: impl Iterator<Item = u8>) {
        let mut file = header(kind, shape);
        file.extend(bytes);
        self.files.push((format!("{name}.npy"), file));
    }

    /// The bytes of the archive, uncompressed as `numpy.savez` writes it.
    pub fn bytes(self) -> zip::result::ZipResult<Vec<u8>> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for (name, bytes) in self.files {
            archive.start_file(name, options)?;
            archive.write_all(&bytes)?;
        }
        Ok(archive.finish()?.into_inner())
    }
}

/// The header of a `.npy` file, version 1.0: magic, its own length, and a Python dictionary padded so that the
/// numbers start at a multiple of 64 bytes.
fn header(kind: &str, shape: &[usize]) -> Vec<u8> {
    const BEFORE: usize = 10;
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let dictionary = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let length = (BEFORE + dictionary.len() + 1).next_multiple_of(64) - BEFORE;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    // The dictionary of a few dimensions is far shorter than 64 KiB.
    header.extend((length as u16).to_le_bytes());
    header.extend(format!("{dictionary:<width$}\n", width = length - 1).bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_the_form_that_numpy_writes() {
        let header = header("<f4", &[1, 4, 4]);
        assert_eq!(header.len() % 64, 0);
        assert_eq!(&header[..10], b"\x93NUMPY\x01\x00\x76\x00");
        let text = std::str::from_utf8(&header[10..]).unwrap();
        assert!(
            text.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4, 4, ), }")
        );
        assert!(text.ends_with(" \n"));
    }
}

//! Which vector instructions this machine has.
//!
//! Hot loops are written once, over [`Lane`](super::Lane)s, and compiled twice: for any machine, and for AVX2 with fused
//! multiply-add. The choice is made when the program runs.

/// The name of the instructions that this machine's fast paths use. Results are the same to the byte on machines
/// where it is the same.
pub fn instructions() -> &'static str {
    match Level::detect() {
        Level::Portable => "portable",
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(_) => "avx2+fma",
    }
}

/// A set of instructions that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// What every machine of its kind has.
    Portable,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
}

/// Proof that AVX2 and FMA are there: only [`Level::detect`] makes one.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx2(());

impl Level {
    /// The best that this machine has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return Level::Avx2(Avx2(()));
        }
        Level::Portable
    }
}

/// Calls one of two versions of a function: `$avx2`, which may need AVX2 and FMA and nothing beyond, or `$portable`.
macro_rules! at_level {
    ($level:expr, $avx2:expr, $portable:expr) => {
        match $level {
            #[cfg(target_arch = "x86_64")]
            $crate::model::level::Level::Avx2(_) => {
                #[expect(
                    unsafe_code,
                    reason = "the level proves that the instructions are there"
                )]
                // SAFETY: an `Avx2` exists only where AVX2 and FMA were detected.
                unsafe {
                    $avx2
                }
            }
            $crate::model::level::Level::Portable => $portable,
        }
    };
}
pub(crate) use at_level;

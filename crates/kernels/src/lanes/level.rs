//! The vector instructions that a process computes with.
//!
//! Hot loops are written once, over [`Lane`](super::Lane)s, and compiled for several instruction sets.
//! On x86-64 these are the baseline that every such machine has, AVX2 with fused multiply-add, and
//! AVX-512 (the same vectors of eight numbers, but twice as many registers; the results are the same to
//! the bit). Every 64-bit ARM machine has NEON with fused multiply-add. A process computes at the best
//! level that its machine has, unless it is told otherwise. At the portable level all machines give the
//! same bits, and so does WebAssembly.

use std::sync::OnceLock;

use crate::Invalid;

/// The level that this process computes at, once that is settled.
static SETTLED: OnceLock<Level> = OnceLock::new();

/// Makes this process compute at the level called `name`, one of [`levels`], rather than at the best one.
///
/// Call it before anything is computed. A process never changes its level, because its results
/// would then belong to neither. Returns an error if the machine has no such level, or if
/// another one is settled already.
///
/// ```
/// use induct::lanes::{instructions, use_level};
///
/// use_level("portable")?;
/// assert_eq!(instructions(), "portable");
/// assert!(use_level("abacus").is_err());
/// # Ok::<(), induct::Invalid>(())
/// ```
pub fn use_level(name: &str) -> Result<(), Invalid> {
    let named = |level: &Level| level.name() == name || level.short_name() == name;
    let found = Level::all().into_iter().find(named);
    let level = found.ok_or_else(|| {
        let known: Vec<&str> = levels().collect();
        Invalid::new(
            "level",
            name,
            format!("this machine has {}", known.join(", ")),
        )
    })?;
    let settled = *SETTLED.get_or_init(|| level);
    if settled == level {
        return Ok(());
    }
    let allowed = format!(
        "this process computes at {} already; choose a level before anything is computed",
        settled.name()
    );
    Err(Invalid::new("level", name, allowed))
}

/// The names of all levels that this machine has, best first.
pub fn levels() -> impl Iterator<Item = &'static str> {
    Level::all().into_iter().map(Level::name)
}

/// The name of the level that this process computes at. Results at equal levels are the same to the byte.
pub fn instructions() -> &'static str {
    Level::detect().name()
}

/// An instruction set that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// What every machine has: multiplication and addition, each rounded separately.
    Portable,
    /// What every machine of this architecture has, fused multiply-add included.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2(Detected),
    /// AVX-512 F and VL, in addition to AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx512(Detected),
}

/// Proof that a level's instructions are available: only [`Level::fused`] makes one.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected(());

impl Level {
    /// The level that this process computes at: the one set by [`use_level`], or else the machine's best.
    pub fn detect() -> Self {
        *SETTLED.get_or_init(|| Level::all()[0])
    }

    /// All levels that this machine has, best first.
    pub fn all() -> Vec<Self> {
        let mut all = Self::fused();
        all.push(Level::Portable);
        all
    }

    /// The levels that have fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    fn fused() -> Vec<Self> {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        // Debug builds leave AVX-512 out: a third fewer kernels to compile, and the bits are those of AVX2.
        let wide = cfg!(not(debug_assertions))
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl");
        let proof = Detected(());
        match (avx2, wide) {
            (true, true) => vec![Level::Avx512(proof), Level::Avx2(proof)],
            (true, false) => vec![Level::Avx2(proof)],
            (false, _) => Vec::new(),
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn fused() -> Vec<Self> {
        vec![Level::Neon]
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn fused() -> Vec<Self> {
        Vec::new()
    }

    /// Its name without what goes without saying, such as `avx2`.
    fn short_name(self) -> &'static str {
        let name = self.name();
        let name = name.strip_suffix("+fma").unwrap_or(name);
        name.strip_suffix("vl").unwrap_or(name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            #[cfg(target_arch = "aarch64")]
            Level::Neon => "neon",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "avx2+fma",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => "avx512vl+fma",
        }
    }
}

/// Compiles a kernel once for every level, and gives it the level as its first argument:
/// `leveled!(fn name<const FUSED: bool>(x: &[Lane]) { … })` is called as `name(level, x)`.
///
/// `FUSED` says whether multiplication and addition are fused. `tall TALL` may follow it: how many rows a tile
/// of sums should have, which is four where there are 32 registers and two elsewhere. Further constants may
/// follow; the caller chooses them (`name::<3>(level, x)`). Everything a kernel calls in hot loops must be
/// `#[inline(always)]`: closures are compiled separately and lose the instructions.
#[macro_export]
macro_rules! leveled {
    (@few $tall:ident) => {
        2
    };
    (@many $tall:ident) => {
        4
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident
        <const $fused:ident: bool $(, tall $tall:ident)? $(, const $flag:ident: $kind:ty)* $(,)?>
        ($($argument:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments, reason = "kernels take their buffers one by one")]
        $vis fn $name<$(const $flag: $kind),*>(
            level: $crate::lanes::Level,
            $($argument: $type),*
        ) $(-> $out)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments, reason = "kernels take their buffers one by one")]
            fn generic<const $fused: bool, $(const $tall: usize,)? $(const $flag: $kind),*>($($argument: $type),*) $(-> $out)? $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            #[allow(clippy::too_many_arguments, reason = "kernels take their buffers one by one")]
            fn avx2<$(const $flag: $kind),*>($($argument: $type),*) $(-> $out)? {
                generic::<true, $({ $crate::leveled!(@few $tall) },)? $($flag),*>($($argument),*)
            }
            #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
            #[target_feature(enable = "avx2,fma,avx512f,avx512vl")]
            #[allow(clippy::too_many_arguments, reason = "kernels take their buffers one by one")]
            fn avx512<$(const $flag: $kind),*>($($argument: $type),*) $(-> $out)? {
                generic::<true, $({ $crate::leveled!(@many $tall) },)? $($flag),*>($($argument),*)
            }
            match level {
                $crate::lanes::Level::Portable => {
                    generic::<false, $({ $crate::leveled!(@few $tall) },)? $($flag),*>($($argument),*)
                }
                #[cfg(target_arch = "aarch64")]
                $crate::lanes::Level::Neon => {
                    generic::<true, $({ $crate::leveled!(@few $tall) },)? $($flag),*>($($argument),*)
                }
                #[cfg(target_arch = "x86_64")]
                #[expect(unsafe_code, reason = "the level proves that the instructions are available")]
                // SAFETY: `Level::Avx2` exists only where AVX2 and FMA were detected.
                $crate::lanes::Level::Avx2(_) => unsafe {
                    avx2::<$($flag),*>($($argument),*)
                },
                #[cfg(all(target_arch = "x86_64", debug_assertions))]
                $crate::lanes::Level::Avx512(_) => unreachable!("debug builds have no AVX-512"),
                #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
                #[expect(unsafe_code, reason = "the level proves that the instructions are available")]
                // SAFETY: `Level::Avx512` exists only where AVX-512 F and VL, AVX2 and FMA were detected.
                $crate::lanes::Level::Avx512(_) => unsafe {
                    avx512::<$($flag),*>($($argument),*)
                },
            }
        }
    };
}

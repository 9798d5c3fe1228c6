//! Which vector instructions this machine has.
//!
//! Hot loops are written once, over [`Lane`](super::Lane)s, and compiled for several sets of instructions; the
//! best that the machine has is chosen when the program runs. On x86-64 these are what every such machine has, AVX2
//! with fused multiply-add, and AVX-512 (the same vectors of eight numbers, but twice as many registers; the results are the
//! same to the bit). Every 64-bit ARM machine has NEON with fused multiply-add: there is nothing to choose.

/// The name of the instructions that this machine's fast paths use. Results are the same to the byte on machines
/// where it is the same.
pub fn instructions() -> &'static str {
    match Level::detect() {
        Level::Portable if FUSED => "neon",
        Level::Portable => "portable",
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(_) => "avx2+fma",
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(_) => "avx512vl+fma",
    }
}

/// Whether every machine of this kind has fused multiply-add.
pub const FUSED: bool = cfg!(target_arch = "aarch64");

/// A set of instructions that this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// What every machine of its kind has.
    Portable,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2(Detected),
    /// AVX-512 F and VL, besides AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx512(Detected),
}

/// Proof that a level's instructions are there: only [`Level::all`] makes one.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected(());

impl Level {
    /// The best that this machine has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl");
            return match wide {
                true => Level::Avx512(Detected(())),
                false => Level::Avx2(Detected(())),
            };
        }
        Level::Portable
    }

    /// All that this machine has, the best first.
    #[cfg(test)]
    pub fn all() -> Vec<Self> {
        match Level::detect() {
            Level::Portable => vec![Level::Portable],
            #[cfg(target_arch = "x86_64")]
            best @ Level::Avx2(_) => vec![best, Level::Portable],
            #[cfg(target_arch = "x86_64")]
            best @ Level::Avx512(proof) => vec![best, Level::Avx2(proof), Level::Portable],
        }
    }
}

/// Compiles a kernel once for every level, and gives it the level as its first argument:
/// `leveled!(fn name<const FUSED: bool>(x: &[Lane]) { … })` is called as `name(level, x)`.
///
/// `FUSED` says whether multiplication and addition are fused; further constants may follow it, and are the
/// caller's to choose (`name::<3>(level, x)`). All that a kernel calls in hot loops must be
/// `#[inline(always)]`; closures are compiled apart and lose the instructions.
macro_rules! leveled {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<const $fused:ident: bool $(, const $flag:ident: $kind:ty)* $(,)?>
        ($($argument:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments, reason = "kernels take their buffers one by one")]
        $vis fn $name<$(const $flag: $kind),*>(
            level: $crate::lanes::Level,
            $($argument: $type),*
        ) $(-> $out)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments, reason = "kernels take their buffers one by one")]
            fn generic<const $fused: bool, $(const $flag: $kind),*>($($argument: $type),*) $(-> $out)? $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            #[allow(clippy::too_many_arguments, reason = "kernels take their buffers one by one")]
            fn avx2<$(const $flag: $kind),*>($($argument: $type),*) $(-> $out)? {
                generic::<true $(, $flag)*>($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,avx512f,avx512vl")]
            #[allow(clippy::too_many_arguments, reason = "kernels take their buffers one by one")]
            fn avx512<$(const $flag: $kind),*>($($argument: $type),*) $(-> $out)? {
                generic::<true $(, $flag)*>($($argument),*)
            }
            match level {
                $crate::lanes::Level::Portable => {
                    generic::<{ $crate::lanes::level::FUSED } $(, $flag)*>($($argument),*)
                }
                #[cfg(target_arch = "x86_64")]
                #[expect(unsafe_code, reason = "the level proves that the instructions are there")]
                // SAFETY: `Level::Avx2` exists only where AVX2 and FMA were detected.
                $crate::lanes::Level::Avx2(_) => unsafe {
                    avx2::<$($flag),*>($($argument),*)
                },
                #[cfg(target_arch = "x86_64")]
                #[expect(unsafe_code, reason = "the level proves that the instructions are there")]
                // SAFETY: `Level::Avx512` exists only where AVX-512 F and VL, AVX2 and FMA were detected.
                $crate::lanes::Level::Avx512(_) => unsafe {
                    avx512::<$($flag),*>($($argument),*)
                },
            }
        }
    };
}
pub(crate) use leveled;

//! Elementary functions of complex numbers, from `libm`: the methods of `num-complex` would take them from the
//! platform wherever some crate of the program turns on its `std` feature, and have other bits there.

use num_complex::Complex64 as Complex;

/// e^z.
pub(super) fn exp(z: Complex) -> Complex {
    let size = libm::exp(z.re);
    Complex::new(size * libm::cos(z.im), size * libm::sin(z.im))
}

/// The logarithm whose imaginary part lies in (−π, π].
fn ln(z: Complex) -> Complex {
    let size = libm::hypot(z.re, z.im);
    Complex::new(libm::log(size), libm::atan2(z.im, z.re))
}

/// ln Γ, up to a multiple of 2πi, for a positive real part.
pub(super) fn ln_gamma(mut z: Complex) -> Complex {
    // Γ(z) = Γ(z + 1) / z, until Stirling's series is exact to the last digit.
    let mut product_ln = Complex::new(0.0, 0.0);
    while z.re < 16.0 {
        product_ln += ln(z);
        z.re += 1.0;
    }
    // (z − ½) ln z − z + ½ ln 2π + Σ B₂ₙ / (2n (2n − 1) z²ⁿ⁻¹)
    const TERMS: [f64; 6] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
    ];
    let one = Complex::new(1.0, 0.0);
    let (inverse, inverse_squared) = (one / z, one / (z * z));
    let terms = TERMS.iter().rev();
    let series = terms.fold(Complex::new(0.0, 0.0), |sum, &term| {
        sum * inverse_squared + Complex::new(term, 0.0)
    });
    let half_ln_two_pi = Complex::new(0.5 * libm::log(2.0 * std::f64::consts::PI), 0.0);
    (z - Complex::new(0.5, 0.0)) * ln(z) - z + half_ln_two_pi + series * inverse - product_ln
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn ln_gamma_agrees_with_the_real_one() {
        for x in [1e-3, 0.1, 1.0, 2.5, 16.0, 1234.5] {
            let ours = ln_gamma(Complex::new(x, 0.0));
            let scale = libm::lgamma(x).abs().max(1.0);
            assert!((ours.re - libm::lgamma(x)).abs() < 1e-14 * scale, "x = {x}");
        }
    }

    #[test]
    fn ln_gamma_obeys_reflection_off_the_axis() {
        // |Γ(½ + iw)|² = π / cosh πw and |Γ(1 + iw)|² = πw / sinh πw.
        for w in [0.1_f64, 1.0, 5.0, 13.0] {
            let half = 2.0 * ln_gamma(Complex::new(0.5, w)).re;
            let one = 2.0 * ln_gamma(Complex::new(1.0, w)).re;
            assert!(
                (half - (PI / (PI * w).cosh()).ln()).abs() < 1e-12,
                "w = {w}"
            );
            assert!(
                (one - (PI * w / (PI * w).sinh()).ln()).abs() < 1e-12,
                "w = {w}"
            );
        }
    }
}

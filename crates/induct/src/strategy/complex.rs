//! Complex numbers, as far as one contour integral needs them, and their ln Γ.

use std::ops::{Add, Div, Mul, Sub};

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Complex {
    pub re: f64,
    pub im: f64,
}

impl Complex {
    pub fn new(re: f64, im: f64) -> Self {
        Self { re, im }
    }

    pub fn scale(self, by: f64) -> Self {
        Self::new(self.re * by, self.im * by)
    }

    /// e to this power.
    pub fn exp(self) -> Self {
        let size = libm::exp(self.re);
        Self::new(size * libm::cos(self.im), size * libm::sin(self.im))
    }

    /// The logarithm whose imaginary part lies in (−π, π].
    fn ln(self) -> Self {
        Self::new(
            libm::log(libm::hypot(self.re, self.im)),
            libm::atan2(self.im, self.re),
        )
    }

    /// ln Γ, up to a multiple of 2πi, for a positive real part.
    pub fn ln_gamma(self) -> Self {
        // Γ(z) = Γ(z + 1) / z, until Stirling's series is exact to the last digit.
        let (mut z, mut product_ln) = (self, Self::new(0.0, 0.0));
        while z.re < 16.0 {
            product_ln = product_ln + z.ln();
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
        let one = Self::new(1.0, 0.0);
        let (inverse, inverse_squared) = (one / z, one / (z * z));
        let series = TERMS.iter().rev().fold(Self::new(0.0, 0.0), |sum, &term| {
            sum * inverse_squared + Self::new(term, 0.0)
        });
        let half_ln_two_pi = 0.5 * libm::log(2.0 * std::f64::consts::PI);
        (z - Self::new(0.5, 0.0)) * z.ln() - z + Self::new(half_ln_two_pi, 0.0) + series * inverse
            - product_ln
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for Complex {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.re - other.re, self.im - other.im)
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(
            self.re * other.re - self.im * other.im,
            self.re * other.im + self.im * other.re,
        )
    }
}

impl Div for Complex {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let size = other.re * other.re + other.im * other.im;
        Self::new(
            (self.re * other.re + self.im * other.im) / size,
            (self.im * other.re - self.re * other.im) / size,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn ln_gamma_agrees_with_the_real_one() {
        for x in [1e-3, 0.1, 1.0, 2.5, 16.0, 1234.5] {
            let ours = Complex::new(x, 0.0).ln_gamma();
            let scale = libm::lgamma(x).abs().max(1.0);
            assert!((ours.re - libm::lgamma(x)).abs() < 1e-14 * scale, "x = {x}");
        }
    }

    #[test]
    fn ln_gamma_obeys_reflection_off_the_axis() {
        // |Γ(½ + iw)|² = π / cosh πw and |Γ(1 + iw)|² = πw / sinh πw.
        for w in [0.1_f64, 1.0, 5.0, 13.0] {
            let half = 2.0 * Complex::new(0.5, w).ln_gamma().re;
            let one = 2.0 * Complex::new(1.0, w).ln_gamma().re;
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

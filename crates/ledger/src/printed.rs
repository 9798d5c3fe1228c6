//! The paper's notation for two-state chains, and its sums: formulas as printed.
//!
//! Indices are 1-based, as in the paper.

/// λ, π, β and γ of the chain with P = ⟦a, 1−a; 1−b, b⟧.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    pub a: f64,
    pub b: f64,
}

impl Chain {
    pub fn lambda(&self) -> f64 {
        self.a + self.b - 1.0
    }

    /// P_ij
    pub fn p(&self, i: usize, j: usize) -> f64 {
        let (a, b) = (self.a, self.b);
        [[a, 1.0 - a], [1.0 - b, b]][i - 1][j - 1]
    }

    /// π = (b − 1, a − 1)/(λ − 1)
    pub fn pi(&self, l: usize) -> f64 {
        [self.b - 1.0, self.a - 1.0][l - 1] / (self.lambda() - 1.0)
    }

    /// (P^n)_ij = (β_ij λ^n + γ_ij)/(λ − 1)
    pub fn beta(&self, i: usize, j: usize) -> f64 {
        let (a, b) = (self.a, self.b);
        [[a - 1.0, 1.0 - a], [1.0 - b, b - 1.0]][i - 1][j - 1]
    }

    pub fn gamma(&self, _: usize, j: usize) -> f64 {
        [self.b - 1.0, self.a - 1.0][j - 1]
    }

    /// The coordinates of a point of a grid: this chain, and whole numbers.
    pub fn at<const N: usize>(
        &self,
        others: [(&'static str, usize); N],
    ) -> Vec<(&'static str, f64)> {
        let others = others.map(|(name, value)| (name, value as f64));
        [[("a", self.a), ("b", self.b)].as_slice(), &others].concat()
    }

    /// The rows of P, [2, 2].
    pub fn rows(&self) -> [f64; 4] {
        [self.a, 1.0 - self.a, 1.0 - self.b, self.b]
    }

    /// P^n by multiplication, [2, 2].
    pub fn power(&self, n: usize) -> [f64; 4] {
        let mut power = [1.0, 0.0, 0.0, 1.0];
        let [a, x, y, b] = self.rows();
        for _ in 0..n {
            let [p, q, r, s] = power;
            power = [p * a + q * y, p * x + q * b, r * a + s * y, r * x + s * b];
        }
        power
    }

    /// (P^n)_ij by multiplication.
    pub fn walk(&self, n: usize, i: usize, j: usize) -> f64 {
        self.power(n)[2 * (i - 1) + j - 1]
    }
}

/// The grid of chains on which formulas are compared: generic chains, λ of either sign, a = b, and one near
/// the corner.
pub const CHAINS: [Chain; 6] = [
    Chain { a: 0.3, b: 0.9 },
    Chain { a: 0.85, b: 0.6 },
    Chain { a: 0.2, b: 0.15 },
    Chain { a: 0.7, b: 0.7 },
    Chain { a: 0.05, b: 0.55 },
    Chain { a: 0.95, b: 0.9 },
];

fn power(base: f64, exponent: usize) -> f64 {
    base.powi(exponent as i32)
}

/// (I) of the first step, as in the equation with all four terms.
pub fn term_1(l: f64, t: usize) -> f64 {
    let n = t as f64;
    (l - (n + 1.0) * power(l, t + 1) + n * power(l, t + 2)) / (1.0 - l).powi(2)
        - (1.0 - power(l, t)) / ((1.0 - 1.0 / l) * (1.0 - l))
        + n / (l - 1.0)
}

/// (II)
pub fn term_2(l: f64, t: usize) -> f64 {
    let n = t as f64;
    l * l * (1.0 - power(l, t)) / (1.0 - l) - l * n * (n + 3.0) / 2.0 + n * (n + 1.0) / 2.0
}

/// (III)
pub fn term_3(l: f64, t: usize) -> f64 {
    let n = t as f64;
    n * l / (1.0 - l) - (l * l - power(l, t + 2)) / (1.0 - l).powi(2) - n * (n + 1.0) / 2.0
}

/// (IV)
pub fn term_4(t: usize) -> f64 {
    let n = t as f64;
    n * (n + 1.0) * (n + 2.0) / 6.0
}

/// −∂L/∂W_k[m, l] at W_k = c 11ᵀ, v = c 1, with (I) to (IV) combined as printed.
pub fn wk_step_1(chain: Chain, c: f64, t: usize, m: usize, l: usize) -> f64 {
    let (beta, gamma) = (|i, j| chain.beta(i, j), |i, j| chain.gamma(i, j));
    let lam = chain.lambda();
    let bracket = (beta(1, m) * beta(l, 1) - beta(2, m) * beta(l, 2)) / (lam - 1.0)
        * term_1(lam, t)
        + (beta(1, m) * gamma(l, 1) - beta(2, m) * gamma(l, 2)) / (lam - 1.0).powi(2)
            * term_2(lam, t)
        + (beta(l, 1) * gamma(1, m) - beta(l, 2) * gamma(2, m)) / (lam - 1.0) * term_3(lam, t)
        + (gamma(1, m) * gamma(l, 1) - gamma(2, m) * gamma(l, 2)) * term_4(t);
    c * chain.pi(l) * (chain.p(m, 1) - 0.5) / (t as f64 * (lam - 1.0).powi(2)) * bracket
}

/// The four cases of W_k, (1,1), (1,2), (2,1), (2,2): the coefficient of η, for one chain.
pub fn wk_case(chain: Chain, c: f64, t: usize, m: usize, l: usize) -> f64 {
    let (a, b, lam) = (chain.a, chain.b, chain.lambda());
    let (one, two, three, four) = (term_1(lam, t), term_2(lam, t), term_3(lam, t), term_4(t));
    let (down, down_2) = (lam - 1.0, (lam - 1.0).powi(2));
    let both = (a - 1.0) * (b - 1.0);
    let (front, bracket) = match (m, l) {
        (1, 1) => (
            (b - 1.0) * (a - 0.5),
            (a - 1.0) * (a - b) / down * one
                + 2.0 * both / down_2 * two
                + 2.0 * both / down * three
                + (b - 1.0) * (b - a) * four,
        ),
        (1, 2) => (
            (a - 1.0) * (a - 0.5),
            (1.0 - b) * (a - b) / down * one + 2.0 * both / down_2 * two
                - 2.0 * (b - 1.0).powi(2) / down * three
                + (b - 1.0) * (b - a) * four,
        ),
        (2, 1) => (
            (b - 1.0) * (0.5 - b),
            (1.0 - a) * (a - b) / down * one - 2.0 * both / down_2 * two
                + 2.0 * (a - 1.0).powi(2) / down * three
                + (a - 1.0) * (b - a) * four,
        ),
        _ => (
            (a - 1.0) * (0.5 - b),
            (b - 1.0) * (a - b) / down * one
                - 2.0 * both / down_2 * two
                - 2.0 * both / down * three
                + (a - 1.0) * (b - a) * four,
        ),
    };
    c / t as f64 * front / down.powi(3) * bracket
}

/// The change of v_j in the first step divided by η, for one chain, by the last line of its equation.
pub fn v_step_1(chain: Chain, c: f64, t: usize, j: usize) -> f64 {
    let (a, b, lam) = (chain.a, chain.b, chain.lambda());
    let n = (t + 1 - j) as f64;
    let share = ((a - 1.0).powi(2) + (b - 1.0).powi(2)) / (lam - 1.0).powi(2);
    c / t as f64
        * (n * (n + 1.0) / 2.0 * (share - 0.5)
            + 2.0 * lam * (a - 1.0) * (b - 1.0) / (lam - 1.0).powi(3)
                * ((lam - power(lam, t + 2 - j)) / (1.0 - lam) - n))
}

/// The bracket of the diagonal contribution to v_1 in the second step: as printed, or with the factor
/// λ/(λ−1).
pub fn diagonal_v1(chain: Chain, t: usize, corrected: bool) -> f64 {
    let (a, b, lam, n) = (chain.a, chain.b, chain.lambda(), t as f64);
    let factor = if corrected { lam / (lam - 1.0) } else { 1.0 };
    let leading = (b - 1.0).powi(2) * (a - 0.5) + (a - 1.0).powi(2) * (b - 0.5);
    ((lam - power(lam, t + 1)) / (1.0 - lam) - n) * factor * (a - 1.0) * (b - 1.0)
        / (lam - 1.0).powi(2)
        + leading / (lam - 1.0).powi(2) * n * (n + 1.0) / 2.0
}

/// The diagonal contribution to v_j in the second step: as printed, or with the sign of the denominator
/// flipped.
pub fn diagonal_vj(chain: Chain, t: usize, j: usize, corrected: bool) -> f64 {
    let (lam, n) = (chain.lambda(), (t + 1 - j) as f64);
    let under = if corrected { 1.0 - lam } else { lam - 1.0 };
    let mut sum = 0.0;
    for i in [1, 2] {
        for l in [1, 2] {
            let (b_il, b_li) = (chain.beta(i, l), chain.beta(l, i));
            let (g_il, g_li) = (chain.gamma(i, l), chain.gamma(l, i));
            let bracket = b_il * b_li / (lam - 1.0)
                * ((power(lam, j) - power(lam, t + 1)) / (1.0 - lam) - n * power(lam, j - 1))
                + b_il * g_li / (lam - 1.0) * ((lam - power(lam, t + 2 - j)) / under - n)
                + n * (n + 1.0) / 2.0 * (g_il * b_li * power(lam, j - 1) + g_il * g_li);
            sum += chain.pi(l) / (lam - 1.0).powi(2) * (chain.p(l, i) - 0.5) * bracket;
        }
    }
    sum
}

//! Lines and areas as paths: clipped to the frame, without redundant points.

use crate::svg::num;

pub(crate) type Point = (f64, f64);

/// How far, in pixels, a line may move when points are dropped: less than the last digit of a coordinate.
const STRAY: f64 = 0.08;

/// A line through the points, clipped to the edges (left, top, right, bottom).
pub(crate) fn line(points: &[Point], edges: [f64; 4]) -> String {
    let points = needed(&at_most_four_a_pixel(points));
    let mut path = String::new();
    let mut pen: Option<Point> = None;
    for pair in points.windows(2) {
        let Some((from, to)) = cut(pair[0], pair[1], edges) else {
            continue;
        };
        if pen != Some(from) {
            path += &format!("M{} {}L", num(from.0), num(from.1));
        } else {
            path += " ";
        }
        path += &format!("{} {}", num(to.0), num(to.1));
        pen = Some(to);
    }
    path
}

/// The area inside the points, clipped to the edges.
pub(crate) fn area(points: &[Point], edges: [f64; 4]) -> String {
    let mut corners = needed(points);
    for side in 0..4 {
        corners = cut_area(&corners, edges, side);
    }
    if corners.len() < 3 {
        return String::new();
    }
    let each = corners.iter();
    let each = each.map(|(x, y)| format!("{} {}", num(*x), num(*y)));
    format!("M{}Z", each.collect::<Vec<String>>().join("L"))
}

/// The part of a segment inside the edges, by the Liang–Barsky algorithm.
fn cut(a: Point, b: Point, [left, top, right, bottom]: [f64; 4]) -> Option<(Point, Point)> {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let (mut start, mut end) = (0.0, 1.0);
    for (towards, room) in [
        (-dx, a.0 - left),
        (dx, right - a.0),
        (-dy, a.1 - top),
        (dy, bottom - a.1),
    ] {
        if towards == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if towards < 0.0 {
            start = f64::max(start, room / towards);
        } else {
            end = f64::min(end, room / towards);
        }
    }
    let at = |share: f64| match share {
        0.0 => a,
        1.0 => b,
        _ => (a.0 + share * dx, a.1 + share * dy),
    };
    (start < end || (start == end && dx == 0.0 && dy == 0.0)).then(|| (at(start), at(end)))
}

/// An area clipped at one of the edges, by the Sutherland–Hodgman algorithm.
fn cut_area(corners: &[Point], edges: [f64; 4], side: usize) -> Vec<Point> {
    // The signed distance of a point from that edge, positive inside.
    let inside = |p: Point| match side {
        0 => p.0 - edges[0],
        1 => p.1 - edges[1],
        2 => edges[2] - p.0,
        _ => edges[3] - p.1,
    };
    let mut out = Vec::new();
    for (index, &to) in corners.iter().enumerate() {
        let from = corners[(index + corners.len() - 1) % corners.len()];
        let (a, b) = (inside(from), inside(to));
        if (a < 0.0) != (b < 0.0) {
            let share = a / (a - b);
            out.push((
                from.0 + share * (to.0 - from.0),
                from.1 + share * (to.1 - from.1),
            ));
        }
        if b >= 0.0 {
            out.push(to);
        }
    }
    out
}

/// For a line that runs from left to right, the first, lowest, highest and last of the points in each pixel
/// column.
fn at_most_four_a_pixel(points: &[Point]) -> Vec<Point> {
    if points.windows(2).any(|pair| pair[1].0 < pair[0].0) {
        return points.to_vec();
    }
    let mut out: Vec<Point> = Vec::with_capacity(points.len());
    for group in points.chunk_by(|a, b| a.0.floor() == b.0.floor()) {
        if group.len() <= 4 {
            out.extend(group);
            continue;
        }
        let by_height = |a: &usize, b: &usize| group[*a].1.total_cmp(&group[*b].1);
        let low = (0..group.len()).min_by(by_height).unwrap_or(0);
        let high = (0..group.len()).max_by(by_height).unwrap_or(0);
        let mut kept = [0, low, high, group.len() - 1];
        kept.sort_unstable();
        out.extend(kept.map(|at| group[at]));
    }
    out
}

/// The points that a line needs to keep its shape, by the Douglas–Peucker algorithm.
fn needed(points: &[Point]) -> Vec<Point> {
    if points.len() < 3 {
        return points.to_vec();
    }
    let mut keep = vec![false; points.len()];
    let mut open = vec![(0, points.len() - 1)];
    while let Some((first, last)) = open.pop() {
        (keep[first], keep[last]) = (true, true);
        let off = |at: usize| distance(points[at], points[first], points[last]);
        let farthest = (first + 1..last).max_by(|a, b| off(*a).total_cmp(&off(*b)));
        if let Some(at) = farthest.filter(|&at| off(at) > STRAY) {
            open.extend([(first, at), (at, last)]);
        }
    }
    let kept = points.iter().zip(&keep).filter(|(_, keep)| **keep);
    kept.map(|(point, _)| *point).collect()
}

/// The distance of a point from a segment.
fn distance(p: Point, a: Point, b: Point) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let square = dx * dx + dy * dy;
    let along = match square > 0.0 {
        true => ((p.0 - a.0) * dx + (p.1 - a.1) * dy) / square,
        false => 0.0,
    };
    let along = along.clamp(0.0, 1.0);
    (p.0 - a.0 - along * dx).hypot(p.1 - a.1 - along * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: [f64; 4] = [0.0, 0.0, 100.0, 50.0];

    #[test]
    fn lines_are_clipped_to_the_frame() {
        let path = line(&[(-10.0, 20.0), (50.0, 20.0), (50.0, 80.0)], FRAME);
        assert_eq!(path, "M0 20L50 20 50 50");
        // Out and in again: two segments.
        let path = line(&[(0.0, 40.0), (50.0, 60.0), (100.0, 40.0)], FRAME);
        assert_eq!(path, "M0 40L25 50M75 50L100 40");
        assert_eq!(line(&[(0.0, 60.0), (100.0, 60.0)], FRAME), "");
    }

    #[test]
    fn areas_are_clipped_to_the_frame() {
        let square = [(-9.0, -9.0), (109.0, -9.0), (109.0, 20.0), (-9.0, 20.0)];
        let path = area(&square, FRAME);
        for corner in ["0 0", "100 0", "100 20", "0 20"] {
            assert!(path.contains(corner), "{path}");
        }
        assert_eq!(area(&[(0.0, 60.0), (9.0, 60.0), (9.0, 70.0)], FRAME), "");
    }

    #[test]
    fn dropped_points_are_redundant() {
        let wave = |x: f64| 25.0 + 20.0 * (x / 9.0).sin();
        let xs = (0..=20_000).map(|i| f64::from(i) / 200.0);
        let points: Vec<Point> = xs.map(|x| (x, wave(x))).collect();
        let kept = needed(&at_most_four_a_pixel(&points));
        assert!(kept.len() < 100, "{}", kept.len());
        for point in &points {
            let pairs = kept.windows(2);
            let off = pairs.map(|pair| distance(*point, pair[0], pair[1]));
            assert!(off.fold(f64::MAX, f64::min) < 2.0 * STRAY);
        }
        // A one-point peak is kept.
        let mut peak: Vec<Point> = points.iter().map(|&(x, _)| (x, 40.0)).collect();
        peak[7_777].1 = 5.0;
        assert!(line(&peak, FRAME).contains(" 5"));
    }
}

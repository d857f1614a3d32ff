//! `MPI_Dims_create` (MPI 5.0, 8.5.1).

use super::cartesian::Cartesian;
use crate::mpi::error::{ErrorClass, Operation, Result};

/// `MPI_Dims_create`: fills in the dimensions that are 0, as close to each other as possible and in
/// non-increasing order, so that their product with the others is `ranks`.
///
/// # Errors
/// When a dimension is negative, or the others do not divide the number of ranks.
pub fn dims_create(ranks: i32, dims: &mut [i32]) -> Result<()> {
    let operation = Operation::plain("MPI_Dims_create");
    let refuse = |reason: String| Err(operation.error(ErrorClass::Dims, reason));
    if ranks <= 0 || dims.iter().any(|&dim| dim < 0) {
        return refuse(format!(
            "{ranks} ranks on a grid of {dims:?}: neither may be negative"
        ));
    }
    let free = dims.iter().filter(|&&dim| dim == 0).count();
    let fixed: Vec<i32> = dims.iter().copied().filter(|&dim| dim > 0).collect();
    let rest = Cartesian::size(&fixed)
        .filter(|product| ranks % product == 0)
        .map(|product| ranks / product);
    let rest = match rest {
        Some(rest) if free > 0 || rest == 1 => rest,
        _ => return refuse(format!("{ranks} ranks do not fill a grid of {dims:?}")),
    };
    let mut factors = balanced(rest, free).into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = factors.next().expect("as many as are free");
    }
    Ok(())
}

/// Returns `count` factors of `number` in non-increasing order. The largest and the least are as
/// close to each other as possible. Among factors that are equally close, the least is as large as
/// possible, then the one before it, and so on. Other libraries read "as close to each other as
/// possible" in this way, and programs are tuned to their grids.
fn balanced(number: i32, count: usize) -> Vec<i32> {
    if count == 0 {
        return Vec::new();
    }
    let divisors = divisors(number);
    let fits = |largest: i32| power(largest, count) >= i64::from(number);
    // The least factor is not above the mean. So a largest factor that exceeds the mean by more
    // than the best difference is no improvement.
    let mean = divisors
        .iter()
        .copied()
        .take_while(|divisor| power(*divisor, count) <= i64::from(number));
    let mean = mean.last().unwrap_or(1);
    let mut best = vec![number];
    best.resize(count, 1);
    let mut closest = number - best[count - 1];
    for &largest in divisors.iter().filter(|divisor| fits(**divisor)) {
        if largest - mean > closest {
            break;
        }
        let mut search = Search {
            divisors: &divisors,
            least: (largest - closest).max(1),
            chosen: vec![largest],
            best: None,
        };
        search.choose(number / largest, count - 1);
        if let Some(found) = search.best {
            closest = largest - found[count - 1];
            best = found;
        }
    }
    best
}

/// Returns a number to this power, or more than any number of ranks.
fn power(of: i32, count: usize) -> i64 {
    let power = (0..count).try_fold(1_i32, |power, _| power.checked_mul(of));
    power.map_or(i64::MAX, i64::from)
}

/// Returns the divisors in increasing order.
fn divisors(number: i32) -> Vec<i32> {
    let small = (1..=number.isqrt()).filter(|divisor| number % divisor == 0);
    let mut divisors: Vec<i32> = small
        .flat_map(|divisor| [divisor, number / divisor])
        .collect();
    divisors.sort_unstable();
    divisors.dedup();
    divisors
}

/// The search for factors whose largest is known.
struct Search<'a> {
    divisors: &'a [i32],
    /// The next factors that are found are not below this.
    least: i32,
    chosen: Vec<i32>,
    best: Option<Vec<i32>>,
}

impl Search<'_> {
    /// Chooses `count` factors of `rest`, none above those that were chosen.
    fn choose(&mut self, rest: i32, count: usize) {
        let limit = *self.chosen.last().expect("the largest was chosen");
        if count == 0 {
            if rest == 1 {
                let best = self.best.as_ref();
                // The factors are compared from the least on.
                if best.is_none_or(|best| best.iter().rev().lt(self.chosen.iter().rev())) {
                    self.least = limit;
                    self.best = Some(self.chosen.clone());
                }
            }
            return;
        }
        let divisors = self.divisors;
        let end = divisors.partition_point(|divisor| *divisor <= limit);
        let start = divisors.partition_point(|divisor| power(*divisor, count) < i64::from(rest));
        for &factor in divisors.get(start..end).unwrap_or_default() {
            let reaches = factor >= self.least && power(self.least, count) <= i64::from(rest);
            if rest % factor == 0 && reaches {
                self.chosen.push(factor);
                self.choose(rest / factor, count - 1);
                self.chosen.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all products that make a number, one by one.
    fn all(number: i32, count: usize, limit: i32) -> Vec<Vec<i32>> {
        if count == 0 {
            return if number == 1 {
                vec![Vec::new()]
            } else {
                Vec::new()
            };
        }
        let factors = (1..=limit).filter(|factor| number % factor == 0);
        let with = |factor: i32| {
            let rest = all(number / factor, count - 1, factor);
            rest.into_iter()
                .map(move |rest| [vec![factor], rest].concat())
        };
        factors.flat_map(with).collect()
    }

    #[test]
    fn no_other_grid_is_closer_to_a_cube() {
        for number in 1..700 {
            for count in 1..5 {
                let distance = |grid: &Vec<i32>| {
                    let from_the_least = grid.iter().rev().map(|dim| -dim);
                    (
                        grid[0] - grid[count - 1],
                        from_the_least.collect::<Vec<_>>(),
                    )
                };
                let best = all(number, count, number)
                    .iter()
                    .map(distance)
                    .min()
                    .unwrap();
                let found = balanced(number, count);
                assert_eq!(found.iter().product::<i32>(), number);
                assert!(found.is_sorted_by(|one, other| one >= other), "{found:?}");
                assert_eq!(distance(&found), best, "{found:?}");
            }
        }
    }

    fn filled(ranks: i32, mut dims: Vec<i32>) -> Vec<i32> {
        dims_create(ranks, &mut dims).unwrap();
        dims
    }

    /// Checks the examples of the standard, and some where taking prime factors greedily goes
    /// wrong.
    #[test]
    fn dimensions_are_balanced() {
        assert_eq!(filled(6, vec![0, 0]), [3, 2]);
        assert_eq!(filled(7, vec![0, 0]), [7, 1]);
        assert_eq!(filled(6, vec![0, 3, 0]), [2, 3, 1]);
        assert_eq!(filled(72, vec![0, 0]), [9, 8]);
        assert_eq!(filled(64, vec![0; 3]), [4, 4, 4]);
        assert_eq!(filled(1, vec![0; 4]), [1; 4]);
        assert_eq!(filled(5_040, vec![0; 4]), [10, 9, 8, 7]);
        assert_eq!(filled(12, vec![12]), [12]);
        // Here the largest factor is not as small as possible.
        assert_eq!(filled(24_624, vec![0; 3]), [38, 27, 24]);
        assert_eq!(filled(5_040, vec![0; 3]), [21, 16, 15]);
        assert_eq!(filled(5_616, vec![0; 4]), [13, 9, 8, 6]);
        assert_eq!(filled(i32::MAX, vec![0; 3]), [i32::MAX, 1, 1]);
        assert_eq!(
            filled(1 << 30, vec![0; 20])[..12],
            [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 2]
        );
        let mut wrong = [0, 3, 0];
        let error = dims_create(7, &mut wrong).unwrap_err();
        assert_eq!(error.class, ErrorClass::Dims);
        assert!(
            error
                .to_string()
                .contains("7 ranks do not fill a grid of [0, 3, 0]")
        );
        assert!(dims_create(6, &mut [3]).is_err());
        assert!(dims_create(6, &mut [-1, 0]).is_err());
    }
}

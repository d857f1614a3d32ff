//! `MPI_Dims_create` (MPI 5.0, 8.5.1).

use super::cartesian::Cartesian;
use crate::mpi::error::{ErrorClass, Operation, Result};

/// `MPI_Dims_create`: fills in the dimensions that are 0, as close to each other as can be and in
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
    let mut factors = balanced(rest, free, rest)
        .expect("one factor may be all of it")
        .into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = factors.next().expect("as many as are free");
    }
    Ok(())
}

/// `count` factors of `number`, none above `limit`, in non-increasing order; the largest is as
/// small as can be, then the second, and so on.
fn balanced(number: i32, count: usize, limit: i32) -> Option<Vec<i32>> {
    if count == 0 {
        return (number == 1).then(Vec::new);
    }
    let least = |factor: &i32| {
        // The others are not above this one: so together they do not reach further.
        let reach = (0..count).try_fold(1_i64, |reach, _| reach.checked_mul(i64::from(*factor)));
        reach.is_none_or(|reach| reach >= i64::from(number))
    };
    let factors = (1..=limit.min(number)).filter(|factor| number % factor == 0);
    factors.filter(least).find_map(|factor| {
        let mut rest = balanced(number / factor, count - 1, factor)?;
        rest.insert(0, factor);
        Some(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(ranks: i32, mut dims: Vec<i32>) -> Vec<i32> {
        dims_create(ranks, &mut dims).unwrap();
        dims
    }

    /// The examples of the standard, and some where taking prime factors greedily goes wrong.
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

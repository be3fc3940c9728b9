//! The inverse of an estimated noise matrix, to turn observed into clean accuracy.

/// Below this a pivot is rounding, or the labels carry no information about a class.
const LEAST_PIVOT: f64 = 1e-3;

/// What a prediction is worth when a label is observed: `worth[given][predicted]` with
/// `Σ_given P(given | true) worth[given][predicted] = 1[true = predicted]`, so that its mean over rows is the clean
/// accuracy on average (Natarajan et al. 2013, for zero-one loss). `None` where the matrix cannot be inverted.
///
/// `noise` is `P(given | true)`, a row of `classes` numbers per given label. A class that no row is estimated to be of is
/// taken to be labelled right.
pub(super) fn worth(noise: &[f64], classes: usize) -> Option<Vec<f64>> {
    // Row `true` of the system: P(given | true) over the given labels, and the unit vector of the class.
    let width = 2 * classes;
    let mut system = vec![0.0; classes * width];
    for class in 0..classes {
        let row = &mut system[class * width..(class + 1) * width];
        for given in 0..classes {
            row[given] = noise[given * classes + class];
        }
        if row[..classes].iter().all(|&p| p == 0.0) {
            row[class] = 1.0;
        }
        row[classes + class] = 1.0;
    }
    for column in 0..classes {
        let size = |row: usize| system[row * width + column].abs();
        let pivot = (column..classes).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
        if size(pivot) < LEAST_PIVOT {
            return None;
        }
        for at in 0..width {
            system.swap(pivot * width + at, column * width + at);
        }
        let inverse = 1.0 / system[column * width + column];
        system[column * width..(column + 1) * width].iter_mut().for_each(|value| *value *= inverse);
        let pivot_row = system[column * width..(column + 1) * width].to_vec();
        for row in (0..classes).filter(|&row| row != column) {
            let factor = system[row * width + column];
            if factor != 0.0 {
                let values = &mut system[row * width..(row + 1) * width];
                values.iter_mut().zip(&pivot_row).for_each(|(value, pivot)| *value -= factor * pivot);
            }
        }
    }
    Some((0..classes).flat_map(|given| system[given * width + classes..(given + 1) * width].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::worth;

    #[test]
    fn the_worth_undoes_the_noise() {
        // Columns are true classes: 0 is labelled 0 (0.7), 1 (0.2), 2 (0.1) and so on.
        let noise = [0.7, 0.1, 0.0, 0.2, 0.8, 0.3, 0.1, 0.1, 0.7];
        let worth = worth(&noise, 3).unwrap();
        for class in 0..3 {
            for predicted in 0..3 {
                let expected: f64 = (0..3).map(|given| noise[given * 3 + class] * worth[given * 3 + predicted]).sum();
                assert!((expected - f64::from(u8::from(class == predicted))).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn labels_without_information_have_no_inverse() {
        assert!(worth(&[0.5, 0.5, 0.5, 0.5], 2).is_none());
    }
}

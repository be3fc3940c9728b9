//! Some rows of data of any size, to see what its columns are like.

use cmrm_data::Column;
use cmrm_data::Features;

use crate::failure::Result;

/// Most rows that are kept, and most numbers: enough to see a difference of two hundredths between distribution functions.
const MOST_ROWS: usize = 20_000;
const MOST_NUMBERS: usize = 8_000_000;

/// Rows drawn by their numbers, so that the same data gives the same ones however it is read.
#[derive(Default)]
pub struct Sample {
    /// Nothing before the first piece, and for a sparse array.
    features: Option<Features>,
    rows: Vec<u64>,
    /// A row is kept where the hash of its number begins with so many zeros.
    zeros: u32,
}

impl Sample {
    /// Looks at the next piece of the data.
    pub fn add(&mut self, piece: &Features) -> Result<()> {
        let width = match piece {
            Features::Table(table) => table.columns().len(),
            Features::Array(array) => array.width(),
            Features::Sparse(_) => return Ok(()),
        };
        let first = piece.first_row();
        let kept: Vec<usize> = (0..piece.rows()).filter(|&row| self.keeps(first + row as u64)).collect();
        self.rows.extend(kept.iter().map(|&row| first + row as u64));
        let kept = piece.gather(&kept)?;
        match &mut self.features {
            Some(features) => features.append(kept)?,
            none => *none = Some(kept),
        }
        let most = MOST_ROWS.min(MOST_NUMBERS / width.max(1)).max(1);
        while self.rows.len() > most {
            self.zeros += 1;
            let places: Vec<usize> = (0..self.rows.len()).filter(|&at| self.keeps(self.rows[at])).collect();
            self.rows = places.iter().map(|&at| self.rows[at]).collect();
            self.features = self.features.as_ref().map(|features| features.gather(&places)).transpose()?;
        }
        Ok(())
    }

    fn keeps(&self, row: u64) -> bool {
        // The finaliser of SplitMix64: every bit of the number matters for the first ones.
        let mixed = (row ^ (row >> 30)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).leading_zeros() >= self.zeros
    }

    /// The columns, as they are in the data; those of an array by their places.
    pub fn columns(&self) -> Vec<Column> {
        match &self.features {
            Some(Features::Table(table)) => table.columns().to_vec(),
            Some(Features::Array(array)) => {
                let cells =
                    |at: usize| array.values().iter().skip(at).step_by(array.width()).map(|&value| f64::from(value));
                (0..array.width())
                    .map(|at| Column::numeric(cmrm_data::table::made_up_name(at), cells(at).collect()))
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmrm_data::Array;

    fn numbers(rows: std::ops::Range<u64>) -> Features {
        let values = rows.clone().map(|row| row as f32).collect();
        Features::Array(Array::new(values, 1).unwrap().starting_at(rows.start))
    }

    #[test]
    fn a_sample_is_the_same_however_the_data_is_cut_up() {
        let whole = {
            let mut sample = Sample::default();
            sample.add(&numbers(0..100_000)).unwrap();
            sample
        };
        let mut pieces = Sample::default();
        (0..100).for_each(|piece| pieces.add(&numbers(piece * 1000..(piece + 1) * 1000)).unwrap());
        assert_eq!((&whole.rows, whole.zeros), (&pieces.rows, pieces.zeros));
        assert!((10_000..=MOST_ROWS).contains(&whole.rows.len()), "{}", whole.rows.len());
        let columns = pieces.columns();
        let cmrm_data::table::Values::Numeric(values) = &columns[0].values else { panic!() };
        assert!(values.iter().zip(&pieces.rows).all(|(value, row)| *value == *row as f64));
        // Evenly drawn: the mean of all rows.
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean - 50_000.0).abs() < 1000.0, "{mean}");
    }

    #[test]
    fn few_rows_are_all_kept() {
        let mut sample = Sample::default();
        sample.add(&numbers(5..105)).unwrap();
        assert_eq!(sample.rows, (5..105).collect::<Vec<u64>>());
    }
}

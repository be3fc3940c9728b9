//! Maximum and exponentials of short rows.
//!
//! A row of two or ten classes does not fill a vector, and finding its maximum and its sum one row at a time costs more
//! than its exponentials. Here every lane of a vector is another row, so nothing is added up across lanes.

use super::group::{Lanes, Logits, Peaks, ROWS};
use crate::scalar::Scalar;

/// Most classes of a short row; longer ones fill vectors of their own.
pub(super) const MOST_CLASSES: usize = 32;

/// The logits of a group, transposed: lane `r` of column `j` is class `j` of row `r`.
pub(super) struct Columns<T>([Lanes<T>; MOST_CLASSES]);

impl<T: Scalar> Columns<T> {
    #[inline(always)]
    pub fn new() -> Self {
        Columns([[T::ZERO; ROWS]; MOST_CLASSES])
    }

    /// Fills `found` and writes the exponentials to `out`.
    #[inline(always)]
    pub fn soften(&mut self, logits: Logits<'_, T>, labels: &[u32], out: &mut [T], found: &mut Peaks<T>) {
        let Logits { values, classes, stride, scale } = logits;
        let mut label = [0u32; ROWS];
        label[..labels.len()].copy_from_slice(labels);
        let columns = &mut self.0[..classes];
        for j in 0..classes {
            let column = &mut columns[j];
            for r in 0..labels.len() {
                column[r] = values[r * stride + j];
            }
        }
        let (mut at_label, mut strongest, mut rival) = ([T::ZERO; ROWS], [T::NEG_INFINITY; ROWS], [0; ROWS]);
        // Zero times a number that is not finite is NaN, and stays so.
        let mut poison = [T::ZERO; ROWS];
        for (j, column) in columns.iter().enumerate() {
            let class = j as u32;
            for r in 0..ROWS {
                let u = column[r];
                let is_label = label[r] == class;
                // Strictly larger, so the first of equals stays.
                let leads = !is_label & (u > strongest[r]);
                let (label_then, rival_then, strongest_then) = (at_label[r], rival[r], strongest[r]);
                poison[r] += u * T::ZERO;
                at_label[r] = if is_label { u } else { label_then };
                rival[r] = if leads { class } else { rival_then };
                strongest[r] = if leads { u } else { strongest_then };
            }
        }
        *found = Peaks { at_label, strongest, rival, others: poison };
        let mut top = [T::ZERO; ROWS];
        for r in 0..ROWS {
            top[r] = found.top(r);
        }
        let mut others = poison;
        for (j, column) in columns.iter_mut().enumerate() {
            let class = j as u32;
            for r in 0..ROWS {
                let e = (column[r] - top[r]).exp_of_scaled(scale);
                column[r] = e;
                others[r] += if label[r] == class { T::ZERO } else { e };
            }
        }
        found.others = others;
        for j in 0..classes {
            let column = &columns[j];
            for r in 0..labels.len() {
                out[r * stride + j] = column[r];
            }
        }
    }
}

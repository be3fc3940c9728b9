//! Applying a pipeline to an array.

use super::column_fit::non_finite;
use super::plan::{ColumnPlan, Encoder, Fill, Scale};
use super::transform::{imputed, out_of_scale};
use super::{Note, Preprocess};
use crate::dataset::Array;
use crate::error::{Error, Result};

impl Preprocess {
    pub(super) fn write_array(
        &self,
        array: &Array,
        places: &[Option<usize>],
        values: &mut [f32],
        notes: &mut Vec<Note>,
    ) -> Result<()> {
        if let Some(columns) = self.plain_columns(places)
            && write_plain(array, &columns, values)
        {
            return Ok(());
        }
        let width = self.width();
        let first_row = array.first_row();
        let mut filled = vec![0u64; self.columns.len()];
        for (row, (from, to)) in
            array.values().chunks_exact(array.width()).zip(values.chunks_exact_mut(width.max(1))).enumerate()
        {
            let mut offset = 0;
            for (index, (plan, place)) in self.columns.iter().zip(places).enumerate() {
                let Some(place) = *place else { continue };
                let value = from[place];
                let number = match plan.encoder {
                    Encoder::Number(scale) if !value.is_nan() => {
                        to[offset] = scale.apply(f64::from(value));
                        offset += 1;
                        to[offset - 1]
                    }
                    Encoder::Number(_) | Encoder::Dropped => value,
                    // Only numbers can come out of an array.
                    _ => return Err(array_kind(plan)),
                };
                if value.is_nan() && plan.width() > 0 {
                    let Some((Fill::Number(fill), true)) = plan.fill.as_ref().map(|fill| (fill, self.nan_is_missing))
                    else {
                        return Err(non_finite(value.into(), first_row + row as u64, &plan.name));
                    };
                    filled[index] += 1;
                    if let Encoder::Number(scale) = plan.encoder {
                        to[offset] = scale.apply(*fill);
                        offset += 1;
                    }
                } else if !number.is_finite() && plan.width() > 0 {
                    let (value, row) = (f64::from(value), first_row + row as u64);
                    return Err(match plan.encoder {
                        Encoder::Number(scale) if value.is_finite() => out_of_scale(value, scale, row, &plan.name),
                        _ => non_finite(value, row, &plan.name),
                    });
                }
                if plan.flag {
                    to[offset] = f32::from(u8::from(value.is_nan()));
                    offset += 1;
                }
            }
        }
        for (plan, &cells) in self.columns.iter().zip(&filled).filter(|(_, cells)| **cells > 0) {
            notes.push(imputed(plan, cells));
        }
        Ok(())
    }
    /// Place and scale of each feature, if every feature is one number of the array.
    fn plain_columns(&self, places: &[Option<usize>]) -> Option<Vec<(usize, Scale)>> {
        let used = self.columns.iter().zip(places).filter(|(plan, _)| plan.width() > 0);
        used.map(|(plan, place)| match plan.encoder {
            Encoder::Number(scale) if !plan.flag => Some(((*place)?, scale)),
            _ => None,
        })
        .collect()
    }
}

/// The usual case in a plain loop; false, and the values worth nothing, if some number is not finite.
fn write_plain(array: &Array, columns: &[(usize, Scale)], values: &mut [f32]) -> bool {
    let rows = array.values().chunks_exact(array.width()).zip(values.chunks_exact_mut(columns.len().max(1)));
    let whole = columns.len() == array.width() && columns.iter().zip(0..).all(|((place, _), at)| *place == at);
    let mut finite = true;
    for (from, to) in rows {
        if whole {
            for ((to, &value), (_, scale)) in to.iter_mut().zip(from).zip(columns) {
                *to = scale.apply(f64::from(value));
            }
        } else {
            for (to, (place, scale)) in to.iter_mut().zip(columns) {
                *to = scale.apply(f64::from(from[*place]));
            }
        }
        finite &= to.iter().all(|value| value.is_finite());
    }
    finite
}

pub(super) fn array_kind(plan: &ColumnPlan) -> Error {
    Error::option(format!("an array has only numbers, but this column must be {}", plan.kind))
        .in_column(&*plan.name)
        .way_out("give the data as CSV or Parquet with the model's columns")
}

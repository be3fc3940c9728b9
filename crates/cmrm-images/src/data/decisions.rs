//! What people decided about training images, applied to them.

use std::collections::HashMap;
use std::path::Path;

use cmrm_data::read::{Source, read_text};
use cmrm_data::table::{Column, closest};
use cmrm_run::decision::Action;

use super::{ImageSet, Images};
use crate::error::{Error, Result};

/// How many images decisions changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decided {
    /// Given another label.
    pub relabelled: usize,
    /// Left out.
    pub dropped: usize,
}

/// Applies a file of decisions, as `cmrm review --export` writes it, to the training images: columns `row`, `action`
/// (keep, relabel or drop) and `label`. Images that stay keep their place in the data as their row.
///
/// What was decided on is checked as far as the file tells it: `given_label` has to be the image's label, and where
/// images are files, `id` names the file, which finds the image wherever it is now.
pub fn apply_decisions(set: &mut ImageSet, path: &Path) -> Result<Decided> {
    let table = read_text(&Source::file(path))?;
    let column = |name: &str| -> Result<&Column> {
        let missing = || format!("no column '{name}'; a decision file has the columns 'row', 'action' and 'label'");
        table.column(name).ok_or_else(|| Error::in_file(path, missing()))
    };
    let (rows, actions, labels) = (column("row")?, column("action")?, column("label")?);
    let (given_labels, ids) = (table.column("given_label"), table.column("id"));
    let places: HashMap<String, usize> =
        set.train.files.iter().enumerate().map(|(at, file)| (file.clone(), at)).collect();
    let (mut decided, mut seen, mut dropped) = (Decided::default(), vec![false; set.train.len()], Vec::new());
    for line in 0..table.rows() {
        let text = |column: &Column| column.text(line).unwrap_or_default().into_owned();
        let refuse = |why: String| Error::in_file(path, format!("row {line}: {why}"));
        let (row, id) = (text(rows), ids.map(text).unwrap_or_default());
        let at = if places.is_empty() || id.is_empty() {
            let Some(at) = row.parse().ok().filter(|&at: &usize| at < seen.len()) else {
                return Err(refuse(format!("unknown image '{row}'; there are {}, counted from 0", seen.len())));
            };
            at
        } else {
            let Some(&at) = places.get(&id) else {
                return Err(refuse(format!("unknown image file '{id}'; delete this decision, or restore the file")));
            };
            at
        };
        if std::mem::replace(&mut seen[at], true) {
            return Err(refuse(format!("image {at} has two decisions; delete one of them")));
        }
        let (given, own) = (given_labels.map(text).unwrap_or_default(), &set.classes[set.train.labels[at] as usize]);
        if !given.is_empty() && given != *own {
            return Err(refuse(format!(
                "decided on the label '{given}', but image {at} has '{own}'; apply the decisions to the images that they \
                 were made on, or empty the cell 'given_label' to insist"
            )));
        }
        match Action::of(&text(actions)) {
            Some(Action::Keep) => {}
            Some(Action::Drop) => dropped.push(at),
            Some(Action::Relabel) => {
                let label = text(labels);
                let Some(class) = set.classes.iter().position(|class| *class == label) else {
                    let near = closest(&label, &set.classes).first().map(|near| format!(", did you mean '{near}'?"));
                    return Err(refuse(format!("unknown class '{label}'{}", near.unwrap_or_default())));
                };
                set.train.labels[at] = class as u32;
                decided.relabelled += 1;
            }
            _ => return Err(refuse(format!("unknown action '{}'; use keep, relabel or drop", text(actions)))),
        }
    }
    decided.dropped = dropped.len();
    leave_out(&mut set.train, &dropped);
    Ok(decided)
}

/// Removes images by their places.
fn leave_out(images: &mut Images, dropped: &[usize]) {
    if dropped.is_empty() {
        return;
    }
    let stays: Vec<usize> = {
        let mut stays = vec![true; images.len()];
        dropped.iter().for_each(|&at| stays[at] = false);
        (0..images.len()).filter(|&at| stays[at]).collect()
    };
    let size = images.height * images.width * images.channels;
    images.pixels = stays.iter().flat_map(|&at| images.pixels[at * size..(at + 1) * size].iter().copied()).collect();
    images.rows = stays.iter().map(|&at| images.row(at)).collect();
    images.labels = stays.iter().map(|&at| images.labels[at]).collect();
    if !images.files.is_empty() {
        images.files = stays.iter().map(|&at| std::mem::take(&mut images.files[at])).collect();
    }
}

//! Trees as tensors of a file, and back.
//!
//! A file may be damaged or made to do harm: everything that a walk through the trees relies on is checked on reading.

use super::boosting::Boosting;
use super::columns::{TreeColumn, TreeColumns};
use super::forest::Forest;
use super::objective::outputs;
use super::tree::{COLUMN, NAMES, Node, Trees, set_words};
use crate::error::{Error, Result};
use crate::stored::TensorFile;

/// Numbers that a column takes in a file: its kind, a feature, and levels or the flag's feature.
const COLUMN_NUMBERS: usize = 3;
const NUMBER: u32 = 0;
const NUMBER_OR_MISSING: u32 = 1;
const NAME: u32 = 2;

fn damaged(reason: String) -> Error {
    Error::Stored {
        what: "trees".into(),
        reason: format!("{reason}; the file is damaged: copy it again, or fit again"),
    }
}

impl Boosting {
    /// Adds the model to a file, as tensors whose names start with `prefix`.
    pub fn put_into(&self, prefix: &str, file: &mut TensorFile) {
        self.trees.put_into(prefix, file);
        file.put_integers(format!("{prefix}classes"), &[self.classes as u32]);
        file.put(format!("{prefix}start"), &[self.start.len()], &self.start);
    }

    /// Reads what [`Boosting::put_into`] wrote.
    pub fn take_from(prefix: &str, file: &TensorFile) -> Result<Self> {
        let classes = take_classes(prefix, file)?;
        let start: Vec<f32> = file.take_shaped(&format!("{prefix}start"), &[outputs(classes)])?;
        let is_value = |leaf: u32| f32::from_bits(leaf).is_finite();
        let trees = Trees::take_from(prefix, file, is_value)?;
        if let Some(logit) = start.iter().find(|logit| !logit.is_finite()) {
            return Err(damaged(format!("a logit starts at {logit}")));
        }
        if trees.len() % start.len() != 0 {
            return Err(damaged(format!("{} trees are not whole rounds of {}", trees.len(), start.len())));
        }
        Ok(Boosting { trees, classes, start })
    }
}

impl Forest {
    /// Adds the model to a file, as tensors whose names start with `prefix`.
    pub fn put_into(&self, prefix: &str, file: &mut TensorFile) {
        self.trees.put_into(prefix, file);
        file.put_integers(format!("{prefix}classes"), &[self.classes as u32]);
        file.put(format!("{prefix}shares"), &[self.shares.len()], &self.shares);
    }

    /// Reads what [`Forest::put_into`] wrote.
    pub fn take_from(prefix: &str, file: &TensorFile) -> Result<Self> {
        let classes = take_classes(prefix, file)?;
        let (shares, _): (Vec<f32>, _) = file.take(&format!("{prefix}shares"))?;
        if let Some(share) = shares.iter().find(|share| !(0.0..=1.0).contains(*share)) {
            return Err(damaged(format!("a class has the share {share} of a leaf")));
        }
        let leaves = classes + shares.len() / classes;
        let trees = Trees::take_from(prefix, file, |leaf| (leaf as usize) < leaves)?;
        if trees.len() == 0 || shares.len() % classes != 0 {
            return Err(damaged(format!("{} trees, {} shares of {classes} classes", trees.len(), shares.len())));
        }
        Ok(Forest { trees, classes, shares })
    }
}

fn take_classes(prefix: &str, file: &TensorFile) -> Result<usize> {
    match file.take_integers(&format!("{prefix}classes"))?[..] {
        [classes] if (1..=1 << 24).contains(&classes) => Ok(classes as usize),
        ref other => Err(damaged(format!("{other:?} is not a number of classes"))),
    }
}

impl Trees {
    fn put_into(&self, prefix: &str, file: &mut TensorFile) {
        let mut columns = vec![self.columns.width() as u32];
        for column in self.columns.columns() {
            columns.extend(match *column {
                TreeColumn::Number { at, missing: None } => [NUMBER, at as u32, 0],
                TreeColumn::Number { at, missing: Some(flag) } => [NUMBER_OR_MISSING, at as u32, flag as u32],
                TreeColumn::Names { at, levels } => [NAME, at as u32, levels as u32],
            });
        }
        let nodes: Vec<u32> = self.nodes.iter().flat_map(|node| [node.children, node.column, node.payload]).collect();
        file.put_integers(format!("{prefix}columns"), &columns);
        file.put_integers(format!("{prefix}nodes"), &nodes);
        file.put_integers(format!("{prefix}roots"), &self.roots);
        file.put_integers(format!("{prefix}sets"), &self.sets);
        file.put(format!("{prefix}gains"), &[self.gains.len()], &self.gains);
    }

    fn take_from(prefix: &str, file: &TensorFile, is_leaf: impl Fn(u32) -> bool) -> Result<Self> {
        let columns = take_columns(&file.take_integers(&format!("{prefix}columns"))?)?;
        let numbers = file.take_integers(&format!("{prefix}nodes"))?;
        let (nodes, rest) = numbers.as_chunks::<3>();
        if !rest.is_empty() {
            return Err(damaged(format!("{} numbers are not whole nodes", numbers.len())));
        }
        let node = |&[children, column, payload]: &[u32; 3]| Node { children, column, payload };
        let trees = Trees {
            columns,
            nodes: nodes.iter().map(node).collect(),
            gains: file.take_shaped(&format!("{prefix}gains"), &[nodes.len()])?,
            roots: file.take_integers(&format!("{prefix}roots"))?,
            sets: file.take_integers(&format!("{prefix}sets"))?,
        };
        trees.check(is_leaf)?;
        Ok(trees)
    }

    /// Refuses trees that a walk could not get through: children lie in their tree and after their parent.
    fn check(&self, is_leaf: impl Fn(u32) -> bool) -> Result<()> {
        let count = self.nodes.len();
        let rising = self.roots.windows(2).all(|pair| pair[0] < pair[1]);
        let first_is_zero = self.roots.first().map_or(count == 0, |&root| root == 0);
        if !rising || !first_is_zero || self.roots.last().is_some_and(|&root| root as usize >= count) {
            return Err(damaged(format!("the roots of {} trees do not divide {count} nodes", self.roots.len())));
        }
        if let Some(gain) = self.gains.iter().find(|gain| !(gain.is_finite() && **gain >= 0.0)) {
            return Err(damaged(format!("a question gains {gain}")));
        }
        for tree in 0..self.len() {
            let nodes = self.tree(tree);
            for (at, node) in nodes.iter().enumerate() {
                let fits = if node.children == 0 {
                    is_leaf(node.payload)
                } else {
                    let after = node.children as usize > at && (node.children as usize) < nodes.len() - 1;
                    after && self.is_question(node)
                };
                if !fits {
                    return Err(damaged(format!("node {at} of tree {tree} ({node:?}) leads nowhere")));
                }
            }
        }
        Ok(())
    }

    fn is_question(&self, node: &Node) -> bool {
        match self.columns.columns().get((node.column & COLUMN) as usize) {
            None => false,
            Some(TreeColumn::Number { .. }) => node.column & NAMES == 0 && f32::from_bits(node.payload).is_finite(),
            Some(TreeColumn::Names { levels, .. }) => {
                let end = (node.payload as usize).saturating_add(set_words(*levels));
                node.column & NAMES != 0 && end <= self.sets.len()
            }
        }
    }
}

fn take_columns(numbers: &[u32]) -> Result<TreeColumns> {
    let Some((&width, numbers)) = numbers.split_first() else {
        return Err(damaged("it has no columns".into()));
    };
    let (columns, rest) = numbers.as_chunks::<COLUMN_NUMBERS>();
    if !rest.is_empty() {
        return Err(damaged(format!("{} numbers are not whole columns", numbers.len())));
    }
    let column = |&[kind, at, more]: &[u32; COLUMN_NUMBERS]| {
        let (at, more) = (at as usize, more as usize);
        match kind {
            NUMBER => Ok(TreeColumn::Number { at, missing: None }),
            NUMBER_OR_MISSING => Ok(TreeColumn::Number { at, missing: Some(more) }),
            NAME => Ok(TreeColumn::Names { at, levels: more }),
            other => Err(damaged(format!("{other} is not a kind of column"))),
        }
    };
    TreeColumns::new(width as usize, columns.iter().map(column).collect::<Result<_>>()?)
}

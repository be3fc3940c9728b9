//! A tree as it is grown: its questions are about bins, and a row's codes answer them.

use super::codes::Codes;

/// Where missing values go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Side {
    #[default]
    Left,
    Right,
}

/// A set of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CodeSet([u64; 4]);

impl CodeSet {
    pub fn insert(&mut self, code: u8) {
        self.0[usize::from(code) / 64] |= 1 << (code % 64);
    }

    pub fn holds(&self, code: u8) -> bool {
        self.0[usize::from(code) / 64] >> (code % 64) & 1 == 1
    }
}

/// A question about the bins of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Question {
    /// Codes up to this one go left; missing values have a code and a side of their own.
    Number { last_left: u8, missing_code: u8 },
    /// These codes go left, the missing ones among them or not.
    Names { left: CodeSet },
}

impl Question {
    /// Whether each code goes left.
    pub fn answers(&self, missing: Side) -> [bool; 256] {
        std::array::from_fn(|code| match self {
            Question::Number { missing_code, .. } if code == usize::from(*missing_code) => missing == Side::Left,
            Question::Number { last_left, .. } => code <= usize::from(*last_left),
            Question::Names { left } => left.holds(code as u8),
        })
    }
}

/// A question or a leaf of a tree that is growing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct GrownNode {
    /// The left child, after which the right one lies; 0 for a leaf.
    pub children: u32,
    pub column: u32,
    /// Of numbers, the last bin that goes left; of names, the index of the set. For a leaf, what the model makes of it.
    pub payload: u32,
    pub missing: Side,
    /// The code of missing values in a column of numbers.
    pub missing_code: u8,
    pub is_names: bool,
    pub gain: f32,
}

/// A tree of questions about bins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grown {
    pub nodes: Vec<GrownNode>,
    pub sets: Vec<CodeSet>,
}

impl Grown {
    /// A root without questions.
    pub fn new() -> Self {
        Grown { nodes: vec![GrownNode::default()], sets: Vec::new() }
    }

    /// Makes a leaf ask. Returns its left child; the right one follows.
    pub fn ask(&mut self, node: u32, column: usize, question: Question, missing: Side, gain: f64) -> u32 {
        let children = self.nodes.len() as u32;
        let (payload, missing_code, is_names) = match question {
            Question::Number { last_left, missing_code } => (u32::from(last_left), missing_code, false),
            Question::Names { left } => {
                self.sets.push(left);
                (self.sets.len() as u32 - 1, 0, true)
            }
        };
        // A gain beyond single precision is still the largest there is.
        let gain = gain.min(f64::from(f32::MAX)) as f32;
        self.nodes[node as usize] =
            GrownNode { children, column: column as u32, payload, missing, missing_code, is_names, gain };
        self.nodes.extend([GrownNode::default(); 2]);
        children
    }

    /// The payload of the leaf that a row reaches.
    pub fn walk(&self, codes: &Codes, row: usize) -> u32 {
        let mut node = &self.nodes[0];
        while node.children > 0 {
            let code = codes.code(row, node.column as usize);
            let left = if node.is_names {
                self.sets[node.payload as usize].holds(code)
            } else if code == node.missing_code {
                node.missing == Side::Left
            } else {
                u32::from(code) <= node.payload
            };
            node = &self.nodes[node.children as usize + usize::from(!left)];
        }
        node.payload
    }
}

//! A look at a footer before it is decoded.
//!
//! The decoder makes room for as many children as a group declares, and calls itself for each level of groups. So the
//! declarations are compared here with the elements that are there.

use super::thrift::{BINARY, I32, I64, LIST, STRUCTURE, Walk};

/// Deepest nesting of groups; tables have one level, and what is deeper is refused later anyway.
const MOST_LEVELS: usize = 64;

/// The types that a footer's fields have, from the first, and a schema element's. A file states them, but the decoder takes
/// these for granted.
const FOOTER_FIELDS: [u8; 9] = [I32, LIST, I64, LIST, LIST, BINARY, LIST, STRUCTURE, BINARY];
const ELEMENT_FIELDS: [u8; 10] = [I32, I32, I32, BINARY, I32, I32, I32, I32, I32, STRUCTURE];
/// The field of a footer that holds the list of schema elements.
const SCHEMA: i64 = 2;
/// The field of an element that holds the number of its children.
const CHILDREN: i64 = 5;

/// Whether the footer can be walked through, and its one schema declares no more children than there are elements and no
/// deeper groups than a decoder can follow. The decoder forgives more (numbers that are too long), and then sees another
/// schema.
pub(super) fn is_plausible(footer: &[u8]) -> bool {
    let mut walk = Walk { rest: footer };
    children(&mut walk).is_some_and(|children| is_a_tree(&children))
}

/// The number of children that each element of the schema declares, in order.
fn children(walk: &mut Walk<'_>) -> Option<Vec<u64>> {
    let (mut field, mut children) = (0, None);
    loop {
        match walk.field(&mut field).filter(|&kind| is_of_type(&FOOTER_FIELDS, field, kind))? {
            0 => return children,
            LIST if field == SCHEMA => {
                let (count, kind) = walk.list()?;
                if kind != STRUCTURE || count > walk.rest.len() as u64 || children.is_some() {
                    return None;
                }
                children = Some((0..count).map(|_| element(walk)).collect::<Option<_>>()?);
            }
            kind => walk.skip(kind)?,
        }
    }
}

/// The number of children of one element: 0 where none is declared.
fn element(walk: &mut Walk<'_>) -> Option<u64> {
    let (mut field, mut children) = (0, 0);
    loop {
        match walk.field(&mut field).filter(|&kind| is_of_type(&ELEMENT_FIELDS, field, kind)) {
            None => return None,
            Some(0) => return Some(children),
            // A negative number is refused by the decoder.
            Some(I32) if field == CHILDREN => children = u64::try_from(walk.zigzag()?).unwrap_or(0),
            Some(kind) => walk.skip(kind)?,
        }
    }
}

/// Whether a field has its type; one that later versions have added may be of any, and 0 is the end.
fn is_of_type(types: &[u8], field: i64, kind: u8) -> bool {
    let place = usize::try_from(field - 1).ok();
    kind == 0 || place.is_some_and(|place| types.get(place).is_none_or(|&wanted| wanted == kind))
}

/// Elements stand in the order of a walk through the tree, the root first.
fn is_a_tree(children: &[u64]) -> bool {
    let elements = children.len() as u64;
    let declared = children.iter().try_fold(0u64, |sum, &children| sum.checked_add(children));
    if declared.is_none_or(|declared| declared > elements) {
        return false;
    }
    // How many children each group on the way still waits for.
    let mut open: Vec<u64> = Vec::new();
    for &count in children {
        if count > 0 {
            open.push(count);
        } else {
            while let Some(left) = open.last_mut() {
                *left -= 1;
                if *left > 0 {
                    break;
                }
                open.pop();
            }
        }
        if open.len() > MOST_LEVELS {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer with a version and a schema of elements that have a name and perhaps children.
    fn footer(children: &[Option<u8>]) -> Vec<u8> {
        // Field 1, 32-bit: version 2. Field 2: a list of structures.
        let mut bytes = vec![0x15, 4, 0x19, (children.len() as u8) << 4 | STRUCTURE];
        for count in children {
            bytes.extend([0x48, 1, b'x']);
            bytes.extend(count.map(|count| [0x15, 2 * count]).into_iter().flatten());
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn declared_children_must_be_there_and_not_too_deep() {
        assert!(is_plausible(&footer(&[Some(2), None, None])));
        assert!(is_plausible(&footer(&[Some(2), Some(1), None, None])));
        assert!(!is_plausible(&footer(&[Some(60), None, None])));
        assert!(!is_plausible(&footer(&[Some(2), Some(2), None])));
        assert!(is_a_tree(&[1; MOST_LEVELS]) && !is_a_tree(&[1; MOST_LEVELS + 1]));
        assert!(!is_a_tree(&[u64::MAX, u64::MAX]));
        let whole = footer(&[Some(2), None, None]);
        assert!((0..whole.len()).all(|end| !is_plausible(&whole[..end])));
    }

    #[test]
    fn what_follows_the_schema_is_looked_at_too() {
        let with = |field: &[u8]| {
            let mut bytes = footer(&[Some(1), None]);
            bytes.pop();
            [&bytes, field, &[0]].concat()
        };
        // Field 3 as a number, and field 5 as a list of two numbers.
        assert!(is_plausible(&with(&[0x16, 4])) && is_plausible(&with(&[0x39, 0x25, 2, 4])));
        // A list of truth values, of which the decoder would count two billion, and a second schema.
        assert!(!is_plausible(&with(&[0x39, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07])));
        assert!(!is_plausible(&with(&[0x09, 4, 0x1c, 0])));
        // Field 3 of another type, a field whose number is too large, and one of no type.
        assert!(!is_plausible(&with(&[0x18, 0])) && !is_plausible(&with(&[0x05, 0x84, 0x80, 0x08, 2])));
        assert!(!is_plausible(&with(&[0x10])) && !is_plausible(&with(&[0x05, 0, 2])));
        // A field of a later version may be of any type.
        assert!(is_plausible(&with(&[0x88, 0])));
        // The number of children as one of 64 bits.
        let mut long = footer(&[Some(1), None]);
        long[7] = 0x16;
        assert!(!is_plausible(&long));
    }
}

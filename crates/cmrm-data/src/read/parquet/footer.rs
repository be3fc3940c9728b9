//! A look at a footer's schema before it is decoded.
//!
//! The decoder makes room for as many children as a group declares, and calls itself for each level of groups. So the
//! declarations are compared here with the elements that are there. The footer is in thrift's compact protocol; only its
//! schema is walked through, which stands at the start.

/// Deepest nesting of groups; tables have one level, and what is deeper is refused later anyway.
const MOST_LEVELS: usize = 64;
/// Deepest nesting of values within an element, which real ones have three of.
const MOST_NESTED: usize = 16;

/// Types of the protocol, as a field's or a list's header numbers them.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I32: u8 = 5;
const LIST: u8 = 9;
const STRUCTURE: u8 = 12;

/// The field of a footer that holds the list of schema elements.
const SCHEMA: i64 = 2;
/// The field of an element that holds the number of its children.
const CHILDREN: i64 = 5;

/// Whether the schema can be walked through, declares no more children than there are elements, and no deeper groups than
/// a decoder can follow. The decoder forgives more (numbers that are too long), and then sees another schema.
pub(super) fn schema_is_plausible(footer: &[u8]) -> bool {
    let mut walk = Walk { rest: footer };
    children(&mut walk).is_some_and(|children| is_a_tree(&children))
}

/// The number of children that each element declares, in order.
fn children(walk: &mut Walk<'_>) -> Option<Vec<u64>> {
    let mut field = 0;
    loop {
        let kind = walk.field(&mut field)?;
        if field != SCHEMA || kind != LIST {
            walk.skip(kind, MOST_NESTED)?;
            continue;
        }
        let (count, kind) = walk.list()?;
        if kind != STRUCTURE || count > walk.rest.len() as u64 {
            return None;
        }
        return (0..count).map(|_| element(walk)).collect();
    }
}

/// The number of children of one element: 0 where none is declared.
fn element(walk: &mut Walk<'_>) -> Option<u64> {
    let (mut field, mut children) = (0, 0);
    loop {
        match walk.field(&mut field) {
            None => return None,
            Some(0) => return Some(children),
            // A negative number is refused by the decoder.
            Some(I32) if field == CHILDREN => children = u64::try_from(walk.zigzag()?).unwrap_or(0),
            Some(kind) => walk.skip(kind, MOST_NESTED)?,
        }
    }
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

/// A place in the bytes; every step is `None` where they end.
struct Walk<'a> {
    rest: &'a [u8],
}

impl Walk<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn skip_bytes(&mut self, count: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The type of the next field, whose number goes into `field`; 0 ends a structure.
    fn field(&mut self, field: &mut i64) -> Option<u8> {
        let header = self.byte()?;
        if header != 0 {
            let onwards = i64::from(header >> 4);
            *field = if onwards > 0 { *field + onwards } else { self.zigzag()? };
        }
        Some(header & 0x0f)
    }

    /// Length of a list and type of its elements.
    fn list(&mut self) -> Option<(u64, u8)> {
        let header = self.byte()?;
        let short = u64::from(header >> 4);
        Some((if short == 15 { self.varint()? } else { short }, header & 0x0f))
    }

    fn skip(&mut self, kind: u8, levels: usize) -> Option<()> {
        let levels = levels.checked_sub(1)?;
        match kind {
            TRUE | FALSE => Some(()),
            3 => self.skip_bytes(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let length = self.varint()?;
                self.skip_bytes(length)
            }
            LIST | 10 => {
                let (count, kind) = self.list()?;
                match kind {
                    // Within a list a truth value takes a byte.
                    TRUE | FALSE => self.skip_bytes(count),
                    _ => (0..count).try_for_each(|_| self.skip(kind, levels)),
                }
            }
            STRUCTURE => {
                let mut field = 0;
                loop {
                    match self.field(&mut field)? {
                        0 => return Some(()),
                        kind => self.skip(kind, levels)?,
                    }
                }
            }
            _ => None,
        }
    }
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
        assert!(schema_is_plausible(&footer(&[Some(2), None, None])));
        assert!(schema_is_plausible(&footer(&[Some(2), Some(1), None, None])));
        assert!(!schema_is_plausible(&footer(&[Some(60), None, None])));
        assert!(!schema_is_plausible(&footer(&[Some(2), Some(2), None])));
        assert!(is_a_tree(&[1; MOST_LEVELS]) && !is_a_tree(&[1; MOST_LEVELS + 1]));
        assert!(!is_a_tree(&[u64::MAX, u64::MAX]));
        // The last byte ends the footer; the schema is whole without it.
        let whole = footer(&[Some(2), None, None]);
        assert!((0..whole.len() - 1).all(|end| !schema_is_plausible(&whole[..end])));
    }
}

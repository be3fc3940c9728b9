//! Comparing secrets.

/// Whether two texts are the same, in a time that does not tell where they differ.
pub fn is_same(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn only_the_same_is_the_same() {
        assert!(is_same("", "") && is_same("abc", "abc"));
        for other in ["", "ab", "abcd", "abd", "bbc"] {
            assert!(!is_same("abc", other), "{other}");
        }
    }
}

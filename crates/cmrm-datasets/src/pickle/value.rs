//! What a pickle can hold, as far as arrays of integers need it.

use std::cell::RefCell;
use std::rc::Rc;

/// A value on the stack of the pickle machine. Copies are cheap and share what can still change.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    None,
    Bool,
    Int(i64),
    Float,
    Bytes(Rc<[u8]>),
    Text(Rc<str>),
    Tuple(Rc<[Value]>),
    List(Rc<RefCell<Vec<Value>>>),
    Dict(Rc<RefCell<Vec<(Value, Value)>>>),
    /// A function or class, by name.
    Name(Rc<str>),
    /// A call that was written down instead of made.
    Call(Rc<Call>),
    /// A reference to something outside the pickle.
    Outside(Rc<Value>),
}

/// A call that was written down instead of made.
#[derive(Debug)]
pub(crate) struct Call {
    /// `module.name` of what would be called.
    pub function: Rc<str>,
    /// Its arguments.
    pub arguments: Rc<[Value]>,
    /// What would be set on the result.
    pub state: RefCell<Option<Value>>,
}

impl Value {
    pub(crate) fn int(&self) -> Option<i64> {
        if let Value::Int(value) = self { Some(*value) } else { None }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Value::Text(value) = self { Some(value) } else { None }
    }

    pub(crate) fn tuple(&self) -> Option<&[Value]> {
        if let Value::Tuple(items) = self { Some(items) } else { None }
    }

    pub(crate) fn call(&self) -> Option<&Call> {
        if let Value::Call(call) = self { Some(call) } else { None }
    }
}

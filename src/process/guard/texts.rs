//! Texts as the kernel takes them: a list of addresses that a null pointer ends.
//!
//! Invariant: the texts live as long as the list.

use std::ffi::CString;

pub(super) struct Texts {
    raw: Vec<*const libc::c_char>,
    _owned: Vec<CString>,
}

impl Texts {
    pub(super) fn new(owned: Vec<CString>) -> Texts {
        let mut raw: Vec<_> = owned.iter().map(|text| text.as_ptr()).collect();
        raw.push(std::ptr::null());
        Texts { raw, _owned: owned }
    }

    pub(super) fn raw(&self) -> &[*const libc::c_char] {
        &self.raw
    }
}

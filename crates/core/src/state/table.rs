//! The table of a record: one line a key, from which the type, its reader, its writer and its rules are made.
//!
//! Not here: how one value is read (`value`), what the rules are used for (`rule`).

use super::{
    fields::{Fields, Writer},
    rule::{FieldRule, Owner},
    value::FieldValue,
};
use crate::doc::prelude::*;

/// The keys of a part: all are the program's where the part is.
pub(crate) fn owned(rules: Vec<FieldRule>, owner: Owner) -> Vec<FieldRule> {
    let owned = rules.into_iter().map(|rule| FieldRule { owner: rule.owner.max(owner), ..rule });
    owned.collect()
}

/// Keys that several kinds of records have in common, and that stand among the others.
pub(crate) trait Part: Sized {
    fn rules() -> Vec<FieldRule>;
    /// `None` where a required key is missing.
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self>;
    fn write(&self, to: &mut Writer);
}

/// Keys behind a pointer are read and written as those of the part.
macro_rules! pointers {
    ($($pointer:ident),*) => {$(
        impl<T: Part> Part for $pointer<T> {
            fn rules() -> Vec<FieldRule> {
                T::rules()
            }

            fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
                T::read(fields).map($pointer::new)
            }

            fn write(&self, to: &mut Writer) {
                T::write(self, to);
            }
        }
    )*};
}

pointers! { Arc, Box }

/// The rule of a key of a record that is read by hand.
pub(crate) fn rule<T: FieldValue>(key: &'static str, doc: &'static str) -> FieldRule {
    FieldRule {
        key,
        doc,
        owner: Owner::Person,
        is_required: false,
        is_written: false,
        form: T::form(),
        default: None,
    }
}

/// A record of the file: `record! { /// about  pub struct Name { MODE[OWNER] field as "key": Type = default, … } }`.
///
/// | mode | the field | read where absent | written |
/// |---|---|---|---|
/// | `required` | `Type` | a fault | always |
/// | `expected` | `Type` | no record, without a fault | always |
/// | `optional` | `Option<Type>` | `None` | where there is one |
/// | `nullable` | `Option<Type>` | `None` | always, as null where there is none |
/// | `always` | `Type` | its default | always |
/// | `filled` | `Type` | its default | unless it is that |
/// | `part` | `Type`, a [`Part`] | | as it says |
///
/// A function in round brackets behind the mode reads the value; without one its type does. The owner is the person
/// unless `[program]` or `[internal]` stands there. A form in braces behind the type is more precise than that of the type. A default of
/// an optional value becomes a method of the field's name. `with Default;` behind it: the record of no keys.
macro_rules! record {
    // The same without a record around it: keys that stand among those of another.
    (part $($record:tt)*) => { record! { @keys () $($record)* } };

    (
        $(#[doc = $about:literal])*
        $(#[derive($($derive:ident),*)])?
        pub struct $name:ident { $($fields:tt)* }
        $(with $trait:ident;)?
        $(check $check:path;)?
        $(hint $hint:path;)?
    ) => {
        record! {
            @keys (extra)
            $(#[doc = $about])*
            $(#[derive($($derive),*)])?
            pub struct $name { $($fields)* }
            $(with $trait;)?
        }

        impl $name {
            pub fn read(
                node: &$crate::doc::Node,
                pointer: &str,
                found: &mut $crate::state::fields::Findings,
            ) -> Option<Self> {
                Self::read_half(node, None, pointer, found)
            }

            /// Reads a record of which `internal` is the other half.
            pub fn read_half(
                node: &$crate::doc::Node,
                internal: Option<&$crate::doc::Node>,
                pointer: &str,
                found: &mut $crate::state::fields::Findings,
            ) -> Option<Self> {
                let open = $crate::state::fields::Fields::open_or(
                    node, pointer, found, record!(@hint $($hint)?))?;
                let mut open = open.with_internal(internal);
                let record = <Self as $crate::state::table::Part>::read(&mut open);
                $( if let Some(record) = &record { $check(&mut open, record); } )?
                let extra = open.finish();
                record.map(|record| Self { extra, ..record })
            }

            pub fn node(&self) -> $crate::doc::Node {
                let mut to = $crate::state::fields::Writer::default();
                $crate::state::table::Part::write(self, &mut to);
                to.finish(&self.extra)
            }

            /// Its half for people, and the one in `internal`.
            pub fn halves(&self) -> $crate::state::fields::Halves {
                let mut to = $crate::state::fields::Writer::of_halves();
                $crate::state::table::Part::write(self, &mut to);
                to.finish_halves(&self.extra)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                self.node().serialize(to)
            }
        }

        impl $crate::state::value::FieldValue for $name {
            fn form() -> $crate::state::rule::Form {
                $crate::state::rule::Form::Record(&Self::RULE)
            }

            fn read(
                node: &$crate::doc::Node,
                pointer: &str,
                found: &mut $crate::state::fields::Findings,
            ) -> Option<Self> {
                $name::read(node, pointer, found)
            }

            fn node(&self) -> $crate::doc::Node {
                $name::node(self)
            }

            fn is_blank(&self) -> bool {
                $name::node(self).as_object().is_some_and(<[_]>::is_empty)
            }
        }
    };

    (
        @keys ($($extra:ident)?)
        $(#[doc = $about:literal])*
        $(#[derive($($derive:ident),*)])?
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $mode:ident $(($with:expr))? $([$owner:ident])? $field:ident $(as $key:literal)?: $ty:ty $({$form:expr})? $(= $default:expr)?
            ),* $(,)?
        }
        $(with $trait:ident;)?
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone $($(, $derive)*)?)]
        pub struct $name {
            $( $(#[doc = $doc])* pub $field: record!(@type $mode $ty), )*
            $( pub $extra: $crate::state::fields::Extra, )?
        }

        record!(@trait ($($trait)?) $name ($($extra)?) $( ($mode $field $(= $default)?) )*);

        impl $name {
            pub const RULE: $crate::state::rule::RecordRule = $crate::state::rule::RecordRule {
                name: stringify!($name),
                doc: concat!($($about, "\n",)*),
                fields: <Self as $crate::state::table::Part>::rules,
            };

            $( record!(@getter $mode $field $ty $(, $default)?); )*
        }

        impl $crate::state::table::Part for $name {
            fn rules() -> alloc::vec::Vec<$crate::state::rule::FieldRule> {
                [$( record!(@rule $mode, $ty, $crate::state::rule::FieldRule {
                    key: record!(@key $field $($key)?),
                    doc: concat!($($doc, "\n",)*),
                    owner: record!(@owner $($owner)?),
                    is_required: record!(@required $mode),
                    is_written: record!(@written $mode),
                    form: record!(@form $mode $ty $(, $form)?),
                    default: record!(@default_node $ty $(, $default)?),
                }) ),*].concat()
            }

            fn read(fields: &mut $crate::state::fields::Fields<'_, '_>) -> Option<Self> {
                $( record!(@of fields, ($($owner)?), record!(@need fields, $mode, record!(@key $field $($key)?))); )*
                $( let $field = record!(@of fields, ($($owner)?),
                    record!(@read fields, $mode, $ty, record!(@key $field $($key)?) $(, $with)?)); )*
                // A missing key ends it here: by now every fault is found.
                Some(Self {
                    $( $field: record!(@value $mode, $field $(, $default)?), )*
                    $( $extra: $crate::state::fields::Extra::default(), )?
                })
            }

            fn write(&self, to: &mut $crate::state::fields::Writer) {
                $( record!(@of to, ($($owner)?),
                    record!(@write to, $mode, self.$field, $ty, record!(@key $field $($key)?) $(, $default)?)); )*
            }
        }
    };

    (@trait () $($record:tt)*) => {};
    (@trait (Default) $name:ident ($($extra:ident)?) $( ($mode:ident $field:ident $(= $default:expr)?) )*) => {
        impl Default for $name {
            fn default() -> Self {
                Self {
                    $( $field: record!(@absent $mode $(, $default)?), )*
                    $( $extra: Default::default(), )?
                }
            }
        }
    };

    (@absent optional $(, $default:expr)?) => { None };
    (@absent nullable) => { None };
    (@absent $mode:ident) => { Default::default() };
    (@absent $mode:ident, $default:expr) => { $default };

    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };

    (@owner) => { $crate::state::rule::Owner::Person };
    (@owner program) => { $crate::state::rule::Owner::Program };
    (@owner internal) => { $crate::state::rule::Owner::Internal };

    (@hint) => { |_| None };
    (@hint $hint:path) => { $hint };

    (@type optional $ty:ty) => { Option<$ty> };
    (@type nullable $ty:ty) => { Option<$ty> };
    (@type $mode:ident $ty:ty) => { $ty };

    (@default_node $ty:ty) => { None };
    (@default_node $ty:ty, $default:expr) => {
        Some(<$ty as $crate::state::value::FieldValue>::node(&$default))
    };

    (@rule part, $ty:ty, $rule:expr) => {
        $crate::state::table::owned(<$ty as $crate::state::table::Part>::rules(), $rule.owner)
    };
    (@rule $mode:ident, $ty:ty, $rule:expr) => { alloc::vec::Vec::from([$rule]) };

    (@form part $ty:ty) => { $crate::state::rule::Form::Any };
    (@form $mode:ident $ty:ty) => { <$ty as $crate::state::value::FieldValue>::form() };
    (@form $mode:ident $ty:ty, $form:expr) => { $form };

    (@required required) => { true };
    (@required expected) => { true };
    (@required $mode:ident) => { false };

    (@written optional) => { false };
    (@written filled) => { false };
    (@written $mode:ident) => { true };

    (@of $half:ident, (), $done:expr) => { $done };
    (@of $half:ident, ($owner:ident), $done:expr) => {{
        let before = $half.enter(record!(@owner $owner));
        let done = $done;
        $half.leave(before);
        done
    }};

    (@need $fields:ident, required, $key:expr) => { { let _ = $fields.need($key); } };
    (@need $fields:ident, $mode:ident, $key:expr) => { () };

    (@read $fields:ident, part, $ty:ty, $key:expr) => {
        <$ty as $crate::state::table::Part>::read($fields)
    };
    (@read $fields:ident, $mode:ident, $ty:ty, $key:expr) => {
        <$ty as $crate::state::value::FieldValue>::take($fields, $key)
    };
    (@read $fields:ident, $mode:ident, $ty:ty, $key:expr, $with:expr) => { $with($fields, $key) };

    (@value required, $value:ident) => { $value? };
    (@value expected, $value:ident) => { $value? };
    (@value part, $value:ident) => { $value? };
    (@value optional, $value:ident $(, $default:expr)?) => { $value };
    (@value nullable, $value:ident) => { $value };
    (@value $mode:ident, $value:ident) => { $value.unwrap_or_default() };
    (@value $mode:ident, $value:ident, $default:expr) => {
        match $value {
            Some(value) => value,
            None => $default,
        }
    };

    (@write $to:ident, part, $place:expr, $ty:ty, $key:expr) => {
        $crate::state::table::Part::write(&$place, $to)
    };
    (@write $to:ident, optional, $place:expr, $ty:ty, $key:expr $(, $default:expr)?) => {
        { $to.some($key, $place.as_ref().map($crate::state::value::FieldValue::node)); }
    };
    (@write $to:ident, nullable, $place:expr, $ty:ty, $key:expr) => {
        {
            let node = $place.as_ref().map($crate::state::value::FieldValue::node);
            $to.put($key, node.unwrap_or_else($crate::doc::Node::null));
        }
    };
    (@write $to:ident, filled, $place:expr, $ty:ty, $key:expr) => {
        if !$crate::state::value::FieldValue::is_blank(&$place) {
            $to.put($key, $crate::state::value::FieldValue::node(&$place));
        }
    };
    (@write $to:ident, filled, $place:expr, $ty:ty, $key:expr, $default:expr) => {
        if $place != $default {
            $to.put($key, $crate::state::value::FieldValue::node(&$place));
        }
    };
    (@write $to:ident, $mode:ident, $place:expr, $ty:ty, $key:expr $(, $default:expr)?) => {
        { $to.put($key, $crate::state::value::FieldValue::node(&$place)); }
    };

    (@getter optional $field:ident $ty:ty, $default:expr) => {
        /// The value in force.
        pub fn $field(&self) -> $ty {
            let chosen = self.$field.as_ref();
            chosen.map_or_else(|| $default, alloc::borrow::ToOwned::to_owned)
        }
    };
    (@getter $($other:tt)*) => {};
}

/// Words of the file as an enum: `words! { /// about  pub enum Name { /// meaning  Variant = "word", … } }`.
macro_rules! words {
    (
        $(#[doc = $about:literal])*
        pub enum $name:ident {
            $( $(#[doc = $doc:literal])* $variant:ident = $word:literal ),* $(,)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name {
            $( $(#[doc = $doc])* #[serde(rename = $word)] $variant, )*
        }

        impl $name {
            pub const WORDS: [(&'static str, Self); [$($word),*].len()] =
                [$( ($word, Self::$variant) ),*];

            pub const RULE: $crate::state::rule::WordsRule = $crate::state::rule::WordsRule {
                name: stringify!($name),
                doc: concat!($($about, "\n",)*),
                words: &[$( $crate::state::rule::WordRule {
                    word: $word,
                    doc: concat!($($doc, "\n",)*),
                } ),*],
            };

            pub fn word(self) -> &'static str {
                match self {
                    $( Self::$variant => $word, )*
                }
            }

            #[allow(dead_code)]
            pub fn of_word(word: &str) -> Option<Self> {
                let known = Self::WORDS.into_iter().find(|(known, _)| *known == word)?;
                Some(known.1)
            }

            /// # Errors
            /// The words that could stand at that key.
            #[allow(dead_code)]
            pub fn one_of(key: &str, said: Option<&str>) -> Result<Self, alloc::string::String> {
                let known = said.and_then(Self::of_word);
                known.ok_or_else(|| {
                    let words = Self::WORDS.map(|(word, _)| word).join(", ");
                    format!("`{key}` is one of {words}")
                })
            }
        }

        impl $crate::state::value::FieldValue for $name {
            fn form() -> $crate::state::rule::Form {
                $crate::state::rule::Form::Words(&Self::RULE)
            }

            fn take(
                fields: &mut $crate::state::fields::Fields<'_, '_>,
                key: &'static str,
            ) -> Option<Self> {
                fields.word(key, &Self::WORDS)
            }

            fn read(
                node: &$crate::doc::Node,
                pointer: &str,
                found: &mut $crate::state::fields::Findings,
            ) -> Option<Self> {
                let known = node.as_str().and_then(Self::of_word);
                if known.is_none() {
                    found.wrong_type(pointer, node, concat!("a word: one of", $(" ", $word),*));
                }
                known
            }

            fn node(&self) -> $crate::doc::Node {
                $crate::doc::Node::string(self.word())
            }
        }
    };
}

pub(crate) use {record, words};

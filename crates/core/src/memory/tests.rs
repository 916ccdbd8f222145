//! A book of lessons: its text, and the changes by an ending.

use super::*;
use crate::doc::prelude::*;
use crate::{
    id::{Digest, LessonId, Lineage, RunId, UnixMillis},
    state::{Extra, LearntRun, LessonKind, LessonSource},
};

fn learnt(kind: LessonKind, choice: &str) -> Lesson {
    Lesson {
        id: LessonId::new(""),
        kind,
        tool: "make".to_string(),
        target: "all".to_string(),
        choice: Some(Digest::of(choice.as_bytes())),
        group: Some(Digest::of(b"group")),
        lesson: choice.to_string(),
        because: "exit 1".to_string(),
        seen: 1,
        runs: vec![],
        first: String::new(),
        last: String::new(),
        by: LessonSource::Completed,
        extra: Extra::default(),
    }
}

/// The n-th run of a lineage, with these lessons.
fn end(book: &mut LessonBook, lineage: &str, n: u64, learnt: Vec<Lesson>) -> bool {
    let ending = LearntRun {
        lineage: Lineage::new(lineage),
        run: RunId::new(format!("run-{n}")),
        extra: Extra::default(),
    };
    learn(book, learnt, ending, UnixMillis(n * 1_000))
}

fn kinds(book: &LessonBook) -> Vec<(&str, LessonKind, u32)> {
    let lessons = book.lessons.iter();
    lessons.map(|one| (one.lesson.as_str(), one.kind, one.seen)).collect()
}

use LessonKind::{MustNot, Prefer};

#[test]
fn an_ending_is_taken_in_once() {
    let mut book = new();
    assert!(end(&mut book, "a", 1, vec![learnt(MustNot, "x")]));
    assert!(!end(&mut book, "a", 1, vec![learnt(MustNot, "x")]));
    // Another run of the lineage sees the same attempt.
    assert!(end(&mut book, "a", 2, vec![learnt(MustNot, "x")]));
    assert_eq!(kinds(&book), [("x", MustNot, 1)]);
    assert!(!counts(&book.lessons[0]));
    assert!(end(&mut book, "b", 3, vec![learnt(MustNot, "x")]));
    assert_eq!(kinds(&book), [("x", MustNot, 2)]);
    assert!(counts(&book.lessons[0]));
}

#[test]
fn a_success_takes_a_failure_out_and_two_failures_a_success() {
    let mut book = new();
    end(&mut book, "a", 1, vec![learnt(MustNot, "x")]);
    end(&mut book, "b", 2, vec![learnt(MustNot, "x")]);
    end(&mut book, "c", 3, vec![learnt(Prefer, "x")]);
    assert_eq!(kinds(&book), [("x", Prefer, 1)]);
    end(&mut book, "d", 4, vec![learnt(MustNot, "x")]);
    assert_eq!(kinds(&book), [("x", Prefer, 1), ("x", MustNot, 1)]);
    end(&mut book, "e", 5, vec![learnt(MustNot, "x")]);
    assert_eq!(kinds(&book), [("x", MustNot, 2)]);
}

#[test]
fn the_least_seen_and_oldest_go_first_and_no_id_comes_twice() {
    let mut book = new();
    for n in 0..LESSONS_MAX as u64 {
        end(&mut book, "a", n, vec![learnt(MustNot, &format!("c{n}"))]);
    }
    end(&mut book, "b", 1_000, vec![learnt(MustNot, "c0")]);
    end(&mut book, "b", 1_001, vec![learnt(Prefer, "new")]);
    assert_eq!(book.lessons.len(), LESSONS_MAX);
    assert!(book.lessons.iter().any(|one| one.lesson == "c0"));
    assert!(book.lessons.iter().all(|one| one.lesson != "c1"));
    let newest = book.lessons.last().unwrap().id.clone();
    assert_eq!(newest.as_str(), "m201");
    assert!(forget(&mut book, &newest));
    assert!(!forget(&mut book, &newest));
    end(&mut book, "b", 1_002, vec![learnt(Prefer, "newer")]);
    assert_eq!(book.lessons.last().unwrap().id.as_str(), "m202");
}

#[test]
fn a_book_is_read_as_it_was_written_and_an_odd_one_is_no_book() {
    let mut book = new();
    end(&mut book, "a", 1, vec![learnt(Prefer, "x")]);
    let text = write(&book);
    assert_eq!(write(&read(text.as_bytes()).unwrap()), text);
    let newer = text.replace("lessons/1", "lessons/12");
    assert!(read(newer.as_bytes()).unwrap_err().contains("newer version"));
    for odd in [
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{\"schema\": \"other/1\"}",
        "{\"schema\": \"descent/lessons/1\", \"lessons\": 7}",
        "{\"schema\": \"descent/lessons/1\", \"lessons\": [{\"id\": 7}]}",
    ] {
        assert!(read(odd.as_bytes()).unwrap_err().contains("cannot be read"), "{odd}");
    }
    for end in 0..text.len() - 2 {
        if text.is_char_boundary(end) {
            assert!(read(&text.as_bytes()[..end]).is_err(), "{end}");
        }
    }
    assert!(read(b"\xff\xfe").is_err());
}

#[test]
fn texts_are_capped_and_plain_whoever_wrote_them() {
    let mut book = new();
    end(&mut book, "a", 1, vec![learnt(Prefer, "x")]);
    let lesson = &mut book.lessons[0];
    lesson.lesson = format!("a\u{1b}[31m\u{202e}b\r\n{}", "é".repeat(1_000));
    lesson.id = LessonId::new("m7");
    let read = read(write(&book).as_bytes()).unwrap();
    let text = &read.lessons[0].lesson;
    assert_eq!(text.chars().count(), LESSON_CHARS_MAX);
    assert!(text.starts_with("a [31m b é") && text.ends_with('…'), "{text}");
    assert_eq!(read.next, 8);
}

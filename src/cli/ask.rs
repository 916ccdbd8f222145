//! A question on the terminal, and one line as its answer.
//!
//! Invariant: the end of the input is never an answer. Not here: whether a person may be asked (`context`).

use std::io::{BufRead, Read};

use crate::render::Out;

/// Bytes at most of an answer; a terminal gives fewer.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;
/// How often a question is repeated if the answer was not understood.
const ASKED_MAX: usize = 5;

/// Waits for the answer outside of a runtime: Ctrl-C ends the program as usual.
pub(super) fn now(out: Out, question: &str) -> Option<String> {
    out.ask(question);
    read()
}

/// The same with help for a person who answers `?`, which is never the answer.
pub(super) fn helped(out: Out, help: &str) -> Option<String> {
    loop {
        match now(out, "> ")? {
            reply if reply == "?" => out.say(help),
            reply => return Some(reply),
        }
    }
}

/// Drops input that was typed before a question was seen: above all it must not answer whether something may run.
pub(super) fn forget_typed() {
    // Without a terminal nobody types.
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// The same while other work goes on.
pub(super) async fn in_background(out: Out, question: &str) -> Option<String> {
    out.ask(question);
    let (sender, answer) = tokio::sync::oneshot::channel();
    // A thread of its own: a runtime would wait for the answer before it ends, also after Ctrl-C.
    std::thread::spawn(move || {
        let _ = sender.send(read());
    });
    answer.await.ok().flatten()
}

/// A person's choice, or their own words where they may say some.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChoiceAnswer {
    Chosen(usize),
    Words(String),
}

/// Asks for one of these choices, each with its words; `None` for silence. Nothing that was typed before is an answer.
/// More than one word may be an answer of its own.
pub(super) async fn choice(
    out: Out,
    question: &str,
    choices: &[&[&str]],
    takes_words: bool,
    help: &str,
) -> Option<ChoiceAnswer> {
    forget_typed();
    for _ in 0..ASKED_MAX {
        let reply = in_background(out, question).await?;
        let word = reply.to_lowercase();
        let chosen = choices.iter().position(|words| words.contains(&word.as_str()));
        if let Some(chosen) = chosen {
            return Some(ChoiceAnswer::Chosen(chosen));
        }
        if takes_words && reply.contains(' ') {
            return Some(ChoiceAnswer::Words(reply));
        }
        out.say(help);
    }
    None
}

/// One line without its end; `None` at the end of the input, and for bytes that are no text.
fn read() -> Option<String> {
    let mut bytes = Vec::new();
    let mut stdin = std::io::stdin().lock().take(ANSWER_BYTES_MAX);
    let length = stdin.read_until(b'\n', &mut bytes).ok()?;
    if length == 0 {
        return None;
    }
    Some(String::from_utf8(bytes).ok()?.trim().to_owned())
}

/// A person's answer to a numbered list: items by their numbers, or a text of their own.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ListAnswer {
    Items(Vec<usize>),
    Text(String),
    /// A number that is not in the list.
    Wrong(String),
}

/// Reads `1`, `1,3`, `1 3`, or else a text; positions count from 0.
pub(super) fn taken(answer: &str, items: usize) -> ListAnswer {
    let words: Vec<&str> = answer.split([',', ' ']).filter(|word| !word.is_empty()).collect();
    let is_number = |word: &&str| word.chars().all(|c| c.is_ascii_digit());
    if words.is_empty() || !words.iter().all(is_number) {
        return ListAnswer::Text(answer.to_owned());
    }
    let mut places = Vec::new();
    for word in words {
        match word.parse::<usize>() {
            Ok(number) if (1..=items).contains(&number) => {
                if !places.contains(&(number - 1)) {
                    places.push(number - 1);
                }
            }
            _ => return ListAnswer::Wrong(word.to_owned()),
        }
    }
    ListAnswer::Items(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_from_the_list_and_all_else_is_a_text() {
        let items = |places: &[usize]| ListAnswer::Items(places.to_vec());
        for (answer, expected) in [
            ("1", items(&[0])),
            ("2, 1", items(&[1, 0])),
            ("1 1,3", items(&[0, 2])),
            ("4", ListAnswer::Wrong("4".to_owned())),
            ("0", ListAnswer::Wrong("0".to_owned())),
            ("99999999999999999999", ListAnswer::Wrong("99999999999999999999".to_owned())),
            ("make test", ListAnswer::Text("make test".to_owned())),
            ("1 and 2", ListAnswer::Text("1 and 2".to_owned())),
            ("", ListAnswer::Text(String::new())),
        ] {
            assert_eq!(taken(answer, 3), expected, "{answer}");
        }
    }
}

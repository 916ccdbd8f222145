//! Events as text: the keys that readers know, and what another version wrote.

use serde_json::Value;

use super::Event;

/// One of each kind, with every key that it may have.
const KINDS: [&str; 29] = [
    r#"{"event":"run_started","run":"r","attempts_left":"6","verdicts_left":"3","starts_left":"350"}"#,
    r#"{"event":"attempt_started","attempt":"A.1","atom":"A","n":1,"of":3,"description":"do it","because":"new_context"}"#,
    r#"{"event":"solved","attempt":"A.1","atom":"A","ms":7,"files":["f"],"commit":"c0","summary":"s"}"#,
    r#"{"event":"planned","attempt":"P.1","atom":"P","ms":7,"parts":["a"],"atoms":2}"#,
    r#"{"event":"planned_again","atom":"P","round":2,"because":"a failed"}"#,
    r#"{"event":"phase_over","atom":"P","limit":"time","is_partial":true,"missing":["a"]}"#,
    r#"{"event":"attempt_failed","attempt":"A.1","atom":"A","ms":7,"class":"environmental","reason":"r","attempts_left":0}"#,
    r#"{"event":"transient","attempt":"A.1","atom":"A","ms":7,"retry":1,"of":3,"wait_ms":400}"#,
    r#"{"event":"adopted","attempt":"A.1","atom":"A"}"#,
    r#"{"event":"interrupted","attempt":"A.1","atom":"A","why":"redirected"}"#,
    r#"{"event":"repair","atom":"A","repair":1,"of":3,"why":"w"}"#,
    r#"{"event":"in_doubt","attempt":"A.1","atom":"A","why":"cut off"}"#,
    r#"{"event":"discarded","attempt":"A.1"}"#,
    r#"{"event":"chosen","group":"G","choice":"a","untried":2}"#,
    r#"{"event":"refuted","choices":{"G":"a"},"failed":["f"]}"#,
    r#"{"event":"backtracked","changes":[{"group":"G","from":null,"to":"b"}],"because":"a failed"}"#,
    r#"{"event":"parked","atom":"A"}"#,
    r#"{"event":"revived","atom":"A"}"#,
    r#"{"event":"forgotten","atom":"A"}"#,
    r#"{"event":"rebuilt","kept":1,"taken_back":["A"],"head":"c0"}"#,
    r#"{"event":"base_case","verdict":"unknown","pristine":true,"held":1,"of":3,"unmeasured":1,"open":["A"],"awaits":"w","again":"a"}"#,
    r#"{"event":"disagreed","checks":["f"]}"#,
    r#"{"event":"unsteady","checks":["f"]}"#,
    r#"{"event":"corrected","what":"w","effects":["e"],"lost":["l"]}"#,
    r#"{"event":"pattern","atoms":["A","B","C"],"reason":"r"}"#,
    r#"{"event":"requested","request":"stop_now","reason":"r"}"#,
    r#"{"event":"retired","request":"q","why":"taken_back"}"#,
    r#"{"event":"ended","result":"needs_guidance","reason":"already_held","summary":"s"}"#,
    r#"{"event":"ended","result":"stopped","reason":"stopped"}"#,
];

#[track_caller]
fn read_back(text: &str) -> Event {
    let event: Event = serde_json::from_str(text).expect("an event");
    let value: Value = serde_json::from_str(text).expect("a value");
    let written = serde_json::to_value(&event).expect("a value");
    assert_eq!(written, value, "{event:?}");
    event
}

#[test]
fn every_kind_is_read_with_the_keys_that_it_is_written_with() {
    for text in KINDS {
        let event = read_back(text);
        assert!(!matches!(event, Event::Unknown(_)), "{text}");
    }
}

#[test]
fn what_another_version_wrote_is_carried_whole() {
    for text in [
        r#"{"event":"scored","atom":"A","loss":[1,{"x":null}]}"#,
        r#"{"event":"ended","result":"completed","reason":"expired","left":1}"#,
        r#"{"event":"discarded"}"#,
    ] {
        assert!(matches!(read_back(text), Event::Unknown(_)), "{text}");
    }
}

#[test]
fn an_event_without_what_is_not_known_of_it_is_the_same_fact_of_its_atom_alone() {
    let event = |text: &str| serde_json::from_str::<Event>(text).expect("an event");
    let full = event(KINDS[2]);
    let bare = event(r#"{"event":"solved","atom":"A","files":[],"commit":null,"summary":"s"}"#);
    let other = event(r#"{"event":"solved","atom":"B","files":[],"commit":null,"summary":"s"}"#);
    assert!(full.is_same_fact(&bare) && !full.is_same_fact(&other));
    assert!(full.is_about(&"A".into()) && !full.is_about(&"B".into()));
    assert!(event(KINDS[15]).is_about(&"G".into()));
}

//! A heartbeat that is written can be read, whatever else lies there.

use descent_core::id::RunId;

use super::*;

fn place(dir: &Path) -> StatePlace {
    StatePlace::at(dir, None)
}

#[test]
fn what_lies_there_instead_of_a_beat_is_none_and_stops_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let path = beat_in(dir.path());
    assert_eq!(read_record(&path), None);
    std::fs::write(&path, "{\"schema\":").unwrap();
    assert_eq!(read_record(&path), None);
    std::fs::write(&path, vec![b'x'; 100_000]).unwrap();
    write(&path, &first(&RunId::new("r"), UnixMillis(0)));
    assert_eq!(read_record(&path).map(|heartbeat| heartbeat.view.run), Some("r".to_owned()));
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    write(&path, &first(&RunId::new("r"), UnixMillis(0)));
    assert_eq!(read_record(&path), None);
}

#[test]
fn a_beat_has_one_size_and_a_longer_list_than_it_can_name() {
    let mut heartbeat = first(&RunId::new("x".repeat(36)), UnixMillis(0));
    heartbeat.view.in_flight = vec!["a".repeat(64); NAMED_MAX];
    let dir = tempfile::tempdir().unwrap();
    let path = beat_in(dir.path());
    write(&path, &heartbeat);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 4_096);
    assert_eq!(read_record(&path), Some(heartbeat));
}

#[test]
fn a_beat_of_another_boot_or_machine_or_of_another_holder_tells_nothing_of_this_loop() {
    let dir = tempfile::tempdir().unwrap();
    let place = place(dir.path());
    std::fs::create_dir_all(&place.dir).unwrap();
    let me = format!("pid {}, run", std::process::id());
    let seen = |change: &dyn Fn(&mut HeartbeatRecord), holder: &str| {
        let mut heartbeat = first(&RunId::new("r"), UnixMillis(0));
        change(&mut heartbeat);
        write(&beat_in(&place.dir), &heartbeat);
        read_at(&place, Some(holder), true)
    };
    assert!(seen(&|_| {}, &me).signals.heartbeat.is_some());
    assert!(seen(&|_| {}, "pid 1, run").signals.heartbeat.is_none());
    assert!(seen(&|_| {}, "nonsense").signals.heartbeat.is_none());
    let other_boot = seen(&|heartbeat| heartbeat.boot_id = "other".to_owned(), &me);
    assert!(other_boot.signals.heartbeat.is_none());
    assert_eq!(other_boot.view.unwrap().age_ms, None);
    let other_host = seen(&|heartbeat| heartbeat.view.host = "other".to_owned(), &me);
    assert!(other_host.signals.heartbeat.is_none());
}

#[test]
fn sleep_is_told_apart_from_time_that_passed() {
    let mut heartbeat = first(&RunId::new("r"), UnixMillis(0));
    (heartbeat.awake_ms, heartbeat.total_ms) = (5_000, 6_000);
    let at = |awake_ms, total_ms| {
        let now = clock::SinceBoot { awake_ms, total_ms };
        (age_ms(&heartbeat, now), slept_ms(&heartbeat, now))
    };
    assert_eq!(at(5_500, 6_500), (500, 0));
    assert_eq!(at(5_500, 3_606_500), (500, 3_600_000));
    assert_eq!(at(5_500, 6_499), (500, 0));
    // Clocks that cannot be: no age is below nothing.
    assert_eq!(at(0, 0), (0, 0));
}

/// Waits for a fact: the thread is there.
#[test]
fn a_deleted_beat_comes_back_and_is_gone_when_the_heart_is() {
    let dir = tempfile::tempdir().unwrap();
    let place = place(dir.path());
    std::fs::create_dir_all(&place.dir).unwrap();
    let path = beat_in(&place.dir);
    let heartbeat = Heartbeat::start(&place, &RunId::new("r"), clock::real());
    std::fs::remove_file(&path).unwrap();
    heartbeat.shared.changed.notify_one();
    for _ in 0..2_000 {
        if path.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(path.exists());
    drop(heartbeat);
    assert!(!path.exists());
}

//! Saves into a file that a commit swapped out: no text is removed, and none comes from an earlier agreement.

use std::sync::Mutex;

use super::edits::edited;
use super::faulty::Faulty;
use super::*;

#[test]
fn nobody_can_begin_to_write_into_what_a_sweep_is_about_to_remove() {
    use std::os::unix::fs::OpenOptionsExt;
    let world = World::new();
    if world.store().mode().unwrap() != Mode::Full {
        println!("not tried: this file system has no leases");
        return;
    }
    bump(&mut world.store()).unwrap();
    let left = world.leftovers();
    assert_eq!(left.len(), 1, "{left:?}");
    let old = world.path().join(".descent").join(&left[0]);
    let seen = Arc::new(Mutex::new(None));
    let outcome = Arc::clone(&seen);
    let begin = move |call: &str, _: usize| {
        if call == "unlink" && old.exists() {
            let mut options = fs::OpenOptions::new();
            let opened = options
                .write(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(&old);
            *outcome.lock().unwrap() = Some(opened.map_err(|error| error.kind()).err());
        }
    };
    world.store_on(Faulty::with(begin)).tend(later()).unwrap();
    let seen = seen.lock().unwrap().take();
    assert_eq!(seen, Some(Some(io::ErrorKind::WouldBlock)));
}

#[test]
fn a_late_save_of_an_earlier_agreement_is_kept_and_does_not_take_the_name() {
    let world = World::new();
    let mut store = world.store();
    let text = edited(&world.text());
    let late = fs::OpenOptions::new()
        .write(true)
        .open(world.file())
        .unwrap();
    let mut other = fixture();
    other.lineage = descent_core::id::Lineage::new("0298c0de-other");
    store.replace(other, true).unwrap();
    late.set_len(0).unwrap();
    io::Write::write_all(&mut &late, text.as_bytes()).unwrap();
    drop(late);
    store.tend(later()).unwrap();
    assert_eq!(
        store.read().unwrap().state.lineage.as_str(),
        "0298c0de-other"
    );
    assert_eq!(store.rescued().len(), 1);
}

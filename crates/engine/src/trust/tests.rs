//! Records in a directory of the test's own: kept, refused, and never anywhere else.
#![allow(clippy::disallowed_methods)] // door: tests

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

use tempfile::TempDir;

use super::*;

const AT: UnixMillis = UnixMillis(1_700_000_000_000);

fn records(home: &TempDir) -> Records {
    let home = home.path().as_os_str().to_owned();
    Records::of(|name| (name == "XDG_STATE_HOME").then(|| home.clone()))
}

fn lineage(text: &str) -> Fact {
    Fact::Lineage(Lineage::new(text))
}

fn only_file(home: &TempDir) -> PathBuf {
    let mut found = fs::read_dir(home.path().join("descent/trust")).unwrap();
    found.next().unwrap().unwrap().path()
}

#[test]
fn what_is_remembered_is_held_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let records = records(&home);
    let (digest, other) = (Digest::sha256(b"a"), Digest::sha256(b"b"));
    let l = || Lineage::new("l");
    let fact = Fact::InLineage(l(), digest.clone());
    assert_eq!(records.holds(&fact), RecordState::No);
    records.remember(&fact, AT).unwrap();
    records.remember(&fact, AT).unwrap();
    assert_eq!(records.holds(&fact), RecordState::Yes);
    for near in [
        Fact::InLineage(l(), other),
        Fact::InLineage(Lineage::new("m"), digest.clone()),
        Fact::Content(digest.clone()),
        Fact::ByAttempt(digest),
        Fact::Lineage(l()),
    ] {
        assert_eq!(records.holds(&near), RecordState::No, "{near:?}");
    }
}

#[test]
fn a_lineage_that_names_a_path_stays_in_the_directory() {
    let home = tempfile::tempdir().unwrap();
    let records = records(&home);
    for text in ["../../../x", "/etc/passwd", "a\0b", "", &"l".repeat(1 << 20)] {
        records.remember(&lineage(text), AT).unwrap();
        assert_eq!(records.holds(&lineage(text)), RecordState::Yes);
    }
    let kept = fs::read_dir(home.path().join("descent/trust")).unwrap();
    assert_eq!(kept.count(), 5);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}

#[test]
fn directory_and_record_are_for_their_owner_alone() {
    let home = tempfile::tempdir().unwrap();
    records(&home).remember(&lineage("l"), AT).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!(mode(&home.path().join("descent/trust")), 0o700);
    assert_eq!(mode(&only_file(&home)), 0o600);
}

/// The record is spoilt, said not to be believed, and made good by being remembered again.
#[track_caller]
fn check_spoilt(spoil: impl Fn(&Path), why: &str) {
    let home = tempfile::tempdir().unwrap();
    let records = records(&home);
    records.remember(&lineage("l"), AT).unwrap();
    spoil(&only_file(&home));
    match records.holds(&lineage("l")) {
        RecordState::NotBelieved(said) => assert!(said.contains(why), "{said}"),
        held => panic!("{held:?}"),
    }
    records.remember(&lineage("l"), AT).unwrap();
    assert_eq!(records.holds(&lineage("l")), RecordState::Yes);
}

#[test]
fn a_record_that_others_can_reach_is_not_believed() {
    let chmod =
        |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    check_spoilt(|path| chmod(path, 0o644), "the mode 0644");
    check_spoilt(|path| chmod(path, 0o660), "the mode 0660");
}

#[test]
fn the_mode_of_a_directory_that_is_there_is_never_changed() {
    let (home, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let dir = home.path().join("descent/trust");
    fs::create_dir(home.path().join("descent")).unwrap();
    symlink(kept.path(), &dir).unwrap();
    fs::set_permissions(kept.path(), PermissionsExt::from_mode(0o700)).unwrap();
    let records = records(&home);
    records.remember(&lineage("l"), AT).unwrap();
    assert_eq!(records.holds(&lineage("l")), RecordState::Yes);

    fs::set_permissions(kept.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let error = records.remember(&lineage("m"), AT).unwrap_err();
    assert!(error.message.contains("chmod 700"), "{}", error.message);
    let mode = fs::metadata(kept.path()).unwrap().mode() & 0o7777;
    assert_eq!(mode, 0o777);
    let RecordState::NotBelieved(said) = records.holds(&lineage("l")) else {
        panic!("others could have written it");
    };
    assert!(said.contains("its directory"), "{said}");
}

#[test]
fn a_record_that_is_a_link_or_says_something_else_is_not_believed() {
    check_spoilt(
        |path| {
            let beside = path.with_extension("moved");
            fs::rename(path, &beside).unwrap();
            symlink(&beside, path).unwrap();
        },
        "symbolic link",
    );
    check_spoilt(|path| fs::write(path, "{}").unwrap(), "does not say");
    check_spoilt(|path| fs::write(path, "").unwrap(), "does not say");
}

#[test]
fn without_a_place_nothing_is_held_and_the_next_step_is_named() {
    let records = Records::of(|_| None);
    assert_eq!(records.holds(&lineage("l")), RecordState::No);
    let error = records.remember(&lineage("l"), AT).unwrap_err();
    assert!(error.hint.contains("XDG_STATE_HOME"));
    let file = tempfile::NamedTempFile::new().unwrap();
    let home = file.path().as_os_str().to_owned();
    let records = Records::of(|name| (name == "XDG_STATE_HOME").then(|| home.clone()));
    assert_eq!(records.holds(&lineage("l")), RecordState::No);
    let error = records.remember(&lineage("l"), AT).unwrap_err();
    assert!(error.message.contains("descent/trust: "), "{}", error.message);
}

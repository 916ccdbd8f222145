//! Jobs that are talked with.

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, duplex};

use super::*;

const ROOM: usize = 4096;

#[tokio::test]
async fn what_is_written_is_heard_and_the_answer_is_read_beside_the_errors() {
    let world = World::new();
    let job = world.job("while read -r line; do echo \"heard $line\"; done; echo over >&2");
    let (ours, theirs) = duplex(ROOM);
    let cancel = CancellationToken::new();
    let talk = async {
        let (reader, mut writer) = tokio::io::split(ours);
        let mut lines = BufReader::new(reader).lines();
        for word in ["one", "two"] {
            writer.write_all(format!("{word}\n").as_bytes()).await.unwrap();
            let answer = lines.next_line().await.unwrap().unwrap();
            assert_eq!(answer, format!("heard {word}"));
        }
        writer.shutdown().await.unwrap();
        assert_eq!(lines.next_line().await.unwrap(), None);
    };
    let (ended, ()) = tokio::join!(run(&job, None, Some(theirs), &cancel, |_| {}), talk);
    let ended = ended.unwrap();
    assert_eq!(ended.how, JobEnd::Exit(0));
    assert_eq!(ended.output.tail(), "over\n");
}

#[tokio::test]
async fn a_job_waits_while_nobody_reads_and_its_last_words_arrive() {
    let world = World::new();
    let job = world.job("head -c 300000 /dev/zero; touch printed; printf end");
    let (mut ours, theirs) = duplex(ROOM);
    let cancel = CancellationToken::new();
    let printed = world.directory.path().join("printed");
    let talk = async {
        let mut first = vec![0; 1];
        ours.read_exact(&mut first).await.unwrap();
        assert!(!printed.exists(), "nothing holds 300,000 bytes for a reader");
        let mut rest = Vec::new();
        ours.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest.len(), 300_002);
        assert!(rest.ends_with(b"end"));
    };
    let (ended, ()) = tokio::join!(run(&job, None, Some(theirs), &cancel, |_| {}), talk);
    assert_eq!(ended.unwrap().how, JobEnd::Exit(0));
}

#[tokio::test]
async fn a_job_whose_reader_is_gone_goes_on_to_its_end() {
    let world = World::new();
    let job = world.job("head -c 300000 /dev/zero; cat; exit 4");
    let (ours, theirs) = duplex(ROOM);
    drop(ours);
    let cancel = CancellationToken::new();
    let ended = run(&job, None, Some(theirs), &cancel, |_| {}).await.unwrap();
    assert_eq!(ended.how, JobEnd::Exit(4));
}

#[tokio::test]
async fn cancelling_a_talk_ends_what_the_job_started_in_a_session_of_its_own() {
    let world = World::new();
    let job = world.job(&format!("{}echo ready; cat", daemon("tool", "setsid")));
    let (ours, theirs) = duplex(ROOM);
    let cancel = CancellationToken::new();
    let talk = async {
        let mut lines = BufReader::new(ours).lines();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "ready");
        let tool = world.pid("tool");
        assert!(is_alive(tool));
        cancel.cancel();
        while lines.next_line().await.unwrap().is_some() {}
        tool
    };
    let (ended, tool) = tokio::join!(run(&job, None, Some(theirs), &cancel, |_| {}), talk);
    assert_eq!(ended.unwrap().how, JobEnd::Cancelled);
    assert!(!is_alive(tool));
}

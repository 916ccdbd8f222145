//! The word by which a job begins, with its standard input, over the control socket to its guard.
//!
//! Invariant: one message, sent once it is known that the guard is there, and read before anything of the job is made. A
//! guard that was given up gets none and ends. So a start that failed has begun nothing, and may be tried again.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

const WORD: [u8; 1] = *b"g";

/// Lets the job of a guard begin, with the reading end of its standard input if it has one.
pub(crate) fn begin(control: impl AsFd, input: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut room);
    if input.is_some() {
        ancillary.push(SendAncillaryMessage::ScmRights(input.as_slice()));
    }
    sendmsg(control, &[IoSlice::new(&WORD)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for that word; gives the standard input that came with it.
///
/// # Errors
/// If the loop is gone, or has given this guard up.
pub(super) fn wait(control: impl AsFd) -> io::Result<Option<OwnedFd>> {
    let mut word = WORD;
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut room);
    loop {
        let mut into = [IoSliceMut::new(&mut word)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        match recvmsg(control.as_fd(), &mut into, &mut ancillary, flags) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(got) if got.bytes == 0 => return Err(Errno::NOTCONN.into()),
            Ok(_) => break,
        }
    }
    let mut streams = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut streams) => streams.next(),
        _ => None,
    });
    Ok(streams.next())
}

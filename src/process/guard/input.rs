//! The standard input of a job on its way to the guard, over the control socket.
//!
//! Invariant: one message with one descriptor, sent before the guard starts and read before the job
//! does. So the socket holds nothing else when the guard begins to watch it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// A descriptor needs one byte to travel with.
const CARRIER: [u8; 1] = *b"i";

/// Hands the reading end of a job's standard input to its guard.
pub(crate) fn send(control: impl AsFd, input: BorrowedFd<'_>) -> io::Result<()> {
    let streams = [input];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut room);
    ancillary.push(SendAncillaryMessage::ScmRights(&streams));
    let carrier = [IoSlice::new(&CARRIER)];
    sendmsg(control, &carrier, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The descriptor that was sent.
///
/// # Errors
/// If the loop is gone, or nothing but the byte arrived.
pub(super) fn receive(control: impl AsFd) -> io::Result<OwnedFd> {
    let mut carrier = CARRIER;
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut room);
    loop {
        let mut into = [IoSliceMut::new(&mut carrier)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        match recvmsg(control.as_fd(), &mut into, &mut ancillary, flags) {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => break,
        }
    }
    let mut streams = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut streams) => streams.next(),
        _ => None,
    });
    streams.next().ok_or_else(|| Errno::NOTCONN.into())
}

//! The disk: a file of a file system of its own (FUSE), for a loop device, whose every write and flush is logged.
//!
//! Invariant: one thread, so the order of the log is the order in which the writers were answered.

use crate::log;
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, LockOwner,
    MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyWrite, Request,
    WriteFlags,
};
use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::Mutex,
    time::{Duration, UNIX_EPOCH},
};

const DISK: INodeNo = INodeNo(2);
const NAME: &str = "disk";
const TTL: Duration = Duration::from_secs(3600);

struct Disk {
    content: File,
    bytes: u64,
    log: Mutex<File>,
}

/// Serves the file `disk` below `at`, until it is unmounted.
pub fn serve(content: &Path, log: &Path, at: &Path) -> io::Result<()> {
    let content = File::options().read(true).write(true).open(content)?;
    let disk = Disk {
        bytes: content.metadata()?.len(),
        content,
        log: Mutex::new(File::options().append(true).create_new(true).open(log)?),
    };
    let mut config = Config::default();
    config
        .mount_options
        .push(MountOption::FSName("powercut".to_owned()));
    fuser::mount(disk, at, &config)
}

impl Disk {
    fn attr(&self, ino: INodeNo) -> FileAttr {
        let is_disk = ino == DISK;
        FileAttr {
            ino,
            size: if is_disk { self.bytes } else { 0 },
            blocks: self.bytes / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_disk {
                FileType::RegularFile
            } else {
                FileType::Directory
            },
            perm: 0o700,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        }
    }

    fn write_logged(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut log = self.log.lock().map_err(|_| io::Error::other("log"))?;
        log::append_write(&mut log, offset, data)?;
        self.content.write_all_at(data, offset)
    }

    fn read_up_to(&self, offset: u64, size: u32) -> io::Result<Vec<u8>> {
        let left = self.bytes.saturating_sub(offset).min(u64::from(size));
        let mut data = vec![0; usize::try_from(left).map_err(io::Error::other)?];
        self.content.read_exact_at(&mut data, offset)?;
        Ok(data)
    }

    fn flush_logged(&self) -> io::Result<()> {
        let mut log = self.log.lock().map_err(|_| io::Error::other("log"))?;
        log::append_flush(&mut log)
    }
}

impl Filesystem for Disk {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == NAME {
            reply.entry(&TTL, &self.attr(DISK), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &self.attr(ino));
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.read_up_to(offset, size) {
            Ok(data) => reply.data(&data),
            Err(_) => reply.error(Errno::EIO),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match u32::try_from(data.len()).map_err(io::Error::other) {
            Ok(len) if self.write_logged(offset, data).is_ok() => reply.written(len),
            _ => reply.error(Errno::EIO),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        match self.flush_logged() {
            Ok(()) => reply.ok(),
            Err(_) => reply.error(Errno::EIO),
        }
    }

    /// A `close` says nothing about what is durable.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }
}

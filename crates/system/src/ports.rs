//! Blocks of TCP ports, one for each slot of a loop: no two attempts on this machine are given the same one.
//!
//! Invariant: a block is held by a socket name of the kernel, so it is free again when its process is gone, however it
//! ended. Its ports were free when it was given; another program may take one later.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, TcpListener},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
    sync::{Arc, Mutex, PoisonError},
};

/// Ports of a block.
const BLOCK: u16 = 20;
/// The first port. All blocks lie below the ports that the kernel gives out by itself.
const FIRST: u16 = 20_000;
const BLOCKS: u16 = 600;

/// A slot, and its ports as `20000-20019`; none where no block is free.
#[derive(Debug, Clone)]
pub struct SlotPorts {
    pub slot: usize,
    pub ports: Option<String>,
}

/// The blocks of one process. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct PortBlocks(Arc<Mutex<BTreeMap<usize, HeldBlock>>>);

#[derive(Debug)]
struct HeldBlock {
    first: u16,
    _name: UnixListener,
}

impl PortBlocks {
    /// The block of a slot; it is taken at the first call.
    pub fn of_slot(&self, slot: usize) -> SlotPorts {
        // Every change is one insertion.
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (false, Some(block)) = (held.contains_key(&slot), free_block()) {
            held.insert(slot, block);
        }
        let ports = held.get(&slot).map(|block| {
            let last = block.first + BLOCK - 1;
            format!("{}-{last}", block.first)
        });
        SlotPorts { slot, ports }
    }
}

fn free_block() -> Option<HeldBlock> {
    (0..BLOCKS).map(|n| FIRST + n * BLOCK).find_map(|first| {
        let name = SocketAddr::from_abstract_name(format!("descent-ports-{first}")).ok()?;
        let name = UnixListener::bind_addr(&name).ok()?;
        let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        (first..first + BLOCK).all(is_free).then_some(HeldBlock { first, _name: name })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_and_processes_have_blocks_of_their_own_and_keep_them() {
        let (one, other) = (PortBlocks::default(), PortBlocks::default());
        let of = |blocks: &PortBlocks, slot| blocks.of_slot(slot).ports.unwrap();
        let all = [of(&one, 0), of(&one, 1), of(&other, 0)];
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2], "{all:?}");
        assert_eq!(of(&one, 0), all[0]);
    }

    #[test]
    fn a_block_with_a_port_in_use_is_passed_over() {
        let held = free_block().unwrap();
        let busy = TcpListener::bind((Ipv4Addr::LOCALHOST, held.first + 3)).unwrap();
        let first = held.first;
        drop(held);
        assert_ne!(free_block().unwrap().first, first);
        drop(busy);
    }
}

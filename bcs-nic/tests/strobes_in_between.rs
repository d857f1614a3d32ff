//! Events between two reads of global memory in one routine. The simulator cannot show them,
//! because a routine takes no virtual time.

use bcs_core::job::{Microphase, NicThreadId, NodeId, NodeSet, Placement, Settings};
use bcs_core::request::{RequestFailure, RequestId};
use bcs_core::wake::MachinePage;
use bcs_fabric::{
    Block, CompareAndWrite, DestinationSpan, Event, GlobalAddress, MemoryFault, Port, RankMemory,
    SourceSpan, Ticket, Variable,
};
use bcs_nic::blocks::{CompletedSend, CompletionBlock, Microstrobe};
use bcs_nic::bounds::Bounds;
use bcs_nic::mail::Mail;
use bcs_nic::threads::{NicThread, NicThreadContext, NodeConfig, Outbox, StrobeReceiver};
use std::cell::Cell;
use std::sync::Arc;
use zerocopy::IntoBytes;

const NODES: usize = 3;
/// The node whose NIC reports something.
const OTHER: NodeId = NodeId(1);

/// Global memory of a node whose strobe and lane of completions change right after a read of them.
struct Between {
    strobes: [Microstrobe; 2],
    completions: Vec<u64>,
    /// The block after whose read the change comes.
    after: Block,
    has_come: Cell<bool>,
    /// Signals of nodes that have nothing to do with it.
    others_signals: u64,
}

impl Port for Between {
    fn signal_count(&self) -> u64 {
        self.others_signals + u64::from(self.has_come.get())
    }

    fn read(&self, at: GlobalAddress, bytes: &mut [u8]) {
        let words = match at.block {
            Block::Strobe => self.strobes[usize::from(self.has_come.get())]
                .encode()
                .to_vec(),
            Block::Completions if at.lane == OTHER && self.has_come.get() => {
                self.completions.clone()
            }
            _ => vec![0; bytes.len() / 8 + at.offset / 8],
        };
        bytes.copy_from_slice(&words.as_bytes()[at.offset..][..bytes.len()]);
        let was_looked_at =
            at.block == self.after && (at.block == Block::Strobe || at.lane == OTHER);
        self.has_come.set(self.has_come.get() || was_looked_at);
    }

    fn nodes(&self) -> usize {
        NODES
    }

    fn alive(&self) -> NodeSet {
        NodeSet::first_nodes(NODES)
    }

    fn store_and_report(&mut self, _variable: Variable, _value: u64) {}

    fn store(&mut self, _variable: Variable, _value: u64) {}

    fn xfer_and_signal(
        &mut self,
        _: &NodeSet,
        _: GlobalAddress,
        _: &[u8],
        _: Option<NicThreadId>,
    ) -> Ticket {
        unreachable!("SR puts nothing")
    }

    fn get(&mut self, _: SourceSpan, _: DestinationSpan) -> Ticket {
        unreachable!("SR moves nothing")
    }

    fn fetch(&mut self, _: u32, _: u64, _: Vec<u8>) -> Ticket {
        unreachable!("SR fetches nothing")
    }

    fn take_fetched(&mut self, _: Ticket) -> Vec<u8> {
        unreachable!("SR fetches nothing")
    }

    fn compare_and_write(&mut self, _: &CompareAndWrite) -> Ticket {
        unreachable!("SR compares nothing")
    }

    fn test_event(&mut self, _: Ticket) -> Event {
        unreachable!("SR waits for nothing")
    }

    fn load(&self, _: Variable) -> u64 {
        0
    }

    fn other_host_nodes(&self) -> NodeSet {
        NodeSet::EMPTY
    }

    fn are_on_different_hosts(&self, _: NodeId, _: NodeId) -> bool {
        false
    }

    fn send_outside_slice(&mut self, _: NodeId, _: &[u64]) {
        unreachable!("SR sends nothing")
    }

    fn send_eager_bytes(&mut self, _: NodeId, _: SourceSpan) {
        unreachable!("SR sends nothing")
    }

    fn receive_outside_slice(&mut self, _: &mut Vec<u64>) -> Option<NodeId> {
        unreachable!("SR takes nothing")
    }
}

struct NoMemory;

impl RankMemory for NoMemory {
    fn read(&mut self, _: u32, _: u64, _: &mut [u8]) -> Result<(), MemoryFault> {
        unreachable!("SR reads no rank's memory")
    }

    fn write(&mut self, _: u32, _: u64, _: &[u8]) -> Result<(), MemoryFault> {
        unreachable!("SR writes no rank's memory")
    }
}

/// A send was reported complete in PM, and the next slice struck, while SR of the sender's node
/// read the report of another node. SR polled for completions, and then for a strobe, and nobody
/// ever notified the sender.
#[test]
fn a_completion_that_comes_while_others_are_looked_for_is_not_lost() {
    let strobe = |sequence, slice, phase| Microstrobe {
        sequence,
        slice,
        phase,
        alive: NodeSet::first_nodes(NODES),
        demanded: true,
    };
    let request = RequestId::from_word(7);
    let told = CompletedSend::new(0, request, RequestFailure::None);
    for after in [Block::Completions, Block::Strobe] {
        let config = NodeConfig {
            node: NodeId(0),
            placement: Arc::new(Placement::block(NODES, NODES).unwrap()),
            settings: Arc::new(Settings::default()),
            page: MachinePage::private(NODES, 2).unwrap(),
            ranks: Arc::default(),
            bounds: Bounds::default(),
            emds: None,
        };
        let mut receiver = StrobeReceiver::new(config);
        let mut port = Between {
            strobes: [strobe(1, 5, Microphase::Pm), strobe(2, 6, Microphase::Dem)],
            completions: CompletionBlock::encode(5, &[told]),
            after: Block::Credits, // which SR does not read
            has_come: Cell::new(false),
            others_signals: 1,
        };
        let mut mail = Vec::new();
        let mut turn =
            |port: &mut Between,
             work: &mut dyn FnMut(&mut StrobeReceiver, &mut NicThreadContext<'_>)| {
                let mut out = Outbox::default();
                let mut context = NicThreadContext {
                    clock: &|| 0,
                    port,
                    memory: &mut NoMemory,
                    out: &mut out,
                    worked_ns: 0,
                };
                work(&mut receiver, &mut context);
                mail.append(&mut out.mail);
            };
        turn(&mut port, &mut |receiver, context| {
            assert!(receiver.poll(context), "PM is struck");
            receiver.handle(Mail::Awaited(1), context);
        });
        // A signal of another node makes SR poll; then come the signals of the events in between.
        (port.after, port.others_signals) = (after, 2);
        for _ in 0..2 {
            turn(&mut port, &mut |receiver, context| {
                receiver.poll(context);
            });
        }
        assert!(port.has_come.get());
        let place = |wanted: &dyn Fn(&Mail) -> bool| mail.iter().position(|(_, mail)| wanted(mail));
        let settled = place(
            &|mail| matches!(mail, Mail::AwaitedSendsCompleted(sends) if sends == &[(0, request)]),
        );
        let begun = place(&|mail| matches!(mail, Mail::Phase { slice: 6, .. }));
        assert!(
            settled.is_some() && begun.is_some(),
            "after {after:?}: {mail:?}"
        );
        assert!(
            settled < begun,
            "after {after:?}: the lane may be used anew"
        );
    }
}

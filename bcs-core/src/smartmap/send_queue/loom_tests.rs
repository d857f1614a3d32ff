//! Queues under loom.

use super::tests::{queue, receive, send};
use super::*;

/// Three messages go through a queue of two, and payload through a region for one and a half: both
/// STAMP and TAKEN are needed for them to arrive complete.
#[test]
fn messages_arrive_whole_and_in_order() {
    loom::model(|| {
        let (heap, layout) = queue(2, 128);
        let mut receiver = QueueReceiver::new(heap.clone(), layout);
        let sending = loom::thread::spawn(move || {
            let mut sender = QueueSender::new(heap, layout);
            for number in 1..=3 {
                let payload = [u8::try_from(number).unwrap(); 2];
                while send(&mut sender, number, &payload).is_err() {
                    loom::thread::yield_now();
                }
            }
        });
        for number in 1..=3 {
            let message = loop {
                if let Some(message) = receive(&mut receiver) {
                    break message;
                }
                loom::thread::yield_now();
            };
            let payload = vec![u8::try_from(number).unwrap(); 2];
            assert_eq!(message, (number, payload));
        }
        sending.join().unwrap();
    });
}

//! The values of options that name one of a few choices.
//!
//! Such an option sets a type of the crate that acts on it, and that crate does not know clap. A
//! choice declares the names of its values and the setting that each stands for, once.

use crate::hosts::Fabric;
use crate::leak_reporter::LeakVerbosity;
use bcs_core::job::{
    CollectiveMode, CopyMethod, FoldingMode, IntranodeTransport, NicThreading, StrobeMode,
};
use bcs_fabric::udp::Crypto;
use clap::ValueEnum;

/// Declares the names of an option's values: `NAME for SETTING { Value, Name = Value }`.
macro_rules! choices {
    ($(
        $(#[$about:meta])*
        $choice:ident $(for $setting:ty)? {
            $($(#[$help:meta])* $name:ident $(= $value:ident)?),+ $(,)?
        }
    )+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
        pub enum $choice {
            $($(#[$help])* $name),+
        }

        choices!(@from $choice $(for $setting)? { $($name $(= $value)?),+ });
    )+};
    (@from $choice:ident { $($rest:tt)+ }) => {};
    (@from $choice:ident for $setting:ty { $($name:ident $(= $value:ident)?),+ }) => {
        impl From<$choice> for $setting {
            fn from(choice: $choice) -> Self {
                match choice {
                    $($choice::$name => choices!(@value $name $($value)?)),+
                }
            }
        }
    };
    (@value $name:ident) => { Self::$name };
    (@value $name:ident $value:ident) => { Self::$value };
}

choices! {
    /// `--fabric`.
    FabricName for Fabric {
        /// By shared memory where node managers can map it, else by the network.
        Auto,
        /// By shared memory.
        Shm,
        /// By the network.
        Udp,
    }

    /// `--fabric-crypto`.
    CryptoName for Crypto {
        /// Not at all: to measure.
        None,
        /// By a tag.
        Tag,
        /// Encrypted, with a tag.
        Aead,
    }

    /// `--strobe`.
    StrobeName for StrobeMode {
        /// At every multiple of the time slice at which there is work.
        Fixed,
        /// When somebody waits for it.
        Elastic,
        /// As fixed, with slices from 50us to --time-slice, as the program needs them.
        Auto,
    }

    /// `--intranode`.
    IntranodeName for IntranodeTransport {
        /// Ranks reach each other's memory.
        Smartmap,
        /// Through the NIC, scheduled in slices.
        Nic,
    }

    /// `--collectives`.
    CollectivesName for CollectiveMode {
        /// Ranks of a node among themselves, then one of them with its NIC.
        Hierarchical,
        /// The NICs alone.
        Nic,
    }

    /// `--copy-method`.
    CopyMethodName for CopyMethod {
        /// Heaps that lie in slots are read and written where they are.
        Slots,
        /// The kernel copies (process_vm_readv).
        Kernel,
        /// Through memory that the ranks of a node share; between nodes the kernel copies.
        Queues,
    }

    /// `--heap`.
    HeapName {
        /// A heap in the slot is preloaded into dynamic programs, but for set-user-id and sanitized
        /// ones.
        Slot,
        /// Nothing is preloaded.
        Own,
    }

    /// `--folding`.
    FoldingName for FoldingMode {
        /// Each rank a share of the elements.
        Threaded,
        /// The root all of them.
        Serial,
    }

    /// `--nic-threads`.
    NicThreadingName for NicThreading {
        /// One OS thread for all NICs of this machine.
        Shared,
        /// One OS thread per NIC.
        Coprocessor,
        /// One OS thread per NIC thread.
        Dedicated,
    }

    /// `--bind`.
    BindName {
        /// Every rank may use every core.
        None,
        /// One core each.
        Core,
    }

    /// `--on-deadlock`.
    DeadlockName {
        /// Say so.
        Report,
        /// Say so and end the job.
        Abort,
    }

    /// `--at-finalize`.
    AtFinalizeName for LeakVerbosity {
        /// Nothing.
        Quiet = Nothing,
        /// Errors.
        Errors,
        /// Handles that were not freed, too.
        All,
    }
}

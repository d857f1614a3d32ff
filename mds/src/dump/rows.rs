//! Tables of figures: rows in the order in which things happened.
//!
//! All members of a row are `u64`, so a table is one column of words for each member, in memory and
//! in a file. An absent time (of a microphase that was skipped) and an absent number (the peer of a
//! barrier) are [`NONE`].

/// The value of an absent figure.
pub const NONE: u64 = u64::MAX;

/// The name and unit of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name in files and on the command line.
    pub name: &'static str,
    /// `ns`, `bytes`, `number` (that names something) or `count`.
    pub unit: &'static str,
}

/// A row of a table.
pub trait Row: Sized {
    /// The name of the table.
    const TABLE: &'static str;
    /// The columns of a row.
    const COLUMNS: &'static [Column];

    /// Returns the words of the row, in the order of the columns.
    fn words(&self) -> impl Iterator<Item = u64>;

    /// Makes a row of these words; `None` if their number is not that of the columns.
    fn from_words(words: &[u64]) -> Option<Self>;
}

/// Defines a row. One line for each member has its name and unit. The first line is the name of the
/// table.
macro_rules! rows {
    ($(#[$about:meta])* $row:ident $table:literal { $($(#[$note:meta])* $member:ident $unit:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $row {
            $($(#[$note])* pub $member: u64,)*
        }

        impl Row for $row {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [Column] = &[$(Column { name: stringify!($member), unit: $unit },)*];

            fn words(&self) -> impl Iterator<Item = u64> {
                [$(self.$member,)*].into_iter()
            }

            fn from_words(words: &[u64]) -> Option<Self> {
                let &[$($member,)*] = words else {
                    return None;
                };
                Some(Self { $($member,)* })
            }
        }
    };
}

rows! {
    /// A struck slice on one node: Table 5.2, gathered by the Strobe Receiver. If a number is
    /// missing, that slice was not struck: no node had work. Times are read on the node's NIC: when
    /// its Strobe Receiver takes a microstrobe, and when all its threads have reported.
    SliceRow "slices" {
        /// The number of the slice.
        slice "number",
        /// When the strobe arrived.
        strobe_ns "ns",
        /// LETTS: from the strobe of the struck slice before; [`NONE`] in the first.
        letts_ns "ns",
        /// LTDEM: the descriptor exchange microphase, from its microstrobe until this node has
        /// finished it.
        ltdem_ns "ns",
        /// LTMSM (LMSM is a misprint): the message scheduling microphase. [`NONE`], as for the ones
        /// below, if no node needed it.
        ltmsm_ns "ns",
        /// The point-to-point microphase (one of LTRi).
        ltpm_ns "ns",
        /// The broadcast and barrier microphase (one of LTRi).
        ltbbm_ns "ns",
        /// The reduce microphase (one of LTRi).
        ltrm_ns "ns",
        /// LTTS: from the strobe to the end of the last microphase on this node.
        ltts_ns "ns",
        /// NP2PDEM: descriptors of sends and of receives that this node took from the rings of its
        /// ranks in the DEM. Probes and cancels are not among them.
        np2pdem "count",
        /// NP2PMSM: messages into this node that got bytes (or their end) scheduled in the MSM. A
        /// message that takes several slices counts in each.
        np2pmsm "count",
        /// NCOLLDEM (NCOLLMSN is a misprint): collectives whose last arrival on this node the node
        /// took in the DEM.
        ncolldem "count",
        /// NCOLLMSM: collectives with members on this node to which any node granted steps in the
        /// MSM. A collective that takes several slices counts in each.
        ncollmsm "count",
        /// BPTS: processes of this node that were blocked during the slice. When the cut was taken,
        /// they had reported that they wait in a call, asleep or awake. A rank that waits for its
        /// own node reports that after it has polled for 20 µs.
        bpts "count",
        /// LTRi: time in the routines of the Strobe Receiver, from the strobe to the next one.
        ltr_sr_ns "ns",
        /// LTRi: time in the routines of the Buffer Sender, until it has finished the DEM. Work
        /// that a thread does after its last microphase in a slice counts when it finishes the next
        /// one. The same holds below.
        ltr_bs_ns "ns",
        /// LTRi: time in the routines of the Buffer Receiver.
        ltr_br_ns "ns",
        /// LTRi: time in the routines of the DMA Helper.
        ltr_dh_ns "ns",
        /// LTRi: time in the routines of the Collective Helper.
        ltr_ch_ns "ns",
        /// LTRi: time in the routines of the Reduce Helper.
        ltr_rh_ns "ns",
        /// The bytes of messages that were allowed to move into this node in the slice: its budget,
        /// less what is reserved for the collectives that may be granted in it.
        budget_bytes "bytes",
        /// Data of messages that were scheduled to move into this node. Data inside descriptors (64
        /// bytes at most) is not moved, here and below.
        scheduled_bytes "bytes",
        /// Data of messages that had been matched and were left for later slices.
        carried_bytes "bytes",
        /// Receives posted on this node that no message has matched, when the node had finished the
        /// MSM (or the DEM, if there was no MSM). The same moment holds below.
        receives_waiting "count",
        /// Messages for this node that no receive has matched.
        messages_waiting "count",
        /// Collectives that members on this node have entered and that are not fully granted.
        collectives_waiting "count",
        /// 1 if the slice was demanded, 0 if it was struck by the clock.
        demanded "count",
    }
}

rows! {
    /// A struck slice for the whole job: Table 5.1, gathered by the Strobe Sender. It checks
    /// whether all nodes have finished a microphase right after the microphase has been strobed,
    /// and again whenever nodes have reported since.
    StrobeRow "strobes" {
        /// The number of the slice.
        slice "number",
        /// When the strobe was sent.
        strobe_ns "ns",
        /// GETTS: from the strobe of the struck slice before; [`NONE`] in the first.
        getts_ns "ns",
        /// GTDEM: from the strobe until all nodes had finished the descriptor exchange microphase.
        gtdem_ns "ns",
        /// GTMSM: the same for the message scheduling microphase, from its microstrobe; [`NONE`] if
        /// no node needed it.
        gtmsm_ns "ns",
        /// GTTS: from the strobe until all nodes had finished the slice.
        gtts_ns "ns",
        /// USRSTS: checks which found that not all nodes had finished the current microphase, over
        /// all microphases of the slice.
        usrsts "count",
        /// USRDEM: checks which found that not all nodes had finished the DEM.
        usrdem "count",
        /// USRMSM: checks which found that not all nodes had finished the MSM.
        usrmsm "count",
        /// 1 if the slice was demanded, 0 if it was struck by the clock.
        demanded "count",
        /// The time slice in force: with `--strobe auto` the chosen length, else the set one.
        length_ns "ns",
    }
}

rows! {
    /// A rank's use of SMARTMAP in one slice of the clock, which no NIC sees. Slices without such
    /// use are missing.
    LocalSliceRow "near" {
        /// The number of the slice: that of the last strobe.
        slice "number",
        /// Messages that the rank sent to ranks of its node.
        messages "count",
        /// Their bytes.
        bytes "bytes",
        /// Collectives (or the parts of them within the node) that the rank entered.
        collectives "count",
    }
}

rows! {
    /// A call of a rank. Only the outermost call has a row: calls that the library makes itself
    /// have none.
    CallRow "calls" {
        /// When the call began.
        begun_ns "ns",
        /// When it returned; [`NONE`] if it never did.
        ended_ns "ns",
        /// The number of the slice in which it began.
        slice "number",
        /// The call: an index into [`Primitive::ALL`](crate::mmds::Primitive::ALL).
        primitive "number",
        /// The site of the call: an index into [`RankDump::sites`](super::RankDump::sites).
        site "number",
        /// The context id of the communicator; [`NONE`] for calls without one.
        context "number",
        /// The rank in `MPI_COMM_WORLD` of the receiver, sender or root; [`NONE`] for any or none.
        peer "number",
        /// The tag; [`NONE`] for any or none.
        tag "number",
        /// The data of the call.
        bytes "bytes",
    }
}

rows! {
    /// A message that a rank sent or received.
    MessageRow "messages" {
        /// 0 for a message that the rank sent, 1 for one that it received.
        received "number",
        /// When the send or the receive was posted.
        posted_ns "ns",
        /// When it was complete for this rank.
        completed_ns "ns",
        /// The number of the slice in which it was posted.
        slice "number",
        /// The site of the post: an index into [`RankDump::sites`](super::RankDump::sites).
        site "number",
        /// The context id of the communicator.
        context "number",
        /// The rank in `MPI_COMM_WORLD` of the peer.
        peer "number",
        /// The tag.
        tag "number",
        /// Its length.
        bytes "bytes",
        /// The number of the message among those of this pair of ranks, context and tag, from 0.
        /// Messages of one such stream do not overtake each other (MPI 5.0, 3.5), so both sides
        /// have the same number. [`NONE`] if the recorder had no room to count the stream.
        ordinal "number",
        /// The transport of the message: a [`MessageTransport`](super::MessageTransport) as a
        /// number.
        road "number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comes_back<R: Row + PartialEq + std::fmt::Debug>() {
        let words: Vec<u64> = (1..).take(R::COLUMNS.len()).collect();
        let row = R::from_words(&words).unwrap();
        assert_eq!(row.words().collect::<Vec<_>>(), words, "{}", R::TABLE);
        assert_eq!(R::from_words(&words[1..]), None);
    }

    #[test]
    fn a_row_is_its_words() {
        comes_back::<SliceRow>();
        comes_back::<StrobeRow>();
        comes_back::<LocalSliceRow>();
        comes_back::<CallRow>();
        comes_back::<MessageRow>();
    }
}

//! Tables of figures: what is kept in the order in which it happened.
//!
//! All members of a row are `u64`, so that a table is as many columns of words, in memory as in a file. A time that
//! there was none of (a microphase that was skipped) and a number of nothing (the peer of a barrier) is [`NONE`].

/// The figure of what there was none of.
pub const NONE: u64 = u64::MAX;

/// What a column is called and counted in.
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
    /// What the words of a row are.
    const COLUMNS: &'static [Column];

    /// The words of the row, in the order of the columns.
    fn words(&self) -> impl Iterator<Item = u64>;

    /// The row of these words; nothing if they are not as many as there are columns.
    fn from_words(words: &[u64]) -> Option<Self>;
}

/// A line for each member: its name and unit. The first line is the name of the table.
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
    /// A struck slice on one node: Table 5.2, gathered by the Strobe Receiver. Slices that are missing in the order of
    /// numbers were not struck: no node had work. Times are read where the node's NIC runs: when its Strobe Receiver
    /// takes a microstrobe, and when it has heard from all its threads.
    SliceRow "slices" {
        /// The number of the slice.
        slice "number",
        /// When the strobe arrived.
        strobe_ns "ns",
        /// LETTS: from the strobe of the struck slice before; [`NONE`] in the first.
        letts_ns "ns",
        /// LTDEM: the descriptor exchange microphase, from its microstrobe until this node has finished it.
        ltdem_ns "ns",
        /// LTMSM (LMSM is a misprint): the message scheduling microphase. [`NONE`], as of the ones below, if no node
        /// needed it.
        ltmsm_ns "ns",
        /// The point-to-point microphase (one of LTRi).
        ltpm_ns "ns",
        /// The broadcast and barrier microphase (one of LTRi).
        ltbbm_ns "ns",
        /// The reduce microphase (one of LTRi).
        ltrm_ns "ns",
        /// LTTS: from the strobe to the end of the last microphase on this node.
        ltts_ns "ns",
        /// NP2PDEM: descriptors of sends and of receives that this node took from the rings of its ranks in the DEM.
        /// Probes and cancels are not among them.
        np2pdem "count",
        /// NP2PMSM: messages into this node that got bytes (or their end) scheduled in the MSM. A message that takes
        /// several slices counts in each.
        np2pmsm "count",
        /// NCOLLDEM (NCOLLMSN is a misprint): collectives of which this node took its last arrival in the DEM.
        ncolldem "count",
        /// NCOLLMSM: collectives with members on this node that were granted steps in the MSM, by whichever node. A
        /// collective that takes several slices counts in each.
        ncollmsm "count",
        /// BPTS: processes of this node that were blocked during the slice: they had said, when the cut was taken,
        /// that they wait in a call, whether they slept or were awake. Who waits for its own node says so when it has
        /// looked for 20 µs.
        bpts "count",
        /// LTRi: time in the routines of the Strobe Receiver, from the strobe to the next one.
        ltr_sr_ns "ns",
        /// LTRi: time in the routines of the Buffer Sender, until it has finished the DEM. What a thread does
        /// after it has finished its last microphase in a slice counts when it finishes one again; so it does below.
        ltr_bs_ns "ns",
        /// LTRi: time in the routines of the Buffer Receiver.
        ltr_br_ns "ns",
        /// LTRi: time in the routines of the DMA Helper.
        ltr_dh_ns "ns",
        /// LTRi: time in the routines of the Collective Helper.
        ltr_ch_ns "ns",
        /// LTRi: time in the routines of the Reduce Helper.
        ltr_rh_ns "ns",
        /// What messages might move into this node in the slice: its budget without what is kept for the collectives
        /// that may be granted in it.
        budget_bytes "bytes",
        /// Data of messages that were scheduled to move into this node. Data that came with descriptors (64 bytes at
        /// most) are not moved, here and below.
        scheduled_bytes "bytes",
        /// Data of messages that had met their receives and were left for later slices.
        carried_bytes "bytes",
        /// Receives posted on this node that no message has met, when it had finished the MSM (or the DEM, if there
        /// was no MSM); so it is below.
        receives_waiting "count",
        /// Messages for this node that no receive has met.
        messages_waiting "count",
        /// Collectives that members on this node have entered and that are not granted in full.
        collectives_waiting "count",
        /// 1 if the slice was demanded, 0 if it was struck by the clock.
        demanded "count",
    }
}

rows! {
    /// A struck slice for the whole job: Table 5.1, gathered by the Strobe Sender. It looks whether all nodes have
    /// finished a microphase as soon as it has been strobed, and again each time when nodes have reported since.
    StrobeRow "strobes" {
        /// The number of the slice.
        slice "number",
        /// When the strobe was sent.
        strobe_ns "ns",
        /// GETTS: from the strobe of the struck slice before; [`NONE`] in the first.
        getts_ns "ns",
        /// GTDEM: from the strobe until all nodes had finished the descriptor exchange microphase.
        gtdem_ns "ns",
        /// GTMSM: the same of the message scheduling microphase, from its microstrobe; [`NONE`] if no node needed it.
        gtmsm_ns "ns",
        /// GTTS: from the strobe until all nodes had finished the slice.
        gtts_ns "ns",
        /// USRSTS: looks at whether all nodes had finished what the slice was at that came out false, in all its
        /// microphases.
        usrsts "count",
        /// USRDEM: looks at whether all nodes had finished the DEM that came out false.
        usrdem "count",
        /// USRMSM: looks at whether all nodes had finished the MSM that came out false.
        usrmsm "count",
        /// 1 if the slice was demanded, 0 if it was struck by the clock.
        demanded "count",
        /// The length of a time slice in force: with `--strobe auto` what was chosen, else what is set.
        length_ns "ns",
    }
}

rows! {
    /// What a rank did by SMARTMAP in one slice of the clock, which no NIC sees. Slices in which it did nothing are
    /// missing.
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
    /// A call of a rank. The outermost one counts: what the library calls itself is no row.
    CallRow "calls" {
        /// When the call began.
        begun_ns "ns",
        /// When it returned; [`NONE`] if it never did.
        ended_ns "ns",
        /// The number of the slice in which it began.
        slice "number",
        /// Which call: a place in [`Primitive::ALL`](crate::mmds::Primitive::ALL).
        primitive "number",
        /// From where: a place in [`RankDump::sites`](super::RankDump::sites).
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
        /// From where it was posted: a place in [`RankDump::sites`](super::RankDump::sites).
        site "number",
        /// The context id of the communicator.
        context "number",
        /// The rank in `MPI_COMM_WORLD` of the other side.
        peer "number",
        /// The tag.
        tag "number",
        /// Its length.
        bytes "bytes",
        /// It is the n-th message of this pair of ranks, context and tag, from 0. Messages of one such stream do not
        /// overtake each other (MPI 5.0, 3.5), so this is the same number on both sides. [`NONE`] if the recorder had
        /// no room to count the stream.
        ordinal "number",
        /// The road that it took: a [`Road`](super::Road) as a number.
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

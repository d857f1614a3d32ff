//! Messages about datagrams that are not of the job: at most two lines for each node manager,
//! however many come.

use bcs_fabric::udp::RejectedDatagrams;
use std::net::SocketAddr;

/// Returns the message about the first one.
pub(crate) fn first_stray_text(who: &str, strays: &RejectedDatagrams) -> String {
    let from = from("", strays.from);
    format!(
        "{who} gets datagrams that are not of this job{from}: it drops them, and says at the end how many"
    )
}

/// Returns the message about their number.
pub(crate) fn stray_total_text(who: &str, strays: &RejectedDatagrams) -> String {
    let all = strays.suspicious();
    let from = from("the last one ", strays.from);
    format!("{who} has dropped {all} datagrams that are not of this job{from}: {strays}")
}

fn from(which: &str, address: Option<SocketAddr>) -> String {
    address.map_or_else(String::new, |address| format!(", {which}from {address}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_counted_by_kind_and_their_source_is_named() {
        let strays = RejectedDatagrams {
            foreign: 1,
            bad_tag: 20,
            malformed: 0,
            repeated: 7,
            from: Some(([10, 1, 2, 3], 4567).into()),
        };
        assert_eq!(
            first_stray_text("node 1", &strays),
            "node 1 gets datagrams that are not of this job, from 10.1.2.3:4567: it drops them, and says at the end \
             how many"
        );
        assert_eq!(
            stray_total_text("node 1", &strays),
            "node 1 has dropped 21 datagrams that are not of this job, the last one from 10.1.2.3:4567: 1 from no node \
             of it, 20 with a wrong tag, 0 malformed; 7 had come before"
        );
    }
}

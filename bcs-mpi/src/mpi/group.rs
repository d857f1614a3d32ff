//! Groups (MPI 5.0, 7.3): ordered sets of processes. They are values of one process; nothing here
//! communicates.

use super::error::{ErrorClass, Operation};
use super::{AttachedBuffer, PROC_NULL, Result, UNDEFINED};
use std::collections::{HashMap, HashSet};

/// An ordered set of processes, which are named by their ranks in the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    members: Vec<u32>,
    /// The world rank of this process, whether or not it is a member.
    this_process: u32,
    /// The buffer of the session that it stems from, if it stems from one.
    session: Option<AttachedBuffer>,
}

/// How two groups or communicators compare (MPI 5.0, 7.3.1 and 7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `MPI_IDENT`: the same members in the same order; of communicators, the same one.
    Identical,
    /// `MPI_CONGRUENT`: of communicators, identical groups and different contexts.
    Congruent,
    /// `MPI_SIMILAR`: the same members in another order.
    Similar,
    /// `MPI_UNEQUAL`: neither.
    Unequal,
}

/// First rank, last rank and stride of a range, as in `MPI_Group_range_incl`.
pub type Range = (i32, i32, i32);

impl Group {
    pub(super) fn new(members: Vec<u32>, this_process: u32) -> Self {
        Self {
            members,
            this_process,
            session: None,
        }
    }

    /// Returns the same for a session. Communicators that are made of the group use the session's
    /// buffer.
    #[must_use]
    pub fn of_session(self, buffer: &AttachedBuffer) -> Self {
        let session = Some(buffer.clone());
        Self { session, ..self }
    }

    /// Returns the buffer of the session that it stems from.
    pub(super) fn session(&self) -> Option<&AttachedBuffer> {
        self.session.as_ref()
    }

    /// `MPI_Group_size`: returns the number of members.
    #[must_use]
    pub fn size(&self) -> i32 {
        as_rank(self.members.len())
    }

    /// `MPI_Group_rank`: returns this process's rank, if it is a member.
    #[must_use]
    pub fn rank(&self) -> Option<i32> {
        let me = self.members.iter().position(|&m| m == self.this_process);
        me.map(as_rank)
    }

    /// Returns the world ranks of the members, in order.
    #[must_use]
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// `MPI_Group_translate_ranks`: returns the ranks in `other` of these ranks; [`UNDEFINED`] for
    /// those that are not in it. [`PROC_NULL`] stays unchanged.
    ///
    /// # Errors
    /// When there is no such rank here.
    pub fn translate(&self, ranks: &[i32], other: &Self) -> Result<Vec<i32>> {
        let operation = Operation::plain("MPI_Group_translate_ranks");
        let places = other.places();
        let translate = |&rank: &i32| match rank {
            PROC_NULL => Ok(PROC_NULL),
            rank => {
                let member = self.members[self.place(rank, operation)?];
                Ok(places
                    .get(&member)
                    .map_or(UNDEFINED, |&place| as_rank(place)))
            }
        };
        ranks.iter().map(translate).collect()
    }

    /// Returns the ranks in `other` of all members.
    pub(super) fn translate_all(&self, other: &Self) -> Vec<i32> {
        let places = other.places();
        let translate = |member| {
            places
                .get(member)
                .map_or(UNDEFINED, |&place| as_rank(place))
        };
        self.members.iter().map(translate).collect()
    }

    /// `MPI_Group_compare`: never [`Comparison::Congruent`].
    #[must_use]
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.members == other.members {
            return Comparison::Identical;
        }
        let set = |group: &Self| -> HashSet<u32> { group.members.iter().copied().collect() };
        if set(self) == set(other) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    /// `MPI_Group_union`: the members of this one, and then those of the other that are not in it.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let places = self.places();
        let more = other.members.iter().filter(|m| !places.contains_key(m));
        self.with(self.members.iter().chain(more).copied())
    }

    /// `MPI_Group_intersection`: the members of this one that are in the other.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let places = other.places();
        let both = self.members.iter().filter(|m| places.contains_key(m));
        self.with(both.copied())
    }

    /// `MPI_Group_difference`: the members of this one that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let places = other.places();
        let only = self.members.iter().filter(|m| !places.contains_key(m));
        self.with(only.copied())
    }

    /// `MPI_Group_incl`: these ranks, in this order.
    ///
    /// # Errors
    /// When there is no such rank, or one is named twice.
    pub fn include(&self, ranks: &[i32]) -> Result<Self> {
        let places = self.distinct(ranks.iter().copied(), Operation::plain("MPI_Group_incl"))?;
        Ok(self.with(places.into_iter().map(|place| self.members[place])))
    }

    /// `MPI_Group_excl`: all but these ranks, in the order of this group.
    ///
    /// # Errors
    /// As [`include`](Self::include).
    pub fn exclude(&self, ranks: &[i32]) -> Result<Self> {
        let places = self.distinct(ranks.iter().copied(), Operation::plain("MPI_Group_excl"))?;
        Ok(self.without(&places))
    }

    /// `MPI_Group_range_incl`: the ranks of these ranges, in this order.
    ///
    /// # Errors
    /// When a stride is 0, there is no such rank, or one is named twice.
    pub fn include_ranges(&self, ranges: &[Range]) -> Result<Self> {
        let operation = Operation::plain("MPI_Group_range_incl");
        let places = self.distinct(self.ranks_of(ranges, operation)?, operation)?;
        Ok(self.with(places.into_iter().map(|place| self.members[place])))
    }

    /// `MPI_Group_range_excl`: all but the ranks of these ranges, in the order of this group.
    ///
    /// # Errors
    /// As [`include_ranges`](Self::include_ranges).
    pub fn exclude_ranges(&self, ranges: &[Range]) -> Result<Self> {
        let operation = Operation::plain("MPI_Group_range_excl");
        let places = self.distinct(self.ranks_of(ranges, operation)?, operation)?;
        Ok(self.without(&places))
    }

    fn with(&self, members: impl Iterator<Item = u32>) -> Self {
        let session = self.session.clone();
        Self {
            session,
            ..Self::new(members.collect(), self.this_process)
        }
    }

    fn without(&self, places: &[usize]) -> Self {
        let left_out: HashSet<usize> = places.iter().copied().collect();
        let members = self.members.iter().enumerate();
        let stays = members.filter(|(place, _)| !left_out.contains(place));
        self.with(stays.map(|(_, &member)| member))
    }

    fn places(&self) -> HashMap<u32, usize> {
        let numbered = self.members.iter().enumerate();
        numbered.map(|(place, &member)| (member, place)).collect()
    }

    fn place(&self, rank: i32, operation: Operation) -> Result<usize> {
        let place = usize::try_from(rank).ok();
        place.filter(|&p| p < self.members.len()).ok_or_else(|| {
            let reason = match self.members.len() {
                0 => format!("the group is empty and has no rank {rank}"),
                size => format!("the group has no rank {rank}, but 0 to {}", size - 1),
            };
            operation.error(ErrorClass::Rank, reason)
        })
    }

    fn distinct(
        &self,
        ranks: impl IntoIterator<Item = i32>,
        operation: Operation,
    ) -> Result<Vec<usize>> {
        let mut seen = HashSet::new();
        let place = |rank| {
            let place = self.place(rank, operation)?;
            if seen.insert(place) {
                return Ok(place);
            }
            Err(operation.error(ErrorClass::Rank, format!("rank {rank} is named twice")))
        };
        ranks.into_iter().map(place).collect()
    }

    /// Returns the ranks of ranges. Each must be a rank of this group, so their number is bounded.
    fn ranks_of(&self, ranges: &[Range], operation: Operation) -> Result<Vec<i32>> {
        let mut ranks = Vec::new();
        for &(first, last, stride) in ranges {
            let (from, to, step) = (i64::from(first), i64::from(last), i64::from(stride));
            let steps = (to - from).checked_div(step).ok_or_else(|| {
                let reason = format!("the stride of the range from {first} to {last} is 0");
                operation.error(ErrorClass::Arg, reason)
            })?;
            for index in 0..=steps {
                let rank = i32::try_from(from + index * step).expect("between two of 32 bits");
                self.place(rank, operation)?;
                ranks.push(rank);
            }
        }
        Ok(ranks)
    }
}

/// Returns a place as a rank of MPI.
pub(super) fn as_rank(place: usize) -> i32 {
    i32::try_from(place).expect("MAX_RANKS fits i32")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(members: impl IntoIterator<Item = u32>) -> Group {
        Group::new(members.into_iter().collect(), 3)
    }

    #[test]
    fn sets_keep_the_order_of_the_standard() {
        let (one, other) = (group([4, 2, 3, 0]), group([0, 7, 2, 9]));
        assert_eq!(one.union(&other), group([4, 2, 3, 0, 7, 9]));
        assert_eq!(one.intersection(&other), group([2, 0]));
        assert_eq!(one.difference(&other), group([4, 3]));
        assert_eq!((one.rank(), other.rank()), (Some(2), None));
    }

    #[test]
    fn groups_compare() {
        let one = group([1, 2, 3]);
        assert_eq!(one.compare(&group([1, 2, 3])), Comparison::Identical);
        assert_eq!(one.compare(&group([3, 2, 1])), Comparison::Similar);
        assert_eq!(one.compare(&group([1, 2])), Comparison::Unequal);
        assert_eq!(one.compare(&group([1, 2, 4])), Comparison::Unequal);
    }

    #[test]
    fn ranks_are_included_excluded_and_translated() {
        let ten = group(10..20);
        assert_eq!(ten.include(&[9, 0, 4]).unwrap(), group([19, 10, 14]));
        assert_eq!(
            ten.exclude(&[9, 0, 4]).unwrap(),
            group([11, 12, 13, 15, 16, 17, 18])
        );
        let other = group([12, 11]);
        let translated = ten.translate(&[1, PROC_NULL, 2, 3], &other).unwrap();
        assert_eq!(translated, [1, PROC_NULL, 0, UNDEFINED]);
        assert_eq!(ten.include(&[]).unwrap().size(), 0);
    }

    /// Checks the example of the standard, and ranges that go down or hold one rank.
    #[test]
    fn ranges_go_up_and_down() {
        let ten = group(0..10);
        let ranges = [(6, 7, 1), (1, 6, 2), (0, 9, 4)];
        assert!(ten.include_ranges(&ranges).is_ok());
        assert_eq!(
            ten.include_ranges(&[(6, 7, 1), (1, 5, 2)]).unwrap(),
            group([6, 7, 1, 3, 5])
        );
        assert_eq!(
            ten.include_ranges(&[(9, 0, -3)]).unwrap(),
            group([9, 6, 3, 0])
        );
        assert_eq!(
            ten.include_ranges(&[(2, 2, 7), (5, 4, 1)]).unwrap(),
            group([2])
        );
        assert_eq!(ten.exclude_ranges(&[(8, 1, -1)]).unwrap(), group([0, 9]));
    }

    #[test]
    fn what_cannot_be_says_why() {
        let three = group(0..3);
        let message = |result: Result<Group>| {
            let error = result.unwrap_err();
            (error.class, error.of_itself())
        };
        let (class, text) = message(three.include(&[0, 3]));
        assert_eq!(class, ErrorClass::Rank);
        assert_eq!(
            text,
            "failed to MPI_Group_incl: the group has no rank 3, but 0 to 2"
        );
        let (class, text) = message(three.exclude(&[1, 1]));
        assert_eq!(class, ErrorClass::Rank);
        assert!(text.ends_with("rank 1 is named twice"), "{text}");
        let (class, text) = message(three.include_ranges(&[(0, 2, 0)]));
        assert_eq!(class, ErrorClass::Arg);
        assert!(text.ends_with("the range from 0 to 2 is 0"), "{text}");
        let (class, _) = message(three.include_ranges(&[(0, i32::MAX, 1)]));
        assert_eq!(class, ErrorClass::Rank);
        let (_, text) = message(group([]).include(&[0]));
        assert!(
            text.ends_with("the group is empty and has no rank 0"),
            "{text}"
        );
    }
}

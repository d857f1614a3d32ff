//! The result in words.

use super::race::Standing;
use super::results::{Results, SettingResult};
use super::setting::Setting;
use std::fmt::Write as _;

/// Returns which setting to use and why, which settings fail, or that there is no difference.
#[must_use]
pub fn verdict(results: &Results) -> String {
    let mut text = String::new();
    let mut say = |line: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line}");
    };
    failures(results).iter().for_each(|line| say(line));
    if !results.is_whole {
        say("Ended before it was clear: this is what was known.");
    }
    say(&choice(results));
    if let Some(line) = as_good(results) {
        say(&line);
    }
    results.reasons.iter().for_each(|line| say(line));
    text
}

/// Formats a setting as on a command line.
#[must_use]
pub fn typed(results: &Results, setting: &Setting) -> String {
    let options = results.options(setting);
    let options: Vec<String> = options
        .iter()
        .map(|(name, value)| match value.contains(' ') {
            true => format!("--{name} '{value}'"),
            false => format!("--{name} {value}"),
        })
        .collect();
    options.join(" ")
}

fn failures(results: &Results) -> Vec<String> {
    let failed = |row: &SettingResult| {
        let failure = row.failures.first()?;
        let who = match &row.setting {
            Some(setting) => typed(results, setting),
            None => results.against.clone().unwrap_or_default(),
        };
        let (failed, all) = (row.failures.len(), row.failures.len() + row.seconds.len());
        let code = failure.exit_code;
        let said = failure
            .last_words
            .lines()
            .last()
            .unwrap_or("it said nothing");
        Some(format!(
            "{who}: {failed} of {all} runs failed, with exit code {code}: {said}"
        ))
    };
    results.rows.iter().filter_map(failed).collect()
}

fn choice(results: &Results) -> String {
    let Some((best, setting)) = results.best() else {
        return "No setting has run to its end.".to_owned();
    };
    let median = best.median().unwrap_or_default();
    let noise = percent(results.noise.unwrap_or_default());
    if !results.differ {
        let slowest = results.rows.iter().filter(|row| row.setting.is_some());
        let slowest = slowest
            .filter_map(SettingResult::median)
            .fold(median, f64::max);
        let will_do = match results.stays() {
            true => format!(
                " What is in effect ({}) will do.",
                typed(results, &results.in_effect)
            ),
            false => String::new(),
        };
        return format!(
            "No difference: medians are at most {} % apart, and run times of one setting differ by {noise} % \
             (standard deviation).{will_do}",
            percent(slowest / median - 1.0),
        );
    }
    if let (true, Some(now)) = (
        results.stays() && results.in_effect != setting,
        results.now().and_then(SettingResult::median),
    ) {
        return format!(
            "Stay with what is in effect ({}): {now:.4} s. The fastest, {}, takes {median:.4} s, {} % less, which noise could \
             have made.",
            typed(results, &results.in_effect),
            typed(results, &setting),
            percent(1.0 - median / now)
        );
    }
    if results.choice().is_none() {
        let setting = typed(results, &setting);
        return format!("None is recommended: the fastest, {setting}, has failed in its last run.");
    }
    let gain = match results.now().and_then(SettingResult::median) {
        Some(now) if results.in_effect != setting => format!(
            ", {} % less than the {now:.4} s of what is in effect ({})",
            percent(1.0 - median / now),
            typed(results, &results.in_effect)
        ),
        Some(_) => ", as is in effect".to_owned(),
        None => String::new(),
    };
    format!(
        "Use {}: {median:.4} s (median of {} runs){gain}.",
        typed(results, &setting),
        best.seconds.len()
    )
}

/// Describes the settings that may be as fast.
fn as_good(results: &Results) -> Option<String> {
    let others = results
        .rows
        .iter()
        .filter(|row| row.standing == Standing::AsGood && row.setting != Some(results.in_effect));
    let others: Vec<String> = others
        .filter_map(|row| Some(typed(results, &row.setting?)))
        .collect();
    (results.differ && !others.is_empty()).then(|| {
        format!(
            "Noise could have made the difference to {} (run times of one setting differ by {} %).",
            others.join(", "),
            percent(results.noise.unwrap_or_default())
        )
    })
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::sample;
    use super::*;

    #[test]
    fn the_fastest_is_named_with_its_gain_its_rivals_and_what_fails() {
        assert_eq!(
            verdict(&sample()),
            "--strobe fixed --time-slice 5ms: 1 of 2 runs failed, with exit code 124: bcs: the time of --timeout was \
             over\n\
             Use --strobe fixed --time-slice 50us: 1.0100 s (median of 3 runs), 19.2 % less than the 1.2500 s of what \
             is in effect (--strobe fixed --time-slice 500us).\n\
             Noise could have made the difference to --strobe elastic --time-slice 500us (run times of one setting \
             differ by 1.2 %).\n\
             Ranks compute for 3 ms.\n"
        );
    }

    #[test]
    fn what_is_in_effect_stays_unless_something_is_better_beyond_noise() {
        let mut results = sample();
        // 18 % behind in the median, and not certainly slower.
        results.rows[1].standing = Standing::AsGood;
        assert_eq!(results.choice(), Some(results.in_effect));
        let text = verdict(&results);
        assert!(
            text.contains(
                "Stay with what is in effect (--strobe fixed --time-slice 500us): 1.2500 s. The fastest, --strobe \
                 fixed --time-slice 50us, takes 1.0100 s, 19.2 % less, which noise could have made."
            ),
            "{text}"
        );
        assert!(!text.contains("Use "), "{text}");
        // A setting without run times must not be recommended.
        results.rows[1].seconds.clear();
        results.differ = false;
        let text = verdict(&results);
        assert!(!text.contains("will do"), "{text}");
    }

    #[test]
    fn where_noise_could_have_made_it_there_is_no_difference() {
        let flat = Results {
            differ: false,
            is_whole: false,
            ..sample()
        };
        let text = verdict(&flat);
        assert!(text.contains("Ended before it was clear"), "{text}");
        assert!(
            text.contains("No difference: medians are at most"),
            "{text}"
        );
        let none = Results {
            best: None,
            ..sample()
        };
        assert!(verdict(&none).contains("No setting has run to its end."));
    }
}

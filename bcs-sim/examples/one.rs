//! tmp
fn main() {
    let a: Vec<u64> = std::env::args()
        .skip(1)
        .map(|w| w.parse().unwrap())
        .collect();
    let faults = if a.get(2) == Some(&1) {
        bcs_sim::stack::Faults::ALL
    } else {
        bcs_sim::stack::Faults::NONE
    };
    for seed in a[0]..a[1] {
        let t = std::time::Instant::now();
        eprintln!("seed {seed}");
        let r = bcs_sim::stack::run(&bcs_sim::stack::Options { seed, faults });
        println!("{seed} {:?} {:?}", t.elapsed(), r);
    }
}

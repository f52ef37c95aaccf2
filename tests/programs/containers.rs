// containers [N] - Rust collections, strings, boxes, Arcs and threads; the same every time.
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::rc::Rc;
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

type FixedMap = HashMap<u64, String, BuildHasherDefault<DefaultHasher>>; // no random seed

fn fill(n: u64) -> u64 {
    let mut by_name: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut by_number = FixedMap::default();
    let mut words = BTreeSet::new();
    let mut queue = VecDeque::new();
    let mut boxed: Vec<Box<dyn Fn(u64) -> u64>> = Vec::new();
    for i in 0..n {
        by_name.entry(format!("name number {}", i % (n / 3 + 1))).or_default().push(i);
        by_number.insert(i * 7919, "v".repeat((i % 90) as usize));
        words.insert(format!("{}-word", i * 31));
        queue.push_back(Rc::new(vec![i; (i % 17) as usize]));
        let text = "f".repeat((i % 50) as usize);
        boxed.push(Box::new(move |x| x + i + text.len() as u64));
        if i % 3 == 0 {
            queue.pop_front();
        }
    }
    let sum: u64 = boxed.iter().map(|f| f(1)).sum();
    sum + (by_name.len() + by_number.len() + words.len() + queue.len()) as u64
}

fn main() {
    let n: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(20_000);
    let total = Arc::new(Mutex::new(0u64));
    let threads: Vec<_> = (1..4)
        .map(|i| {
            let total = Arc::clone(&total);
            thread::spawn(move || *total.lock().unwrap() += fill(n / (i + 1)))
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    let (sender, receiver) = mpsc::channel();
    for i in 0..n {
        sender.send(i.to_string()).unwrap(); // blocks pass through the channel
    }
    drop(sender);
    let received: usize = receiver.iter().map(|s: String| s.len()).sum();
    let mut lines: Vec<String> = (0..n).map(|i| format!("{:>20}", (i * 48271) % 65537)).collect();
    lines.sort();
    println!("{} {} {} {}", total.lock().unwrap(), received, fill(n), lines[n as usize / 2]);
}

// crates maps ROUNDS | crates server REQUESTS - a Rust program on the allocator of counted.rs.
//
// maps: four threads fill maps and vectors. server: a tokio server answers requests over loopback.
// Prints: allocations, reallocations, frees, bytes; then an answer that shows that the program works.
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use counted::COUNTS;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[repr(align(128))]
struct Wide(#[allow(dead_code)] [u8; 300]);

#[inline(never)]
fn fill_maps(n: usize) -> usize {
    let mut words: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut wide = Vec::new();
    for i in 0..n {
        words.entry(format!("word {}", i % 97)).or_default().push(i as u32);
        if i % 10 == 0 {
            wide.push(Box::new(Wide([1; 300])));
        }
        if i % 1000 == 999 {
            wide.clear();
        }
    }
    words.len() + wide.len() + vec![0u64; n + 1].len()
}

fn maps(n: usize) -> usize {
    let threads: Vec<_> = (1..5).map(|i| std::thread::spawn(move || fill_maps(n * i / 4))).collect();
    threads.into_iter().map(|t| t.join().unwrap()).sum()
}

#[inline(never)]
async fn answer(mut peer: TcpStream) {
    let mut line = [0u8; 64];
    while peer.read_exact(&mut line).await.is_ok() {
        let reply: Vec<u8> = line.iter().rev().copied().collect();
        if peer.write_all(&reply).await.is_err() {
            return;
        }
    }
}

async fn ask(address: std::net::SocketAddr, n: usize) -> usize {
    let mut peer = TcpStream::connect(address).await.unwrap();
    let mut got = 0;
    for i in 0..n {
        let line = [i as u8; 64];
        peer.write_all(&line).await.unwrap();
        let mut reply = vec![0u8; 64];
        peer.read_exact(&mut reply).await.unwrap();
        got += (reply[0] == i as u8) as usize;
    }
    got
}

fn server(n: usize) -> usize {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let accept = tokio::spawn(async move {
            loop {
                let (peer, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(peer));
            }
        });
        let clients: Vec<_> = (0..8).map(|_| tokio::spawn(ask(address, n))).collect();
        let mut got = 0;
        for c in clients {
            got += c.await.unwrap();
        }
        accept.abort();
        got
    })
}

fn main() {
    let mut args = std::env::args().skip(1);
    let what = args.next().unwrap_or_default();
    let n: usize = args.next().and_then(|a| a.parse().ok()).unwrap_or(0);
    let result = if what == "server" { server(n) } else { maps(n) };
    let counts: Vec<u64> = COUNTS.iter().map(|c| c.load(Relaxed)).collect();
    println!("{} {} {} {}", counts[0], counts[1], counts[2], counts[3]);
    println!("{result}");
    std::process::exit(9);
}

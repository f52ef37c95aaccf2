// Allocates from closures, generics, trait methods. Sizes are the places' own; see known_names.cpp.

// Hides where a value comes from. std::hint has it too, but not in the compiler of Debian 12.
#[inline(always)]
fn black_box<T>(value: T) -> T {
    unsafe {
        let same = std::ptr::read_volatile(&value);
        std::mem::forget(value);
        same
    }
}

trait Shape {
    fn outline(&self) -> Vec<u8>;
}

struct Square(usize);

impl Shape for Square {
    #[inline(never)]
    fn outline(&self) -> Vec<u8> {
        black_box(Vec::with_capacity(self.0)) // place:outline
    }
}

#[inline(never)]
fn generic_make<T: Clone + Default>(n: usize) -> Vec<T> {
    black_box(vec![T::default(); n]) // place:generic_make
}

#[inline(never)]
fn apply<F: Fn(usize) -> Box<[u8]>>(f: F, n: usize) -> Box<[u8]> {
    black_box(f(n)) // place:apply
}

#[inline(always)]
fn inlined_make(n: usize) -> Vec<u16> {
    black_box(Vec::with_capacity(n)) // place:inlined_make
}

#[inline(never)]
fn calls_inlined() -> Vec<u16> {
    inlined_make(1050) // place:calls_inlined
}

fn main() {
    let a = Square(2000).outline();
    let b = generic_make::<u64>(275); // 2200 bytes
    let c = apply(
        |n| vec![1u8; n].into_boxed_slice(), // place:closure
        2300,
    );
    let d = calls_inlined(); // 2100 bytes
    black_box((a.capacity(), b.len(), c.len(), d.capacity()));
}

cat >p.rs <<'RS'
use std::ptr::read_volatile;
trait Work { fn work(&self, n: u64) -> u64; }
struct Adder;
impl Work for Adder {
    #[inline(never)]
    fn work(&self, n: u64) -> u64 { let mut s = 0u64; for i in 0..n { s = s.wrapping_mul(6364136223846793005).wrapping_add(i); } s }
}
#[inline(never)]
fn through(w: &dyn Work) -> u64 { let r = w.work(80_000_000); unsafe { read_volatile(&r) } }
fn main() { println!("{}", through(&Adder)); }
RS
for how in legacy v0; do
	# the older kind has to be asked for as if this were a compiler in the making
	RUSTC_BOOTSTRAP=1 rustc -C opt-level=1 -C debuginfo=0 -Z unstable-options -C symbol-mangling-version=$how -o p p.rs
	"$COATI" record -q -o p.data -- ./p >sum
	"$COATI" report -q -i p.data --csv | sed -n '2s/,p,.*//p'
	"$COATI" report -q -i p.data --callers '*work' | grep -o -e '  *p::through  p$' -e '  *p::main  p$' | sed 's/^ *//'
done

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cleanName, exactRegex, frameLocation, splitName } from '../../model/names';

test('the last two parts of a name are its title', () => {
  const cases: [string, string, string][] = [
    [
      'basalt_net::gossip::seen::SeenCache::remember',
      'basalt_net::gossip::seen::',
      'SeenCache::remember',
    ],
    ['main', '', 'main'],
    ['Server::render[abi:cxx11](Session const&)', '', 'Server::render'],
    ['py::Store.add:/srv/app/store.py', '', 'Store.add'],
    ['py::<module>:/srv/app/main.py', '', '<module>'],
    ['std::vector<int>::push_back(int const&)', 'std::', 'vector<int>::push_back'],
    ['a::b::c::{{closure}}', 'a::', 'b::c::{closure}'],
    ['a::net::serve::{{closure}}::{{closure}}::{{closure}}', 'a::', 'net::serve::{closure ×3}'],
    ['a::net::serve::{async_fn#0}::{closure#1}', 'a::', 'net::serve::{closure ×2}'],
    ['a::{closure}::b::c', 'a::{closure}::', 'b::c'],
    ['<node::store::Node as node::store::Decode>::decode', 'node::store::', 'Node::decode'],
    ['<alloc::vec::Vec<T,A> as core::Extend<T>>::extend', 'alloc::vec::', 'Vec<T,A>::extend'],
    ['<T as core::convert::Into<U>>::into', 'core::convert::', 'Into<U>::into'],
    ['<&mut R as std::io::Read>::read', 'std::io::', 'Read::read'],
    ['<str as alloc::borrow::ToOwned>::to_owned', '', 'str::to_owned'],
    ['<alloc::alloc::Global>::alloc_impl', 'alloc::alloc::', 'Global::alloc_impl'],
    ['<F as a::Fn<(A) -> B>>::call::{{closure}}', 'a::', 'Fn<(A) -> B>::call::{closure}'],
    ['<impl core::fmt::Debug for a::B>::fmt', 'a::', 'B::fmt'],
    ['alloc::slice::<impl [T]>::repeat', '', '[T]::repeat'],
    ['t::worker::<impl t::handle::Handle>::shut', 't::handle::', 'Handle::shut'],
    ['operator new(unsigned long)', '', 'operator new'],
    ['Foo::operator()(int) const', '', 'Foo::operator()'],
    ['(anonymous namespace)::f()', '', '(anonymous namespace)::f'],
    ['void std::construct<int, long>(int*, long)', '', 'std::construct<int, long>'],
    ['a::P<A> a::b::make<A>(int const&)', 'a::', 'b::make<A>'],
    ['Foo::operator bool() const', '', 'Foo::operator bool'],
    ['bool operator<(A const&, B const&)', '', 'operator<'],
    ['std::ostream& std::operator<< <char>(std::ostream&)', '', 'std::operator<< <char>'],
    ['decltype(auto) f<int>(int)', '', 'f<int>'],
    ['non-virtual thunk to A::f()', '', 'non-virtual thunk to A::f'],
  ];
  for (const [name, path, last] of cases) assert.deepEqual(splitName(name), [path, last]);
});

test('hashes go, long arguments fold', () => {
  assert.equal(cleanName('core::ptr::drop::h0123456789abcdef'), 'core::ptr::drop');
  assert.equal(cleanName('f<int>'), 'f<int>');
  assert.equal(cleanName('f<std::map<std::string, std::vector<int>>>'), 'f<…>');
  assert.equal(cleanName('std::operator<< <char>'), 'std::operator<< <char>');
});

test('an exact expression matches its own text only', () => {
  const re = new RegExp(exactRegex('f(a, b)[c]*'));
  assert.ok(re.test('f(a, b)[c]*'));
  assert.ok(!re.test('xf(a, b)[c]*'));
});

test('a location says what the name does not', () => {
  const of = (more: object) =>
    frameLocation({
      function: null,
      source: null,
      line: null,
      module: '/lib/libx.so.1',
      address: '0x1234',
      class: 'library',
      ...more,
    });
  assert.equal(of({ function: 'f', source: '/src/seen.rs', line: 214 }), 'seen.rs:214');
  assert.equal(of({ function: 'f' }), 'libx.so.1');
  assert.equal(of({ module_offset: '0x34' }), ''); // called libx.so.1+0x34
  assert.equal(of({}), 'libx.so.1'); // called 0x1234
  assert.equal(of({ function: 'py::add:/srv/store.py', module: null }), 'store.py');
});

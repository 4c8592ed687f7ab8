#include "pass/engine/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/tiers.h"

namespace frazil::test {
namespace {

using testing::HasSubstr;

bool keep_all(const Graph&, NodeId) { return true; }

struct Passed {
  Graph graph;
  std::vector<pass::PassRun> runs;
};
Passed through(PassSet set, const Graph& graph) {
  Passed passed;
  auto made = pass::run_passes(graph, {set, 3, keep_all}, &passed.runs);
  EXPECT_TRUE(made) << made.error().text();
  if (made) passed.graph = std::move(*made);
  return passed;
}

/// The result of one pass; the same text if there is nothing to do.
struct PassExample {
  std::string_view name;
  Pass pass;
  std::string_view before, after;
};

const PassExample kPassExamples[] = {
    {"what nobody uses", Pass::dead,
     R"(graph g(%x: f32[N]) {
  %a: f32[N] = Neg(%x) "a"
  %b: f32[N] = Exp(%a) "b"
  %c: f32[N] = Abs(%x) "c"
  return y = %c
}
)",
     R"(graph g(%x: f32[N]) {
  %c: f32[N] = Abs(%x) "c"
  return y = %c
}
)"},
    {"a region that nobody uses, and a node that only it uses", Pass::dead,
     R"(graph g(%x: f32[N], %n: i64[]) {
  %a: f32[N] = Neg(%x)
  %b: f32[N] = Loop(%n, _, %x) body(%i: i64[], %on: bool[], %v: f32[N]) {
    %s: f32[N] = Add(%v, %a)
    yield %on, %s
  }
  return y = %x
}
)",
     R"(graph g(%x: f32[N], %n: i64[]) {
  return y = %x
}
)"},
    {"inside of a body", Pass::dead,
     R"(graph g(%x: f32[N], %n: i64[]) {
  %b: f32[N] = Loop(%n, _, %x) body(%i: i64[], %on: bool[], %v: f32[N]) {
    %s: f32[N] = Add(%v, %x)
    %t: f32[N] = Exp(%s)
    yield %on, %s
  }
  return y = %b
}
)",
     R"(graph g(%x: f32[N], %n: i64[]) {
  %b: f32[N] = Loop(%n, _, %x) body(%i: i64[], %on: bool[], %v: f32[N]) {
    %s: f32[N] = Add(%v, %x)
    yield %on, %s
  }
  return y = %b
}
)"},
    {"a chain of constants", Pass::fold,
     R"(graph g(%x: f32[2]) {
  %a: f32[] = Add(f32[] 1, f32[] 2)
  %b: f32[2] = Mul(%a, f32[2] [1, 2])
  %y: f32[2] = Sub(%x, %b)
  return y = %y
}
)",
     R"(graph g(%x: f32[2]) {
  %y: f32[2] = Sub(%x, f32[2] [3, 6])
  return y = %y
}
)"},
    {"inside of a body, with what it makes known", Pass::fold,
     R"(graph g(%x: f32[N], %n: i64[]) {
  %b: f32[N] = Loop(%n, _, %x) body(%i: i64[], %on: bool[], %v: f32[N]) {
    %t: bool[] = Less(f32[] 1, f32[] 2)
    %s: f32[N] = Add(%v, %x)
    yield %t, %s
  }
  return y = %b
}
)",
     R"(graph g(%x: f32[N], %n: i64[]) {
  %b: f32[N] = Loop(%n, _, %x) body(%i: i64[], %on: bool[], %v: f32[N]) {
    %s: f32[N] = Add(%v, %x)
    yield bool[] true, %s
  }
  return y = %b
}
)"},
    {"extents that depend on data stay so", Pass::fold,
     R"(graph g() {
  %u: i64[?0], _, _, _ = Unique(i64[3] [4, 4, 4])
  %y: i64[?0] = Squeeze(%u) assume 0
  return y = %y
}
)",
     ""},
    {"a result keeps its rank", Pass::fold,
     R"(graph g(%x: f32[N]) {
  %e: i64[1] = Cast(f32[1] [1]) {to = i64}
  %t: i64[?0] = Expand(i64[] 4, %e)
  %y: i64[?0] = Squeeze(%t) assume 0
  return y = %y
}
)",
     ""},
    {"a result that is much larger than its operands stays", Pass::fold,
     R"(graph g(%x: f32[N]) {
  %a: f32[1000,1000] = Expand(f32[] 1, i64[2] [1000, 1000])
  return y = %a
}
)",
     ""},
    {"a concatenation of a large constant repeated stays", Pass::fold,
     R"(graph g(%x: f32[N]) {
  %a: f32[1,70000] = Expand(f32[] 1, i64[2] [1, 70000])
  %c: f32[2,70000] = Concat(%a, %a) {axis = 0}
  return y = %c
}
)",
     ""},
    {"a node that fails stays", Pass::fold,
     R"(graph g() {
  %a: f32[1] = Gather(f32[3] [1, 2, 3], i64[1] [1])
  %b: f32[1] = Gather(f32[3] [1, 2, 3], i64[1] [7])
  return a = %a, b = %b
}
)",
     R"(graph g() {
  %b: f32[1] = Gather(f32[3] [1, 2, 3], i64[1] [7])
  return a = f32[1] [2], b = %b
}
)"},
    {"random numbers are drawn", Pass::fold,
     R"(graph g() {
  %u: f64[3] = frazil::Uniform(i64[1] [3])
  return u = %u
}
)",
     ""},
    {"equal nodes", Pass::cse,
     R"(graph g(%x: f32[N]) {
  %a: f32[N] = Exp(%x) "first"
  %b: f32[N] = Exp(%x) "second"
  %c: f32[N] = Add(%a, %b)
  return c = %c
}
)",
     R"(graph g(%x: f32[N]) {
  %a: f32[N] = Exp(%x) "first"
  %c: f32[N] = Add(%a, %a)
  return c = %c
}
)"},
    {"equal constants, and what follows from them", Pass::cse,
     R"(graph g(%x: f32[N]) {
  %a: f32[N] = Mul(%x, f32[] 2)
  %b: f32[N] = Mul(%x, f32[] 2)
  %c: f32[N] = Neg(%a)
  %d: f32[N] = Neg(%b)
  %e: f32[N] = Mul(%x, f32[1] [2])
  return c = %c, d = %d, e = %e
}
)",
     R"(graph g(%x: f32[N]) {
  %a: f32[N] = Mul(%x, f32[] 2)
  %c: f32[N] = Neg(%a)
  %e: f32[N] = Mul(%x, f32[1] [2])
  return c = %c, d = %c, e = %e
}
)"},
    {"other attributes, other outputs", Pass::cse,
     R"(graph g(%x: f32[4]) {
  %a: f32[4] = Softmax(%x) {axis = 0}
  %b: f32[4] = Softmax(%x)
  %v: f32[2], %i: i64[2] = TopK(%x, i64[1] [2])
  %w: f32[2], _ = TopK(%x, i64[1] [2])
  return a = %a, b = %b, v = %v, i = %i, w = %w
}
)",
     ""},
    {"a body sees what is around it, and not what is beside it", Pass::cse,
     R"(graph g(%c: bool[], %x: f32[N]) {
  %a: f32[N] = Exp(%x)
  %r: f32[N], %s: f32[N] = If(%c) then_branch() {
    %b: f32[N] = Exp(%x)
    %d: f32[N] = Neg(%x)
    yield %b, %d
  } else_branch() {
    %e: f32[N] = Neg(%x)
    yield %e, %e
  }
  %f: f32[N] = Neg(%x)
  return a = %a, r = %r, s = %s, f = %f
}
)",
     R"(graph g(%c: bool[], %x: f32[N]) {
  %a: f32[N] = Exp(%x)
  %r: f32[N], %s: f32[N] = If(%c) then_branch() {
    %d: f32[N] = Neg(%x)
    yield %a, %d
  } else_branch() {
    %e: f32[N] = Neg(%x)
    yield %e, %e
  }
  %f: f32[N] = Neg(%x)
  return a = %a, r = %r, s = %s, f = %f
}
)"},
    {"random numbers are drawn twice", Pass::cse,
     R"(graph g(%p: f32[3]) {
  %a: f32[3] = RandomNormalLike(%p)
  %b: f32[3] = RandomNormalLike(%p)
  return a = %a, b = %b
}
)",
     ""},
    {"fifty transposes and fifty signs", Pass::algebra,
     R"(graph g(%x: f32[N,M]) {
  %a: f32[N,M] = Neg(%x)
  %b: f32[M,N] = Transpose(%a)
  %c: f32[M,N] = Neg(%b)
  %d: f32[N,M] = Transpose(%c)
  %e: f32[N,M] = Exp(%d)
  %f: f32[M,N] = Transpose(%e)
  return y = %f
}
)",
     R"(graph g(%x: f32[N,M]) {
  %e: f32[N,M] = Exp(%x)
  %f: f32[M,N] = Transpose(%e)
  return y = %f
}
)"},
    {"a value that is checked is not taken for another", Pass::algebra,
     R"(graph g(%x: f32[N]) {
  %s: f32[4] = Mul(%x, f32[4] [1, 1, 1, 1])
  return s = %s
}
)",
     ""},
    {"nor what may not broadcast", Pass::algebra,
     R"(graph g(%c: bool[K,1], %x: f32[3,3], %z: f32[K,3]) {
  %a: f32[3,3] = Where(%c, %x, %x)
  %b: f32[3,3] = Where(bool[] true, %x, %z)
  return a = %a, b = %b
}
)",
     ""},
    {"what may fail is not dropped", Pass::algebra,
     R"(graph g(%x: f32[3], %i: i64[3]) {
  %a: f32[3] = Gather(%x, %i)
  %y: f32[3] = Where(bool[] true, %x, %a)
  return y = %y
}
)",
     ""},
    {"a loop that counts to a limit, from 0", Pass::count,
     R"(graph g(%x: f32[N,4], %h: f32[4], %n: i32[]) {
  %c: bool[] = Less(i32[] 0, %n)
  %i: i32[], %r: f32[4] = Loop(_, %c, i32[] 0, %h) body(%k: i64[], %on: bool[], %t: i32[], %v: f32[4]) {
    %a: f32[4] = Gather(%x, %t)
    %q: f32[4] = Add(%v, %a)
    %u: i32[] = Add(%t, i32[] 1)
    %d: bool[] = Less(%u, %n)
    yield %d, %u, %q
  }
  return i = %i, r = %r
}
)",
     R"(graph g(%x: f32[N,4], %h: f32[4], %n: i32[]) {
  %1: i64[] = Cast(%n) {to = i64}
  %2: i64[] = frazil::Max2(%1, i64[] 0)
  %3: i64[] = Sub(%2, i64[] 0)
  %i: i32[], %r: f32[4] = Loop(%3, bool[] true, i32[] 0, %h) body(%k: i64[], %on: bool[], %t: i32[], %v: f32[4]) {
    %a: f32[4] = Gather(%x, %k)
    %q: f32[4] = Add(%v, %a)
    %u: i32[] = Add(%t, i32[] 1)
    yield bool[] true, %u, %q
  }
  return i = %i, r = %r
}
)"},
    {"two counters, one of which decides whether the loop begins", Pass::count,
     R"(graph g(%m: i64[], %l: i64[], %n: i64[], %h: i64[]) {
  %c: bool[] = Greater(%n, i64[] 3)
  _, _, _, %r: i64[] = Loop(%m, %c, i64[] 0, i64[] 3, %l, %h) body(%k: i64[], %on: bool[], %t: i64[], %s: i64[], %e: i64[], %v: i64[]) {
    %q: i64[] = Add(%v, %t)
    %u: i64[] = Add(%t, i64[] 1)
    %w: i64[] = Add(i64[] 1, %s)
    %y: bool[] = Less(%u, %e)
    %z: bool[] = Greater(%n, %w)
    %d: bool[] = And(%y, %z)
    yield %d, %u, %w, %e, %q
  }
  return r = %r
}
)",
     R"(graph g(%m: i64[], %l: i64[], %n: i64[], %h: i64[]) {
  %1: i64[] = frazil::Max2(%n, i64[] 3)
  %2: i64[] = Sub(%1, i64[] 3)
  %3: i64[] = frazil::Min2(%m, %2)
  %4: i64[] = frazil::Max2(%l, i64[] 1)
  %5: i64[] = Sub(%4, i64[] 0)
  %6: i64[] = frazil::Min2(%3, %5)
  _, _, _, %r: i64[] = Loop(%6, bool[] true, i64[] 0, i64[] 3, %l, %h) body(%k: i64[], %on: bool[], %t: i64[], %s: i64[], %e: i64[], %v: i64[]) {
    %q: i64[] = Add(%v, %k)
    %u: i64[] = Add(%k, i64[] 1)
    %w: i64[] = Add(i64[] 1, %s)
    yield bool[] true, %u, %w, %e, %q
  }
  return r = %r
}
)"},
    {"a loop that begins in any case, or where something else says so", Pass::count,
     R"(graph g(%b: bool[], %n: i32[], %h: f32[]) {
  _, %q: f32[] = Loop(_, _, i32[] 0, %h) body(%k: i64[], %on: bool[], %t: i32[], %v: f32[]) {
    %w: f32[] = Neg(%v)
    %u: i32[] = Add(%t, i32[] 1)
    %d: bool[] = Less(%u, %n)
    yield %d, %u, %w
  }
  _, %r: f32[] = Loop(i64[] 9223372036854775807, %b, i32[] 0, %q) body(%k1: i64[], %on1: bool[], %t1: i32[], %v1: f32[]) {
    %w1: f32[] = Neg(%v1)
    %u1: i32[] = Add(%t1, i32[] 1)
    %d1: bool[] = Less(%u1, %n)
    yield %d1, %u1, %w1
  }
  return r = %r
}
)",
     R"(graph g(%b: bool[], %n: i32[], %h: f32[]) {
  %1: i64[] = Cast(%n) {to = i64}
  %2: i64[] = frazil::Max2(%1, i64[] 1)
  %3: i64[] = Sub(%2, i64[] 0)
  _, %q: f32[] = Loop(%3, _, i32[] 0, %h) body(%k: i64[], %on: bool[], %t: i32[], %v: f32[]) {
    %w: f32[] = Neg(%v)
    %u: i32[] = Add(%t, i32[] 1)
    yield bool[] true, %u, %w
  }
  %4: i64[] = Cast(%n) {to = i64}
  %5: i64[] = frazil::Max2(%4, i64[] 1)
  %6: i64[] = Sub(%5, i64[] 0)
  _, %r: f32[] = Loop(%6, %b, i32[] 0, %q) body(%k1: i64[], %on1: bool[], %t1: i32[], %v1: f32[]) {
    %w1: f32[] = Neg(%v1)
    %u1: i32[] = Add(%t1, i32[] 1)
    yield bool[] true, %u1, %w1
  }
  return r = %r
}
)"},
    {"a loop whose condition also asks for something else", Pass::count,
     R"(graph g(%n: i64[], %h: f32[]) {
  _, %r: f32[] = Loop(_, bool[] true, i64[] 0, %h) body(%k: i64[], %on: bool[], %t: i64[], %v: f32[]) {
    %q: f32[] = Add(%v, %v)
    %u: i64[] = Add(%t, i64[] 1)
    %y: bool[] = Less(%u, %n)
    %z: bool[] = Less(%q, f32[] 100)
    %d: bool[] = And(%y, %z)
    yield %d, %u, %q
  }
  return r = %r
}
)",
     ""},
    {"a counter that begins below 0, or goes down, or a limit that the loop changes", Pass::count,
     R"(graph g(%n: i64[], %h: f32[]) {
  _, %q: f32[] = Loop(_, bool[] true, i64[] -1, %h) body(%k: i64[], %on: bool[], %t: i64[], %v: f32[]) {
    %w: f32[] = Neg(%v)
    %u: i64[] = Add(%t, i64[] 1)
    %d: bool[] = Less(%u, %n)
    yield %d, %u, %w
  }
  _, %r: f32[] = Loop(_, bool[] true, i64[] 0, %q) body(%k1: i64[], %on1: bool[], %t1: i64[], %v1: f32[]) {
    %w1: f32[] = Neg(%v1)
    %u1: i64[] = Sub(%t1, i64[] 1)
    %d1: bool[] = Less(%u1, %n)
    yield %d1, %u1, %w1
  }
  _, _, %s: f32[] = Loop(_, bool[] true, i64[] 0, %n, %r) body(%k2: i64[], %on2: bool[], %t2: i64[], %e: i64[], %v2: f32[]) {
    %w2: f32[] = Neg(%v2)
    %u2: i64[] = Add(%t2, i64[] 1)
    %f: i64[] = Sub(%e, i64[] 1)
    %d2: bool[] = Less(%u2, %e)
    yield %d2, %u2, %f, %w2
  }
  return s = %s
}
)",
     ""},
    {"a projection of a scanned input", Pass::hoist,
     R"(graph g(%x: f32[N,1,4], %h: f32[1,3], %w: f32[4,3]) {
  %a: f32[1,3], %s: f32[N,1,3] = Scan(%h, %x) {num_scan_inputs = 1} body(%v: f32[1,3], %t: f32[1,4]) {
    %p: f32[1,3] = MatMul(%t, %w) "project"
    %q: f32[1,3] = Add(%v, %p)
    yield %q, %p
  } "scan"
  return a = %a, s = %s
}
)",
     R"(graph g(%x: f32[N,1,4], %h: f32[1,3], %w: f32[4,3]) {
  %1: f32[N,1,3] = MatMul(%x, %w) "project"
  %a: f32[1,3], %s: f32[N,1,3] = Scan(%h, %1) {num_scan_inputs = 1} body(%v: f32[1,3], %t: f32[1,3]) {
    %q: f32[1,3] = Add(%v, %t)
    yield %q, %t
  } "scan"
  return a = %a, s = %s
}
)"},
    {"a projection of what a loop gathers", Pass::hoist,
     R"(graph g(%x: f32[N,4], %h: f32[5]) {
  %e: i64[2] = Shape(%x)
  %n: i64[] = Gather(%e, i64[] 0)
  %r: f32[5] = Loop(%n, bool[] true, %h) body(%i: i64[], %on: bool[], %v: f32[5]) {
    %t: f32[4] = Gather(%x, %i)
    %p: f32[5] = MatMul(%t, @w)
    %q: f32[5] = Add(%v, %p)
    yield %on, %q
  }
  return r = %r
}
)",
     R"(graph g(%x: f32[N,4], %h: f32[5]) {
  %e: i64[2] = Shape(%x)
  %n: i64[] = Gather(%e, i64[] 0)
  %1: f32[N,5] = MatMul(%x, @w)
  %r: f32[5] = Loop(%n, bool[] true, %h) body(%i: i64[], %on: bool[], %v: f32[5]) {
    %t: f32[5] = Gather(%1, %i)
    %q: f32[5] = Add(%v, %t)
    yield %on, %q
  }
  return r = %r
}
)"},
    {"no projection where the loop may end before", Pass::hoist,
     R"(graph g(%x: f32[N,4], %h: f32[5]) {
  %e: i64[2] = Shape(%x)
  %n: i64[] = Gather(%e, i64[] 0)
  %r: f32[5] = Loop(%n, bool[] true, %h) body(%i: i64[], %on: bool[], %v: f32[5]) {
    %t: f32[4] = Gather(%x, %i)
    %p: f32[5] = MatMul(%t, @w)
    %q: f32[5] = Add(%v, %p)
    %s: f32[] = ReduceSum(%q) {keepdims = 0}
    %c: bool[] = Less(%s, f32[] 5)
    yield %c, %q
  }
  return r = %r
}
)",
     ""},
    {"no projection of a slice that is used twice", Pass::hoist,
     R"(graph g(%x: f32[N,1,4], %h: f32[1,4], %w: f32[4,4]) {
  %a: f32[1,4] = Scan(%h, %x) {num_scan_inputs = 1} body(%v: f32[1,4], %t: f32[1,4]) {
    %p: f32[1,4] = MatMul(%t, %w)
    %q: f32[1,4] = Add(%t, %p)
    yield %q
  }
  return a = %a
}
)",
     ""},
    {"what is small leaves a loop that may not run", Pass::motion,
     R"(graph g(%n: i64[], %x: f32[4], %z: f32[N]) {
  %r: f32[4], %s: f32[N] = Loop(%n, _, %x, %z) body(%i: i64[], %on: bool[], %v: f32[4], %u: f32[N]) {
    %a: f32[4] = Exp(%x)
    %b: f32[4] = Neg(%a)
    %c: f32[N] = Exp(%z)
    %d: f32[4] = Add(%v, %b)
    %e: f32[N] = Add(%u, %c)
    yield %on, %d, %e
  }
  return r = %r, s = %s
}
)",
     R"(graph g(%n: i64[], %x: f32[4], %z: f32[N]) {
  %a: f32[4] = Exp(%x)
  %b: f32[4] = Neg(%a)
  %r: f32[4], %s: f32[N] = Loop(%n, _, %x, %z) body(%i: i64[], %on: bool[], %v: f32[4], %u: f32[N]) {
    %c: f32[N] = Exp(%z)
    %d: f32[4] = Add(%v, %b)
    %e: f32[N] = Add(%u, %c)
    yield %on, %d, %e
  }
  return r = %r, s = %s
}
)"},
    {"anything leaves a loop that runs, but not a branch", Pass::motion,
     R"(graph g(%x: f32[N,N], %c: bool[]) {
  %r: f32[N,N] = Loop(i64[] 3, _, %x) body(%i: i64[], %on: bool[], %v: f32[N,N]) {
    %a: f32[N,N] = MatMul(%x, %x)
    %b: f32[N,N] = If(%c) then_branch() {
      %d: f32[N,N] = Exp(%x)
      yield %d
    } else_branch() {
      yield %v
    }
    %e: f32[N,N] = Add(%a, %b)
    yield %on, %e
  }
  return r = %r
}
)",
     R"(graph g(%x: f32[N,N], %c: bool[]) {
  %a: f32[N,N] = MatMul(%x, %x)
  %r: f32[N,N] = Loop(i64[] 3, _, %x) body(%i: i64[], %on: bool[], %v: f32[N,N]) {
    %b: f32[N,N] = If(%c) then_branch() {
      %d: f32[N,N] = Exp(%x)
      yield %d
    } else_branch() {
      yield %v
    }
    %e: f32[N,N] = Add(%a, %b)
    yield %on, %e
  }
  return r = %r
}
)"},
    {"what may fail or is random stays in the loop", Pass::motion,
     R"(graph g(%x: f32[4], %k: i64[4]) {
  %r: f32[4], %t: f64[3,3] = Loop(i64[] 3, _, %x) body(%i: i64[], %on: bool[], %v: f32[4]) {
    %u: f64[3] = frazil::Uniform(i64[1] [3])
    %d: f32[4] = Gather(%x, %k)
    %e: f32[4] = Add(%d, %v)
    yield %on, %e, %u
  }
  return r = %r, t = %t
}
)",
     ""},
    {"the branch that a known condition takes", Pass::unroll,
     R"(graph g(%x: f32[N]) {
  %c: bool[] = Less(i64[] 1, i64[] 2) "c"
  %y: f32[N] = If(bool[] true) then_branch() {
    %a: f32[N] = Neg(%x) "a"
    yield %a
  } else_branch() {
    %b: f32[N] = Abs(%x) "b"
    yield %b
  }
  return y = %y
}
)",
     R"(graph g(%x: f32[N]) {
  %a: f32[N] = Neg(%x) "a"
  return y = %a
}
)"},
    {"a loop that runs once, with what it gathers", Pass::unroll,
     R"(graph g(%x: f32[N], %n: i64[]) {
  %y: f32[N], %s: f32[?0,N] = Loop(i64[] 1, _, %x) body(%i: i64[], %on: bool[], %v: f32[N]) {
    %a: f32[N] = Exp(%v)
    %more: bool[] = Less(%i, %n)
    yield %more, %a, %a
  }
  return y = %y, s = %s
}
)",
     R"(graph g(%x: f32[N], %n: i64[]) {
  %a: f32[N] = Exp(%x)
  %s: f32[1,N] = Unsqueeze(%a, i64[1] [0])
  return y = %a, s = %s
}
)"},
    {"a loop that never runs", Pass::unroll,
     R"(graph g(%x: f32[N], %n: i64[]) {
  %y: f32[N] = Loop(%n, bool[] false, %x) body(%i: i64[], %on: bool[], %v: f32[N]) {
    %a: f32[N] = Exp(%v)
    yield %on, %a
  }
  %z: f32[N] = Neg(%y)
  return z = %z
}
)",
     R"(graph g(%x: f32[N], %n: i64[]) {
  %z: f32[N] = Neg(%x)
  return z = %z
}
)"},
    {"few iterations of a small body, inside of another one", Pass::unroll,
     R"(graph g(%x: f32[N], %n: i64[]) {
  %y: f32[N] = Loop(%n, _, %x) body(%i: i64[], %on: bool[], %v: f32[N]) {
    %w: f32[N] = Loop(i64[] 3, _, %v) body(%k: i64[], %go: bool[], %u: f32[N]) {
      %f: f32[] = Cast(%k) {to = f32}
      %a: f32[N] = Add(%u, %f)
      yield %go, %a
    }
    yield %on, %w
  }
  return y = %y
}
)",
     R"(graph g(%x: f32[N], %n: i64[]) {
  %y: f32[N] = Loop(%n, _, %x) body(%i: i64[], %on: bool[], %v: f32[N]) {
    %f: f32[] = Cast(i64[] 0) {to = f32}
    %a: f32[N] = Add(%v, %f)
    %1: f32[] = Cast(i64[] 1) {to = f32}
    %2: f32[N] = Add(%a, %1)
    %3: f32[] = Cast(i64[] 2) {to = f32}
    %4: f32[N] = Add(%2, %3)
    yield %on, %4
  }
  return y = %y
}
)"},
    {"many iterations and products stay a loop, and what data decide", Pass::unroll,
     R"(graph g(%x: f32[N,N], %c: bool[], %n: i64[]) {
  %a: f32[N,N] = Loop(i64[] 9, _, %x) body(%i: i64[], %on: bool[], %v: f32[N,N]) {
    %e: f32[N,N] = Exp(%v)
    yield %on, %e
  }
  %b: f32[N,N] = Loop(i64[] 2, _, %a) body(%i1: i64[], %on1: bool[], %v1: f32[N,N]) {
    %m: f32[N,N] = MatMul(%v1, %v1)
    yield %on1, %m
  }
  %d: f32[N,N] = Loop(i64[] 2, %c, %b) body(%i2: i64[], %on2: bool[], %v2: f32[N,N]) {
    %e2: f32[N,N] = Exp(%v2)
    yield %on2, %e2
  }
  return d = %d
}
)",
     ""},
    {"small sides of elementwise nodes", Pass::select,
     R"(graph g(%x: f32[4], %c: bool[]) {
  %y: f32[4], %z: f32[4] = If(%c) then_branch() {
    %a: f32[4] = Neg(%x)
    yield %a, %x
  } else_branch() {
    %b: f32[4] = Abs(%x)
    yield %b, %b
  }
  return y = %y, z = %z
}
)",
     R"(graph g(%x: f32[4], %c: bool[]) {
  %a: f32[4] = Neg(%x)
  %b: f32[4] = Abs(%x)
  %y: f32[4] = Where(%c, %a, %b)
  %z: f32[4] = Where(%c, %x, %b)
  return y = %y, z = %z
}
)"},
    {"sides that are large, that fail or that are no elementwise nodes stay apart", Pass::select,
     R"(graph g(%x: f32[N], %l: f32[65], %f: f32[4], %k: i64[4], %c: bool[]) {
  %y: f32[N] = If(%c) then_branch() {
    %a: f32[N] = Neg(%x)
    yield %a
  } else_branch() {
    yield %x
  }
  %z: f32[65] = If(%c) then_branch() {
    %b: f32[65] = Neg(%l)
    yield %b
  } else_branch() {
    yield %l
  }
  %u: f32[4] = If(%c) then_branch() {
    %g: f32[4] = Gather(%f, %k)
    yield %g
  } else_branch() {
    yield %f
  }
  %v: f32[4] = If(%c) then_branch() {
    %s: f32[4] = Softmax(%f)
    yield %s
  } else_branch() {
    yield %f
  }
  return y = %y, z = %z, u = %u, v = %v
}
)",
     ""},
};

/// The graph of a text in which @w is a matrix.
Graph with_weights(std::string_view text) {
  link_operators();
  const auto graph = parse("weight @w: f32[4,5]\n" + std::string(text), [](std::string_view) {
    Tensor w = Tensor::make(Elem::f32, {4, 5}).value();
    std::ranges::fill(w.as_mutable<float>(), 0.5f);
    return w;
  });
  EXPECT_TRUE(graph) << graph.error().text() << "\n" << text;
  return graph ? *graph : Graph();
}

/// The text without that of its weight.
std::string without_weights(const Graph& graph) {
  const std::string text = print(graph);
  return text.substr(text.find("graph "));
}

class Examples : public testing::TestWithParam<PassExample> {};

TEST_P(Examples, Become) {
  const PassExample& e = GetParam();
  const Graph graph = with_weights(e.before);
  const Passed passed = through(PassSet::only(e.pass), graph);
  const auto dead = through(PassSet::only(Pass::dead), passed.graph);
  const Graph want = with_weights(e.after.empty() ? e.before : e.after);
  EXPECT_EQ(without_weights(graph), e.before) << "names and types as they are printed";
  EXPECT_EQ(without_weights(dead.graph), without_weights(want)) << e.name;
  EXPECT_EQ(std::ranges::any_of(passed.runs, &pass::PassRun::changed), !e.after.empty());
}

INSTANTIATE_TEST_SUITE_P(Passes, Examples, testing::ValuesIn(kPassExamples), [](const auto& example) {
  std::string name(example.param.name);
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(PassSets, AreReadAndWritten) {
  const std::pair<std::string_view, PassSet> texts[] = {
      {"all", {}},
      {"none", PassSet::none()},
      {"-cse", PassSet::without(Pass::cse)},
      {"-cse,-fold", {PassSet::without(Pass::cse).off | PassSet::without(Pass::fold).off}},
      {"none,+fold", PassSet::only(Pass::fold)},
      {"-fold,+fold", {}},
      {"none,all", {}},
  };
  for (const auto& [text, set] : texts) {
    const auto read = parse_pass_set(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, set) << text;
    for (std::size_t i = 0; i < pass_names().size(); ++i) {
      EXPECT_EQ(parse_pass_set(str(*read))->has(static_cast<Pass>(i)), set.has(static_cast<Pass>(i))) << text;
    }
  }
  for (const std::string_view bad : {"", ",", "cse", "-", "-expand", "-cse,", "-CSE", " -cse", "-cse fold", "alle"}) {
    const auto read = parse_pass_set(bad);
    ASSERT_FALSE(read) << bad;
    EXPECT_THAT(read.error().text(), HasSubstr("dead, fold")) << bad;
    EXPECT_THAT(read.error().text(), HasSubstr(fmt::format("got '{}'", bad)));
  }
}

TEST(PassList, NamesWhatItRuns) {
  std::set<std::string_view> names;
  for (const pass::PassRow& row : pass::pass_list()) {
    EXPECT_NE(row.what, "");
    names.insert(row.name);
  }
  for (const std::string_view name : pass_names()) EXPECT_TRUE(names.contains(name)) << name;
}

TEST(PassRuns, TellWhatRanAndWhatChanged) {
  const Graph graph = graph_of(
      "graph g(%x: f32[N]) { %a = Pow(%x, f32[] 2) %b = Pow(%x, f32[] 2) %y = Add(%a, %b) "
      "return y = %y }");
  const auto made = Executable::make(std::make_shared<const Graph>(graph), {.passes = PassSet::without(Pass::fold)});
  ASSERT_TRUE(made);
  std::map<std::string_view, std::string> notes;
  for (const pass::PassRun& run : (*made)->passes()) {
    EXPECT_GT(run.time.count(), 0) << run.name;
    if (run.changed) notes.emplace(run.name, run.note);
  }
  EXPECT_EQ(notes, (std::map<std::string_view, std::string>{
                       {"algebra", "pow_two x2"}, {"cse", "1 nodes merged"}, {"fuse", "2 nodes in 1 step"}}));
  EXPECT_THAT((*made)->explain(), HasSubstr("pow_two x2"));
  EXPECT_THAT((*made)->explain(), Not(HasSubstr("fold")));
}

TEST(PassNames, StayWithTheNodesThatReplaceOthers) {
  const Graph graph = graph_of(R"(graph g(%x: f32[N]) { %y = Pow(%x, f32[] 3) "cubed" return y = %y })");
  const Passed passed = through(PassSet::only(Pass::algebra), graph);
  const auto& nodes = passed.graph.main().nodes;
  ASSERT_EQ(nodes.size(), 2u);
  for (const NodeId id : nodes) EXPECT_EQ(passed.graph.node(id).name, "cubed");
  EXPECT_EQ(passed.graph.node(nodes[1]).stable, graph.node(graph.main().nodes[0]).stable);
}

}  // namespace
}  // namespace frazil::test

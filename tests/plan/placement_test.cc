#include "plan/analyse/placement.h"

#include <gtest/gtest.h>

#include "suite/tiers.h"

// Which results are written where the region around them takes them, decided before steps are.
namespace frazil::test {
namespace {

std::string placements_of(const char* text) {
  Graph graph = graph_of(text);
  const auto needs = Needs::of(graph);
  if (!needs) return needs.error().text();
  const Fusion fusion = Fusion::of(graph, *needs, true);
  Scope scope = graph.scope();
  const RegionFlows flows(graph, scope, *needs);
  const Appends appends(graph, scope, *needs, flows, true);
  return Placements(graph, scope, *needs, fusion, flows, appends, true).str(graph);
}

struct Placed {
  const char* what;
  const char* text;
  const char* want;
};

const Placed kPlaced[] = {
    {"both branches write the If's output", R"(graph g(%c: bool[], %x: f32[N]) {
       %y = If(%c) then_branch() { %a = Neg(%x) yield %a } else_branch() { %b = Exp(%x) yield %b } "pick"
       return y = %y })",
     "%a: output 0 of node 'pick' (If)\n%b: output 0 of node 'pick' (If)\n"},
    {"a capture is copied", R"(graph g(%c: bool[], %x: f32[N]) {
       %y = If(%c) then_branch() { yield %x } else_branch() { %b = Exp(%x) yield %b } "pick"
       return y = %y })",
     "%b: output 0 of node 'pick' (If)\n"},
    {"what others see as a view stays", R"(graph g(%c: bool[], %x: f32[2,3]) {
       %y, %z = If(%c) then_branch() { %a = Neg(%x) %t = Transpose(%a) yield %a, %t }
                       else_branch() { %b = Exp(%x) %u = Neg(%b) %s = Transpose(%u) yield %b, %s } "pick"
       return y = %y, z = %z })",
     "%b: output 0 of node 'pick' (If)\n"},
    {"a loop swaps its carried value and writes rows of known length in place",
     R"(graph g(%x: f32[N], %xs: f32[T,N]) {
       %last, %all = Scan(%x, %xs) {num_scan_inputs = 1} body(%v: f32[N], %e: f32[N]) {
         %next = Add(%v, %e)
         %row = Neg(%next)
         yield %next, %row
       } "scan"
       return last = %last, all = %all })",
     "%next: variable 0 of node 'scan' (Scan)\n%row: row of accumulator 0 of node 'scan' (Scan)\n"},
    {"one value for two takers: the first has it", R"(graph g(%x: f32[N], %n: i64[]) {
       %last, %all = Loop(%n, _, %x) body(%i: i64[], %go: bool[], %v: f32[N]) {
         %next = Neg(%v)
         yield %go, %next, %next
       } "loop"
       return last = %last, all = %all })",
     "%next: row of accumulator 0 of node 'loop' (Loop)\n"},
    {"extents that only the body knows", R"(graph g(%x: f32[N], %n: i64[]) {
       %last = Loop(%n, _, %x) body(%i, %go, %v) {
         %k = Neg(%v)
         %next = Concat(%k, %v) {axis = 0}
         yield %go, %next
       } "loop"
       return last = %last })",
     "%next: variable 1 of node 'loop' (Loop)\n"},
};

TEST(Placement, IsDecidedFromTheGraph) {
  for (const Placed& row : kPlaced) EXPECT_EQ(placements_of(row.text), row.want) << row.what;
}

}  // namespace
}  // namespace frazil::test

//===- RecomputeGraph.h - a recomputation problem in flat arrays ----------===//
//
// The solver's own view of a RecomputeProblem: adjacency as index ranges, so
// that the inner loops touch contiguous memory. Of a problem with variants and
// loops it is the relaxation behind the bounds: every number of a loop is the
// smallest of its rows, and `forms` says at what cost a value may take fewer
// bytes. Plans are made for problems in which all that is fixed
// (RecomputeVariants.h).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTEGRAPH_H
#define TENON_LIB_SOLVER_RECOMPUTEGRAPH_H

#include "tenon/Solver/RecomputeChoice.h"

#include <compare>
#include <span>
#include <utility>

namespace tenon::solver {

struct RecomputeGraph {
  int32_t nodes = 0;
  int32_t values = 0;
  int64_t baseCost = 0;
  std::vector<int64_t> cost;       // per node
  std::vector<int64_t> mostCost;   // per node, in the dearest row of its loop
  std::vector<int64_t> workspace;  // per node
  std::vector<int64_t> again;      // per node, further bytes of later runs
  std::vector<char> pinned;        // per node
  std::vector<int64_t> bytes;      // per value
  std::vector<int32_t> producer;   // per value
  std::vector<int32_t> inputBegin; // node -> range of inputList (values)
  std::vector<int32_t> inputList;
  std::vector<int32_t> outputBegin; // node -> range of outputList (values)
  std::vector<int32_t> outputList;
  std::vector<int32_t> userBegin; // value -> range of userList (nodes, sorted)
  std::vector<int32_t> userList;

  // Mostly there are none, so these lists are short.
  std::vector<int32_t>
      lateInputBegin; // node -> range of lateInputList (values)
  std::vector<int32_t> lateInputList;
  std::vector<int32_t> lateUserBegin; // value -> range of lateUserList (nodes)
  std::vector<int32_t> lateUserList;
  struct Overwrite {
    int32_t value;
    int64_t bytes;
  };
  std::vector<int32_t> overwriteBegin; // node -> range of overwriteList
  std::vector<Overwrite> overwriteList;

  /// A way in which a value can wait: at a cost before, and one after that the
  /// transfer engine may use; the engine's time.
  struct Form {
    int64_t bytes;
    int64_t cost;
    int64_t loadCost = 0;
    int64_t transfer = 0;
  };
  std::vector<std::vector<Form>> forms; // per value; empty: its bytes, free

  explicit RecomputeGraph(const RecomputeProblem &problem);

  std::span<const int32_t> inputs(int32_t node) const {
    return {inputList.data() + inputBegin[node],
            inputList.data() + inputBegin[node + 1]};
  }
  std::span<const int32_t> outputs(int32_t node) const {
    return {outputList.data() + outputBegin[node],
            outputList.data() + outputBegin[node + 1]};
  }
  std::span<const int32_t> users(int32_t value) const {
    return {userList.data() + userBegin[value],
            userList.data() + userBegin[value + 1]};
  }
  /// What the node holds in runs after the value's producer has run.
  std::span<const int32_t> lateInputs(int32_t node) const {
    return {lateInputList.data() + lateInputBegin[node],
            lateInputList.data() + lateInputBegin[node + 1]};
  }
  std::span<const int32_t> lateUsers(int32_t value) const {
    return {lateUserList.data() + lateUserBegin[value],
            lateUserList.data() + lateUserBegin[value + 1]};
  }
  std::span<const Overwrite> overwrites(int32_t node) const {
    return {overwriteList.data() + overwriteBegin[node],
            overwriteList.data() + overwriteBegin[node + 1]};
  }
  /// The form that is cheapest by `cost`; the smallest of these.
  template <typename Cost>
  Form cheapestForm(int32_t value, Cost cost) const {
    Form best{bytes[value], 0};
    bool any = false;
    for (const Form &form : forms[value]) {
      if (!any ||
          std::pair(cost(form), form.bytes) < std::pair(cost(best), best.bytes))
        best = form;
      any = true;
    }
    return best;
  }
  /// The fewest bytes that the value takes at no cost, the engine's time
  /// included.
  int64_t freeBytes(int32_t value) const {
    return cheapestForm(value,
                        [](const Form &form) {
                          return form.cost + form.loadCost + form.transfer;
                        })
        .bytes;
  }
  /// Bytes needed together when `node` runs.
  int64_t workingSet(int32_t node) const;

private:
  void addLoops(const RecomputeProblem &problem);
  void addForms(const RecomputeProblem &problem);
  void addConditions(const RecomputeProblem &problem);
};

/// `node` runs again in `stage`, that is between the first runs of the nodes
/// stage - 1 and stage.
struct Rerun {
  int32_t stage;
  int32_t node;
  auto operator<=>(const Rerun &) const = default;
};

/// A plan: the reruns, sorted; within a stage they run by id. Any such list is
/// a valid plan, because a node's inputs have all been computed by then; memory
/// and cost follow.
using Reruns = std::vector<Rerun>;

std::vector<int32_t> orderOf(int32_t nodes, const Reruns &reruns);

struct RecomputeMeasure {
  int64_t cost = 0;
  int64_t peak = 0;
};

/// Whether each operation of an order is the first of its node; operations that
/// are no nodes are not.
std::vector<char> firstRuns(int32_t nodes, std::span<const int32_t> order);

/// Replays a list of nodes.
RecomputeMeasure measure(const RecomputeGraph &graph,
                         std::span<const int32_t> order);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTEGRAPH_H

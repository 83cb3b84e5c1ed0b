//===- Succession.cpp - Which result becomes which argument --------------===//
//
// Names are compared tree by tree, not leaf by leaf: with momentum, the trees
// of parameters and of velocities have the same leaves, and only one of the two
// may claim a group of results. Where several choices remain, nothing is
// chosen.
//
// Example. Arguments  state['a'] : f32[4], state['b'] : f32[4], x : f32[2]
//          results    result[0]['a'], result[0]['b'], result[1]
// The root `state` has the leaves a, b; the group `0` has both with equal types
// and no other group has them: state['a'] -> 0, state['b'] -> 1.
// Without names, but with two donated arguments: the types f32[4], f32[4] are
// those of group `0`; group `1` is a scalar. One choice, so the same answer.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/Succession.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace llvm;

namespace tenon::importer {

std::string resultGroup(const ResultLeaf &result, int64_t index) {
  ArrayRef<PathKey> keys = withoutResultRoot(result.path);
  if (keys.empty())
    return formatv("#{0}", index);
  return keys.front().text;
}

namespace {

/// Leaves below a root or in a group: joined keys to index.
using Leaves = std::map<std::string, int64_t>;

class Decision {
public:
  Decision(ArrayRef<ArgumentLeaf> arguments, ArrayRef<ResultLeaf> results)
      : arguments(arguments), results(results), taken(results.size(), false) {
    decided.ofArgument.resize(arguments.size());
    anyDonated = any_of(arguments, [](const ArgumentLeaf &argument) {
      return argument.donated;
    });
  }

  Succession run() {
    for (auto [index, argument] : enumerate(arguments))
      if (argument.stated)
        assign(index, *argument.stated, SuccessionEvidence::statement);
    matchWholePaths();
    // `state[0]['w']` is a leaf of the root `state`, or of the root `state[0]`
    // where the step returns the elements of a tuple one by one.
    matchRoots(/*rootKeys=*/1);
    matchRoots(/*rootKeys=*/2);
    matchPositions();
    llvm::sort(decided.undecided);
    return std::move(decided);
  }

private:
  bool isOpen(int64_t argument) const {
    return !arguments[argument].excluded && !decided.ofArgument[argument] &&
           !is_contained(decided.undecided, argument);
  }
  void assign(int64_t argument, int64_t result, SuccessionEvidence evidence) {
    decided.ofArgument[argument] = Successor{result, evidence};
    taken[result] = true;
  }
  bool fits(int64_t argument, int64_t result) const {
    return !taken[result] && arguments[argument].type == results[result].type;
  }
  /// Accepts names as evidence, or asks when donation contradicts them.
  void assignByName(int64_t argument, int64_t result) {
    if (arguments[argument].donated || !anyDonated)
      return assign(argument, result, SuccessionEvidence::names);
    decided.undecided.push_back(argument);
    decided.reason =
        "an argument that is not donated has the path of a result, "
        "while others are donated";
  }

  /// `w` or `params['w']` against `result['w']` or `result['params']['w']`.
  void matchWholePaths() {
    StringMap<int64_t> byPath;
    for (auto [index, result] : enumerate(results)) {
      ArrayRef<PathKey> keys = withoutResultRoot(result.path);
      if (!keys.empty() && !keys.front().isIndex)
        byPath.try_emplace(joinKeys(keys), index);
    }
    if (byPath.empty())
      return;
    for (auto [index, argument] : enumerate(arguments)) {
      auto match = byPath.find(joinKeys(argument.path));
      if (!argument.path.empty() && match != byPath.end() && isOpen(index) &&
          fits(index, match->second))
        assignByName(index, match->second);
    }
  }

  /// Trees of arguments against groups of results.
  void matchRoots(size_t rootKeys) {
    std::map<std::string, Leaves> roots, groups;
    for (auto [index, argument] : enumerate(arguments)) {
      ArrayRef<PathKey> keys = argument.path;
      if (!isOpen(index) || keys.size() <= rootKeys ||
          (rootKeys == 2 && !keys[1].isIndex))
        continue;
      roots[joinKeys(keys.take_front(rootKeys))]
           [joinKeys(keys.drop_front(rootKeys))] = index;
    }
    for (auto [index, result] : enumerate(results)) {
      ArrayRef<PathKey> keys = withoutResultRoot(result.path);
      if (taken[index] || keys.empty())
        continue;
      std::string group;
      if (keys.front().isIndex) {
        group = keys.front().text;
        keys = keys.drop_front();
      }
      if (!keys.empty())
        groups[group][joinKeys(keys)] = index;
    }
    // The whole result can be the state: its first index is then a key of it.
    if (rootKeys == 1)
      for (auto [index, result] : enumerate(results)) {
        ArrayRef<PathKey> keys = withoutResultRoot(result.path);
        if (!taken[index] && keys.size() > 1 && keys.front().isIndex)
          groups["*"][joinKeys(keys)] = index;
      }

    std::map<std::string, std::vector<std::string>> candidates;
    for (const auto &[root, leaves] : roots)
      for (const auto &[group, targets] : groups)
        if (covers(targets, leaves))
          candidates[root].push_back(group);
    // A root with one candidate takes it, which may leave another root with
    // one.
    for (bool changed = true; changed;) {
      changed = false;
      for (auto &[root, options] : candidates) {
        if (options.size() != 1)
          continue;
        std::string group = options.front();
        bool contested = any_of(candidates, [&](const auto &other) {
          return other.first != root && other.second.size() == 1 &&
                 other.second.front() == group;
        });
        if (contested)
          continue;
        for (const auto &[path, argument] : roots[root])
          assignByName(argument, groups[group][path]);
        for (auto &[other, remaining] : candidates)
          erase(remaining, group);
        changed = true;
      }
    }
  }

  bool covers(const Leaves &targets, const Leaves &leaves) const {
    return all_of(leaves, [&](const auto &leaf) {
      auto target = targets.find(leaf.first);
      return target != targets.end() && fits(leaf.second, target->second);
    });
  }

  /// Donated arguments left over against groups of results left over.
  void matchPositions() {
    SmallVector<int64_t> waiting;
    for (int64_t index = 0; index < int64_t(arguments.size()); ++index)
      if (arguments[index].donated && isOpen(index))
        waiting.push_back(index);
    if (waiting.empty())
      return;
    SmallVector<SmallVector<int64_t>> groups;
    std::string last;
    int64_t available = 0;
    for (auto [index, result] : enumerate(results)) {
      if (taken[index])
        continue;
      std::string group = resultGroup(result, index);
      if (groups.empty() || group != last)
        groups.emplace_back();
      groups.back().push_back(index);
      last = std::move(group);
      ++available;
    }
    // choices[g][p]: ways to meet the arguments from p on with groups from g
    // on, counted up to two.
    size_t count = waiting.size();
    std::vector<std::vector<uint8_t>> choices(
        groups.size() + 1, std::vector<uint8_t>(count + 1, 0));
    choices[groups.size()][count] = 1;
    auto matches = [&](ArrayRef<int64_t> group, size_t position) {
      if (position + group.size() > count)
        return false;
      for (auto [offset, result] : enumerate(group))
        if (!fits(waiting[position + offset], result))
          return false;
      return true;
    };
    for (size_t g = groups.size(); g-- > 0;)
      for (size_t p = 0; p <= count; ++p) {
        int ways = choices[g + 1][p];
        if (matches(groups[g], p))
          ways += choices[g + 1][p + groups[g].size()];
        choices[g][p] = uint8_t(std::min(ways, 2));
      }
    if (choices[0][0] != 1) {
      append_range(decided.undecided, waiting);
      decided.reason =
          choices[0][0] == 0
              ? formatv(
                    "{0} donated arguments and {1} results do not match one "
                    "to one in number and type",
                    count, available)
                    .str()
              : formatv("{0} donated arguments match {1} results in more than "
                        "one way",
                        count, available)
                    .str();
      return;
    }
    size_t p = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (choices[g + 1][p])
        continue;
      for (int64_t result : groups[g])
        assign(waiting[p++], result, SuccessionEvidence::position);
    }
  }

  ArrayRef<ArgumentLeaf> arguments;
  ArrayRef<ResultLeaf> results;
  std::vector<bool> taken;
  bool anyDonated = false;
  Succession decided;
};

} // namespace

Succession decideSuccession(ArrayRef<ArgumentLeaf> arguments,
                            ArrayRef<ResultLeaf> results) {
  return Decision(arguments, results).run();
}

} // namespace tenon::importer

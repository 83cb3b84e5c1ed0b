//===- Holding.cpp - What the devices hold of a tensor --------------------===//
//
// See Holding.h.
//
//===----------------------------------------------------------------------===//

#include "Holding.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

using namespace llvm;

namespace tenon::shardingcheck {

void normalize(Digits &digits) {
  Digits merged;
  for (Digit digit : digits) {
    if (digit.size == 1)
      continue;
    if (!merged.empty() && merged.back().of == digit.of &&
        merged.back().step == digit.step * digit.size) {
      merged.back().size *= digit.size;
      merged.back().step = digit.step;
      continue;
    }
    merged.push_back(digit);
  }
  digits = std::move(merged);
}

int64_t countOf(ArrayRef<Digit> digits) {
  int64_t count = 1;
  for (const Digit &digit : digits)
    count *= digit.size;
  return count;
}

std::optional<std::pair<Digits, Digits>> split(ArrayRef<Digit> digits,
                                               int64_t count) {
  Digits major(digits), minor;
  while (count > 1) {
    if (major.empty())
      return std::nullopt;
    Digit last = major.pop_back_val();
    if (count % last.size == 0) {
      minor.insert(minor.begin(), last);
      count /= last.size;
    } else if (last.size % count == 0) {
      minor.insert(minor.begin(), {count, last.of, last.step});
      major.push_back({last.size / count, last.of, last.step * count});
      count = 1;
    } else {
      return std::nullopt;
    }
  }
  return std::make_pair(major, minor);
}

Holding everything(mlir::Value whole, ArrayRef<int64_t> shape,
                   int64_t devices) {
  Holding held;
  held.whole = whole;
  for (auto [dim, extent] : enumerate(shape)) {
    held.dims.push_back({{extent, int(dim), 1}});
    normalize(held.dims.back());
    held.base.push_back(PerDevice(devices, 0));
    if (extent == 1)
      held.base.back().reset();
  }
  held.tail.resize(shape.size());
  return held;
}

Holding anything(mlir::Value whole, ArrayRef<int64_t> wholeShape,
                 ArrayRef<int64_t> localShape, int64_t devices) {
  Holding held;
  held.whole = whole;
  for (int64_t extent : localShape) {
    held.dims.push_back({{extent, repeats, 0}});
    normalize(held.dims.back());
  }
  held.base.resize(wholeShape.size());
  held.tail.resize(wholeShape.size());
  return held;
}

std::optional<Holding> transposed(Holding held, ArrayRef<int64_t> permutation) {
  std::vector<Digits> dims;
  for (int64_t from : permutation)
    dims.push_back(held.dims[from]);
  held.dims = std::move(dims);
  return held;
}

std::optional<Holding> reshaped(Holding held, ArrayRef<int64_t> shape) {
  Digits all;
  for (const Digits &dim : held.dims)
    append_range(all, dim);
  normalize(all);
  std::vector<Digits> dims(shape.size());
  for (size_t at = shape.size(); at-- > 0;) {
    auto parts = split(all, shape[at]);
    if (!parts)
      return std::nullopt;
    std::tie(all, dims[at]) = *parts;
    normalize(dims[at]);
  }
  held.dims = std::move(dims);
  return held;
}

std::optional<Holding> broadcast(Holding held, ArrayRef<int64_t> to,
                                 ArrayRef<int64_t> shape) {
  std::vector<Digits> dims(shape.size());
  for (auto [dim, extent] : enumerate(shape)) {
    auto found = find(to, int64_t(dim));
    if (found != to.end() && countOf(held.dims[found - to.begin()]) == extent) {
      dims[dim] = held.dims[found - to.begin()];
      continue;
    }
    dims[dim] = {{extent, repeats, 0}};
    normalize(dims[dim]);
  }
  held.dims = std::move(dims);
  return held;
}

std::optional<Holding> sliced(Holding held, ArrayRef<PerDevice> starts,
                              ArrayRef<int64_t> sizes,
                              ArrayRef<int64_t> strides) {
  for (auto [dim, digits] : enumerate(held.dims)) {
    const PerDevice &start = starts[dim];
    bool startsAtZero = all_of(start, [](int64_t at) { return at == 0; });
    if (startsAtZero && strides[dim] == 1 && sizes[dim] == countOf(digits))
      continue;
    auto shift = [&](const Digit &digit, auto valueOf) {
      if (digit.of == repeats)
        return;
      PerDevice &base = *held.base[digit.of];
      for (size_t device = 0; device < base.size(); ++device)
        base[device] += valueOf(device) * digit.step;
    };
    if (digits.size() <= 1) {
      if (digits.empty())
        continue;
      shift(digits[0], [&](size_t device) { return start[device]; });
      digits[0].size = sizes[dim];
      digits[0].step *= strides[dim];
      normalize(digits);
      continue;
    }
    // Between the pieces that major digits count.
    auto parts = split(digits, sizes[dim]);
    if (!parts || strides[dim] != 1 ||
        any_of(start, [&](int64_t at) { return at % sizes[dim] != 0; }))
      return std::nullopt;
    int64_t unit = sizes[dim];
    for (const Digit &digit : reverse(parts->first)) {
      shift(digit,
            [&](size_t device) { return start[device] / unit % digit.size; });
      unit *= digit.size;
    }
    digits = parts->second;
    normalize(digits);
  }
  return held;
}

std::optional<Holding> padded(Holding held, ArrayRef<int64_t> wholeShape,
                              ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                              int64_t devices) {
  for (auto [dim, digits] : enumerate(held.dims)) {
    if (low[dim] == 0 && high[dim] == 0)
      continue;
    bool isUsed = any_of(held.dims, [&, dim = dim](const Digits &others) {
      return any_of(others, [&](const Digit &d) { return d.of == int(dim); });
    });
    // All elements of the dimension of that number, if they are alike.
    int64_t count = countOf(digits);
    bool isAlike =
        digits.empty() || (digits.size() == 1 && digits[0].of == repeats);
    if (isAlike && dim < wholeShape.size() && !isUsed &&
        (held.base[dim] ? count == 1 : count == wholeShape[dim])) {
      if (!held.base[dim])
        held.base[dim] = PerDevice(devices, 0);
      digits = {{count, int(dim), 1}};
    }
    if (low[dim] < 0 || high[dim] < 0 || digits.size() != 1 ||
        digits[0].of == repeats)
      return std::nullopt;
    Digit &digit = digits[0];
    // Other digits of the dimension could lead back inside.
    int users = 0;
    for (const Digits &other : held.dims)
      users +=
          count_if(other, [&](const Digit &d) { return d.of == digit.of; });
    if (users != 1)
      return std::nullopt;
    for (int64_t &base : *held.base[digit.of]) {
      if (high[dim] > 0 &&
          base + digit.size * digit.step < wholeShape[digit.of])
        return std::nullopt;
      if (low[dim] > 0 && base - digit.step >= 0)
        return std::nullopt;
      base -= low[dim] * digit.step;
    }
    digit.size += low[dim] + high[dim];
    held.tail.assign(held.tail.size(), 0);
  }
  return held;
}

//===----------------------------------------------------------------------===//
// Moved in the whole step
//===----------------------------------------------------------------------===//

namespace {

/// The holding with another whole tensor, whose dimensions are `to` of the old
/// ones; -1 for those that are gone.
Holding renamed(const Holding &held, mlir::Value whole, ArrayRef<int> to,
                size_t rank) {
  Holding result = held;
  result.whole = whole;
  result.base.assign(rank, std::nullopt);
  result.tail.assign(rank, 0);
  for (auto [from, dim] : enumerate(to))
    if (dim >= 0) {
      result.base[dim] = held.base[from];
      result.tail[dim] = held.tail[from];
    }
  for (Digits &digits : result.dims) {
    for (Digit &digit : digits)
      if (digit.of != repeats) {
        digit.of = to[digit.of];
        if (digit.of < 0)
          digit.step = 0;
      }
    normalize(digits);
  }
  return result;
}

} // namespace

std::optional<Holding> ofTransposed(const Holding &held, mlir::Value to,
                                    ArrayRef<int64_t> permutation) {
  SmallVector<int> names(permutation.size());
  for (auto [at, from] : enumerate(permutation))
    names[from] = int(at);
  return renamed(held, to, names, permutation.size());
}

std::optional<Holding> ofSliced(const Holding &held, mlir::Value to,
                                ArrayRef<int64_t> starts,
                                ArrayRef<int64_t> strides) {
  Holding result = held;
  result.whole = to;
  result.tail.assign(starts.size(), 0);
  for (auto [dim, base] : enumerate(result.base)) {
    if (!base)
      continue;
    for (int64_t &at : *base) {
      at -= starts[dim];
      if (at % strides[dim] != 0)
        return std::nullopt;
      at /= strides[dim];
    }
    for (Digits &digits : result.dims)
      for (Digit &digit : digits)
        if (digit.of == int(dim)) {
          if (digit.step % strides[dim] != 0)
            return std::nullopt;
          digit.step /= strides[dim];
        }
  }
  return result;
}

std::optional<Holding> ofBroadcast(const Holding &held, mlir::Value to,
                                   ArrayRef<int64_t> fromShape,
                                   ArrayRef<int64_t> dims,
                                   ArrayRef<int64_t> shape) {
  SmallVector<int> names;
  for (auto [from, dim] : enumerate(dims)) {
    bool isRepeated = fromShape[from] != shape[dim];
    // An element outside is not repeated.
    if (isRepeated && held.base[from])
      return std::nullopt;
    names.push_back(isRepeated ? -1 : int(dim));
  }
  return renamed(held, to, names, shape.size());
}

namespace {

/// Neighbouring dimensions that hold as many elements before and behind a
/// reshape: those from `from` to `fromEnd` become those from `to` to `toEnd`.
struct Run {
  size_t from, fromEnd, to, toEnd;
};

/// The shortest runs; nothing for shapes of different counts.
std::optional<SmallVector<Run>> runsOf(ArrayRef<int64_t> fromShape,
                                       ArrayRef<int64_t> shape) {
  SmallVector<Run> runs;
  size_t i = 0, j = 0;
  while (i < fromShape.size() || j < shape.size()) {
    Run run{i, i, j, j};
    int64_t from = i < fromShape.size() ? fromShape[i++] : 1;
    int64_t into = j < shape.size() ? shape[j++] : 1;
    while (from != into) {
      if (from < into && i < fromShape.size())
        from *= fromShape[i++];
      else if (j < shape.size())
        into *= shape[j++];
      else
        return std::nullopt;
    }
    run.fromEnd = i;
    run.toEnd = j;
    runs.push_back(run);
  }
  return runs;
}

/// Where elements along a dimension of the whole are alike, those that a local
/// dimension repeats may be taken for any of them: for one of each.
SmallVector<Holding> withPlacesAlong(const Holding &held, size_t dim,
                                     int64_t extent) {
  SmallVector<Holding> placed;
  for (auto [local, digits] : enumerate(held.dims))
    for (auto [at, digit] : enumerate(digits)) {
      if (digit.of != repeats || digit.size % extent != 0)
        continue;
      for (bool isMajor : {true, false}) {
        Holding one = held;
        Digit place{extent, int(dim), 1}, rest = digit;
        rest.size /= extent;
        Digits &all = one.dims[local];
        all[at] = isMajor ? rest : place;
        all.insert(all.begin() + at, isMajor ? place : rest);
        size_t devices = 0;
        for (const auto &base : held.base)
          if (base)
            devices = base->size();
        one.base[dim] = PerDevice(devices, 0);
        placed.push_back(std::move(one));
        if (rest.size == 1)
          break;
      }
    }
  return placed;
}

/// The same where a device has fewer elements than there are: they may be taken
/// for those of its part, whichever part that is.
SmallVector<Holding> withPartsAlong(const Holding &held, size_t dim,
                                    int64_t extent, Spreads spreads) {
  SmallVector<Holding> placed;
  auto place = [&](Holding one, int64_t size) {
    for (const PerDevice &parts : spreads(extent / size)) {
      PerDevice &base = one.base[dim].emplace(parts);
      for (int64_t &at : base)
        at *= size;
      placed.push_back(one);
    }
  };
  place(held, 1);
  for (auto [local, digits] : enumerate(held.dims))
    for (auto [at, digit] : enumerate(digits))
      if (digit.of == repeats && digit.size > 1 && extent % digit.size == 0) {
        Holding one = held;
        one.dims[local][at] = {digit.size, int(dim), 1};
        place(std::move(one), digit.size);
      }
  return placed;
}

} // namespace

SmallVector<Holding> withPlaces(const Holding &held,
                                ArrayRef<int64_t> fromShape,
                                ArrayRef<int64_t> shape, Spreads spreads) {
  // More are not worth their time.
  constexpr size_t mostAlternatives = 16;
  SmallVector<Holding> all{held};
  auto runs = runsOf(fromShape, shape);
  if (!runs)
    return all;
  for (const Run &run : *runs) {
    bool isPlaced = false;
    for (size_t dim = run.from; dim < run.fromEnd; ++dim)
      isPlaced |= held.base[dim].has_value();
    for (size_t dim = run.from; isPlaced && dim < run.fromEnd; ++dim) {
      if (held.base[dim] || fromShape[dim] == 1)
        continue;
      SmallVector<Holding> next;
      for (const Holding &one : all)
        append_range(next, withPlacesAlong(one, dim, fromShape[dim]));
      if (next.empty())
        for (const Holding &one : all)
          append_range(next, withPartsAlong(one, dim, fromShape[dim], spreads));
      if (next.size() > mostAlternatives)
        next.truncate(mostAlternatives);
      all = std::move(next);
    }
  }
  return all;
}

std::optional<Holding> ofReshaped(const Holding &held, mlir::Value to,
                                  ArrayRef<int64_t> fromShape,
                                  ArrayRef<int64_t> shape) {
  auto runs = runsOf(fromShape, shape);
  if (!runs)
    return std::nullopt;
  Holding result = held;
  result.whole = to;
  result.base.assign(shape.size(), std::nullopt);
  result.tail.assign(shape.size(), 0);
  // The places of digits, so that each is rewritten once.
  std::vector<std::vector<SmallVector<Digit>>> rewritten;
  for (const Digits &digits : held.dims)
    rewritten.emplace_back(digits.size());
  for (auto [dim, digits] : enumerate(held.dims))
    for (auto [at, digit] : enumerate(digits))
      if (digit.of == repeats)
        rewritten[dim][at] = {digit};
  for (auto [firstFrom, i, firstTo, j] : *runs) {
    SmallVector<size_t> used;
    bool hasAny = false;
    for (size_t dim = firstFrom; dim < i; ++dim)
      if (fromShape[dim] > 1 || held.base[dim]) {
        used.push_back(dim);
        hasAny |= !held.base[dim];
      }
    SmallVector<size_t> targets;
    for (size_t dim = firstTo; dim < j; ++dim)
      if (shape[dim] > 1)
        targets.push_back(dim);
    if (all_of(used, [&](size_t dim) { return !held.base[dim]; }))
      continue; // all alike
    if (hasAny)
      return std::nullopt;
    if (used.size() == 1 && targets.empty() && firstTo < j)
      targets.push_back(firstTo); // one element, and what is outside
    if (targets.empty())
      return std::nullopt;
    size_t devices = held.base[used[0]]->size();
    // Where the elements lie in the run; only the major dimension may lead
    // outside, which is outside then, too.
    PerDevice place(devices, 0);
    SmallVector<int64_t> stride(fromShape.size(), 0);
    int64_t unit = 1;
    for (size_t dim : reverse(used)) {
      stride[dim] = unit;
      unit *= fromShape[dim];
      int64_t most = 0;
      for (const Digits &digits : held.dims)
        for (const Digit &digit : digits)
          if (digit.of == int(dim))
            most += (digit.size - 1) * digit.step;
      for (size_t device = 0; device < devices; ++device) {
        int64_t at = (*held.base[dim])[device];
        if (at < 0 || (dim != used[0] && at + most >= fromShape[dim]))
          return std::nullopt;
        place[device] += at * stride[dim];
      }
    }
    SmallVector<int64_t> bound(targets.size()), step(targets.size());
    unit = 1;
    for (size_t at = targets.size(); at-- > 0;) {
      step[at] = unit;
      unit *= shape[targets[at]];
      bound[at] = at == 0 ? std::numeric_limits<int64_t>::max() : unit;
    }
    SmallVector<int64_t> most(targets.size(), 0);
    for (auto [dim, digits] : enumerate(held.dims))
      for (auto [at, digit] : enumerate(digits)) {
        if (digit.of == repeats || size_t(digit.of) < firstFrom ||
            size_t(digit.of) >= i)
          continue;
        int64_t one = digit.step * stride[digit.of], left = digit.size;
        if (one <= 0)
          return std::nullopt;
        SmallVector<Digit> pieces; // minor first
        for (size_t to = targets.size(); to-- > 0 && left > 1;) {
          if (one >= bound[to])
            continue;
          if (one % step[to] != 0)
            return std::nullopt;
          int64_t size = left;
          if (to > 0 && one * left > bound[to]) {
            if (bound[to] % one != 0 || left % (bound[to] / one) != 0)
              return std::nullopt;
            size = bound[to] / one;
          }
          pieces.push_back({size, int(targets[to]), one / step[to]});
          most[to] += (size - 1) * (one / step[to]);
          left /= size;
          one *= size;
        }
        rewritten[dim][at].assign(pieces.rbegin(), pieces.rend());
      }
    for (size_t at = 0; at < targets.size(); ++at) {
      PerDevice base(devices);
      for (size_t device = 0; device < devices; ++device) {
        int64_t index = place[device] / step[at];
        if (at > 0) {
          index %= shape[targets[at]];
          if (index + most[at] >= shape[targets[at]])
            return std::nullopt; // would carry
        }
        base[device] = index;
      }
      result.base[targets[at]] = std::move(base);
    }
    // One dimension, with others of extent 1 around it, keeps its tail.
    if (used.size() == 1 && targets.size() == 1)
      result.tail[targets[0]] = held.tail[used[0]];
  }
  for (auto [dim, digits] : enumerate(result.dims)) {
    digits.clear();
    for (ArrayRef<Digit> pieces : rewritten[dim])
      append_range(digits, pieces);
    normalize(digits);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {

/// The digits by which the members of every group lie behind its first one.
std::optional<Digits> digitsAlong(const Holding &held, const Groups &groups) {
  int64_t count = groups.front().size();
  size_t rank = held.base.size();
  auto distance = [&](const std::vector<int64_t> &group, int64_t member,
                      size_t dim) -> int64_t {
    if (!held.base[dim])
      return 0;
    return (*held.base[dim])[group[member]] - (*held.base[dim])[group[0]];
  };
  for (const auto &group : groups)
    for (int64_t member = 0; member < count; ++member)
      for (size_t dim = 0; dim < rank; ++dim)
        if (distance(group, member, dim) !=
            distance(groups.front(), member, dim))
          return std::nullopt;
  const auto &first = groups.front();
  Digits digits; // minor first
  int64_t unit = 1;
  while (unit < count) {
    Digit digit;
    for (size_t dim = 0; dim < rank; ++dim)
      if (int64_t step = distance(first, unit, dim)) {
        if (digit.of != repeats)
          return std::nullopt;
        digit.of = int(dim);
        digit.step = step;
      }
    auto isStraight = [&](int64_t size) {
      for (int64_t at = 0; at < size; ++at)
        for (size_t dim = 0; dim < rank; ++dim)
          if (distance(first, unit * at, dim) !=
              (int(dim) == digit.of ? at * digit.step : 0))
            return false;
      return true;
    };
    int64_t size = count / unit;
    while (size > 1 && (count / unit % size != 0 || !isStraight(size)))
      --size;
    if (size < 2)
      return std::nullopt;
    digit.size = size;
    digits.push_back(digit);
    unit *= size;
  }
  for (int64_t member = 0; member < count; ++member)
    for (size_t dim = 0; dim < rank; ++dim) {
      int64_t expected = 0, rest = member;
      for (const Digit &digit : digits) {
        if (digit.of == int(dim))
          expected += rest % digit.size * digit.step;
        rest /= digit.size;
      }
      if (distance(first, member, dim) != expected)
        return std::nullopt;
    }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

void startAtFirst(Holding &held, const Groups &groups) {
  for (auto &base : held.base)
    if (base) {
      PerDevice old = *base;
      for (const auto &group : groups)
        for (int64_t device : group)
          (*base)[device] = old[group[0]];
    }
}

/// Moves each device by its place in its group along major digits.
void advance(Holding &held, const Groups &groups, ArrayRef<Digit> major) {
  for (const auto &group : groups)
    for (auto [place, device] : enumerate(group)) {
      int64_t rest = place;
      for (const Digit &digit : reverse(major)) {
        if (digit.of != repeats)
          (*held.base[digit.of])[device] += rest % digit.size * digit.step;
        rest /= digit.size;
      }
    }
}

} // namespace

/// Whether the members of each group have one share, so that what they exchange
/// stays one.
static bool isWithinShares(const Holding &held, const Groups &groups) {
  return !held.isPending() || all_of(groups, [&](const auto &group) {
    return all_of(group, [&](int64_t device) {
      return held.share[device] == held.share[group[0]];
    });
  });
}

std::optional<Holding> gathered(Holding held, const Groups &groups,
                                int64_t dim) {
  if (!isWithinShares(held, groups))
    return std::nullopt;
  auto digits = digitsAlong(held, groups);
  if (!digits)
    return std::nullopt;
  startAtFirst(held, groups);
  append_range(*digits, held.dims[dim]);
  held.dims[dim] = *digits;
  normalize(held.dims[dim]);
  return held;
}

std::optional<Holding> exchanged(Holding held, const Groups &groups,
                                 int64_t splitDim, int64_t concatDim) {
  int64_t count = groups.front().size();
  int64_t extent = countOf(held.dims[splitDim]);
  if (!isWithinShares(held, groups) || extent % count != 0)
    return std::nullopt;
  auto parts = split(held.dims[splitDim], extent / count);
  auto digits = digitsAlong(held, groups);
  if (!parts || !digits)
    return std::nullopt;
  startAtFirst(held, groups);
  advance(held, groups, parts->first);
  held.dims[splitDim] = parts->second;
  append_range(*digits, held.dims[concatDim]);
  held.dims[concatDim] = *digits;
  normalize(held.dims[splitDim]);
  normalize(held.dims[concatDim]);
  return held;
}

std::optional<Holding> permuted(Holding held, ArrayRef<int64_t> sources) {
  for (auto &base : held.base)
    if (base) {
      PerDevice old = *base;
      for (auto [target, source] : enumerate(sources))
        (*base)[target] = old[source];
    }
  if (held.isPending()) {
    PerDevice old = held.share;
    for (auto [target, source] : enumerate(sources))
      held.share[target] = old[source];
  }
  return held;
}

std::optional<Holding> reduced(Holding held, const Groups &groups,
                               Combine combine) {
  if (!held.isPending() || held.combine != combine)
    return std::nullopt;
  // The sets of shares of the groups must be equal or have nothing in common.
  using Shares = std::vector<int64_t>; // sorted
  std::map<Shares, int64_t> sets;      // their numbers
  std::vector<Shares> ofGroups;
  for (const auto &group : groups) {
    Shares own;
    for (int64_t device : group) {
      own.push_back(held.share[device]);
      for (const auto &base : held.base)
        if (base && (*base)[device] != (*base)[group[0]])
          return std::nullopt;
    }
    sort(own);
    if (std::adjacent_find(own.begin(), own.end()) != own.end())
      return std::nullopt;
    sets.try_emplace(own, 0);
    ofGroups.push_back(std::move(own));
  }
  size_t total = 0;
  std::set<int64_t> all;
  int64_t next = 0;
  for (auto &[set, number] : sets) {
    number = next++;
    total += set.size();
    all.insert(set.begin(), set.end());
  }
  if (int64_t(total) != held.shares || int64_t(all.size()) != held.shares)
    return std::nullopt;
  PerDevice share(held.share.size());
  for (auto [group, own] : zip_equal(groups, ofGroups))
    for (int64_t device : group)
      share[device] = sets.at(own);
  held.share = std::move(share);
  held.shares = int64_t(sets.size());
  held.tail.assign(held.tail.size(), 0);
  return held;
}

std::optional<Holding> scattered(Holding held, const Groups &groups,
                                 int64_t dim) {
  int64_t count = groups.front().size();
  int64_t extent = countOf(held.dims[dim]);
  if (extent % count != 0)
    return std::nullopt;
  auto parts = split(held.dims[dim], extent / count);
  if (!parts)
    return std::nullopt;
  advance(held, groups, parts->first);
  held.dims[dim] = parts->second;
  normalize(held.dims[dim]);
  return held;
}

std::optional<std::vector<Range>> blockOf(const Holding &held) {
  if (held.dims.size() != held.base.size())
    return std::nullopt;
  std::vector<Range> ranges;
  for (auto [dim, digits] : enumerate(held.dims)) {
    for (const Digit &digit : digits)
      if (digit.of == repeats
              ? held.base[dim].has_value()
              : digit.of != int(dim) || digit.step != 1 || digits.size() != 1)
        return std::nullopt;
    ranges.push_back({held.base[dim], held.tail[dim]});
  }
  return ranges;
}

Holding holdingOf(mlir::Value whole, ArrayRef<int64_t> localShape,
                  ArrayRef<Range> ranges) {
  Holding held;
  held.whole = whole;
  for (auto [dim, range] : enumerate(ranges)) {
    Digits digits{{localShape[dim], range.start ? int(dim) : repeats,
                   range.start ? 1 : 0}};
    normalize(digits);
    held.dims.push_back(std::move(digits));
    held.base.push_back(range.start);
    held.tail.push_back(range.tail);
  }
  return held;
}

} // namespace tenon::shardingcheck

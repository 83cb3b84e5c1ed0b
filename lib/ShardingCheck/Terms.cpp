//===- Terms.cpp - What values are, by how they are computed --------------===//
//
// See Terms.h.
//
//===----------------------------------------------------------------------===//

#include "Terms.h"

#include "tenon/Analysis/Shapes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

namespace {
/// The first word of a key, which no caller has.
constexpr uint64_t movedKey = ~uint64_t(0);

/// The runs of a tensor, from which ranges are taken in any order.
class Elements {
public:
  explicit Elements(std::vector<Stretch> runs) : runs(std::move(runs)) {
    int64_t end = 0;
    for (const Stretch &run : this->runs)
      ends.push_back(end += run.count);
  }

  void take(int64_t begin, int64_t count, std::vector<Stretch> &into) const {
    size_t at =
        std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin();
    for (; count > 0; ++at) {
      const int64_t inside = begin - (ends[at] - runs[at].count);
      const int64_t taken = std::min(count, runs[at].count - inside);
      Stretch run{runs[at].of, runs[at].begin + inside, taken};
      if (!into.empty() && into.back().of == run.of &&
          into.back().begin + into.back().count == run.begin)
        into.back().count += taken;
      else
        into.push_back(run);
      begin += taken;
      count -= taken;
    }
  }

private:
  std::vector<Stretch> runs;
  std::vector<int64_t> ends;
};
} // namespace

Term Terms::intern(Key key, Entry entry) {
  auto [found, isNew] = numbers.try_emplace(std::move(key), all.size());
  if (isNew)
    all.push_back(std::move(entry));
  return found->second;
}

Term Terms::computed(Key key, Type type) {
  key.push_back(wordOf(type));
  return intern(std::move(key), {type, {}});
}

std::vector<Stretch> Terms::runsOf(Term term) const {
  if (!all[term].runs.empty())
    return all[term].runs;
  auto type = cast<RankedTensorType>(all[term].type);
  return {{term, 0, type.getNumElements()}};
}

Term Terms::moved(RankedTensorType type, std::vector<Stretch> runs) {
  if (runs.size() == 1 && typeOf(runs[0].of) == type && runs[0].begin == 0)
    return runs[0].of;
  Key key{movedKey, wordOf(Type(type))};
  for (const Stretch &run : runs)
    key.insert(key.end(), {run.of, uint64_t(run.begin), uint64_t(run.count)});
  return intern(std::move(key), {type, std::move(runs)});
}

Term Terms::sliced(Term of, ArrayRef<int64_t> first,
                   ArrayRef<int64_t> extents) {
  auto type = cast<RankedTensorType>(typeOf(of));
  ArrayRef<int64_t> shape = type.getShape();
  // Behind the last dimension that is cut all elements are in one piece.
  size_t last = shape.size();
  while (last > 0 && extents[last - 1] == shape[last - 1])
    --last;
  if (last == 0)
    return of;
  const int64_t inner = elementCount(shape.drop_front(last));
  Elements elements(runsOf(of));
  std::vector<Stretch> runs;
  SmallVector<int64_t> at(last, 0);
  for (int64_t rows = elementCount(extents.take_front(last - 1)); rows > 0;
       --rows) {
    int64_t begin = 0;
    for (size_t dim = 0; dim < last; ++dim)
      begin = begin * shape[dim] + first[dim] + at[dim];
    elements.take(begin * inner, extents[last - 1] * inner, runs);
    for (size_t dim = last - 1; dim-- > 0;) {
      if (++at[dim] < extents[dim])
        break;
      at[dim] = 0;
    }
  }
  return moved(type.clone(extents), std::move(runs));
}

Term Terms::part(Term of, int64_t dim, int64_t index, int64_t count) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(typeOf(of)).getShape();
  SmallVector<int64_t> first(shape.size(), 0), extents(shape);
  extents[dim] /= count;
  first[dim] = index * extents[dim];
  return sliced(of, first, extents);
}

Term Terms::joined(ArrayRef<Term> parts, int64_t dim) {
  auto type = cast<RankedTensorType>(typeOf(parts.front()));
  SmallVector<int64_t> shape(type.getShape());
  const int64_t outer = elementCount(ArrayRef(shape).take_front(dim));
  std::vector<Elements> elements;
  SmallVector<int64_t> inner;
  shape[dim] = 0;
  for (Term part : parts) {
    ArrayRef<int64_t> its = cast<RankedTensorType>(typeOf(part)).getShape();
    elements.emplace_back(runsOf(part));
    inner.push_back(elementCount(its.drop_front(dim)));
    shape[dim] += its[dim];
  }
  std::vector<Stretch> runs;
  for (int64_t row = 0; row < outer; ++row)
    for (auto [part, count] : llvm::zip_equal(elements, inner))
      part.take(row * count, count, runs);
  return moved(type.clone(shape), std::move(runs));
}

Term Terms::reshaped(Term of, Type type) {
  return moved(cast<RankedTensorType>(type), runsOf(of));
}

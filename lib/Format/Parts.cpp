//===- Parts.cpp - What a rank has of a tensor ----------------------------===//
//
// See Parts.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Format/Parts.h"

#include <algorithm>
#include <cstring>

using namespace tenon;
using namespace tenon::format;

static int64_t shardsOf(const Cut &cut) {
  int64_t count = 1;
  for (int64_t size : cut.sizes)
    count *= size;
  return count;
}

static int64_t shardOf(const Cut &cut, int64_t rank) {
  int64_t index = 0;
  for (size_t i = 0; i < cut.sizes.size(); ++i)
    index = index * cut.sizes[i] + rank / cut.strides[i] % cut.sizes[i];
  return index;
}

Tensor tenon::format::partOf(const Tensor &tensor) {
  Tensor part = tensor;
  part.cuts.clear();
  for (size_t dim = 0; dim < tensor.cuts.size(); ++dim) {
    int64_t shards = shardsOf(tensor.cuts[dim]);
    part.shape[dim] = (tensor.shape[dim] + shards - 1) / shards;
  }
  return part;
}

/// Calls `row(whole, part, bytes)` with the offsets in both, in bytes, of every
/// piece of the part that is in one piece in the whole tensor.
template <typename Row>
static void forRows(const Tensor &tensor, int64_t rank, Row row) {
  const size_t dims = tensor.shape.size();
  const std::vector<int64_t> local = partOf(tensor).shape;
  std::vector<int64_t> starts(dims, 0), counts = tensor.shape;
  for (size_t dim = 0; dim < tensor.cuts.size(); ++dim) {
    starts[dim] = shardOf(tensor.cuts[dim], rank) * local[dim];
    counts[dim] =
        std::clamp<int64_t>(tensor.shape[dim] - starts[dim], 0, local[dim]);
  }
  const int64_t width = byteWidth(tensor.type);
  if (std::ranges::find(counts, 0) != counts.end())
    return;
  std::vector<int64_t> at(dims, 0); // the last dimension is a row
  while (true) {
    int64_t whole = 0, part = 0;
    for (size_t dim = 0; dim < dims; ++dim) {
      whole = whole * tensor.shape[dim] + starts[dim] + at[dim];
      part = part * local[dim] + at[dim];
    }
    row(size_t(whole * width), size_t(part * width),
        size_t((dims ? counts.back() : 1) * width));
    size_t dim = dims > 0 ? dims - 1 : 0;
    while (dim > 0 && ++at[dim - 1] == counts[dim - 1])
      at[--dim] = 0;
    if (dim == 0)
      return;
  }
}

void tenon::format::cutPart(const Tensor &tensor, int64_t rank,
                            std::span<const std::byte> whole,
                            std::span<std::byte> part) {
  std::ranges::fill(part, std::byte{0});
  forRows(tensor, rank, [&](size_t from, size_t to, size_t bytes) {
    std::memcpy(&part[to], &whole[from], bytes);
  });
}

bool tenon::format::readPart(
    const Tensor &tensor, int64_t rank,
    const std::function<bool(uint64_t from, std::span<std::byte> into)> &read,
    std::span<std::byte> part) {
  // Pieces that lie near each other are read at once: asking again costs more
  // than some bytes in between.
  constexpr size_t nearBytes = size_t(1) << 14, mostBytes = size_t(1) << 23;
  struct Piece {
    size_t from, to, bytes;
    size_t end() const { return from + bytes; }
  };
  std::vector<Piece> pieces;
  std::vector<std::byte> staged;
  bool isRead = true;
  auto readPieces = [&] {
    if (!isRead || pieces.empty())
      return;
    if (pieces.size() == 1) {
      isRead =
          read(pieces[0].from, part.subspan(pieces[0].to, pieces[0].bytes));
    } else {
      staged.resize(pieces.back().end() - pieces[0].from);
      isRead = read(pieces[0].from, staged);
      for (const Piece &piece : pieces)
        std::memcpy(&part[piece.to], &staged[piece.from - pieces[0].from],
                    piece.bytes);
    }
    pieces.clear();
  };
  std::ranges::fill(part, std::byte{0});
  forRows(tensor, rank, [&](size_t from, size_t to, size_t bytes) {
    if (!pieces.empty()) {
      Piece &last = pieces.back();
      if (last.end() == from && last.to + last.bytes == to) {
        last.bytes += bytes;
        return;
      }
      if (from - last.end() > nearBytes ||
          from + bytes - pieces[0].from > mostBytes)
        readPieces();
    }
    pieces.push_back({from, to, bytes});
  });
  readPieces();
  return isRead;
}

void tenon::format::clearTail(const Tensor &tensor, int64_t rank,
                              std::span<std::byte> part) {
  std::vector<std::byte> whole(part.begin(), part.end());
  std::ranges::fill(part, std::byte{0});
  forRows(tensor, rank, [&](size_t, size_t at, size_t bytes) {
    std::memcpy(&part[at], &whole[at], bytes);
  });
}

void tenon::format::joinPart(const Tensor &tensor, int64_t rank,
                             std::span<const std::byte> part,
                             std::span<std::byte> whole) {
  forRows(tensor, rank, [&](size_t to, size_t from, size_t bytes) {
    std::memcpy(&whole[to], &part[from], bytes);
  });
}

bool tenon::format::hasPart(const Tensor &tensor, int64_t rank,
                            std::span<const std::byte> part,
                            std::span<const std::byte> whole) {
  bool isSame = true;
  forRows(tensor, rank, [&](size_t to, size_t from, size_t bytes) {
    isSame = isSame && std::memcmp(&whole[to], &part[from], bytes) == 0;
  });
  return isSame;
}

int64_t tenon::format::firstHolder(const Tensor &tensor, int64_t rank) {
  for (int64_t other = 0; other < rank; ++other)
    if (std::ranges::all_of(tensor.cuts, [&](const Cut &cut) {
          return shardOf(cut, other) == shardOf(cut, rank);
        }))
      return other;
  return rank;
}

std::string tenon::format::whyNotCut(const Tensor &tensor, int64_t ranks) {
  if (!tensor.cuts.empty() && tensor.cuts.size() != tensor.shape.size())
    return "is cut along " + std::to_string(tensor.cuts.size()) + " of " +
           std::to_string(tensor.shape.size()) + " dimensions";
  int64_t shards = 1;
  for (const Cut &cut : tensor.cuts) {
    if (cut.strides.size() != cut.sizes.size())
      return "is cut by " + std::to_string(cut.sizes.size()) +
             " axes with strides of " + std::to_string(cut.strides.size());
    for (size_t i = 0; i < cut.sizes.size(); ++i) {
      int64_t stride = cut.strides[i], size = cut.sizes[i];
      if (size < 1 || stride < 1 || size > ranks || stride > ranks ||
          stride * size > ranks || (shards *= size) > ranks)
        return "is cut for more than " + std::to_string(ranks) + " ranks";
    }
  }
  return "";
}

//===- RunCollective.cpp - One rank's share of a collective ---------------===//
//
// See RunCollective.h.
//
//===----------------------------------------------------------------------===//

#include "RunCollective.h"

#include "tenon/Support/Bfloat16.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

using namespace tenon;
using namespace tenon::runtime;
using libraries::CollectiveDescription;
using libraries::CollectiveKind;
using libraries::Combination;

namespace {

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// How a type lies in memory, and in which one it is combined.
template <typename T>
struct Plain {
  using Stored = T;
  using Combined = T;
  static T widen(T value) { return value; }
  static T narrow(T value) { return value; }
};

struct Half {
  using Stored = uint16_t;
  using Combined = float;
  static float widen(uint16_t bits) {
    return float(std::bit_cast<_Float16>(bits));
  }
  static uint16_t narrow(float value) {
    return std::bit_cast<uint16_t>(_Float16(value));
  }
};

struct Brain {
  using Stored = uint16_t;
  using Combined = float;
  static float widen(uint16_t bits) { return widenBf16(bits); }
  static uint16_t narrow(float value) { return roundToBf16(value); }
};

template <typename T>
T combine(Combination how, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (how == Combination::sum)
      return a + b;
    if (std::isnan(a) || std::isnan(b))
      return std::isnan(a) ? a : b;
    if (a == b) // zeros of both signs
      return std::signbit(a) == (how == Combination::minimum) ? a : b;
  } else if (how == Combination::sum) {
    using Bits = std::make_unsigned_t<T>; // sums wrap around
    return T(Bits(a) + Bits(b));
  }
  return (how == Combination::maximum) == (a > b) ? a : b;
}

/// `count` elements of each of `parts`, from the first part to the last. Blocks
/// stay in the nearest cache, and their elements are added side by side.
template <typename Type>
void combineParts(Combination how, std::span<const std::byte *const> parts,
                  int64_t count, std::byte *into) {
  using Stored = typename Type::Stored;
  using Combined = typename Type::Combined;
  constexpr int64_t most = 1024, width = sizeof(Stored);
  Combined sums[most];
  auto load = [](const std::byte *part, int64_t i) {
    Stored value;
    std::memcpy(&value, part + i * width, width);
    return Type::widen(value);
  };
  for (int64_t begin = 0; begin < count; begin += most) {
    const int64_t block = std::min(most, count - begin);
    for (int64_t i = 0; i < block; ++i)
      sums[i] = load(parts.front(), begin + i);
    auto add = [&](auto combination) {
      for (const std::byte *part : parts.subspan(1))
        for (int64_t i = 0; i < block; ++i)
          sums[i] = combine<Combined>(combination, sums[i],
                                      load(part, begin + i));
    };
    // What is done is known to the innermost loop.
    if (how == Combination::sum)
      add(std::integral_constant<Combination, Combination::sum>());
    else
      add(how);
    for (int64_t i = 0; i < block; ++i) {
      Stored result = Type::narrow(sums[i]);
      std::memcpy(into + (begin + i) * width, &result, width);
    }
  }
}

void combineParts(const CollectiveDescription &d,
                  std::span<const std::byte *const> parts, int64_t count,
                  std::byte *into) {
  auto as = [&]<typename Type>(Type) {
    combineParts<Type>(d.combination, parts, count, into);
  };
  switch (d.type) {
  case ElementType::i8:
    return as(Plain<int8_t>());
  case ElementType::i16:
    return as(Plain<int16_t>());
  case ElementType::i32:
    return as(Plain<int32_t>());
  case ElementType::i64:
    return as(Plain<int64_t>());
  case ElementType::i1: // one byte, 0 or 1
  case ElementType::ui8:
    return as(Plain<uint8_t>());
  case ElementType::ui16:
    return as(Plain<uint16_t>());
  case ElementType::ui32:
    return as(Plain<uint32_t>());
  case ElementType::ui64:
    return as(Plain<uint64_t>());
  case ElementType::f16:
    return as(Half());
  case ElementType::bf16:
    return as(Brain());
  case ElementType::f32:
    return as(Plain<float>());
  case ElementType::f64:
    return as(Plain<double>());
  default:
    return; // whyInvalid() lets no other type through
  }
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

class Run {
public:
  Run(const CollectiveDescription &d, Communicator &ranks)
      : d(d), ranks(ranks), n(d.groupSize), width(byteWidth(d.type)) {
    if (d.kind == CollectiveKind::collectivePermute)
      return;
    for (size_t i = 0; i < d.groups.size(); ++i)
      if (d.groups[i].rank == ranks.rank()) {
        place = int64_t(i) % n;
        group = &d.groups[i - size_t(place)];
      }
  }

  bool run(void *const *arguments) {
    if (d.kind == CollectiveKind::partitionId) {
      auto number = uint32_t(ranks.rank());
      std::memcpy(arguments[0], &number, sizeof(number));
      return true;
    }
    const auto *from = static_cast<const std::byte *>(arguments[0]);
    auto *to = static_cast<std::byte *>(arguments[1]);
    auto *work = libraries::workspaceBytes(d) > 0
                     ? static_cast<std::byte *>(arguments[2])
                     : nullptr;
    switch (d.kind) {
    case CollectiveKind::allGather:
      return allGather(from, to, work);
    case CollectiveKind::allReduce:
      return allReduce(from, to, work);
    case CollectiveKind::reduceScatter:
      return reduceScatter(from, to, work);
    case CollectiveKind::allToAll:
      return allToAll(from, to, work);
    default:
      return permute(from, to);
    }
  }

private:
  int64_t part() const { return d.outer * d.piece * width; } // bytes

  /// Between [outer, n, piece] and [n, outer, piece].
  void sort(const std::byte *from, std::byte *to, bool intoParts) const {
    const int64_t bytes = d.piece * width;
    for (int64_t o = 0; o < d.outer; ++o)
      for (int64_t m = 0; m < n; ++m) {
        int64_t whole = (o * n + m) * bytes, parts = (m * d.outer + o) * bytes;
        std::memcpy(to + (intoParts ? parts : whole),
                    from + (intoParts ? whole : parts), size_t(bytes));
      }
  }

  /// Sends each member of the group the part at `sent(member)`, and receives
  /// one from each at `received(member)`.
  template <typename Sent, typename Received>
  bool exchange(Sent sent, Received received) {
    outgoing.clear();
    incoming.clear();
    for (int64_t m = 0; m < n; ++m) {
      outgoing.push_back({group[m].rank, sent(m)});
      incoming.push_back({group[m].rank, received(m)});
    }
    return ranks.exchange(outgoing, incoming);
  }

  /// Sends each member its part, and receives one from each in the group's
  /// order.
  bool exchangeParts(const std::byte *from, std::byte *to) {
    return exchange(
        [&](int64_t m) { return std::span(from + m * part(), size_t(part())); },
        [&](int64_t m) { return std::span(to + m * part(), size_t(part())); });
  }

  /// Sends each other member the part at `sent(member)`, and combines what this
  /// one has of its own with what comes from them, `stride` bytes apart.
  template <typename Sent>
  bool exchangeAndCombine(Sent sent, std::byte *work, int64_t stride,
                          std::byte *to) {
    const std::span<const std::byte> own = sent(place);
    outgoing.clear();
    incoming.clear();
    parts.clear();
    for (int64_t m = 0; m < n; ++m) {
      parts.push_back(m == place ? own.data() : work + m * stride);
      if (m == place)
        continue;
      outgoing.push_back({group[m].rank, sent(m)});
      incoming.push_back(
          {group[m].rank, std::span(work + m * stride, own.size())});
    }
    if (!ranks.exchange(outgoing, incoming))
      return false;
    combineParts(d, parts, int64_t(own.size()) / width, to);
    return true;
  }

  bool allGather(const std::byte *from, std::byte *to, std::byte *work) {
    std::byte *parts = work ? work : to;
    if (!exchange([&](int64_t) { return std::span(from, size_t(part())); },
                  [&](int64_t m) {
                    return std::span(parts + m * part(), size_t(part()));
                  }))
      return false;
    if (work)
      sort(work, to, /*intoParts=*/false);
    return true;
  }

  bool allReduce(const std::byte *from, std::byte *to, std::byte *work) {
    if (ranks.reduces(d))
      return ranks.reduce(d, from, to);
    const int64_t share = libraries::shareOf(d);
    auto begin = [&](int64_t m) { return std::min(d.piece, m * share); };
    auto bytes = [&](int64_t m) {
      return size_t((begin(m + 1) - begin(m)) * width);
    };
    std::byte *mine = to + begin(place) * width;
    if (!exchangeAndCombine(
            [&](int64_t m) {
              return std::span(from + begin(m) * width, bytes(m));
            },
            work, share * width, mine))
      return false;
    return exchange(
        [&](int64_t) { return std::span<const std::byte>(mine, bytes(place)); },
        [&](int64_t m) { return std::span(to + begin(m) * width, bytes(m)); });
  }

  bool reduceScatter(const std::byte *from, std::byte *to, std::byte *work) {
    std::byte *received = work;
    if (d.outer > 1) {
      std::byte *sorted = work + n * part();
      sort(from, sorted, /*intoParts=*/true);
      from = sorted;
    }
    if (ranks.reduces(d))
      return ranks.reduce(d, from, to);
    return exchangeAndCombine(
        [&](int64_t m) { return std::span(from + m * part(), size_t(part())); },
        received, part(), to);
  }

  bool allToAll(const std::byte *from, std::byte *to, std::byte *work) {
    std::byte *received = work ? work + n * part() : to;
    if (work) {
      sort(from, work, /*intoParts=*/true);
      from = work;
    }
    if (!exchangeParts(from, received))
      return false;
    if (work)
      sort(received, to, /*intoParts=*/false);
    return true;
  }

  bool permute(const std::byte *from, std::byte *to) {
    outgoing.clear();
    incoming.clear();
    for (size_t i = 0; i + 1 < d.groups.size(); i += 2) {
      if (d.groups[i].rank == ranks.rank())
        outgoing.push_back(
            {d.groups[i + 1].rank, std::span(from, size_t(part()))});
      if (d.groups[i + 1].rank == ranks.rank())
        incoming.push_back({d.groups[i].rank, std::span(to, size_t(part()))});
    }
    if (incoming.empty())
      std::memset(to, 0, size_t(part()));
    return ranks.exchange(outgoing, incoming);
  }

  const CollectiveDescription &d;
  Communicator &ranks;
  int64_t n, width, place = 0;
  const libraries::Participant *group = nullptr;
  std::vector<OutgoingMessage> outgoing;
  std::vector<IncomingMessage> incoming;
  std::vector<const std::byte *> parts;
};

} // namespace

bool tenon::runtime::runCollective(const CollectiveDescription &description,
                                   void *const *arguments,
                                   Communicator &communicator) {
  return Run(description, communicator).run(arguments);
}

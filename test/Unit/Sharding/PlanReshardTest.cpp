//===- PlanReshardTest.cpp - Plans against brute force --------------------===//
//
// The brute force knows no axes: it looks at which box of elements each device
// holds in two layouts, says from that alone whether one collective leads from
// one to the other and what it costs, and takes the shortest path over all
// pairs of layouts.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/PlanReshard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

using namespace tenon::sharding;

namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::max() / 4;

/// All ways to cut a tensor of this rank.
std::vector<Layout> allLayouts(const Mesh &mesh, int64_t rank) {
  std::vector<Layout> layouts{Layout::replicated(rank)};
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
    std::vector<Layout> more = layouts;
    for (const Layout &layout : layouts)
      for (int64_t dim = 0; dim < rank; ++dim)
        for (size_t at = 0; at <= layout.dims[dim].size(); ++at) {
          Layout cut = layout;
          cut.dims[dim].insert(cut.dims[dim].begin() + at,
                               AxisPart{axis, 1, mesh.axes[axis].size});
          more.push_back(cut);
        }
    layouts = std::move(more);
  }
  return layouts;
}

class BruteForce {
public:
  BruteForce(const Mesh &mesh, std::vector<int64_t> shape)
      : mesh(mesh), shape(std::move(shape)),
        layouts(allLayouts(mesh, this->shape.size())) {
    size_t count = layouts.size();
    for (const Layout &layout : layouts) {
      boxes.emplace_back();
      for (int64_t device = 0; device < mesh.devices(); ++device) {
        auto &box = boxes.back().emplace_back();
        for (size_t dim = 0; dim < this->shape.size(); ++dim) {
          int64_t extent = this->shape[dim] / countOf(layout.dims[dim]);
          int64_t start = mesh.indexAlong(device, layout.dims[dim]) * extent;
          box.push_back({start, start + extent});
        }
      }
      sizes.push_back(common(boxes.back()[0], boxes.back()[0]));
    }
    costs.assign(count, std::vector<int64_t>(count, never));
    for (size_t from = 0; from < count; ++from)
      for (size_t to = 0; to < count; ++to)
        costs[from][to] = costOf(from, to);
  }

  /// Elements received along the shortest path, within the memory.
  int64_t shortest(size_t from, size_t to) const {
    int64_t memory = sizes[from] + sizes[to] + std::max(sizes[from], sizes[to]);
    std::vector<int64_t> best(layouts.size(), never);
    best[from] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t at = 0; at < layouts.size(); ++at)
        for (size_t next = 0; next < layouts.size(); ++next) {
          int64_t held =
              sizes[at] + sizes[next] + (at == from ? 0 : sizes[from]);
          if (best[at] == never || costs[at][next] == never || held > memory ||
              best[at] + costs[at][next] >= best[next])
            continue;
          best[next] = best[at] + costs[at][next];
          changed = true;
        }
    }
    return best[to];
  }

  const Mesh &mesh;
  std::vector<int64_t> shape;
  std::vector<Layout> layouts;

private:
  using Box = std::vector<std::pair<int64_t, int64_t>>;

  static int64_t common(const Box &a, const Box &b) {
    int64_t count = 1;
    for (size_t dim = 0; dim < a.size(); ++dim)
      count *= std::max<int64_t>(0, std::min(a[dim].second, b[dim].second) -
                                        std::max(a[dim].first, b[dim].first));
    return count;
  }

  int64_t costOf(size_t from, size_t to) const {
    const auto &before = boxes[from], &behind = boxes[to];
    int64_t size = sizes[from], result = sizes[to], devices = mesh.devices();
    bool keeps = true, contains = true;
    for (int64_t device = 0; device < devices; ++device) {
      keeps &= common(before[device], behind[device]) == result;
      contains &= common(before[device], behind[device]) == size;
    }
    if (keeps)
      return 0; // slice
    if (contains)
      return result - size; // all_gather
    int64_t least = never;
    // collective_permute: the same boxes, each on as many devices.
    std::vector<Box> left(before), right(behind);
    std::sort(left.begin(), left.end());
    std::sort(right.begin(), right.end());
    if (left == right)
      least = size;
    // all_to_all in groups along some axes: from each member the same share,
    // and nothing goes to two.
    for (unsigned axes = 1; axes < 1u << mesh.axes.size(); ++axes) {
      AxisParts parts;
      for (unsigned axis = 0; axis < mesh.axes.size(); ++axis)
        if (axes >> axis & 1)
          parts.push_back({axis, 1, mesh.axes[axis].size});
      int64_t count = countOf(parts);
      bool isEqual = size == result && result % count == 0;
      for (const auto &group : mesh.groupsAlong(parts))
        for (int64_t device : group)
          for (int64_t member : group)
            isEqual &=
                common(before[member], behind[device]) * count == result &&
                (member == device ||
                 (common(before[member], before[device]) == 0 &&
                  common(behind[member], behind[device]) == 0));
      if (isEqual)
        least = std::min(least, result / count * (count - 1));
    }
    return least;
  }

  std::vector<std::vector<Box>> boxes;
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> costs;
};

void compareAll(const char *text, std::vector<int64_t> shape, size_t stride) {
  std::string error;
  Mesh mesh = *Mesh::parse(text, error);
  BruteForce brute(mesh, shape);
  size_t count = brute.layouts.size(), compared = 0;
  for (size_t pair = 0; pair < count * count; pair += stride, ++compared) {
    const Layout &from = brute.layouts[pair / count];
    const Layout &to = brute.layouts[pair % count];
    ReshardPlan plan = planReshard(mesh, shape, 4, from, to);
    int64_t expected = brute.shortest(pair / count, pair % count);
    ASSERT_LT(expected, never);
    ASSERT_TRUE(plan.withinMemory);
    ASSERT_EQ(plan.received, 4 * expected)
        << text << " " << from.text(mesh) << " to " << to.text(mesh);
    ASSERT_EQ(plan.steps.empty(), from == to);
  }
  EXPECT_GE(compared, 4u);
}

// Strides are prime, so that pairs of all kinds are met.
TEST(PlanReshard, OneAxisLikeBruteForce) {
  compareAll("x=2", {4}, 1);
  compareAll("x=3", {6, 6}, 1);
  compareAll("x=4", {8, 4, 4}, 1);
}

TEST(PlanReshard, TwoAxesLikeBruteForce) {
  compareAll("x=2,y=2", {8, 8}, 1);
  compareAll("x=4,y=2", {16, 16, 16}, 7);
  compareAll("x=3,y=4", {24, 12, 12}, 11);
}

TEST(PlanReshard, ThreeAxesLikeBruteForce) {
  compareAll("x=2,y=2,z=2", {16, 8}, 13);
  compareAll("x=2,y=3,z=4", {24, 24, 24}, 101);
}

TEST(PlanReshard, MovesSeveralAxesAtOnce) {
  std::string error;
  Mesh mesh = *Mesh::parse("x=4,y=2", error);
  auto plan = planReshard(mesh, {16, 16, 16}, 4,
                          *Layout::parse("[y, -, x]", mesh, error),
                          *Layout::parse("[-, x y, -]", mesh, error));
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].kind, ReshardKind::allToAll);
  EXPECT_EQ(plan.received, 1792);
}

TEST(PlanReshard, FinishesReductionsInTheTargetLayout) {
  std::string error;
  Mesh mesh = *Mesh::parse("x=4,y=2", error);
  auto plan = [&](llvm::StringRef from, llvm::StringRef to) {
    return planReshard(mesh, {16, 16}, 4, *Layout::parse(from, mesh, error),
                       *Layout::parse(to, mesh, error));
  };
  auto scattered = plan("[y, -] sum(x)", "[y, x]");
  ASSERT_EQ(scattered.steps.size(), 1u);
  EXPECT_EQ(scattered.steps[0].kind, ReshardKind::reduceScatter);
  EXPECT_EQ(scattered.received, 384);
  // What is replicated along y is reduced by halves, and gathered.
  auto halved = plan("[-, -] sum(x)", "[-, x]");
  ASSERT_EQ(halved.steps.size(), 3u);
  EXPECT_EQ(halved.steps[0].kind, ReshardKind::slice);
  EXPECT_EQ(halved.steps[1].kind, ReshardKind::reduceScatter);
  EXPECT_EQ(halved.steps[2].kind, ReshardKind::allGather);
  EXPECT_EQ(halved.received, 384 + 128);
  // One step over both axes, not one after the other.
  auto reduced = plan("[-, -] sum(x y)", "[-, -]");
  ASSERT_EQ(reduced.steps.size(), 1u);
  EXPECT_EQ(reduced.steps[0].kind, ReshardKind::allReduce);
  EXPECT_EQ(reduced.received, 2 * 7 * 128);
  auto kept = plan("[-, y] max(x)", "[y, -] max(x)");
  ASSERT_EQ(kept.steps.size(), 1u);
  EXPECT_EQ(kept.steps[0].kind, ReshardKind::allToAll);
}

// 5 elements in 4 shards do not nest in those of 2.
TEST(PlanReshard, GathersWhatDoesNotNest) {
  std::string error;
  Mesh mesh = *Mesh::parse("x=2,y=2", error);
  auto plan = planReshard(mesh, {5}, 4, *Layout::parse("[x y]", mesh, error),
                          *Layout::parse("[x]", mesh, error));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].kind, ReshardKind::allGather);
  EXPECT_TRUE(plan.steps[0].to.isReplicated());
  EXPECT_EQ(plan.steps[1].kind, ReshardKind::slice);
}

// On more than three axes plans are not always the cheapest.
TEST(PlanReshard, FourAxesReachTheTarget) {
  std::string error;
  Mesh mesh = *Mesh::parse("a=8,b=16,c=4,d=8", error);
  const llvm::SmallVector<int64_t> shape{1024, 2048, 8192};
  const char *layouts[] = {"[a b, c, d]",   "[b, d, a]",  "[-, a b c d, -]",
                           "[d, -, c b a]", "[-, -, -]",  "[a b, -, c]",
                           "[a b, c, -]",   "[c, b, a d]"};
  const int64_t whole = 1024ll * 2048 * 8192 * 4;
  for (const char *from : layouts)
    for (const char *to : layouts) {
      Layout source = *Layout::parse(from, mesh, error);
      Layout target = *Layout::parse(to, mesh, error);
      ReshardPlan plan = planReshard(mesh, shape, 4, source, target);
      Layout at = source;
      for (const ReshardStep &step : plan.steps) {
        EXPECT_EQ(step.from.localShape(shape), at.localShape(shape));
        at = step.to;
      }
      for (auto [parts, wanted] : llvm::zip_equal(at.dims, target.dims))
        EXPECT_EQ(joined(parts), joined(wanted)) << from << " " << to;
      // Gathering all at once may not be within memory.
      EXPECT_LE(plan.received, 2 * whole) << from << " " << to;
    }
  // Straight where there is a straight way.
  auto stepsOf = [&](const char *from, const char *to) {
    return planReshard(mesh, shape, 4, *Layout::parse(from, mesh, error),
                       *Layout::parse(to, mesh, error))
        .steps;
  };
  EXPECT_EQ(stepsOf("[a b, c, d]", "[a b, c, -]")[0].kind,
            ReshardKind::allGather);
  EXPECT_EQ(stepsOf("[a b, c, -]", "[a b, -, c]")[0].kind,
            ReshardKind::allToAll);
  EXPECT_EQ(stepsOf("[a b, c, -] sum(d)", "[a b, c, d]")[0].kind,
            ReshardKind::reduceScatter);
}

// Of ranks that run several devices along an axis, those exchange by
// themselves.
TEST(PlanReshard, AnAxisApartExchangesAlone) {
  std::string error;
  Mesh mesh = *Mesh::parse("data=4,model=2", error);
  const llvm::SmallVector<int64_t> shape{16, 8};
  const AxisPart data{0, 1, 4};
  const char *layouts[] = {"[-, -]",
                           "[data, -]",
                           "[model data, -]",
                           "[data, model]",
                           "[model, data]",
                           "[-, model data]",
                           "[-, -] sum(data model)",
                           "[model, -] sum(data)"};
  auto isAlone = [&](const ReshardStep &step) {
    const bool moves = step.kind != ReshardKind::slice;
    const int64_t before = countOf(step.from.dims[0]) *
                           countOf(step.from.dims[1]) *
                           countOf(step.from.pending),
                  behind = countOf(step.to.dims[0]) * countOf(step.to.dims[1]) *
                           countOf(step.to.pending);
    // Who has what along `data` changes, and nothing along `model` does.
    auto placesOf = [](const Layout &layout, unsigned axis) {
      llvm::SmallVector<int> places;
      for (const AxisParts &parts : layout.dims)
        for (const AxisPart &part : parts)
          if (part.axis == axis)
            places.push_back(int(&parts - layout.dims.data()));
      for (const AxisPart &part : layout.pending)
        if (part.axis == axis)
          places.push_back(-1);
      return places;
    };
    return !moves || placesOf(step.from, 0) == placesOf(step.to, 0) ||
           (placesOf(step.from, 1) == placesOf(step.to, 1) &&
            (before == behind || before == 4 * behind || behind == 4 * before));
  };
  int64_t dearer = 0;
  for (const char *from : layouts)
    for (const char *to : layouts) {
      Layout source = *Layout::parse(from, mesh, error);
      Layout target = *Layout::parse(to, mesh, error);
      if (!target.pending.empty())
        continue;
      mesh.apart.reset();
      const ReshardPlan free = planReshard(mesh, shape, 4, source, target);
      mesh.apart = 0;
      const ReshardPlan plan = planReshard(mesh, shape, 4, source, target);
      Layout at = source;
      for (const ReshardStep &step : plan.steps) {
        EXPECT_TRUE(isAlone(step)) << from << " " << to;
        at = step.to;
      }
      EXPECT_TRUE(at == target) << from << " " << to;
      EXPECT_GE(plan.received, free.received);
      dearer += plan.received > free.received;
    }
  EXPECT_GT(dearer, 0);
  EXPECT_TRUE(cutsApart(mesh, {{1, 1, 2}, data}, 16));
  EXPECT_FALSE(cutsApart(mesh, {data, {1, 1, 2}}, 16));
  EXPECT_FALSE(cutsApart(mesh, {data}, 6));
  EXPECT_FALSE(cutsApart(mesh, {{0, 1, 2}}, 16));
}

} // namespace

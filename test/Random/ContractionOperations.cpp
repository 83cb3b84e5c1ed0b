//===- ContractionOperations.cpp - Random dots and convolutions ----------===//
//
// Products of any batching, contracted and free dimensions; convolutions with
// strides, dilations, padding and groups.
//
//===----------------------------------------------------------------------===//

#include "Operations.h"

using namespace tenon::random;

namespace {

const Element &contracted(Program &program) {
  return program.element(
      [&](const Element &e) { return isReal(e) || program.random.chance(15); });
}

/// What the product of two elements of a type may be stored as.
const Element &resultOf(Program &program, const Element &element) {
  if (isReal(element) && element.bits == 16 && program.random.chance(40))
    return elementNamed("f32");
  return element;
}

void dot(Program &program) {
  const Element &element = contracted(program);
  // What a dimension is for, in each operand's own order.
  enum Use { batching, contracting, free };
  auto extents = [&](int64_t most) {
    Shape shape;
    for (int64_t i = 0, count = program.random.between(0, most); i < count; ++i)
      shape.push_back(
          program.random.chance(3)
              ? 0
              : program.random.oneOf<int64_t>({1, 2, 3, 4, 5, 8, 16, 17, 31}));
    return shape;
  };
  Shape batch = extents(1), inner = extents(2), left = extents(1),
        right = extents(1);
  if (inner.empty() && program.random.chance(80))
    inner = {program.random.between(1, 70)};
  auto arrange = [&](const Shape &own, Shape &batching, Shape &contracting) {
    struct Dim {
      int use;
      size_t number;
      int64_t extent;
    };
    std::vector<Dim> dims;
    for (size_t i = 0; i < batch.size(); ++i)
      dims.push_back({0, i, batch[i]});
    for (size_t i = 0; i < inner.size(); ++i)
      dims.push_back({1, i, inner[i]});
    size_t fixed = dims.size();
    for (size_t i = 0; i < own.size(); ++i)
      dims.push_back({2, i, own[i]});
    (void)fixed;
    program.random.shuffle(dims);
    batching.resize(batch.size());
    contracting.resize(inner.size());
    Shape shape;
    for (size_t at = 0; at < dims.size(); ++at) {
      shape.push_back(dims[at].extent);
      if (dims[at].use == 0)
        batching[dims[at].number] = int64_t(at);
      if (dims[at].use == 1)
        contracting[dims[at].number] = int64_t(at);
    }
    return shape;
  };
  Shape leftBatching, leftContracting, rightBatching, rightContracting;
  Type lhs{arrange(left, leftBatching, leftContracting), &element};
  Type rhs{arrange(right, rightBatching, rightContracting), &element};
  if (lhs.size() > 5000 || rhs.size() > 5000)
    return;
  Type type{batch, &resultOf(program, element)};
  type.shape.insert(type.shape.end(), left.begin(), left.end());
  type.shape.insert(type.shape.end(), right.begin(), right.end());
  Value x = program.of(lhs), y = program.of(rhs);
  std::string text = "stablehlo.dot_general " + x.name + ", " + y.name;
  if (!batch.empty())
    text +=
        ", batching_dims = " + list(leftBatching) + " x " + list(rightBatching);
  text += ", contracting_dims = " + list(leftContracting) + " x " +
          list(rightContracting);
  program.add(type, text + " : " + signature({lhs, rhs}, {type}));
}

void convolution(Program &program) {
  const Element &element = contracted(program);
  int64_t spatial = program.random.between(1, 2);
  int64_t featureGroups = program.random.chance(20) ? 2 : 1;
  int64_t batchGroups = featureGroups == 1 && program.random.chance(15) ? 2 : 1;
  int64_t inputs = program.random.between(1, 4),
          outputs = featureGroups * batchGroups * program.random.between(1, 4);
  int64_t batches = program.random.between(1, 3);
  Shape lhs{batches * batchGroups}, rhs, shape{batches}, strides, low, high,
      leftDilation, rightDilation;
  std::string places, kernel = "[", reversals;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t extent = program.random.between(1, 9);
    int64_t size = program.random.between(1, 3);
    strides.push_back(program.random.between(1, 2));
    leftDilation.push_back(program.random.chance(20) ? 2 : 1);
    rightDilation.push_back(program.random.chance(20) ? 2 : 1);
    low.push_back(program.random.between(0, 2));
    high.push_back(program.random.between(0, 2));
    int64_t padded =
        (extent - 1) * leftDilation.back() + 1 + low.back() + high.back();
    int64_t span = (size - 1) * rightDilation.back() + 1;
    if (padded < span)
      return;
    lhs.push_back(extent);
    rhs.push_back(size);
    shape.push_back((padded - span) / strides.back() + 1);
    places += std::to_string(i) + ", ";
  }
  lhs.push_back(inputs * featureGroups);
  rhs.push_back(inputs);
  rhs.push_back(outputs);
  shape.push_back(outputs);
  std::string padding;
  for (size_t i = 0; i < low.size(); ++i)
    padding += (i ? ", " : "") + list({low[i], high[i]});
  Type type{shape, &resultOf(program, element)};
  Value x = program.of({lhs, &element}), y = program.of({rhs, &element});
  program.add(
      type,
      "stablehlo.convolution(" + x.name + ", " + y.name +
          ") dim_numbers = [b, " + places + "f]x[" + places + "i, o]->[b, " +
          places + "f], window = {stride = " + list(strides) + ", pad = [" +
          padding + "], lhs_dilate = " + list(leftDilation) +
          ", rhs_dilate = " + list(rightDilation) +
          "} {batch_group_count = " + std::to_string(batchGroups) +
          " : i64, feature_group_count = " + std::to_string(featureGroups) +
          " : i64} : " + signature({x.type, y.type}, {type}));
}

} // namespace

std::vector<Emitter> tenon::random::contractionEmitters() {
  return {dot, dot, dot, convolution};
}

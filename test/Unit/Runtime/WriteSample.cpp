//===- WriteSample.cpp - Puts the sample program and its data into files --===//
//
// Usage: WriteSample FOLDER. Writes program.tenon, kernels.tenon (without
// library calls), held.tenon (with tensors held in other forms),
// state.safetensors and batch.safetensors for tests that run other programs on
// them.
//
//===----------------------------------------------------------------------===//

#include "SampleProgram.h"

#include "tenon/Format/Safetensors.h"

#include <cstdio>
#include <random>

using namespace tenon;

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  std::string folder = argv[1], error;
  std::mt19937 generator(11);
  std::normal_distribution<float> normal;
  std::vector<float> x(test::sampleRows * test::sampleFeatures),
      y(test::sampleRows), w(test::sampleFeatures);
  for (auto *values : {&x, &y})
    for (float &value : *values)
      value = normal(generator);
  int32_t steps = 0;
  format::TensorBytes state[] = {
      {"params.w",
       ElementType::f32,
       {test::sampleFeatures},
       std::as_bytes(std::span(w))},
      {"steps", ElementType::i32, {}, std::as_bytes(std::span(&steps, 1))}};
  format::TensorBytes batch[] = {
      {"x",
       ElementType::f32,
       {test::sampleRows, test::sampleFeatures},
       std::as_bytes(std::span(x))},
      {"y", ElementType::f32, {test::sampleRows}, std::as_bytes(std::span(y))}};
  format::Index index = test::sampleIndex();
  if (!test::writeSampleFile(folder + "/program.tenon", index, error) ||
      !test::writeSampleFile(folder + "/kernels.tenon",
                             test::withoutCalls(index), error) ||
      !test::writeSampleFile(folder + "/held.tenon", test::heldIndex(),
                             error) ||
      !format::writeSafetensors(folder + "/state.safetensors", state, {},
                                error) ||
      !format::writeSafetensors(folder + "/batch.safetensors", batch, {},
                                error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  return 0;
}

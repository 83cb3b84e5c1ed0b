//===- SampleProblem.h - Data for the hand-made program -------------------===//
//
// The sample program, loaded, and a regression whose solution is known.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_RUNTIME_SAMPLEPROBLEM_H
#define TENON_TEST_UNIT_RUNTIME_SAMPLEPROBLEM_H

#include "SampleProgram.h"

#include "tenon/Runtime/Executor.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace tenon::test {

inline std::unique_ptr<runtime::Executor> loadSample(unsigned threads) {
  runtime::Error error;
  auto executor = runtime::Executor::loadBytes(sampleFile(), {threads}, error);
  EXPECT_TRUE(executor) << error.message;
  return executor;
}

template <typename T>
std::span<T> values(runtime::Executor &executor, const char *name) {
  auto tensor = executor.findTensor(name);
  EXPECT_TRUE(tensor) << name;
  auto bytes = executor.memory(*tensor);
  return {reinterpret_cast<T *>(bytes.data()), bytes.size() / sizeof(T)};
}

/// A problem whose solution is known: y = x w.
struct Problem {
  std::vector<float> x, y, start;

  Problem() {
    std::mt19937 generator(7);
    std::normal_distribution<float> normal;
    x.resize(sampleRows * sampleFeatures);
    for (float &value : x)
      value = normal(generator);
    std::vector<float> w(sampleFeatures);
    for (float &value : w)
      value = normal(generator);
    for (int64_t i = 0; i < sampleRows; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < sampleFeatures; ++j)
        sum += x[i * sampleFeatures + j] * w[j];
      y.push_back(float(sum));
    }
    start.assign(sampleFeatures, 0.25f);
  }

  void fill(runtime::Executor &executor) const {
    std::ranges::copy(x, values<float>(executor, "x").begin());
    std::ranges::copy(y, values<float>(executor, "y").begin());
    std::ranges::copy(start, values<float>(executor, "params.w").begin());
    values<int32_t>(executor, "steps")[0] = 0;
    for (size_t tensor : executor.withoutValue())
      executor.markWritten(tensor);
  }

  /// Loss of each step, in double.
  std::vector<double> train(int steps, std::vector<double> &w) const {
    w.assign(start.begin(), start.end());
    std::vector<double> losses;
    for (int step = 0; step < steps; ++step) {
      std::vector<double> gradient(w.size());
      double loss = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        double residual = -y[i];
        for (size_t j = 0; j < w.size(); ++j)
          residual += x[i * w.size() + j] * w[j];
        loss += residual * residual / double(y.size());
        for (size_t j = 0; j < w.size(); ++j)
          gradient[j] += x[i * w.size() + j] * residual;
      }
      for (size_t j = 0; j < w.size(); ++j)
        w[j] -= 0.05 * 2 / double(y.size()) * gradient[j];
      losses.push_back(loss);
    }
    return losses;
  }
};

} // namespace tenon::test

#endif // TENON_TEST_UNIT_RUNTIME_SAMPLEPROBLEM_H

//===- Lapack.cpp - Matrix decompositions a library runs ------------------===//
//
// One class per routine would repeat the same walk: copy the matrices of the
// operands to columns, call the routine, copy back. The walk is LapackCall;
// what differs between routines are the functions `call...`, and between
// element types the overloads of LapackRoutines.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/Lapack.h"

#include "LapackRoutines.h"

#include "tenon/Libraries/Library.h"
#include "tenon/Support/CheckedArithmetic.h"

#include <algorithm>
#include <complex>

using namespace tenon;
using namespace tenon::libraries;

namespace {

// In the order of the enumerators.
constexpr int64_t largestExtent = int64_t(1) << 20;

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Hands out pieces of the workspace; with no memory, only counts them.
class Workspace {
public:
  explicit Workspace(std::byte *memory) : memory(memory) {}
  template <typename T>
  T *take(int64_t count) {
    std::byte *piece = memory ? memory + used : nullptr;
    used += aligned(std::max<int64_t>(count, 1) * int64_t(sizeof(T)));
    return reinterpret_cast<T *>(piece);
  }
  int64_t bytes() const { return used; }

private:
  std::byte *memory;
  int64_t used = 0;
};

template <typename T>
void toColumns(const T *rows, T *columns, int64_t m, int64_t n) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      columns[j * m + i] = rows[i * n + j];
}

template <typename T>
void toRows(const T *columns, T *rows, int64_t m, int64_t n) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      rows[i * n + j] = columns[j * m + i];
}

/// The columns of u and rows of vt that gesdd computes. It leaves them alone in
/// mode N, where JAX nevertheless has results: of full size, or for n of that
/// of mode S.
std::pair<int64_t, int64_t> factorExtents(const LapackDescription &d) {
  int64_t k = std::min(d.rows, d.columns);
  bool isThin = d.mode == 'S' || d.mode == 'n';
  return isThin ? std::pair(k, k) : std::pair(d.rows, d.columns);
}

/// The elements of every operand and result of one matrix of the batch; `real`
/// ones are no complex elements where others are, `integer` ones are i32.
struct Extent {
  int64_t elements;
  enum { element, real, integer } kind = element;
};

std::vector<Extent> extentsOf(const LapackDescription &d) {
  int64_t m = d.rows, n = d.columns, k = std::min(m, n);
  Extent matrix{m * n}, info{1, Extent::integer};
  switch (d.routine) {
  case LapackRoutine::potrf:
    return {matrix, matrix, info};
  case LapackRoutine::trsm: {
    int64_t order = d.side == 'L' ? m : n;
    return {{order * order}, matrix, matrix};
  }
  case LapackRoutine::getrf:
    return {matrix, matrix, {k, Extent::integer}, info};
  case LapackRoutine::geqrf:
    return {matrix, matrix, {k}};
  case LapackRoutine::orgqr:
    return {matrix, {d.reflectors}, matrix};
  case LapackRoutine::gesdd: {
    auto [u, v] = factorExtents(d);
    return {matrix, matrix, {k, Extent::real}, {m * u}, {v * n}, info};
  }
  case LapackRoutine::syevd:
    return {matrix, matrix, {n, Extent::real}, info};
  }
  return {};
}

int64_t bytesOf(const Extent &extent, ElementType type) {
  int64_t width = byteWidth(type);
  if (extent.kind == Extent::integer)
    width = 4;
  else if (extent.kind == Extent::real &&
           (type == ElementType::c64 || type == ElementType::c128))
    width /= 2;
  return extent.elements * width;
}

/// One matrix after the other; `arguments` are where the first ones are.
template <typename T>
class Runner {
public:
  using Real = typename Scalar<T>::Real;

  Runner(const LapackDescription &d, std::span<void *const> arguments,
         std::byte *memory)
      : d(d), arguments(arguments), workspace(memory), m(int(d.rows)),
        n(int(d.columns)), k(std::min(m, n)) {
    dryRun = memory == nullptr;
  }

  void run() {
    // In the order of the enumerators.
    static constexpr void (Runner::*routines[])() = {
        &Runner::potrf, &Runner::trsm,  &Runner::getrf, &Runner::geqrf,
        &Runner::orgqr, &Runner::gesdd, &Runner::syevd};
    (this->*routines[size_t(d.routine)])();
  }
  int64_t bytes() const { return workspace.bytes(); }
  /// The first negative `info` of a routine, 0 if there was none. Positive ones
  /// tell of the matrix and are results of the program.
  int status() const { return refusal; }

private:
  void check(int info) {
    if (refusal == 0 && info < 0)
      refusal = info;
  }
  /// What argument `index` has for a matrix, so many elements for each.
  template <typename U>
  U *at(size_t index, int64_t matrix, int64_t elements) const {
    return static_cast<U *>(arguments[index]) + matrix * elements;
  }
  /// The size of a work array from what a query wrote into its first element.
  static int sizeFrom(T queried) { return int(std::real(queried)) + 1; }

  /// Copies m x n operands to columns in `a`, calls `routine` for each, and
  /// copies what that leaves there to an argument.
  template <typename Routine>
  void forMatrices(T *a, size_t result, Routine routine) {
    for (int64_t i = 0; !dryRun && i < d.batch; ++i) {
      toColumns(at<T>(0, i, int64_t(m) * n), a, m, n);
      routine(i);
      toRows(a, at<T>(result, i, int64_t(m) * n), m, n);
    }
  }

  void potrf() {
    T *a = workspace.take<T>(int64_t(n) * n);
    forMatrices(a, 1, [&](int64_t i) {
      int &info = *at<int>(2, i, 1);
      lapack::potrf(d.triangle, n, a, info);
      check(info);
    });
  }

  void trsm() {
    int order = d.side == 'L' ? m : n;
    T *a = workspace.take<T>(int64_t(order) * order);
    T *b = workspace.take<T>(int64_t(m) * n);
    for (int64_t i = 0; !dryRun && i < d.batch; ++i) {
      toColumns(at<T>(0, i, int64_t(order) * order), a, order, order);
      toColumns(at<T>(1, i, int64_t(m) * n), b, m, n);
      lapack::trsm(d.side, d.triangle, d.transpose, d.diagonal, m, n, T(1), a,
                   b);
      toRows(b, at<T>(2, i, int64_t(m) * n), m, n);
    }
  }

  void getrf() {
    T *a = workspace.take<T>(int64_t(m) * n);
    forMatrices(a, 1, [&](int64_t i) {
      int &info = *at<int>(3, i, 1);
      lapack::getrf(m, n, a, at<int>(2, i, k), info);
      check(info);
    });
  }

  void geqrf() {
    int info = 0;
    T queried{}, none{};
    lapack::geqrf(m, n, &none, &none, &queried, -1, info);
    int length = sizeFrom(queried);
    T *a = workspace.take<T>(int64_t(m) * n);
    T *work = workspace.take<T>(length);
    forMatrices(a, 1, [&](int64_t i) {
      lapack::geqrf(m, n, a, at<T>(2, i, k), work, length, info);
      check(info);
    });
  }

  void orgqr() {
    int info = 0, count = int(d.reflectors);
    T queried{}, none{};
    lapack::orgqr(m, n, count, &none, &none, &queried, -1, info);
    int length = sizeFrom(queried);
    T *a = workspace.take<T>(int64_t(m) * n);
    T *work = workspace.take<T>(length);
    forMatrices(a, 2, [&](int64_t i) {
      lapack::orgqr(m, n, count, a, at<T>(1, i, count), work, length, info);
      check(info);
    });
  }

  void gesdd() {
    auto [columnsOfU, rowsOfV] = factorExtents(d);
    char mode = d.mode == 'n' ? 'N' : d.mode;
    int info = 0, unusedInteger = 0;
    T queried{}, none{};
    Real unusedReal{};
    lapack::gesdd(mode, m, n, &none, &unusedReal, &none, &none, int(rowsOfV),
                  &queried, -1, &unusedReal, &unusedInteger, info);
    int length = sizeFrom(queried);
    T *a = workspace.take<T>(int64_t(m) * n);
    T *u = workspace.take<T>(m * columnsOfU);
    T *v = workspace.take<T>(rowsOfV * n);
    T *work = workspace.take<T>(length);
    int *integers = workspace.take<int>(8 * int64_t(k));
    // The largest that the manual states, for all modes.
    int64_t big = std::max(m, n);
    Real *reals = workspace.take<Real>(
        Scalar<T>::isComplex
            ? std::max<int64_t>(5 * int64_t(k) * k + 7 * k,
                                2 * big * k + 2 * int64_t(k) * k + k)
            : 0);
    forMatrices(a, 1, [&](int64_t i) {
      if (mode == 'N') {
        std::fill_n(u, m * columnsOfU, T());
        std::fill_n(v, rowsOfV * n, T());
      }
      int &found = *at<int>(5, i, 1);
      lapack::gesdd(mode, m, n, a, at<Real>(2, i, k), u, v, int(rowsOfV), work,
                    length, reals, integers, found);
      check(found);
      toRows(u, at<T>(3, i, m * columnsOfU), m, columnsOfU);
      toRows(v, at<T>(4, i, rowsOfV * n), rowsOfV, n);
    });
  }

  void syevd() {
    int info = 0, integerSize = 0;
    T queried{}, none{};
    Real realSize{}, unused{};
    lapack::syevd(d.mode, d.triangle, n, &none, &unused, &queried, -1,
                  &realSize, -1, &integerSize, -1, info);
    int length = sizeFrom(queried), reals = int(realSize) + 1;
    T *a = workspace.take<T>(int64_t(n) * n);
    T *work = workspace.take<T>(length);
    Real *realWork = workspace.take<Real>(reals);
    int *integers = workspace.take<int>(integerSize);
    forMatrices(a, 1, [&](int64_t i) {
      int &found = *at<int>(3, i, 1);
      lapack::syevd(d.mode, d.triangle, n, a, at<Real>(2, i, n), work, length,
                    realWork, reals, integers, integerSize, found);
      check(found);
    });
  }

  const LapackDescription &d;
  std::span<void *const> arguments;
  Workspace workspace;
  int m, n, k;
  int refusal = 0;
  bool dryRun;
};

/// What a run of all matrices of a call came to.
struct Outcome {
  int64_t bytes = 0; // of workspace it takes
  int status = 0;    // see Runner
};

/// Runs all matrices of a call; without memory it only counts the workspace.
Outcome runCall(const LapackDescription &d, std::span<void *const> arguments,
                std::byte *memory) {
  auto with = [&]<typename T>(T) {
    Runner<T> runner(d, arguments, memory);
    runner.run();
    return Outcome{runner.bytes(), runner.status()};
  };
  switch (d.type) {
  case ElementType::f64:
    return with(double());
  case ElementType::c64:
    return with(std::complex<float>());
  case ElementType::c128:
    return with(std::complex<double>());
  default:
    return with(float());
  }
}

class BoundLapackCall final : public BoundCall {
public:
  explicit BoundLapackCall(const LapackDescription &description)
      : description(description) {}
  void bind(std::span<void *const> list) override {
    arguments.assign(list.begin(), list.end());
  }
  int run(int64_t, int64_t) const override {
    return runCall(description, arguments,
                   static_cast<std::byte *>(arguments.back()))
        .status;
  }

private:
  LapackDescription description;
  std::vector<void *> arguments;
};

class LapackCall final : public Call {
public:
  explicit LapackCall(const LapackDescription &description)
      : description(description), extents(extentsOf(description)),
        workspace(runCall(description, {}, nullptr).bytes) {}

  int64_t argumentCount() const override { return int64_t(extents.size()) + 1; }
  int64_t operandCount() const override {
    // A second operand: the right-hand sides, the scalars of the reflectors.
    return description.routine == LapackRoutine::trsm ||
                   description.routine == LapackRoutine::orgqr
               ? 2
               : 1;
  }
  int64_t argumentBytes(int64_t index) const override {
    return index < int64_t(extents.size())
               ? description.batch * bytesOf(extents[index], description.type)
               : workspace;
  }
  int64_t workspaceBytes() const override { return workspace; }
  int64_t phases() const override { return 1; }
  int64_t tasks(int64_t) const override { return 1; }
  std::unique_ptr<BoundCall> newBinding(std::string &) const override {
    return std::make_unique<BoundLapackCall>(description);
  }
  std::string statusText(int status) const override {
    return "LAPACK: " + std::string(name(description.routine)) +
           " refuses its argument " + std::to_string(-status);
  }
  std::string implementation() const override {
    return std::string(name(description.routine));
  }

private:
  LapackDescription description;
  std::vector<Extent> extents;
  int64_t workspace;
};

} // namespace

std::string tenon::libraries::whyInvalid(const LapackDescription &d) {
  if (d.routine > LapackRoutine::syevd)
    return "unknown LAPACK routine " + std::to_string(int(d.routine));
  if (d.type != ElementType::f32 && d.type != ElementType::f64 &&
      d.type != ElementType::c64 && d.type != ElementType::c128)
    return "LAPACK has no routines for " + std::string(tenon::name(d.type));
  for (auto [what, value] : {std::pair("rows", d.rows),
                             {"columns", d.columns},
                             {"matrices", d.batch}})
    if (value < 1 || value > largestExtent)
      return "a LAPACK call has " + std::to_string(value) + " " + what +
             ", expected 1 to " + std::to_string(largestExtent);
  if (!mulChecked(mulChecked(d.rows, d.columns).value_or(INT64_MAX), d.batch) ||
      d.rows * d.columns > (int64_t(1) << 30))
    return "the matrices of a LAPACK call have too many elements";
  bool isSquare =
      d.routine == LapackRoutine::potrf || d.routine == LapackRoutine::syevd;
  if (isSquare && d.rows != d.columns)
    return "a LAPACK call needs square matrices, found " +
           std::to_string(d.rows) + "x" + std::to_string(d.columns);
  if (d.routine == LapackRoutine::orgqr &&
      (d.columns > d.rows || d.reflectors < 0 || d.reflectors > d.columns))
    return "orgqr makes " + std::to_string(d.columns) + " columns of " +
           std::to_string(d.rows) + " rows from " +
           std::to_string(d.reflectors) + " reflectors";
  auto isOneOf = [](char letter, std::string_view letters) {
    return letters.find(letter) != std::string_view::npos;
  };
  bool isTriangular = isSquare || d.routine == LapackRoutine::trsm;
  bool ok = !isTriangular || isOneOf(d.triangle, "LU");
  if (d.routine == LapackRoutine::trsm)
    ok &= isOneOf(d.side, "LR") && isOneOf(d.transpose, "NTC") &&
          isOneOf(d.diagonal, "NU");
  if (d.routine == LapackRoutine::gesdd)
    ok &= isOneOf(d.mode, "NnSA");
  if (d.routine == LapackRoutine::syevd)
    ok &= isOneOf(d.mode, "NV");
  return ok ? "" : "a LAPACK call has a letter that the routine does not know";
}

namespace {

void (*ilaver)(int *major, int *minor, int *patch) = nullptr;

/// Empty, or why the library cannot be called on this machine.
const std::string &loadLapack() {
  static const std::string whyNot = [] {
    // Brings BLAS along, which has the triangular solve.
    SharedLibrary library("liblapack.so.3", "liblapack3");
    library.find("ilaver_", ilaver);
    lapack::routines<float>.findIn(library, "s");
    lapack::routines<double>.findIn(library, "d");
    lapack::routines<std::complex<float>>.findIn(library, "c");
    lapack::routines<std::complex<double>>.findIn(library, "z");
    return library.whyNot().empty() ? std::string()
                                    : "LAPACK is not here: " + library.whyNot();
  }();
  return whyNot;
}

class Lapack final : public Library {
public:
  std::string_view name() const override { return "LAPACK"; }
  std::string version() const override {
    if (!loadLapack().empty())
      return "none";
    int major = 0, minor = 0, patch = 0;
    ilaver(&major, &minor, &patch);
    return std::to_string(major) + "." + std::to_string(minor) + "." +
           std::to_string(patch);
  }
  bool takes(const Description &description) const override {
    return std::holds_alternative<LapackDescription>(description);
  }
  std::unique_ptr<Call> create(const Description &description, Isa,
                               std::string &error) const override {
    if (error = loadLapack(); !error.empty())
      return nullptr;
    return std::make_unique<LapackCall>(
        std::get<LapackDescription>(description));
  }
};

} // namespace

const Library &tenon::libraries::lapackLibrary() {
  static const Lapack library;
  return library;
}

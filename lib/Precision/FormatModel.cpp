//===- FormatModel.cpp - What the formats of a step cost ------------------===//
//
// See FormatModel.h.
//
//===----------------------------------------------------------------------===//

#include "FormatModel.h"

#include "tenon/Cost/KernelCost.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Precision/LiveBytes.h"
#include "tenon/Precision/PrecisionRules.h"

#include <cmath>
#include <map>
#include <optional>

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

constexpr int32_t narrowLevel = 0, wideLevel = 1;

class Modeller {
public:
  Modeller(func::FuncOp step, const FormatClasses &classes,
           ArrayRef<PlannedKernel> planned, const SettledFormats &settled,
           const target::Target &machine, target::Isa isa, bool narrowKernels,
           double mostBytes, IsHeldNarrow isHeldNarrow)
      : step(step), classes(classes), settled(settled), machine(machine),
        features(isa), narrowKernels(narrowKernels), isHeldNarrow(isHeldNarrow),
        stored(classes.classes().size()) {
    forEachOperation(step.getBody(),
                     [&](Operation *op) { operations[numberOf(op)] = op; });
    for (const PlannedKernel &kernel : planned)
      kernels.push_back(inF32(kernel));
    if (mostBytes > 0)
      live.emplace(kernels, mostBytes);
    for (auto [index, product] : llvm::enumerate(classes.products()))
      productOf[product.op] = int(index);
  }

  FormatModel run() {
    findStored();
    makeVariables();
    for (const PlannedKernel &kernel : kernels)
      addKernel(kernel);
    addCopies();
    if (live)
      addStays();
    return std::move(model);
  }

private:
  /// What is known of a class from the kernels.
  struct Stored {
    bool isStored = false;
    bool canMakerCast = false;
    double bytes = 0, runs = 0; // of the largest write
    double highBytes = 0; // in f32, of what is there at moments that count
  };

  /// The kernel with the bytes that it has if all values of classes are f32;
  /// which of them are narrow in it is still known.
  PlannedKernel inF32(PlannedKernel kernel) const {
    // What attention writes in 16 bits of a value that stays f32 is a copy,
    // too.
    llvm::erase_if(kernel.writes, [&](const Traffic &made) {
      int index = classOf(made);
      const bool isCopy = made.isNarrow && index >= 0 &&
                          !classes.classes()[index].whyWide.empty();
      if (isCopy)
        kernel.copies.push_back(made);
      return isCopy;
    });
    for (auto *traffic : {&kernel.reads, &kernel.writes})
      for (Traffic &moved : *traffic)
        // Beside a parameter's 16-bit part its other part is read, and products
        // read it alone.
        if (moved.isNarrow && classOf(moved) >= 0 &&
            (moved.operation >= 0 || kernel.product >= 0)) {
          kernel.roofline.bytes += moved.bytes;
          moved.bytes *= 2;
          moved.wholeBytes *= 2;
        }
    // Beside values a copy is what products ask for.
    if (!onlyCopies(kernel))
      for (const Traffic &made : kernel.copies)
        kernel.roofline.bytes -= made.bytes;
    return kernel;
  }

  static bool onlyCopies(const PlannedKernel &kernel) {
    return kernel.copies.size() == kernel.roofline.resultBytes.size();
  }
  /// Whether the kernel reads what it makes copies of, and does nothing else.
  bool onlyCasts(const PlannedKernel &kernel) const {
    return onlyCopies(kernel) &&
           llvm::all_of(kernel.copies, [&](const Traffic &made) {
             return llvm::any_of(kernel.reads, [&](const Traffic &read) {
               return classOf(made) >= 0 && classOf(read) == classOf(made);
             });
           });
  }

  /// Whether the kernel rounds a value that another one made in f32, and does
  /// nothing else.
  static bool onlyRounds(const PlannedKernel &kernel) {
    if (kernel.reads.size() != 1 || kernel.writes.size() != 1 ||
        !kernel.copies.empty())
      return false;
    const Traffic &read = kernel.reads.front(), &made = kernel.writes.front();
    return read.operation >= 0 && read.operation == made.operation &&
           read.index == made.index && !read.isNarrow && made.isNarrow;
  }

  int classOf(const Traffic &traffic) const {
    Value value = valueOf(traffic);
    return value ? classes.classOf(value) : -1;
  }
  Value valueOf(const Traffic &traffic) const {
    func::FuncOp main = step;
    if (traffic.operation < 0) // or a part of a parameter that came later
      return traffic.index < main.getNumArguments()
                 ? Value(main.getArgument(traffic.index))
                 : Value();
    Operation *op = operations.lookup(traffic.operation);
    return op ? Value(op->getResult(traffic.index)) : Value();
  }
  /// The variable of the product that the kernel computes; -1 for none.
  int productOfKernel(const PlannedKernel &kernel) const {
    Operation *op =
        kernel.product < 0 ? nullptr : operations.lookup(kernel.product);
    auto found = op ? productOf.find(op) : productOf.end();
    return found == productOf.end() ? -1 : found->second;
  }
  bool mayBeNarrow(int index) const {
    return index >= 0 && model.variableOfClass[index] >= 0;
  }

  void findStored() {
    llvm::DenseSet<std::pair<int64_t, unsigned>> known;
    for (const PlannedKernel &kernel : kernels) {
      for (const Traffic &write : kernel.writes) {
        int index = classOf(write);
        if (index < 0)
          continue;
        Stored &value = stored[index];
        value.isStored = true;
        value.canMakerCast |=
            kernel.takesAnyFormat && kernel.kind != step::GroupKind::generic;
        value.bytes = std::max(value.bytes, write.bytes);
        value.runs = std::max(value.runs, kernel.runs);
        if (live && live->isHigh(write) &&
            known.insert({write.operation, write.index}).second)
          value.highBytes += write.wholeBytes;
      }
      for (const Traffic &read : kernel.reads)
        if (int index = classOf(read); index >= 0 && read.operation < 0)
          stored[index].bytes = std::max(stored[index].bytes, read.bytes);
    }
    // What a loop carries lies in memory between its rounds.
    forEachOperation(step.getBody(), [&](Operation *op) {
      if (isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op))
        for (Value result : op->getResults())
          if (int index = classes.classOf(result); index >= 0)
            stored[index].isStored = true;
    });
  }

  /// A variable for a line of the report, or for a copy.
  int addVariable(int64_t bytesNarrow, int64_t bytesWide,
                  std::optional<bool> isSettledNarrow = std::nullopt) {
    solver::FormatProblem::Variable variable;
    variable.least = isSettledNarrow == false ? wideLevel : narrowLevel;
    if (isSettledNarrow != false)
      variable.levels.push_back({0, bytesNarrow});
    if (isSettledNarrow != true)
      variable.levels.push_back({0, bytesWide});
    model.problem.variables.push_back(std::move(variable));
    return int(model.problem.variables.size()) - 1;
  }
  std::optional<bool> settledAs(size_t line) const {
    auto found = settled.find(line);
    return found == settled.end() ? std::nullopt
                                  : std::optional<bool>(found->second);
  }

  /// Whether all of it are elements of arguments in another order, such as
  /// joined weights: rounding them saves no activation.
  bool isMovedFromArguments(int index) const {
    return llvm::all_of(classes.classes()[index].members, [&](Value value) {
      Operation *op = value.getDefiningOp();
      return op && op->getBlock() == &func::FuncOp(step).getBody().front() &&
             ruleOf(op).Operands == moves &&
             llvm::all_of(op->getOperands(), [&](Value operand) {
               return isa<BlockArgument>(operand) || !isF32Tensor(operand) ||
                      classes.classOf(operand) == index;
             });
    });
  }

  std::string whyNotNative(const Product &product) const {
    if (!product.whyWide.empty())
      return product.whyWide;
    return narrowKernels || live ||
                   machine.multipliesNatively(elementTypeOf(classes.narrow()),
                                              features)
               ? ""
               : "16-bit products are not quicker here";
  }

  void makeVariables() {
    size_t count = classes.classes().size();
    model.variableOfClass.assign(count, -1);
    model.whyFixedClass.resize(count);
    for (auto [index, each] : llvm::enumerate(classes.classes())) {
      std::string &why = model.whyFixedClass[index];
      const std::optional<bool> known = settledAs(index);
      why = each.whyWide;
      if (why.empty() && !stored[index].isStored && known != true)
        why = "it does not leave its kernel";
      if (why.empty() && live && !each.isWished && isMovedFromArguments(index))
        why = "it has the elements of arguments";
      if (why.empty())
        model.variableOfClass[index] =
            live ? addVariable(int64_t(stored[index].highBytes / 2),
                               int64_t(stored[index].highBytes), known)
                 : addVariable(each.bytes / 2, each.bytes, known);
    }
    llvm::DenseSet<int> inLibrary;
    for (const PlannedKernel &kernel : kernels)
      if (kernel.kind == step::GroupKind::library)
        inLibrary.insert(productOfKernel(kernel));
    model.variableOfProduct.assign(classes.products().size(), -1);
    model.whyFixedProduct.resize(classes.products().size());
    for (auto [index, product] : llvm::enumerate(classes.products())) {
      std::string &why = model.whyFixedProduct[index];
      const std::optional<bool> known = settledAs(count + index);
      why = whyNotNative(product);
      if (why.empty() && !narrowKernels && !inLibrary.contains(int(index)) &&
          known != true)
        why = "no library computes it";
      if (why.empty())
        model.variableOfProduct[index] = addVariable(0, 0, known);
    }
  }

  double copySeconds(double bytes) const {
    return bytes / cost::bandwidthOf(bytes, machine).allCores;
  }
  /// A kernel that reads a value in one format and writes it in the other.
  double castSeconds(double wideBytes) const {
    return cost::startSeconds(2, machine) + copySeconds(1.5 * wideBytes);
  }

  /// A kernel that computes in f32 needs another one to convert what it reads
  /// or writes in 16 bits, unless it is known to be a call that rounds its
  /// result by itself.
  double castSeconds(const PlannedKernel &kernel, const Traffic &moved) const {
    if (kernel.converting)
      return *kernel.converting;
    const bool isWide = llvm::none_of(
        kernel.reads, [](const Traffic &read) { return read.isNarrow; });
    return live && kernel.kind == step::GroupKind::library && isWide &&
                   moved.isNarrow
               ? cost::conversionSeconds(moved.bytes / 4, kernel.roofline.cores)
               : castSeconds(moved.bytes);
  }

  void addSeconds(int of, int32_t level, double seconds) {
    auto &variable = model.problem.variables[of];
    if (level >= variable.least && level <= variable.most())
      variable.levels[level - variable.least].cost += picoseconds(seconds);
  }
  static int64_t picoseconds(double seconds) {
    return std::llround(std::max(0.0, seconds) * 1e12);
  }

  void addKernel(const PlannedKernel &kernel) {
    int product = productOfKernel(kernel);
    const cost::Roofline &asItIs = product >= 0 ? kernel.wide : kernel.roofline;
    const double bytes = kernel.roofline.bytes;
    double whole = asItIs.seconds(bytes, machine);
    if (onlyCasts(kernel))
      return addCasts(kernel);
    if (live && onlyRounds(kernel))
      return; // priced where the f32 is made
    model.wideSeconds += kernel.runs * whole;
    int variable = product >= 0 ? model.variableOfProduct[product] : -1;
    if (variable >= 0 &&
        (narrowKernels || kernel.kind == step::GroupKind::library))
      return addProduct(kernel, variable);
    if (!kernel.takesAnyFormat)
      return addGeneric(kernel, whole);
    auto each = [&](auto act) {
      for (const auto *traffic : {&kernel.reads, &kernel.writes})
        for (const Traffic &moved : *traffic)
          if (int index = classOf(moved); mayBeNarrow(index))
            act(model.variableOfClass[index], moved.bytes / 2, moved.isNarrow);
    };
    // Bytes less than in f32: of what is narrow, and of what else may be.
    double saved = 0, left = 0;
    each([&](int, double bytes, bool isNarrow) {
      (isNarrow ? saved : left) += bytes;
    });
    const double planned = asItIs.seconds(bytes - saved, machine),
                 least = asItIs.seconds(bytes - saved - left, machine);
    model.fixedSeconds += kernel.runs * least;
    each([&](int of, double bytes, bool isNarrow) {
      if (bytes > 0)
        addSeconds(of, wideLevel,
                   kernel.runs * bytes *
                       (isNarrow ? (whole - planned) / saved
                                 : (planned - least) / left));
    });
    addCopiesOf(kernel, asItIs, bytes - saved);
  }

  /// Notes what a kernel takes that is there for the sake of formats alone.
  void addCasts(const PlannedKernel &kernel) {
    const double whole =
        kernel.runs * kernel.roofline.seconds(kernel.roofline.bytes, machine);
    for (const Traffic &made : kernel.copies)
      if (int index = classOf(made); index >= 0 && made.isNarrow)
        copiesMade[index] += whole / double(kernel.copies.size());
  }

  /// Notes what the kernel takes longer for the copies that it makes, where it
  /// moves so many bytes otherwise. A value of which it writes a copy alone it
  /// would write in f32 if nobody asked for the copy.
  void addCopiesOf(const PlannedKernel &kernel, const cost::Roofline &roofline,
                   double bytes) {
    double copied = 0;
    for (const Traffic &made : kernel.copies)
      copied += made.bytes;
    const double added = roofline.seconds(bytes + copied, machine) -
                         roofline.seconds(bytes, machine);
    const bool isAll = onlyCopies(kernel);
    for (const Traffic &made : kernel.copies) {
      int index = classOf(made);
      if (index < 0 || !made.isNarrow || made.bytes == 0)
        continue;
      const double seconds = kernel.runs * added * made.bytes / copied;
      copiesMade[index] += isAll ? 0 : seconds;
      if (isAll)
        addSeconds(copyOf(index), wideLevel, seconds);
    }
  }

  /// A kernel that reads and writes f32, whatever values are stored as.
  void addGeneric(const PlannedKernel &kernel, double whole) {
    model.fixedSeconds += kernel.runs * whole;
    addCopiesOf(kernel, kernel.roofline, kernel.roofline.bytes);
    for (const auto *traffic : {&kernel.reads, &kernel.writes})
      for (const Traffic &moved : *traffic)
        if (int index = classOf(moved); mayBeNarrow(index)) {
          int variable = model.variableOfClass[index];
          addSeconds(variable, narrowLevel,
                     kernel.runs * castSeconds(kernel, moved));
          // Beside the 16 bits the f32 is there.
          if (double bytes = countedCast(kernel, moved);
              bytes > 0 && !moved.isNarrow)
            addBorder(alwaysWide(), variable, 0, bytes);
        }
  }

  void addProduct(const PlannedKernel &kernel, int product) {
    Operation *op = operations.lookup(kernel.product);
    auto isMultiplied = [&](const Traffic &read) {
      int index = classOf(read);
      return index >= 0 && llvm::any_of(op->getOperands(), [&](Value operand) {
               return classes.classOf(operand) == index;
             });
    };
    double operands = 0, result = 0;
    for (const Traffic &read : kernel.reads)
      if (isMultiplied(read))
        operands += read.bytes;
    int written = -1;
    const Traffic *made = nullptr;
    for (const Traffic &write : kernel.writes)
      if (int index = classOf(write); mayBeNarrow(index)) {
        written = index;
        made = &write;
        result = write.bytes;
      }
    auto seconds = [&](bool isNarrow, bool isResultNarrow) {
      const cost::Roofline &roofline = isNarrow ? kernel.narrow : kernel.wide;
      return kernel.runs *
             roofline.seconds(kernel.roofline.bytes -
                                  (isNarrow ? operands / 2 : 0) -
                                  (isResultNarrow ? result / 2 : 0),
                              machine);
    };
    addSeconds(product, narrowLevel, seconds(true, true));
    addSeconds(product, wideLevel, seconds(false, true));
    addCopiesOf(kernel, kernel.narrow,
                kernel.roofline.bytes - (operands + result) / 2);
    if (written >= 0) {
      int variable = model.variableOfClass[written];
      addSeconds(variable, wideLevel,
                 seconds(true, false) - seconds(true, true));
      // It writes what it multiplies, or f32.
      addBorder(product, variable, kernel.runs * castSeconds(kernel, *made),
                countedCast(kernel, *made));
    }
    for (const Traffic &read : kernel.reads) {
      if (!isMultiplied(read))
        continue;
      int index = classOf(read);
      forbidBorder(copyOf(index), product);
      if (mayBeNarrow(index))
        addBorder(product, model.variableOfClass[index],
                  kernel.runs * castSeconds(kernel, read),
                  countedCast(kernel, read));
    }
  }

  /// Paid where the first is wide and the second narrow.
  solver::FormatProblem::Border &addBorder(int wideOne, int narrowOne,
                                           double seconds, double bytes = 0) {
    solver::FormatProblem::Border border;
    border.wide = wideOne;
    border.from = wideLevel;
    border.narrow = narrowOne;
    border.below = wideLevel;
    border.cost = picoseconds(seconds);
    border.bytes = int64_t(bytes);
    return model.problem.borders.emplace_back(border);
  }
  void forbidBorder(int wideOne, int narrowOne) {
    addBorder(wideOne, narrowOne, 0).cost.reset();
  }

  /// The f32 that a kernel which casts makes for another kernel is there while
  /// that runs, and no longer. It counts where formats could not make up for
  /// it: if it is more than a quarter of the peak. Returns its bytes then.
  double countedCast(const PlannedKernel &kernel, const Traffic &moved) const {
    constexpr double leastShare = 0.25;
    return live && !kernel.converting && live->isHigh(moved) &&
                   moved.wholeBytes > leastShare * live->peak()
               ? moved.wholeBytes
               : 0;
  }

  /// A variable that is wide in every choice.
  int alwaysWide() {
    if (wideVariable < 0)
      wideVariable = addVariable(0, 0, /*isSettledNarrow=*/false);
    return wideVariable;
  }

  /// The variable that says whether products find a 16-bit copy of a class.
  int copyOf(int index) {
    auto [entry, isNew] = copies.try_emplace(index, -1);
    if (isNew)
      entry->second = addVariable(0, 0);
    return entry->second;
  }

  /// Whether the class is state that products may read in 16 bits.
  bool isHeld(int index) const {
    return llvm::any_of(classes.classes()[index].members, [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && isHeldNarrow(argument);
    });
  }

  void addCopies() {
    for (auto [index, variable] : copies) {
      const Stored &value = stored[index];
      double bytes = value.bytes > 0 ? value.bytes
                                     : double(classes.classes()[index].bytes);
      double runs = std::max(1.0, value.runs);
      double making = runs * (value.canMakerCast ? copySeconds(bytes / 2)
                                                 : castSeconds(bytes));
      if (isHeld(index))
        making = 0;
      else if (auto known = copiesMade.find(index); known != copiesMade.end())
        making = known->second;
      // State that is held in 16 bits is no copy in memory.
      const double copied = isHeld(index) ? 0 : value.highBytes / 2;
      if (mayBeNarrow(index))
        addBorder(model.variableOfClass[index], variable, making, copied);
      else if (copied > 0)
        addBorder(alwaysWide(), variable, making, copied);
      else
        addSeconds(variable, narrowLevel, making);
    }
  }

  using Interval = LiveBytes::Interval;

  /// Notes what is in memory, and which formats change that.
  void addStays() {
    using Value = std::pair<int64_t, unsigned>;
    llvm::DenseSet<Value> copied;
    llvm::DenseMap<Value, SmallVector<const Interval *>> narrow;
    for (const PlannedKernel &kernel : kernels)
      for (const Traffic &made : kernel.copies)
        copied.insert({made.operation, made.index});
    for (const Interval &interval : live->intervals())
      if (const Value value{interval.value.operation, interval.value.index};
          interval.value.isNarrow && !copied.contains(value))
        narrow[value].push_back(&interval);
    for (const Interval &interval : live->intervals()) {
      const Value value{interval.value.operation, interval.value.index};
      addStay(interval, copied.contains(value), narrow.lookup(value));
    }
    // Beside 16 bits a kernel that cannot read them has the f32.
    for (auto [moment, kernel] : llvm::zip_equal(live->moments(), kernels)) {
      const int product = productOfKernel(kernel);
      const int variable = product < 0 ? -1 : model.variableOfProduct[product];
      if ((kernel.takesAnyFormat && variable < 0) || kernel.converting)
        continue;
      for (const Traffic &read : kernel.reads)
        if (int index = classOf(read);
            read.operation >= 0 && mayBeNarrow(index) &&
            (read.isNarrow || !narrow.contains({read.operation, read.index})))
          model.stays.push_back({moment, moment, read.wholeBytes, variable,
                                 model.variableOfClass[index]});
    }
  }

  /// Notes a value in one of its forms; `narrow` are its stays in 16 bits.
  void addStay(const Interval &interval, bool isCopied,
               ArrayRef<const Interval *> narrow) {
    const int index = classOf(interval.value);
    const int variable = index < 0 ? -1 : model.variableOfClass[index];
    auto copy = copies.find(index);
    const int asked = copy == copies.end() || isHeld(index) ? -1 : copy->second;
    auto [first, last] = std::pair(interval.first, interval.last);
    const double bytes = interval.value.wholeBytes;
    auto add = [&](double bytes, int wide, int narrow) {
      if (first <= last)
        model.stays.push_back({first, last, bytes, wide, narrow});
    };
    if (isCopied && interval.value.isNarrow)
      return add(bytes, variable, asked);
    if (variable < 0)
      return add(bytes, -1, -1);
    if (narrow.empty() || interval.value.isNarrow) {
      add(bytes / 2, -1, -1);
      add(bytes / 2, variable, -1);
      if (!isCopied && asked >= 0)
        add(bytes / 2, variable, asked);
      return;
    }
    // A kernel makes the f32 of the 16 bits, or the other way round. If the
    // value is f32, it is one.
    add(bytes, -1, variable);
    for (const Interval *other : narrow) {
      if (other->first <= first)
        first = std::max(first, other->last + 1);
      else
        last = std::min(last, other->first - 1);
    }
    add(bytes, variable, -1);
  }

  func::FuncOp step;
  const FormatClasses &classes;
  const SettledFormats &settled;
  std::vector<PlannedKernel> kernels;
  const target::Target &machine;
  target::Isa features;
  bool narrowKernels;
  IsHeldNarrow isHeldNarrow;
  /// Where bytes are weighed.
  std::optional<LiveBytes> live;
  int wideVariable = -1;
  std::vector<Stored> stored;
  llvm::DenseMap<int64_t, Operation *> operations;
  llvm::DenseMap<Operation *, int> productOf;
  llvm::MapVector<int, int> copies;
  llvm::DenseMap<int, double> copiesMade; // seconds in a step
  FormatModel model;
};

} // namespace

double FormatModel::peak(const solver::FormatSolution &solution) const {
  std::map<size_t, double> changes;
  for (const Stay &stay : stays)
    if ((stay.wide < 0 || solution.levels[stay.wide] >= wideLevel) &&
        (stay.narrow < 0 || solution.levels[stay.narrow] < wideLevel)) {
      changes[stay.first] += stay.bytes;
      changes[stay.last + 1] -= stay.bytes;
    }
  double bytes = 0, most = 0;
  for (const auto &[moment, change] : changes)
    most = std::max(most, bytes += change);
  return most;
}

FormatModel precision::modelFormats(
    func::FuncOp step, const FormatClasses &classes,
    ArrayRef<PlannedKernel> kernels, const SettledFormats &settled,
    const target::Target &machine, target::Isa isa, bool narrowKernels,
    double mostBytes, IsHeldNarrow isHeldNarrow) {
  return Modeller(step, classes, kernels, settled, machine, isa, narrowKernels,
                  mostBytes, isHeldNarrow)
      .run();
}

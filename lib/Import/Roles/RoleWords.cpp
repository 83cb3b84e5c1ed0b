//===- RoleWords.cpp - What names say about state ------------------------===//
//
// Rows are tried in order, so that what wraps a tree wins over what is inside:
// the optimizer's `mu['params']['w']` is optimizer state, an average of the
// parameters is a buffer.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/RoleWords.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace mlir;
using tenon::step::Role;

namespace tenon::importer {
namespace {

/// The types of tensor a row speaks about.
enum class Kind { any, integer, integerScalar, floating, floatingScalar };

struct Row {
  Role role;
  Kind kind;
  StringLiteral words; // separated by blanks, lower case
};

constexpr Row stateRows[] = {
    {Role::rng, Kind::integer,
     "rng rngs key keys prng prng_key rng_key seed dropout dropout_rng "
     "dropout_key noise_key random_state"},
    {Role::metric, Kind::any, "metric metrics"},
    {Role::counter, Kind::integerScalar,
     "count counter step steps it iteration iterations global_step epoch "
     "num_updates"},
    {Role::optimizer_state, Kind::any,
     "opt opt_state optimizer optimizer_state optim optim_state mu nu trace "
     "momentum momentums velocity velocities exp_avg exp_avg_sq "
     "max_exp_avg_sq inner_state inner_opt_state slots accumulator "
     "accumulators sum_of_squares second_moment first_moment nu_hat mu_hat "
     "momentum_buffer"},
    {Role::buffer, Kind::any,
     "batch_stats buffers buffer running_mean running_var running_stats "
     "moving_mean moving_variance ema ema_params ema_state averages "
     "num_batches_tracked stats cache"},
    {Role::parameter, Kind::floating,
     "params param parameters parameter weights trainable trainable_params "
     "trainables master_params kernel bias embedding"},
};

constexpr Row inputRows[] = {
    {Role::hyper_parameter, Kind::floatingScalar,
     "lr learning_rate weight_decay wd momentum beta1 beta2 b1 b2 eps epsilon "
     "dropout_rate rate temperature loss_scale clip clip_norm decay alpha "
     "gamma"},
    {Role::batch, Kind::any,
     "batch x y inputs input targets target labels label images image ids "
     "input_ids tokens tgt mask data features"},
};

bool hasKind(ShapedType type, Kind kind) {
  Type element = type.getElementType();
  bool scalar = type.hasRank() && type.getRank() == 0;
  switch (kind) {
  case Kind::any:
    return true;
  case Kind::integer:
    return isa<IntegerType>(element) && element.getIntOrFloatBitWidth() >= 32;
  case Kind::integerScalar:
    return isa<IntegerType>(element) && scalar;
  case Kind::floating:
    return isa<FloatType, ComplexType>(element);
  case Kind::floatingScalar:
    return isa<FloatType>(element) && scalar;
  }
  return false;
}

std::optional<RoleGuess> lookUp(ArrayRef<Row> rows, ArrayRef<PathKey> path,
                                ShapedType type) {
  for (const Row &row : rows) {
    if (!hasKind(type, row.kind))
      continue;
    SmallVector<StringRef> words;
    StringRef(row.words).split(words, ' ');
    for (const PathKey &key : path)
      if (!key.isIndex && is_contained(words, StringRef(key.text).lower()))
        return RoleGuess{row.role, formatv("named '{0}'", key.text)};
  }
  return std::nullopt;
}

} // namespace

RoleGuess roleOfState(ArrayRef<PathKey> path, ShapedType type) {
  if (std::optional<RoleGuess> guess = lookUp(stateRows, path, type))
    return *guess;
  if (hasKind(type, Kind::integerScalar))
    return {Role::counter, "an integer scalar"};
  return {Role::unknown, "the name says nothing"};
}

RoleGuess roleOfInput(ArrayRef<PathKey> path, ShapedType type) {
  if (std::optional<RoleGuess> guess = lookUp(inputRows, path, type))
    return *guess;
  if (type.hasRank() && type.getRank() == 0)
    return {Role::hyper_parameter, "a scalar"};
  return {Role::batch,
          formatv("of rank {0}", type.hasRank() ? type.getRank() : 0)};
}

} // namespace tenon::importer

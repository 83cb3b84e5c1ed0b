// Kernels of the hand-made program in SampleProgram.cpp, in the shape compiled
// kernels have: part `part` of `parts`, the union being the same work.

#include <stdint.h>

enum { rows = 48, features = 32 };

static int64_t first(int64_t count, int64_t part, int64_t parts) {
  return count * part / parts;
}

// prediction = x weights
void sample_forward(void *const *arguments, int64_t part, int64_t parts) {
  const float *x = arguments[0], *weights = arguments[1];
  float *prediction = arguments[2];
  for (int64_t i = first(rows, part, parts); i < first(rows, part + 1, parts);
       ++i) {
    float sum = 0;
    for (int64_t j = 0; j < features; ++j)
      sum += x[i * features + j] * weights[j];
    prediction[i] = sum;
  }
}

// gradient = x^T residual
void sample_backward(void *const *arguments, int64_t part, int64_t parts) {
  const float *x = arguments[0], *residual = arguments[1];
  float *gradient = arguments[2];
  for (int64_t j = first(features, part, parts);
       j < first(features, part + 1, parts); ++j) {
    float sum = 0;
    for (int64_t i = 0; i < rows; ++i)
      sum += x[i * features + j] * residual[i];
    gradient[j] = sum;
  }
}

// An f32 held as a bf16 and the rest of its bits.
static float join(uint16_t high, int16_t low) {
  union {
    uint32_t bits;
    float value;
  } joined = {((uint32_t)high << 16) + (uint32_t)(int32_t)low};
  return joined.value;
}

// As sample_forward, with weights in two parts.
void sample_forward_parts(void *const *arguments, int64_t part, int64_t parts) {
  const float *x = arguments[0];
  const uint16_t *high = arguments[1];
  const int16_t *low = arguments[2];
  float *prediction = arguments[3];
  for (int64_t i = first(rows, part, parts); i < first(rows, part + 1, parts);
       ++i) {
    float sum = 0;
    for (int64_t j = 0; j < features; ++j)
      sum += x[i * features + j] * join(high[j], low[j]);
    prediction[i] = sum;
  }
}

// As sample_backward, of x by columns.
void sample_backward_columns(void *const *arguments, int64_t part,
                             int64_t parts) {
  const float *columns = arguments[0], *residual = arguments[1];
  float *gradient = arguments[2];
  for (int64_t j = first(features, part, parts);
       j < first(features, part + 1, parts); ++j) {
    float sum = 0;
    for (int64_t i = 0; i < rows; ++i)
      sum += columns[j * rows + i] * residual[i];
    gradient[j] = sum;
  }
}

// As sample_update, in place on weights in two parts.
void sample_update_parts(void *const *arguments, int64_t part, int64_t parts) {
  uint16_t *high = arguments[0];
  int16_t *low = arguments[1];
  const float *gradient = arguments[2], *rate = arguments[3];
  for (int64_t i = first(features, part, parts);
       i < first(features, part + 1, parts); ++i) {
    union {
      float value;
      uint32_t bits;
    } updated = {join(high[i], low[i]) - *rate * (2.0f / rows) * gradient[i]};
    uint32_t rounded = (updated.bits + 0x8000u) >> 16;
    high[i] = (uint16_t)rounded;
    low[i] = (int16_t)(updated.bits - (rounded << 16));
  }
}

// As sample_loss, as a number of twice the width.
void sample_loss_wide(void *const *arguments, int64_t part, int64_t parts) {
  const float *residual = arguments[0];
  double *loss = arguments[1];
  float sum = 0;
  for (int64_t i = 0; i < rows; ++i)
    sum += residual[i] * residual[i];
  *loss = sum / rows;
}

// residual[i] = prediction[i] - target[i]
void sample_residual(void *const *arguments, int64_t part, int64_t parts) {
  const float *prediction = arguments[0], *target = arguments[1];
  float *residual = arguments[2];
  for (int64_t i = first(rows, part, parts); i < first(rows, part + 1, parts);
       ++i)
    residual[i] = prediction[i] - target[i];
}

// loss = sum of residual^2 / rows
void sample_loss(void *const *arguments, int64_t part, int64_t parts) {
  const float *residual = arguments[0];
  float *loss = arguments[1];
  float sum = 0;
  for (int64_t i = 0; i < rows; ++i)
    sum += residual[i] * residual[i];
  *loss = sum / rows;
}

// weights[i] -= rate * 2 / rows * gradient[i], in place
void sample_update(void *const *arguments, int64_t part, int64_t parts) {
  float *weights = arguments[0];
  const float *gradient = arguments[1], *rate = arguments[2];
  for (int64_t i = first(features, part, parts);
       i < first(features, part + 1, parts); ++i)
    weights[i] -= *rate * (2.0f / rows) * gradient[i];
}

// counter += 1, in place
void sample_increment(void *const *arguments, int64_t part, int64_t parts) {
  int32_t *counter = arguments[0];
  *counter += 1;
}

// predicate = counter < limit
void sample_less(void *const *arguments, int64_t part, int64_t parts) {
  const int32_t *counter = arguments[0], *limit = arguments[1];
  uint8_t *predicate = arguments[2];
  *predicate = *counter < *limit;
}

// out = value of this branch
void sample_seven(void *const *arguments, int64_t part, int64_t parts) {
  int32_t *out = arguments[0];
  *out = 7;
}

// As sample_eleven, and one number too many.
void sample_overrun(void *const *arguments, int64_t part, int64_t parts) {
  int32_t *out = arguments[0];
  out[0] = 11;
  out[1] = 11;
}

// As sample_seven, but out of what happens to lie behind its own memory.
void sample_stray(void *const *arguments, int64_t part, int64_t parts) {
  int32_t *out = arguments[0];
  out[0] = out[1] == 0 ? 7 : -7;
}

void sample_eleven(void *const *arguments, int64_t part, int64_t parts) {
  int32_t *out = arguments[0];
  *out = 11;
}

// SPDX-License-Identifier: Apache-2.0
// The check of the test programs: prints where it failed and ends the program.
#pragma once

#include <cstdio>
#include <cstdlib>

#define EXPECT(condition)                                                            \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                  \
    }                                                                                \
  } while (false)

// Runs `statement` and expects the exception `type`; the block after the macro sees it as `e`.
#define EXPECT_THROW(type, statement, then) \
  do {                                      \
    bool thrown = false;                    \
    try {                                   \
      statement;                            \
    } catch (const type& e) {               \
      thrown = true;                        \
      then;                                 \
    }                                       \
    EXPECT(thrown);                         \
  } while (false)

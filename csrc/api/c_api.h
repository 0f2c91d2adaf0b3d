// SPDX-License-Identifier: Apache-2.0
// The boundary between the engine and libraries of operators: plain C, so that the two may be built
// by different compilers. Write operators with operator.h. docs/design/extension.md.
#ifndef TORCHDALI_C_API_H
#define TORCHDALI_C_API_H

#include <stddef.h>
#include <stdint.h>

/* Libraries of another major version, or of a later minor one, are refused. In a major version
   structs and numbers stay as they are, and functions are only added, at the end of td_engine. */
#define TD_MAJOR 1
#define TD_MINOR 0
#define TD_MAX_DIMS 16

#ifdef __cplusplus
extern "C" {
#endif

typedef struct td_library_schemas td_library_schemas; /* of one library */
typedef struct td_schema td_schema;                   /* of one operator */
typedef struct td_spec td_spec;         /* an operator of a pipeline, while it is constructed */
typedef struct td_sample td_sample;     /* one sample, while it is run */
typedef struct td_argument td_argument; /* of an operator of a pipeline; lives as long as it */
typedef struct td_layouts td_layouts;   /* of an input; likewise */

/* 0, or 1 if the function failed. The engine keeps the error for the calling thread, and the
   function of the library that called returns 1, too. */
typedef int32_t td_status;

enum { /* td_engine.fail() */
       TD_RUNTIME_ERROR,
       TD_VALUE_ERROR,
       TD_TYPE_ERROR,
       TD_INDEX_ERROR,
       TD_LAYOUT_ERROR,
       TD_FILE_ERROR,
       TD_DATA_ERROR,
       TD_UNSUPPORTED_ERROR,
       TD_INTERNAL_ERROR,
       TD_EXCEPTION /* any other C++ exception: the message begins with its type */
};

enum { /* types of arguments */
       TD_BOOL,
       TD_INT,
       TD_FLOAT,
       TD_STRING,
       TD_DTYPE,
       TD_IMAGE_TYPE,
       TD_INTERP_TYPE,
       TD_LAYOUT,
       TD_INT_LIST,
       TD_FLOAT_LIST,
       TD_STRING_LIST
};

enum { TD_OPTIONAL = 1, TD_HOST = 2 };                           /* inputs */
enum { TD_REQUIRED = 1, TD_PER_SAMPLE = 2, TD_HAS_DEFAULT = 4 }; /* arguments, declared */
enum { TD_GIVEN = 1, TD_DEFINED = 2, TD_TENSOR = 4 };            /* arguments, as passed */
enum {                                                           /* td_engine.set() */
       TD_RANDOM = 1,
       TD_SIDE_EFFECTS = 2,
       TD_SEQUENCES = 4,
       TD_EACH_FRAME = 8,
       TD_VOLUMES = 16,
       TD_PIXELWISE = 32
};

typedef struct td_view { /* a sample, or one value of an argument */
  void* data;
  int32_t dtype, ndim, layout_size, reserved;
  int64_t shape[TD_MAX_DIMS];
  char layout[TD_MAX_DIMS];
} td_view;

typedef struct td_value { /* unused fields are 0 */
  int64_t integer;        /* TD_BOOL, TD_INT, enumerators */
  double number;          /* TD_FLOAT */
  const char* text;       /* TD_STRING, TD_LAYOUT; ends with 0 */
  const int64_t* integers;
  const double* numbers;
  const char* const* texts;
  size_t size; /* of the text or the list */
} td_value;

typedef struct td_operator {
  td_status (*create)(td_spec* spec, void** op);
  void (*destroy)(void* op);
  /* On many threads at once. */
  td_status (*run)(const void* op, td_sample* sample);
} td_operator;

typedef struct td_task { /* what every task begins with */
  const void* in;
  void* out; /* in an output of the sample: replaced before the kernel runs */
  int64_t size;
} td_task;

typedef struct td_kernel {
  size_t task_bytes;
  /* Runs tasks in host memory. */
  td_status (*emulate)(const void* tasks, int64_t count);
  /* Queues the kernel for tasks in device memory, of which `max_size` is the largest `size`.
     Returns 0 or an error of CUDA. Null: compiled without nvcc. */
  int32_t (*launch)(const void* tasks, int64_t count, int64_t max_size, void* stream);
  const char* (*error_text)(int32_t error);
} td_kernel;

typedef struct td_engine {
  uint32_t major, minor;
  size_t size; /* of this struct */
  /* Sets the error of this thread. `fix` may be null. */
  void (*fail)(int32_t kind, const char* message, const char* fix);

  /* Descriptions. Everything is copied. */
  td_schema* (*add)(td_library_schemas* library, const char* name, const char* doc);
  void (*add_input)(td_schema* schema, const char* name, const char* doc,
                    const char* const* layouts, size_t num_layouts, uint32_t flags);
  void (*add_output)(td_schema* schema, const char* name, const char* doc);
  /* `value`: the default, or null. */
  void (*add_argument)(td_schema* schema, const char* name, int32_t type, const char* doc,
                       uint32_t flags, const td_value* value);
  void (*set)(td_schema* schema, uint32_t traits);
  /* The structs live as long as the library. */
  void (*set_cpu)(td_schema* schema, const td_operator* op);
  void (*set_gpu)(td_schema* schema, const td_operator* op, const td_kernel* kernel);

  /* For create(). */
  int32_t (*num_inputs)(const td_spec* spec);
  uint32_t (*argument_state)(const td_spec* spec, const char* name);
  /* The constant, or the default; valid until create() returns. */
  td_status (*constant)(td_spec* spec, const char* name, int32_t type, td_value* value);
  const td_argument* (*argument)(td_spec* spec, const char* name, int32_t type);
  const td_layouts* (*layouts)(td_spec* spec, int32_t input);

  /* For run(). */
  int32_t (*count_inputs)(const td_sample* sample);
  td_status (*input)(const td_sample* sample, int32_t index, td_view* view);
  /* Replaces the layout of a view, which may be empty, by the one that the operator declares. */
  td_status (*check_layout)(const td_layouts* layouts, td_view* view);
  /* Scalars and lists of numbers; lists are valid until run() returns. */
  td_status (*value)(const td_argument* argument, td_sample* sample, td_value* value);
  /* Sets `data` of a view with all else. */
  td_status (*output)(td_sample* sample, int32_t index, td_view* view);
  /* Makes an output a view of (a part of) an input. */
  td_status (*share_input)(td_sample* sample, int32_t output, int32_t input, const td_view* view);
  void* (*scratch)(td_sample* sample, size_t bytes); /* null: failed */
  void (*random_key)(const td_sample* sample, uint64_t* seed, uint64_t* sample_id);
  int32_t (*index_in_batch)(const td_sample* sample);
  int32_t (*batch_size)(const td_sample* sample);
  uint64_t (*sample_id)(const td_sample* sample);
  /* Does not end with 0. */
  const char* (*source_name)(const td_sample* sample, size_t* size);
  /* On the GPU. The task is copied; `out` is in output `output`. */
  td_status (*add_task)(td_sample* sample, const void* task, int32_t output);
} td_engine;

typedef struct td_library {
  uint32_t major, minor; /* that it was compiled with */
  void (*describe)(td_library_schemas* library);
} td_library;

/* The one symbol that a library exports: `const td_library* torchdali_operators(const td_engine*)`.
   It only keeps its argument; the engine reads the version before it calls anything else. */
#define TD_ENTRY "torchdali_operators"
typedef const td_library* (*td_entry)(const td_engine* engine);

#ifdef __cplusplus
}
#endif
#endif

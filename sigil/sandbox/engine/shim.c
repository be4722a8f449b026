/* The interface of the engine: the `sigil/1` ABI around one QuickJS runtime.
 *
 * QuickJS is included, not linked: the check that a source is one function body and nothing else reads the length
 * of the compiled function's own text, which no public call gives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
/* There is no clock and no output: the calls of them become constants here, so that no import remains. The prelude
 * replaces every name that would show this clock. */
#define gettimeofday(now, zone) (memset(now, 0, sizeof(*(now))), 0)
#define clock_gettime(clock, now) (memset(now, 0, sizeof(*(now))), 0)
#define printf(...) ((void)0)
#define __SANITIZE_ADDRESS__ 1 /* every block goes through our own allocator (heap.h); nothing else reads this name */
#define EMSCRIPTEN 1 /* says no more than: dispatch with a switch, which is a fourth faster here than computed jumps */
/* A function that C calls costs the host's stack more than one that JavaScript calls, and would not show in ours. */
#define FROM_C 96
#undef alloca
#define alloca(size) __builtin_alloca((size) + (flags & 2 ? FROM_C : 0))
#include "quickjs.c"
_Static_assert(JS_CALL_FLAG_COPY_ARGV == 2, "the flag of calls from C");

#include "digest.h"
#include "heap.h"

#define EXPORT(name) __attribute__((export_name(#name)))
#define IMPORT(name) __attribute__((import_module("sigil"), import_name(#name)))

IMPORT(call) int32_t host_call(const char *request, uint32_t length);
IMPORT(take) void host_take(char *answer);

static const char NO_MEMORY[] = "{\"code\":\"ENOMEM\",\"message\":\"out of memory\"}";

/* The linear stack that JavaScript may use. The host's own stack, HOST_STACK (build.py), is what a deep recursion really
 * runs out of, with a trap that no program can catch. The hungriest frames of calls take three bytes of it to one of this stack
 * (measured: 2.9, a generator in a generator), so this limit is met first, and is a RangeError. */
#define STACK_LIMIT (HOST_STACK / 16 * 5)
#define INPUT_CAPACITY 2047
/* A call's instance dies with it: collecting cycles pays only when a call uses much memory. */
#define COLLECT_AT (24 * 1024 * 1024)

static const JSMallocFunctions heap_functions = {heap_calloc, heap_malloc, heap_free, heap_realloc, heap_usable_size};

static JSRuntime *runtime;
static JSContext *context;
static JSValue describe, serve, finish_result, guard, environment;
static JSValue body, module, compiled; /* the last: what the body was made of */
static bool quiet;                     /* the source has no return of its own */
static bool exporting;                 /* its result is what it exports, as CommonJS has it */
static bool acted;                     /* the host was asked for more than the time, chance or a line of the log */
static bool output_owned;

/* The buffers of a call for a host that keeps images: space for an input (with a zero behind it), and the output. */
static struct {
    char *input;
    uint32_t capacity;
    const char *output;
    uint32_t output_length;
    const char *end; /* of the memory that is needed */
} buffers;

#include "result.h"
#include "intrinsics.h"

static void forget_output(void) {
    if (output_owned)
        JS_FreeCString(context, buffers.output);
    buffers.output = "", buffers.output_length = 0, output_owned = false;
}

static int fail_without_memory(void) {
    buffers.output = NO_MEMORY, buffers.output_length = sizeof(NO_MEMORY) - 1, output_owned = false;
    return 1;
}

/* Takes `text`; answers `status`, or 1 when even the text does not fit into memory. */
static int finish(JSValue text, int status) {
    size_t length;
    const char *bytes = JS_IsString(text) ? JS_ToCStringLen(context, &length, text) : NULL;
    JS_FreeValue(context, text);
    if (!bytes)
        return fail_without_memory();
    buffers.output = bytes, buffers.output_length = length, output_owned = true;
    return status;
}

enum { AT_LOAD, AT_RUN, AT_OUTPUT, AT_PENDING, AT_INPUT, AT_CLOSED, AT_FORM, AT_NOTHING };

/* Takes `error`, and at AT_LOAD `source` and what is wrong with it as a module; the prelude words it, `when` says in which
 * phase it was raised. QuickJS throws null when even an error does not fit into memory. */
static int fail_at(JSValue error, int when, JSValue source, JSValue as_module) {
    if (exhausted && JS_IsNull(error))
        return fail_without_memory();
    JSValueConst arguments[] = {error, JS_NewInt32(context, when), source, as_module};
    JSValue text = JS_Call(context, describe, JS_UNDEFINED, 4, arguments);
    for (int i = 0; i < 4; i++)
        JS_FreeValue(context, (JSValue)arguments[i]);
    return finish(text, 1);
}

static int fail_in(JSValue error, int when) { return fail_at(error, when, JS_UNDEFINED, JS_UNDEFINED); }

/* The pending exception as the call's failure. */
static int fail(int when) { return fail_in(JS_GetException(context), when); }

#include "forms.h"

/* Runs every pending job; an exception that a job lets out ends the call. */
static JSValue run_jobs(void) {
    JSContext *where;
    int more;
    while ((more = JS_ExecutePendingJob(runtime, &where)) > 0) {}
    return more < 0 ? JS_EXCEPTION : JS_UNDEFINED;
}

/* Takes `result`, which JSON can say; undefined is null. */
static int answer(JSValue result) {
    bool nothing = JS_IsUndefined(result);
    JSValue text = nothing ? JS_NewString(context, "null") : JS_JSONStringify(context, result, JS_UNDEFINED, JS_UNDEFINED);
    JS_FreeValue(context, result);
    return JS_IsException(text) ? fail(AT_OUTPUT) : finish(text, 0);
}

/* Takes `promise`; answers with what it was fulfilled with, or with an exception after the failure is the output. */
static JSValue awaited(JSValue promise) {
    if (JS_IsException(promise) || JS_IsException(run_jobs())) {
        JS_FreeValue(context, promise);
        fail(AT_RUN);
        return JS_EXCEPTION;
    }
    JSPromiseStateEnum state = JS_PromiseState(context, promise);
    JSValue result = JS_PromiseResult(context, promise);
    JS_FreeValue(context, promise);
    if (state == JS_PROMISE_FULFILLED)
        return result;
    fail_in(result, state == JS_PROMISE_PENDING ? AT_PENDING : AT_RUN);
    return JS_EXCEPTION;
}

/* Takes `promise`, and answers with what becomes of it. What is no plain value goes through the prelude, which calls what is
 * a function, waits for what is a promise, and refuses what JSON would change without a word. */
static int settle(JSValue promise, JSValueConst input) {
    JSValue result = awaited(promise);
    bool called = false, more = true;
    while (!JS_IsException(result) && more && !is_plain(result, 0)) {
        JSValueConst arguments[] = {result, input, JS_NewBool(context, called), JS_NewBool(context, exporting)};
        JSValue value = JS_Call(context, finish_result, JS_UNDEFINED, 4, arguments);
        JS_FreeValue(context, result);
        if (JS_IsException(value))
            return fail(AT_OUTPUT);
        more = JS_PromiseState(context, value) != JS_PROMISE_NOT_A_PROMISE && !called;
        result = JS_PromiseState(context, value) != JS_PROMISE_NOT_A_PROMISE ? awaited(value) : value;
        called = true;
    }
    if (JS_IsException(result))
        return 1;
    if (JS_IsUndefined(result) && (quiet || called) && !acted)
        return fail_in(JS_UNDEFINED, AT_NOTHING);
    return answer(result);
}

/* Allocates `size` bytes and the zero that the parsers need behind them; 0 when there is no memory. */
EXPORT(sigil_alloc) void *sigil_alloc(uint32_t size) {
    char *bytes = size < LARGEST ? heap_malloc(NULL, (size_t)size + 1) : NULL;
    if (bytes)
        bytes[size] = 0;
    return bytes;
}

/* A source is a body, and where that cannot be, because it exports, a module: no text is both. */
static int32_t load(const char *source, uint32_t length) {
    bool closed = false, unclear = false;
    JS_UpdateStackTop(runtime);
    forget_output();
    JS_FreeValue(context, body);
    JS_FreeValue(context, module);
    body = compile_body(source, length, &closed, &unclear), module = JS_UNDEFINED;
    if (!JS_IsException(body))
        return 0;
    body = JS_UNDEFINED;
    JSValue error = JS_GetException(context);
    if (closed || unclear)
        return fail_in(error, closed ? AT_CLOSED : AT_FORM);
    module = compile_module(source, length);
    if (!JS_IsException(module)) {
        JS_FreeValue(context, error);
        return 0;
    }
    module = JS_UNDEFINED;
    JSValue as_module = JS_GetException(context);
    return fail_at(error, AT_LOAD, JS_NewStringLen(context, source, length), as_module);
}

EXPORT(sigil_load) int32_t sigil_load(const char *source, uint32_t length) {
    growth = PAGE; /* an image may be taken of what is loaded */
    int32_t failed = load(source, length);
    growth = GROWTH;
    return failed;
}

/* For a host that keeps an image of the memory of a loaded source: the buffers. Its input is sigil_run's to take, once. */
EXPORT(sigil_tidy) const void *sigil_tidy(void) {
    forget_output();
    JS_FreeValue(context, compiled);
    compiled = JS_UNDEFINED;
    buffers.input = heap_calloc(NULL, 1, INPUT_CAPACITY + 1), buffers.capacity = buffers.input ? INPUT_CAPACITY : 0;
    heap_tidy();
    buffers.end = memory_end;
    return &buffers;
}

/* What was loaded, as bytecode with a byte that says its form: `sigil_unpack` makes it anew, without the holes that a parser leaves. */
EXPORT(sigil_pack) int32_t sigil_pack(void) {
    size_t size;
    uint8_t *code = JS_WriteObject(context, &size, JS_IsUndefined(module) ? compiled : module, JS_WRITE_OBJ_BYTECODE);
    uint8_t *packed = code ? js_realloc(context, code, size + 1) : NULL;
    if (!packed)
        return fail(AT_LOAD);
    packed[size] = quiet | exporting << 1;
    forget_output();
    buffers.output = (char *)packed, buffers.output_length = size + 1;
    return 0;
}

/* Allocates memory for the bytecode of `sigil_pack`. */
EXPORT(sigil_hold) void *sigil_hold(uint32_t size) { return heap_hold(size); }

/* Takes `code`, which lies where sigil_hold allocated memory: as `sigil_load` with the source of it. */
EXPORT(sigil_unpack) int32_t sigil_unpack(char *code, uint32_t length) {
    JS_UpdateStackTop(runtime);
    quiet = code[length - 1] & 1, exporting = code[length - 1] >> 1 & 1;
    JSValue value = JS_ReadObject(context, (const uint8_t *)code, length - 1, JS_READ_OBJ_BYTECODE);
    heap_release(code, length);
    growth = PAGE;
    if (JS_VALUE_GET_TAG(value) == JS_TAG_MODULE)
        module = value;
    else
        body = JS_IsException(value) ? value : JS_EvalFunction(context, value);
    growth = GROWTH;
    return JS_IsException(body);
}

/* Takes `input`, which sigil_alloc gave. */
EXPORT(sigil_run) int32_t sigil_run(char *input, uint32_t length) {
    JS_UpdateStackTop(runtime);
    forget_output();
    JSValue value = JS_ParseJSON(context, input, length, "input");
    heap_free(NULL, input);
    if (JS_IsException(value))
        return fail(AT_INPUT);
    if (JS_IsObject(value) && JS_DefinePropertyValue(context, value, JS_ATOM_Symbol_toPrimitive, JS_DupValue(context, guard), 0) < 0) {
        JS_FreeValue(context, value);
        return fail(AT_RUN);
    }
    acted = false;
    JSValueConst arguments[] = {value, environment};
    JSValue promise = JS_IsUndefined(module) ? JS_Call(context, body, JS_UNDEFINED, 2, arguments) : run_module(value);
    int status = settle(promise, value);
    JS_FreeValue(context, value);
    return status;
}

EXPORT(sigil_out_ptr) const char *sigil_out_ptr(void) { return buffers.output; }
EXPORT(sigil_out_len) uint32_t sigil_out_len(void) { return buffers.output_length; }

static JSContext *new_context(void) {
    JSContext *made = JS_NewContextRaw(runtime);
    bool failed = !made || JS_AddIntrinsicBaseObjects(made) || JS_AddIntrinsicDate(made) || JS_AddIntrinsicEval(made) ||
                  JS_AddIntrinsicRegExp(made) || JS_AddIntrinsicJSON(made) || JS_AddIntrinsicProxy(made) ||
                  JS_AddIntrinsicMapSet(made) || JS_AddIntrinsicTypedArrays(made) || JS_AddIntrinsicPromise(made) ||
                  JS_AddIntrinsicWeakRef(made) || JS_AddIntrinsicAToB(made);
    return failed ? NULL : made;
}

static bool start_engine(void) {
    runtime = JS_NewRuntime2(&heap_functions, NULL);
    context = runtime ? new_context() : NULL;
    return context != NULL;
}

/* For the builder: the exception in words as the output, and the number of the step that raised it. */
static int stopped_at(int step) {
    finish(JS_ToString(context, JS_GetException(context)), step);
    return step;
}

/* While the engine is built, in an instance that is then thrown away: the prelude's bytecode as the output, without its
 * text and line numbers, so that the image has none of the parser's litter. */
EXPORT(sigil_compile) int32_t sigil_compile(char *prelude, uint32_t length) {
    if (!start_engine())
        return 1;
    int flags = JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_STRICT | JS_EVAL_FLAG_COMPILE_ONLY;
    JSValue program = JS_Eval(context, prelude, length, "prelude", flags);
    size_t size;
    uint8_t *code = JS_IsException(program) ? NULL : JS_WriteObject(context, &size, program, JS_WRITE_OBJ_BYTECODE | JS_WRITE_OBJ_STRIP_DEBUG);
    if (!code)
        return stopped_at(2);
    buffers.output = (char *)code, buffers.output_length = size;
    return 0;
}

static JSValue start_prelude(const char *code, uint32_t length) {
    JSValue program = JS_ReadObject(context, (const uint8_t *)code, length, JS_READ_OBJ_BYTECODE);
    JSValue start = JS_IsException(program) ? program : JS_EvalFunction(context, program);
    JSValue intrinsics = new_intrinsics();
    JSValue hooks = JS_Call(context, start, JS_UNDEFINED, 1, (JSValueConst[]){intrinsics});
    JS_FreeValue(context, start);
    JS_FreeValue(context, intrinsics);
    return hooks;
}

static void tell_builder(const void *data, uint32_t number) { host_call(data, number); }

/* While the engine is built: everything up to the first call. The module is then written anew with this memory in it.
 * `hot` are the numbers of the allocations that calls write to, `size` the bytes that they need together; without them the
 * builder gets each allocation. */
EXPORT(sigil_prepare) int32_t sigil_prepare(char *code, uint32_t length, const uint32_t *hot, uint32_t count, uint32_t size) {
    heap_plan(hot, count, size);
    seen = count ? NULL : tell_builder;
    if (!start_engine())
        return 1;
    JS_SetMaxStackSize(runtime, STACK_LIMIT);
    JS_SetGCThreshold(runtime, COLLECT_AT);
    JSValue hooks = start_prelude(code, length);
    if (JS_IsException(hooks))
        return stopped_at(2);
    environment = JS_GetPropertyStr(context, hooks, "env");
    describe = JS_GetPropertyStr(context, hooks, "describe");
    serve = JS_GetPropertyStr(context, hooks, "serve");
    finish_result = JS_GetPropertyStr(context, hooks, "finish");
    guard = JS_GetPropertyStr(context, hooks, "guard");
    JS_FreeValue(context, hooks);
    body = module = compiled = JS_UNDEFINED;
    heap_free(NULL, code);
    heap_free(NULL, (void *)hot);
    JS_RunGC(runtime);
    heap_seal();
    return 0;
}

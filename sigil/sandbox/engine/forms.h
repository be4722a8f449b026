/* The two forms of a source: the body of a function, or an ES module with a default export. */

static const char HEAD[] = "async (input, env) => {";
static const char TAIL[] = "\n}";

/* Whether the program is exactly one function that spans the whole text: then the author's braces are balanced, and
 * nothing stands before, after or beside the body. Nothing has run when this is asked. */
static bool is_one_function(JSValueConst program, size_t length) {
    JSFunctionBytecode *outer = JS_VALUE_GET_PTR(program);
    if (outer->cpool_count < 1 || JS_VALUE_GET_TAG(outer->cpool[0]) != JS_TAG_FUNCTION_BYTECODE)
        return false;
    return ((JSFunctionBytecode *)JS_VALUE_GET_PTR(outer->cpool[0]))->source_len == (int)length;
}

static char *wrap(const char *source, uint32_t length, size_t *total) {
    *total = sizeof(HEAD) - 1 + length + sizeof(TAIL) - 1;
    char *text = heap_malloc(NULL, *total + 1);
    if (!text)
        return NULL;
    memcpy(text, HEAD, sizeof(HEAD) - 1);
    memcpy(text + sizeof(HEAD) - 1, source, length);
    memcpy(text + sizeof(HEAD) - 1 + length, TAIL, sizeof(TAIL));
    return text;
}

/* Takes the compiled program; the body is what it makes. */
static JSValue made_of(JSValue program) {
    JS_FreeValue(context, compiled);
    compiled = JS_DupValue(context, program);
    return JS_EvalFunction(context, program);
}

static JSValue compile_body(const char *source, uint32_t length, bool *closed) {
    size_t total;
    char *text = wrap(source, length, &total);
    if (!text)
        return JS_ThrowOutOfMemory(context);
    JSEvalOptions options = {JS_EVAL_OPTIONS_VERSION, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY, "capability", 0};
    JSValue program = JS_Eval2(context, text, total, &options);
    heap_free(NULL, text);
    if (!JS_IsException(program) && !is_one_function(program, total)) {
        JS_FreeValue(context, program);
        *closed = true;
        return JS_ThrowSyntaxError(context, "the body ends before its source does");
    }
    return JS_IsException(program) ? program : made_of(program);
}

static bool has_default(JSModuleDef *definition) {
    for (int i = 0; i < definition->export_entries_count; i++)
        if (definition->export_entries[i].export_name == JS_ATOM_default)
            return true;
    return false;
}

/* Nothing of a module runs here: that is part of the call. */
static JSValue compile_module(const char *source, uint32_t length) {
    JSEvalOptions options = {JS_EVAL_OPTIONS_VERSION, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY, "capability.mjs", 1};
    JSValue compiled = JS_Eval2(context, source, length, &options);
    if (JS_IsException(compiled) || has_default(JS_VALUE_GET_PTR(compiled)))
        return compiled;
    JS_FreeValue(context, compiled);
    return JS_ThrowSyntaxError(context, "the module has no default export: export default { async fetch(request, env, ctx) { … } }");
}

static JSValue run_module(JSValueConst input) {
    JSValue loaded = JS_EvalFunction(context, JS_DupValue(context, module));
    if (JS_IsException(loaded))
        return loaded;
    JSValue exported = JS_GetModuleNamespace(context, JS_VALUE_GET_PTR(module));
    JSValue promise = JS_EXCEPTION;
    if (!JS_IsException(exported))
        promise = JS_Call(context, serve, JS_UNDEFINED, 3, (JSValueConst[]){loaded, exported, input});
    JS_FreeValue(context, exported);
    JS_FreeValue(context, loaded);
    return promise;
}

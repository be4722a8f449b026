/* The forms of a source: the body of a function, an ES module that exports what is called, and what comes out of a body that
 * returns nothing itself: an expression, the declaration of a function, or CommonJS. */

static const char HEAD[] = "async (input, env) => {";
static const char TAIL[] = "\n}";
static const char EXPRESSION_HEAD[] = "async (input, env) => (";
static const char EXPRESSION_TAIL[] = "\n)";
static const char EXPORTS_HEAD[] = "async (input, env, module = {exports: {}}, exports = module.exports) => {";
static const char EXPORTED_HEAD[] = "async (input, env, module = {exports: {}}, exports = module.exports) => (";
static const char EXPORTS_TAIL[] = "\nreturn module.exports\n}";
static const char RETURN_NAME[] = "\nreturn %s\n}";
static const char NO_RETURN[] = "it returns nothing: it is the body of a function of input, which ends with return and the value";
static const char *const ENTRIES[] = {"execute", "main", "run", "handler", "handle"}; /* of several functions, the one that is meant */

#define NAME_LENGTH 128

/* The first function of a program. */
static JSFunctionBytecode *first_function(JSValueConst program) {
    JSFunctionBytecode *outer = JS_VALUE_GET_PTR(program);
    if (outer->cpool_count < 1 || JS_VALUE_GET_TAG(outer->cpool[0]) != JS_TAG_FUNCTION_BYTECODE)
        return NULL;
    return JS_VALUE_GET_PTR(outer->cpool[0]);
}

/* Whether the program is exactly one function that spans the whole text: then the author's braces are balanced, and
 * nothing stands before, after or beside the body. Nothing has run when this is asked. */
static bool is_one_function(JSValueConst program, size_t length) {
    JSFunctionBytecode *function = first_function(program);
    return function && function->source_len == (int)length;
}

/* Takes the compiled program; the body is what it makes. */
static JSValue made_of(JSValue program) {
    JS_FreeValue(context, compiled);
    compiled = JS_DupValue(context, program);
    return JS_EvalFunction(context, program);
}

/* The program of one function: `source` between `head` and `tail`. */
static JSValue compile_function(const char *head, const char *source, size_t length, const char *tail, bool *closed) {
    size_t before = strlen(head), after = strlen(tail), total = before + length + after;
    char *text = heap_malloc(NULL, total + 1);
    if (!text)
        return JS_ThrowOutOfMemory(context);
    memcpy(text, head, before);
    memcpy(text + before, source, length);
    memcpy(text + before + length, tail, after + 1);
    JSEvalOptions options = {JS_EVAL_OPTIONS_VERSION, JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY, "capability", 0};
    JSValue program = JS_Eval2(context, text, total, &options);
    heap_free(NULL, text);
    if (!JS_IsException(program) && !is_one_function(program, total)) {
        JS_FreeValue(context, program);
        *closed = true;
        return JS_ThrowSyntaxError(context, "the body ends before its source does");
    }
    return program;
}

/* What the bytecode of a body shows. */
typedef struct {
    bool returns;    /* perhaps: it has more than the end that every body has */
    bool inert;      /* nothing is called, awaited, thrown, chosen or repeated, so that its whole effect is to declare */
    bool reads;      /* a parameter is read */
    int functions;   /* how many variables are declared with a function */
    JSAtom function; /* the one that is meant, of these; JS_ATOM_NULL when that is open */
    bool named;      /* it has a name that says so */
} Survey;

static bool is_entry(JSAtom name) {
    const char *text = JS_AtomToCString(context, name);
    bool found = false;
    for (size_t i = 0; text && i < sizeof(ENTRIES) / sizeof(*ENTRIES); i++)
        found |= strcmp(text, ENTRIES[i]) == 0;
    JS_FreeCString(context, text);
    return found;
}

static void note_function(Survey *found, JSAtom name) {
    bool entry = is_entry(name);
    if (entry || !found->named)
        found->function = found->functions++ && !entry ? JS_ATOM_NULL : name;
    found->named |= entry;
}

/* The number of the local variable that an instruction sets first, or -1. */
static int variable_set_by(const uint8_t *code) {
    switch (*code) {
    case OP_put_loc0: case OP_put_loc1: case OP_put_loc2: case OP_put_loc3:
        return *code - OP_put_loc0;
    case OP_put_loc8:
        return code[1];
    case OP_put_loc: case OP_put_loc_check: case OP_put_loc_check_init:
        return get_u16(code + 1);
    }
    return -1;
}

/* Whether a function is on top of the stack after the instruction; `before`: whether one was before it. */
static bool is_closure(int op, bool before) {
    return op == OP_fclosure || op == OP_fclosure8 || (before && op == OP_set_name);
}

static Survey survey(JSFunctionBytecode *function) {
    Survey found = {.inert = true, .function = JS_ATOM_NULL};
    int returns = 0, before = OP_invalid, variable;
    bool closure = false, at_end = false;
    for (int at = 0, op; at < function->byte_code_len; at += short_opcode_info(op).size, before = op) {
        const uint8_t *code = function->byte_code_buf + at;
        switch (op = *code) {
        case OP_return_async:
            returns++, at_end = before == OP_undefined;
            break;
        case OP_call: case OP_call0: case OP_call1: case OP_call2: case OP_call3: case OP_call_method: case OP_tail_call:
        case OP_tail_call_method: case OP_apply: case OP_eval: case OP_apply_eval: case OP_await: case OP_throw:
        case OP_throw_error: case OP_goto: case OP_goto8: case OP_goto16: case OP_if_true: case OP_if_true8: case OP_if_false:
        case OP_if_false8: case OP_iterator_call: case OP_for_of_start: case OP_for_await_of_start:
            found.inert = false;
            break;
        case OP_get_arg: case OP_get_arg0: case OP_get_arg1: case OP_get_arg2: case OP_get_arg3:
            found.reads = true;
            break;
        }
        variable = closure ? variable_set_by(code) : -1;
        if (variable >= 0)
            note_function(&found, function->vardefs[function->arg_count + variable].var_name);
        closure = is_closure(op, closure);
    }
    found.returns = returns != 1 || !at_end;
    return found;
}

/* Whether the source has no return of its own: a module, where that is an error, has none. */
static bool is_without_return(const char *source, uint32_t length) {
    JSEvalOptions options = {JS_EVAL_OPTIONS_VERSION, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY, "capability.mjs", 1};
    JSValue program = JS_Eval2(context, source, length, &options);
    bool without = !JS_IsException(program);
    JS_FreeValue(context, without ? program : JS_GetException(context));
    return without;
}

static size_t without_semicolons(const char *source, size_t length) {
    while (length && strchr("; \t\r\n", source[length - 1]))
        length--;
    return length;
}

static bool mentions_exports(const char *source, uint32_t length) {
    return memmem(source, length, "module.exports", 14) || memmem(source, length, "exports.", 8);
}

/* The program of a body without a return that only declares: it returns the function that is meant. */
static JSValue compile_declarations(const char *source, uint32_t length, Survey found) {
    char tail[sizeof(RETURN_NAME) + NAME_LENGTH];
    bool closed;
    if (!found.functions || found.reads)
        return JS_ThrowSyntaxError(context, "%s", NO_RETURN);
    const char *name = found.function == JS_ATOM_NULL ? NULL : JS_AtomToCString(context, found.function);
    if (!name || strlen(name) >= NAME_LENGTH) {
        JS_FreeCString(context, name);
        return JS_ThrowSyntaxError(context, "it declares several functions and calls none: end it with return NAME(input)");
    }
    snprintf(tail, sizeof(tail), RETURN_NAME, name);
    JS_FreeCString(context, name);
    return compile_function(HEAD, source, length, tail, &closed);
}

/* Takes the program of a body without a return, and answers with the program of what is meant; an exception when nothing is. */
static JSValue understand(JSValue program, const char *source, uint32_t length, Survey found) {
    bool closed;
    size_t end = without_semicolons(source, length);
    exporting = mentions_exports(source, length);
    JSValue other = compile_function(exporting ? EXPORTED_HEAD : EXPRESSION_HEAD, source, end, EXPRESSION_TAIL, &closed);
    if (JS_IsException(other)) {
        JS_FreeValue(context, JS_GetException(context));
        if (exporting)
            other = compile_function(EXPORTS_HEAD, source, length, EXPORTS_TAIL, &closed);
        else if (found.inert)
            other = compile_declarations(source, length, found);
        else
            return program;
    }
    JS_FreeValue(context, program);
    return other;
}

/* Sets `closed` when the body ends before its source, `unclear` when it can return nothing and nothing else is meant. */
static JSValue compile_body(const char *source, uint32_t length, bool *closed, bool *unclear) {
    JSValue program = compile_function(HEAD, source, length, TAIL, closed);
    quiet = exporting = false;
    if (JS_IsException(program))
        return program;
    Survey found = survey(first_function(program));
    if (!found.returns && is_without_return(source, length)) {
        quiet = true;
        program = understand(program, source, length, found);
        *unclear = JS_IsException(program);
    }
    return *unclear ? program : made_of(program);
}

/* The number of the module's variable that an instruction sets, or -1. */
static int reference_set_by(const uint8_t *code) {
    switch (*code) {
    case OP_put_var_ref0: case OP_put_var_ref1: case OP_put_var_ref2: case OP_put_var_ref3:
        return *code - OP_put_var_ref0;
    case OP_put_var_ref: case OP_put_var_ref_check: case OP_put_var_ref_check_init:
        return get_u16(code + 1);
    }
    return -1;
}

/* Whether a module sets its variable `index` to a function that it declares. */
static bool declares_function(JSFunctionBytecode *function, int index) {
    bool closure = false;
    for (int at = 0, op; at < function->byte_code_len; at += short_opcode_info(op).size) {
        const uint8_t *code = function->byte_code_buf + at;
        op = *code;
        if (closure && reference_set_by(code) == index)
            return true;
        closure = is_closure(op, closure);
    }
    return false;
}

/* A default export is what is called, or the only export when it is a function. */
static bool has_entry(JSModuleDef *definition) {
    JSExportEntry *first = definition->export_entries;
    for (int i = 0; i < definition->export_entries_count; i++)
        if (first[i].export_name == JS_ATOM_default)
            return true;
    return definition->export_entries_count == 1 && first->export_type == JS_EXPORT_TYPE_LOCAL &&
           JS_VALUE_GET_TAG(definition->func_obj) == JS_TAG_FUNCTION_BYTECODE &&
           declares_function(JS_VALUE_GET_PTR(definition->func_obj), first->u.local.var_idx);
}

/* Nothing of a module runs here: that is part of the call. */
static JSValue compile_module(const char *source, uint32_t length) {
    JSEvalOptions options = {JS_EVAL_OPTIONS_VERSION, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY, "capability.mjs", 1};
    JSValue compiled = JS_Eval2(context, source, length, &options);
    if (JS_IsException(compiled) || has_entry(JS_VALUE_GET_PTR(compiled)))
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

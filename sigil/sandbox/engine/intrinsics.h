/* What the prelude cannot do in JavaScript, or not fast enough: asked for once, by the prelude alone. */

static JSValue bytes_argument(JSValueConst value, const uint8_t **bytes, size_t *length) {
    uint8_t *found = JS_GetUint8Array(context, length, value);
    if (!found && JS_HasException(context))
        return JS_EXCEPTION;
    *bytes = found ? found : (const uint8_t *)"";
    return JS_UNDEFINED;
}

/* Requests that leave nothing behind. */
static const char *const IDLE[] = {"{\"op\":\"clock\"", "{\"op\":\"random\"", "{\"op\":\"log\""};

static bool is_idle(const char *request) {
    for (size_t i = 0; i < sizeof(IDLE) / sizeof(*IDLE); i++)
        if (strncmp(request, IDLE[i], strlen(IDLE[i])) == 0)
            return true;
    return false;
}

/* call(request: string) → the answer's text, or null when the host takes it for no request */
static JSValue call_host(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv) {
    size_t length;
    const char *request = JS_ToCStringLen(ctx, &length, argv[0]);
    if (!request)
        return JS_EXCEPTION;
    acted |= !is_idle(request);
    int32_t size = host_call(request, length);
    JS_FreeCString(ctx, request);
    if (size < 0)
        return JS_NULL;
    char *answer = heap_malloc(NULL, (size_t)size + 1);
    if (!answer)
        return JS_ThrowOutOfMemory(ctx);
    host_take(answer);
    JSValue text = JS_NewStringLen(ctx, answer, size);
    heap_free(NULL, answer);
    return text;
}

/* digest(kind, bytes: Uint8Array) → ArrayBuffer */
static JSValue digest_bytes(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv) {
    const uint8_t *bytes;
    uint8_t result[LONGEST_DIGEST];
    size_t length;
    int32_t kind;
    if (JS_ToInt32(ctx, &kind, argv[0]) || kind < 0 || kind >= DIGESTS || JS_IsException(bytes_argument(argv[1], &bytes, &length)))
        return JS_EXCEPTION;
    digest_all(kind, bytes, length, result);
    return JS_NewArrayBufferCopy(ctx, result, digest_sizes[kind]);
}

/* hmac(kind, key: Uint8Array, bytes: Uint8Array) → ArrayBuffer */
static JSValue hmac_bytes(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv) {
    const uint8_t *key, *bytes;
    uint8_t result[LONGEST_DIGEST];
    size_t key_length, length;
    int32_t kind;
    if (JS_ToInt32(ctx, &kind, argv[0]) || kind < 0 || kind >= DIGESTS || JS_IsException(bytes_argument(argv[1], &key, &key_length)) ||
        JS_IsException(bytes_argument(argv[2], &bytes, &length)))
        return JS_EXCEPTION;
    hmac(kind, key, key_length, bytes, length, result);
    return JS_NewArrayBufferCopy(ctx, result, digest_sizes[kind]);
}

/* encode(text: string without lone surrogates) → Uint8Array */
static JSValue encode_text(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv) {
    size_t length;
    const char *bytes = JS_ToCStringLen(ctx, &length, argv[0]);
    if (!bytes)
        return JS_EXCEPTION;
    JSValue array = JS_NewUint8ArrayCopy(ctx, (const uint8_t *)bytes, length);
    JS_FreeCString(ctx, bytes);
    return array;
}

/* How many bytes the UTF-8 sequence at `bytes` has; when it is wrong, minus the length of its maximal subpart, which
 * one U+FFFD stands for (WHATWG Encoding, "UTF-8 decoder"; Unicode 16, table 3-7). */
static int sequence_length(const uint8_t *bytes, size_t left) {
    uint8_t first = bytes[0], low = 0x80, high = 0xbf;
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return -1;
    int length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : low;
    high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : high;
    for (int i = 1; i < length; i++, low = 0x80, high = 0xbf)
        if ((size_t)i >= left || bytes[i] < low || bytes[i] > high)
            return -i;
    return length;
}

static uint32_t code_point(const uint8_t *bytes, int length) {
    uint32_t point = length == 1 ? bytes[0] : bytes[0] & (0xff >> (length + 1));
    for (int i = 1; i < length; i++)
        point = point << 6 | (bytes[i] & 0x3f);
    return point;
}

/* Answers how many UTF-16 units were written, or -1 when `fatal` and a sequence is wrong. */
static ptrdiff_t decode_units(const uint8_t *bytes, size_t length, bool fatal, uint16_t *units) {
    uint16_t *next = units;
    for (size_t i = 0; i < length;) {
        int size = sequence_length(bytes + i, length - i);
        if (size < 0 && fatal)
            return -1;
        uint32_t point = size < 0 ? 0xfffd : code_point(bytes + i, size);
        i += size < 0 ? -size : size;
        if (point > 0xffff)
            *next++ = (uint16_t)(0xd7c0 + (point >> 10)), point = 0xdc00 | (point & 0x3ff);
        *next++ = (uint16_t)point;
    }
    return next - units;
}

/* decode(bytes: Uint8Array, fatal: boolean) → string, or null when the bytes are no UTF-8 */
static JSValue decode_text(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv) {
    const uint8_t *bytes;
    size_t length, plain = 0;
    if (JS_IsException(bytes_argument(argv[0], &bytes, &length)))
        return JS_EXCEPTION;
    while (plain < length && bytes[plain] < 0x80)
        plain++;
    if (plain == length)
        return JS_NewStringLen(ctx, (const char *)bytes, length);
    uint16_t *units = js_malloc(ctx, length * sizeof(*units));
    if (!units)
        return JS_EXCEPTION;
    ptrdiff_t count = decode_units(bytes, length, JS_ToBool(ctx, argv[1]), units);
    JSValue text = count < 0 ? JS_NULL : JS_NewStringUTF16(ctx, units, count);
    js_free(ctx, units);
    return text;
}

/* parameters(function) → the names of its parameters, null for a pattern; null for a function that is not of JavaScript */
static JSValue parameters_of(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv) {
    if (JS_VALUE_GET_TAG(argv[0]) != JS_TAG_OBJECT || !js_class_has_bytecode(JS_VALUE_GET_OBJ(argv[0])->class_id))
        return JS_NULL;
    JSFunctionBytecode *function = JS_VALUE_GET_OBJ(argv[0])->u.func.function_bytecode;
    JSValue names = JS_NewArray(ctx);
    for (int i = 0; i < function->arg_count && !JS_IsException(names); i++) {
        JSAtom name = function->vardefs[i].var_name;
        if (JS_DefinePropertyValueUint32(ctx, names, i, name == JS_ATOM_NULL ? JS_NULL : JS_AtomToString(ctx, name), JS_PROP_C_W_E) < 0) {
            JS_FreeValue(ctx, names);
            return JS_EXCEPTION;
        }
    }
    return names;
}

/* plain(value) → whether JSON says the value as it is */
static JSValue tell_plain(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv) {
    return JS_NewBool(ctx, is_plain(argv[0], 0));
}

/* seed(bytes: Uint8Array of 8) : where Math.random goes on from */
static JSValue seed_random(JSContext *ctx, JSValueConst this_value, int argc, JSValueConst *argv) {
    const uint8_t *bytes;
    size_t length;
    if (JS_IsException(bytes_argument(argv[0], &bytes, &length)) || length < 8)
        return JS_EXCEPTION;
    memcpy(&ctx->random_state, bytes, 8);
    ctx->random_state |= ctx->random_state == 0; /* zero would stay zero */
    return JS_UNDEFINED;
}

static const JSCFunctionListEntry intrinsic_functions[] = {
    JS_CFUNC_DEF("call", 1, call_host),     JS_CFUNC_DEF("digest", 2, digest_bytes), JS_CFUNC_DEF("hmac", 3, hmac_bytes),
    JS_CFUNC_DEF("encode", 1, encode_text), JS_CFUNC_DEF("decode", 2, decode_text),  JS_CFUNC_DEF("seed", 1, seed_random),
    JS_CFUNC_DEF("parameters", 1, parameters_of),
    JS_CFUNC_DEF("plain", 1, tell_plain),
};

static JSValue new_intrinsics(void) {
    JSValue object = JS_NewObject(context);
    JS_SetPropertyFunctionList(context, object, intrinsic_functions, sizeof(intrinsic_functions) / sizeof(*intrinsic_functions));
    return object;
}

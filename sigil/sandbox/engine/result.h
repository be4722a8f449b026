/* Which results JSON says as they are. */

#define PLAIN_DEPTH 512 /* a deeper value costs the prelude its stack, which is a RangeError */

static bool is_plain(JSValueConst value, int depth);

static bool is_plain_array(JSObject *array, int depth) {
    uint32_t count = array->u.array.count;
    JSValueConst length = array->prop[0].u.value;
    if (!array->fast_array || JS_VALUE_GET_TAG(length) != JS_TAG_INT || (uint32_t)JS_VALUE_GET_INT(length) != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (JS_IsUndefined(array->u.array.u.values[i]) || !is_plain(array->u.array.u.values[i], depth))
            return false;
    return true;
}

static bool is_plain_object(JSObject *object, int depth) {
    JSObject *prototype = object->shape->proto;
    if (object->is_exotic || (prototype && prototype != JS_VALUE_GET_OBJ(context->class_proto[JS_CLASS_OBJECT])))
        return false;
    JSShapeProperty *property = get_shape_prop(object->shape);
    for (int i = 0; i < object->shape->prop_count; i++, property++) {
        if (property->atom == JS_ATOM_NULL || !(property->flags & JS_PROP_ENUMERABLE))
            continue;
        if (property->flags & JS_PROP_TMASK || !is_plain(object->prop[i].u.value, depth))
            return false;
    }
    return true;
}

/* Whether JSON says the value as it is. It may leave out properties that are undefined. Nothing of the author's runs here. */
static bool is_plain(JSValueConst value, int depth) {
    switch (JS_VALUE_GET_NORM_TAG(value)) {
    case JS_TAG_INT: case JS_TAG_STRING: case JS_TAG_STRING_ROPE: case JS_TAG_BOOL: case JS_TAG_NULL: case JS_TAG_UNDEFINED:
        return true;
    case JS_TAG_FLOAT64:
        return isfinite(JS_VALUE_GET_FLOAT64(value));
    case JS_TAG_OBJECT:
        break;
    default:
        return false;
    }
    JSObject *object = JS_VALUE_GET_OBJ(value);
    if (depth >= PLAIN_DEPTH)
        return false;
    switch (object->class_id) {
    case JS_CLASS_ARRAY:
        return is_plain_array(object, depth + 1);
    case JS_CLASS_OBJECT:
        return is_plain_object(object, depth + 1);
    case JS_CLASS_DATE:
        return JS_VALUE_GET_NORM_TAG(object->u.object_data) == JS_TAG_INT ||
               (JS_VALUE_GET_NORM_TAG(object->u.object_data) == JS_TAG_FLOAT64 && isfinite(JS_VALUE_GET_FLOAT64(object->u.object_data)));
    default:
        return false;
    }
}

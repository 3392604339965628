#include "torch_file/pickle.h"

#include "core/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names that checkpoints of PyTorch and nnU-Net hold. They are never looked up: being here only says that a file
   which names them is not suspicious. */
static const char *const NAMES[] = {
    "collections OrderedDict",
    "collections defaultdict",
    "torch._utils _rebuild_tensor_v2",
    "torch._utils _rebuild_parameter",
    "torch FloatStorage",
    "torch DoubleStorage",
    "torch HalfStorage",
    "torch BFloat16Storage",
    "torch LongStorage",
    "torch IntStorage",
    "torch ShortStorage",
    "torch CharStorage",
    "torch ByteStorage",
    "torch BoolStorage",
    "torch device",
    "torch Size",
    "numpy dtype",
    "numpy ndarray",
    "numpy.core.multiarray scalar",
    "numpy.core.multiarray _reconstruct",
    "numpy._core.multiarray scalar",
    "numpy._core.multiarray _reconstruct",
    "_codecs encode",
};

struct pickle {
    const char *what;
    const unsigned char *at, *end;
    pickle_value *last;         /* of all that were made */
    const pickle_value **stack; /* NULL is a mark */
    size_t depth, stack_room;
    const pickle_value **memo;
    size_t memo_count, memo_most;
    const pickle_value *root;
    status_code status;
    failure *failure;
};

/* ---- failing and making ------------------------------------------------------------------------------------------ */

/* Once something failed, the rest does nothing: the first failure is the one to tell. */
static void refuse(pickle *p, const char *why) {
    if (p->status == STATUS_OK)
        p->status = fail(p->failure, STATUS_CORRUPT, "%s: its pickle is cut off or damaged: %s", p->what, why);
}

static void refuse_memory(pickle *p) {
    if (p->status == STATUS_OK) p->status = fail_memory(p->failure, p->what);
}

static pickle_value *make(pickle *p, pickle_kind kind) {
    pickle_value *value = calloc(1, sizeof *value);
    if (!value) {
        refuse_memory(p);
        return NULL;
    }
    value->kind = kind;
    value->before = p->last;
    return p->last = value; /* cppcheck-suppress memleak ; the pickle has it */
}

static void push(pickle *p, const pickle_value *value) {
    const pickle_value **grown = array_grow(p->stack, p->depth, &p->stack_room, sizeof *grown);
    if (!grown) {
        refuse_memory(p);
        return;
    }
    p->stack = grown;
    p->stack[p->depth++] = value;
}

static void push_made(pickle *p, const pickle_value *value) {
    if (value) push(p, value);
}

/* The value on top; NULL, and refused, if there is none. */
static const pickle_value *pop(pickle *p) {
    if (!p->depth || !p->stack[p->depth - 1]) {
        refuse(p, "it takes a value where there is none");
        return NULL;
    }
    return p->stack[--p->depth];
}

static void add(pickle *p, pickle_value *to, const pickle_value *item) {
    const pickle_value **grown = item ? array_grow(to->item, to->count, &to->capacity, sizeof *grown) : NULL;
    if (!grown) {
        if (item) refuse_memory(p);
        return;
    }
    to->item = grown;
    to->item[to->count++] = item;
}

/* Where the values behind the last mark begin; the mark itself is before them. */
static size_t behind_mark(pickle *p) {
    size_t first = p->depth;
    while (first && p->stack[first - 1]) first--;
    if (!first) refuse(p, "a mark is missing");
    return first;
}

/* Adds all behind the mark to it and takes them from the stack with their mark. */
static void take_marked(pickle *p, pickle_value *to, size_t first) {
    for (size_t k = first; k < p->depth && p->status == STATUS_OK; k++) add(p, to, p->stack[k]);
    p->depth = first - 1;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const unsigned char *take(pickle *p, uint64_t bytes) {
    if (bytes > (uint64_t)(p->end - p->at)) {
        refuse(p, "it ends too early");
        return NULL;
    }
    const unsigned char *taken = p->at;
    p->at += bytes;
    return taken;
}

/* A whole number of up to 8 bytes, the least first. */
static uint64_t take_whole(pickle *p, int bytes) {
    const unsigned char *from = take(p, (uint64_t)bytes);
    uint64_t value = 0;
    for (int k = bytes - 1; from && k >= 0; k--) value = value << 8 | from[k];
    return value;
}

static void push_whole(pickle *p, int64_t whole) {
    pickle_value *value = make(p, PICKLE_WHOLE);
    if (!value) return;
    value->whole = whole;
    value->number = (double)whole;
    push(p, value);
}

/* Of any length, two's complement: more than 8 bytes have no use here. */
static void push_long(pickle *p, uint64_t bytes) {
    if (bytes > 8) {
        refuse(p, "it holds a whole number of more than 64 bits");
        return;
    }
    uint64_t value = take_whole(p, (int)bytes);
    if (bytes && bytes < 8 && value >> (8 * bytes - 1)) value |= ~UINT64_C(0) << (8 * bytes);
    push_whole(p, (int64_t)value);
}

static void push_number(pickle *p) {
    const unsigned char *from = take(p, 8);
    pickle_value *value = from ? make(p, PICKLE_NUMBER) : NULL;
    uint64_t bits = 0;
    for (int k = 0; from && k < 8; k++) bits = bits << 8 | from[k]; /* the only thing with the greatest byte first */
    if (!value) return;
    memcpy(&value->number, &bits, sizeof bits);
    push(p, value);
}

static void push_bool(pickle *p, int is_true) {
    pickle_value *value = make(p, PICKLE_BOOL);
    if (!value) return;
    value->whole = is_true;
    push(p, value);
}

/* The string is kept in the items' memory, with which it is freed. */
static pickle_value *make_string(pickle *p, pickle_kind kind, const void *bytes, size_t length) {
    pickle_value *value = make(p, kind);
    char *copy = value ? malloc(length + 1) : NULL;
    if (!copy) {
        if (value) refuse_memory(p);
        return NULL;
    }
    memcpy(copy, bytes, length);
    copy[length] = 0;
    value->string = copy;
    value->length = length;
    return value;
}

static void push_string(pickle *p, int length_bytes) {
    const uint64_t length = take_whole(p, length_bytes);
    const unsigned char *from = take(p, length);
    if (from) push_made(p, make_string(p, PICKLE_STRING, from, (size_t)length));
}

/* ---- names and calls --------------------------------------------------------------------------------------------- */

static void push_name(pickle *p, const char *name) {
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++)
        if (strcmp(NAMES[k], name) == 0) {
            push_made(p, make_string(p, PICKLE_GLOBAL, name, strlen(name)));
            return;
        }
    if (p->status == STATUS_OK)
        p->status = fail(p->failure, STATUS_CORRUPT,
                         "%s: names the Python object '%.200s', which no checkpoint needs: nothing of it was executed; "
                         "do not load this file in Python unless you trust whoever made it",
                         p->what, name);
}

static void push_name_of(pickle *p, const char *module, size_t module_length, const char *name, size_t length) {
    char both[256];
    if (module_length + length + 2 > sizeof both || memchr(module, 0, module_length) || memchr(name, 0, length)) {
        refuse(p, "a name is too long");
        return;
    }
    snprintf(both, sizeof both, "%.*s %.*s", (int)module_length, module, (int)length, name);
    push_name(p, both);
}

/* Two lines of text: module and name. */
static void push_global(pickle *p) {
    const unsigned char *module = p->at, *line = memchr(module, '\n', (size_t)(p->end - module));
    const unsigned char *end = line ? memchr(line + 1, '\n', (size_t)(p->end - line - 1)) : NULL;
    if (!end) {
        refuse(p, "a name has no end");
        return;
    }
    p->at = end + 1;
    push_name_of(p, (const char *)module, (size_t)(line - module), (const char *)line + 1, (size_t)(end - line - 1));
}

static void push_stack_global(pickle *p) {
    const pickle_value *name = pop(p), *module = pop(p);
    if (!name || !module) return;
    if (name->kind != PICKLE_STRING || module->kind != PICKLE_STRING) refuse(p, "a name is no string");
    else push_name_of(p, module->string, module->length, name->string, name->length);
}

/* A call is kept, not made; only an empty OrderedDict becomes the dict that it will be filled as. */
static void push_call(pickle *p) {
    const pickle_value *arguments = pop(p), *name = pop(p);
    if (!arguments || !name) return;
    if (name->kind != PICKLE_GLOBAL || arguments->kind != PICKLE_TUPLE) {
        refuse(p, "it calls something that is no name");
        return;
    }
    const int is_dict = pickle_is_name(name, "collections OrderedDict") && !arguments->count;
    pickle_value *value = make(p, is_dict ? PICKLE_DICT : PICKLE_CALL);
    if (!value) return;
    if (!is_dict) add(p, value, name);
    if (!is_dict) add(p, value, arguments);
    push(p, value);
}

static void push_persistent(pickle *p) {
    const pickle_value *description = pop(p);
    pickle_value *value = description ? make(p, PICKLE_PERSISTENT) : NULL;
    if (!value) return;
    add(p, value, description);
    push(p, value);
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

static void push_marked(pickle *p, pickle_kind kind) {
    const size_t first = behind_mark(p);
    pickle_value *value = first ? make(p, kind) : NULL;
    if (!value) return;
    take_marked(p, value, first);
    if (kind == PICKLE_DICT && value->count % 2) refuse(p, "a key has no value");
    push(p, value);
}

static void push_tuple(pickle *p, size_t count) {
    pickle_value *value = make(p, PICKLE_TUPLE);
    const pickle_value *items[3] = {0};
    for (size_t k = count; k-- > 0;) items[k] = pop(p);
    for (size_t k = 0; value && k < count; k++) add(p, value, items[k]);
    push_made(p, value);
}

/* Opcodes that fill a container find it below what goes into it. Only values of these kinds were made by
   `make` for that, so that they may be changed. A call is filled when an OrderedDict or the like got
   arguments; that is of no use here. */
static pickle_value *container_at(pickle *p, size_t place, pickle_kind kind) {
    const pickle_value *value = place < p->depth ? p->stack[place] : NULL;
    if (value && (value->kind == kind || value->kind == PICKLE_CALL)) return (pickle_value *)value;
    refuse(p, "it fills something that is no list or dict");
    return NULL;
}

static void fill_marked(pickle *p, pickle_kind kind) {
    const size_t first = behind_mark(p);
    pickle_value *to = first > 1 ? container_at(p, first - 2, kind) : NULL;
    if (!to) {
        refuse(p, "it fills something that is not there");
        return;
    }
    if (kind == PICKLE_DICT && (p->depth - first) % 2) refuse(p, "a key has no value");
    if (to->kind == kind) take_marked(p, to, first);
    else p->depth = first - 1;
}

static void fill(pickle *p, pickle_kind kind, size_t count) {
    pickle_value *to = p->depth > count ? container_at(p, p->depth - count - 1, kind) : NULL;
    const pickle_value *items[2] = {0};
    for (size_t k = count; k-- > 0;) items[k] = pop(p);
    if (!to) refuse(p, "it fills something that is not there");
    for (size_t k = 0; to && to->kind == kind && k < count; k++) add(p, to, items[k]);
}

/* ---- memory of values -------------------------------------------------------------------------------------------- */

static void remember(pickle *p, uint64_t index) {
    if (!p->depth || !p->stack[p->depth - 1] || index >= p->memo_most) {
        refuse(p, "it remembers what is not there");
        return;
    }
    p->memo[index] = p->stack[p->depth - 1];
    if (index >= p->memo_count) p->memo_count = (size_t)index + 1;
}

static void recall(pickle *p, uint64_t index) {
    if (index < p->memo_most && p->memo[index]) push(p, p->memo[index]);
    else refuse(p, "it recalls what it did not remember");
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static void proceed(pickle *p) {
    const uint64_t protocol = take_whole(p, 1);
    if (protocol < 2 || protocol > 5) refuse(p, "its protocol is none of 2 to 5");
}

/* Returns 0 for an opcode of another kind. */
static int push_scalar(pickle *p, int opcode) {
    switch (opcode) {
    case 'N': push_made(p, make(p, PICKLE_NONE)); return 1;
    case 0x88: push_bool(p, 1); return 1;
    case 0x89: push_bool(p, 0); return 1;
    case 'J': push_whole(p, (int32_t)take_whole(p, 4)); return 1;
    case 'K': push_whole(p, (int64_t)take_whole(p, 1)); return 1;
    case 'M': push_whole(p, (int64_t)take_whole(p, 2)); return 1;
    case 0x8a: push_long(p, take_whole(p, 1)); return 1;
    case 0x8b: push_long(p, take_whole(p, 4)); return 1;
    case 'G': push_number(p); return 1;
    case 'U':
    case 'C':
    case 0x8c: push_string(p, 1); return 1;
    case 'T':
    case 'B':
    case 'X': push_string(p, 4); return 1;
    case 0x8d:
    case 0x8e: push_string(p, 8); return 1;
    default: return 0;
    }
}

static int push_container(pickle *p, int opcode) {
    switch (opcode) {
    case ')': push_tuple(p, 0); return 1;
    case 0x85: push_tuple(p, 1); return 1;
    case 0x86: push_tuple(p, 2); return 1;
    case 0x87: push_tuple(p, 3); return 1;
    case 't': push_marked(p, PICKLE_TUPLE); return 1;
    case ']': push_made(p, make(p, PICKLE_LIST)); return 1;
    case 'l': push_marked(p, PICKLE_LIST); return 1;
    case '}': push_made(p, make(p, PICKLE_DICT)); return 1;
    case 'd': push_marked(p, PICKLE_DICT); return 1;
    case 'a': fill(p, PICKLE_LIST, 1); return 1;
    case 'e': fill_marked(p, PICKLE_LIST); return 1;
    case 's': fill(p, PICKLE_DICT, 2); return 1;
    case 'u': fill_marked(p, PICKLE_DICT); return 1;
    default: return 0;
    }
}

static int use_memory(pickle *p, int opcode) {
    switch (opcode) {
    case 'q': remember(p, take_whole(p, 1)); return 1;
    case 'r': remember(p, take_whole(p, 4)); return 1;
    case 0x94: remember(p, p->memo_count); return 1;
    case 'h': recall(p, take_whole(p, 1)); return 1;
    case 'j': recall(p, take_whole(p, 4)); return 1;
    default: return 0;
    }
}

static int run_other(pickle *p, int opcode) {
    switch (opcode) {
    case 0x80: proceed(p); return 1;
    case 0x95: take_whole(p, 8); return 1; /* the size of a frame, of use for reading ahead */
    case '(': push(p, NULL); return 1;
    case '0': pop(p); return 1;
    case 'c': push_global(p); return 1;
    case 0x93: push_stack_global(p); return 1;
    case 'R':
    case 0x81: push_call(p); return 1;
    case 'Q': push_persistent(p); return 1;
    case 'b': pop(p); return 1; /* further attributes of the value below it, such as a state_dict's _metadata */
    default: return 0;
    }
}

static void run(pickle *p) {
    while (p->status == STATUS_OK) {
        const int opcode = (int)take_whole(p, 1);
        if (p->status != STATUS_OK) return;
        if (opcode == '.') {
            p->root = pop(p);
            return;
        }
        if (push_scalar(p, opcode) || push_container(p, opcode) || use_memory(p, opcode) || run_other(p, opcode))
            continue;
        char why[64];
        snprintf(why, sizeof why, "the opcode 0x%02x has no place in a checkpoint", (unsigned)opcode);
        refuse(p, why);
    }
}

/* ---- from outside ------------------------------------------------------------------------------------------------ */

status_code pickle_open(pickle **opened, const void *bytes, size_t size, const char *what, failure *failure) {
    pickle *p = *opened = calloc(1, sizeof *p);
    if (!p) return fail_memory(failure, what);
    *p = (pickle){.what = what, .at = bytes, .end = (const unsigned char *)bytes + size, .failure = failure};
    p->memo_most = size; /* remembering takes two bytes */
    p->memo = calloc(size + 1, sizeof *p->memo);
    if (!p->memo) refuse_memory(p);
    run(p);
    const status_code status = p->status;
    if (status != STATUS_OK) pickle_close(opened);
    return status;
}

void pickle_close(pickle **opened) {
    if (!opened || !*opened) return;
    for (pickle_value *value = (*opened)->last, *before; value; value = before) {
        before = value->before;
        free((void *)value->item);
        free((void *)value->string);
        free(value);
    }
    free((void *)(*opened)->stack);
    free((void *)(*opened)->memo);
    free(*opened);
    *opened = NULL;
}

const pickle_value *pickle_root(const pickle *pickle) { return pickle->root; }

int pickle_is_string(const pickle_value *value, const char *string) {
    return value && value->kind == PICKLE_STRING && value->length == strlen(string) &&
           memcmp(value->string, string, value->length) == 0;
}

int pickle_is_name(const pickle_value *value, const char *name) {
    return value && value->kind == PICKLE_GLOBAL && strcmp(value->string, name) == 0;
}

const pickle_value *pickle_get(const pickle_value *dict, const char *key) {
    if (!dict || dict->kind != PICKLE_DICT) return NULL;
    for (size_t k = dict->count; k >= 2; k -= 2)
        if (pickle_is_string(dict->item[k - 2], key)) return dict->item[k - 1];
    return NULL;
}

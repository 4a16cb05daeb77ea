// SPDX-License-Identifier: MIT
// Reading MSCCL's XML by expat. What is not in it is as MSCCL has it; what can not be is refused by its line.

#include "core/base/machine/called.h"
#include "core/schedule/formats/msccl_inside.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"

#ifdef HAVE_EXPAT

#include <expat.h>

#include "core/base/names.h"
#include "core/base/units.h"
#include "core/base/vector.h"

enum { MOST_GPUS = 1 << 12, MOST_CHUNKS = 1 << 20, MOST_BLOCKS = 1 << 22, MOST_STEPS = 1 << 24, MOST_LANES = 64 };
enum { PIECE = 1 << 16, MOST_PIECE = 128 << 20, NOT_GIVEN = -2 };

struct reader {
    struct clab_msccl msccl;
    XML_Parser parser;
    int depth, gpu, next_number;
    int passed; // open elements of a <copy>
    int err;
};

static int line_of(const struct reader *r)
{
    return (int)XML_GetCurrentLineNumber(r->parser);
}

static void stop(struct reader *r, int err)
{
    if (!r->err)
        r->err = err;
    XML_StopParser(r->parser, XML_FALSE);
}

#define FAIL(r, ...)                 \
    do {                             \
        if (!(r)->err)               \
            clab_error(__VA_ARGS__); \
        stop((r), CLAB_EPARSE);      \
    } while (0)

// ---- attributes ----------------------------------------------------------------------------------------------

static const char *find(const char **attributes, const char *name)
{
    for (int i = 0; attributes[i]; i += 2)
        if (!strcmp(attributes[i], name))
            return attributes[i + 1];
    return NULL;
}

// The number called `name`; if it is not there, `otherwise`, or, if that is NOT_GIVEN, a failure.
static int number(struct reader *r, const char **attributes, const char *name, int low, int high, int otherwise)
{
    const char *text = find(attributes, name);
    int value = otherwise;
    bool minus = text && low < 0 && !strcmp(text, "-1");
    if (minus)
        return -1;
    if (text ? clab_parse_int(text, low < 0 ? 0 : low, high, &value) == CLAB_OK : otherwise != NOT_GIVEN)
        return value;
    FAIL(r, "%s:%d: %s=\"%.30s\" is not a number from %d to %d", r->msccl.path, line_of(r), name, text ? text : "", low,
         high);
    return low < 0 ? 0 : low;
}

static char buffer(struct reader *r, const char **attributes, const char *name)
{
    const char *text = find(attributes, name);
    if (text && *text && strchr("ios", *text) && !text[1])
        return *text;
    FAIL(r, "%s:%d: %s=\"%.30s\" is not i, o or s", r->msccl.path, line_of(r), name, text ? text : "");
    return 'i';
}

static enum clab_msccl_type type(struct reader *r, const char **attributes)
{
#define X(name, text) text,
    static const char *const words[] = {CLAB_MSCCL_TYPES(X)};
#undef X
    static const struct clab_names names = {CLAB_MSCCL_TYPE_COUNT, words, NULL};
    const char *text = find(attributes, "type");
    enum clab_msccl_type type;
    if (text && clab_names_parse(&names, text, &type) == CLAB_OK)
        return type;
    FAIL(r, "%s:%d: type=\"%.30s\" is not s, r, rcs, rrs, rrc, rrcs, cpy, re or nop", r->msccl.path, line_of(r),
         text ? text : "");
    return CLAB_MSCCL_NOP;
}

// ---- elements ------------------------------------------------------------------------------------------------

static void take_collective(struct reader *r, const char *text)
{
    struct clab_msccl *m = &r->msccl;
    static const enum clab_collective known[] = {CLAB_ALLREDUCE, CLAB_REDUCE,         CLAB_BROADCAST,
                                                 CLAB_ALLGATHER, CLAB_REDUCE_SCATTER, CLAB_ALLTOALL};
    if (text && !strcmp(text, "reducescatter"))
        text = "reduce_scatter";
    m->custom = text && !strcmp(text, "custom");
    if (m->custom)
        text = clab_collective_name(CLAB_ALLREDUCE);
    for (size_t i = 0; text && i < sizeof known / sizeof *known; i++)
        if (!strcmp(text, clab_collective_name(known[i]))) {
            m->collective = known[i];
            return;
        }
    FAIL(r, "%s:%d: coll=\"%.30s\" is not allreduce, reduce, broadcast, allgather, reduce_scatter, alltoall or custom", m->path,
         line_of(r), text ? text : "");
}

// A name is for people and files: nothing but letters, figures and a few signs.
static void take_name(struct clab_msccl *m, const char *text)
{
    static const char others[] = "_-.+()";
    size_t n = 0;
    for (; text && *text && n < sizeof m->name - 1; text++) {
        bool fits = (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') ||
                    (*text >= 'A' && *text <= 'Z') || strchr(others, *text);
        m->name[n++] = fits ? *text : '_';
    }
    if (n == 0)
        strcpy(m->name, "msccl");
}

// How many messages a connection holds: NCCL's 8 steps; a message by Simple takes 4 of them.
static int slots(struct reader *r, const char *proto)
{
    const struct names { const char *name; int slots; } known[] = {{"Simple", 2}, {"LL", 8}, {"LL128", 8}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!proto || !strcmp(proto, known[i].name))
            return known[i].slots;
    FAIL(r, "%s:%d: proto=\"%.30s\" is not Simple, LL or LL128", r->msccl.path, line_of(r), proto);
    return 0;
}

static void begin_algo(struct reader *r, const char **attributes)
{
    struct clab_msccl *m = &r->msccl;
    m->line = line_of(r);
    take_name(m, find(attributes, "name"));
    take_collective(r, find(attributes, "coll"));
    m->ngpus = number(r, attributes, "ngpus", 1, MOST_GPUS, NOT_GIVEN);
    m->chunks = number(r, attributes, "nchunksperloop", 1, MOST_CHUNKS, NOT_GIVEN);
    m->lanes = number(r, attributes, "lanes", 1, MOST_LANES, 1);
    m->root = number(r, attributes, "root", 0, m->ngpus - 1, 0);
    m->staged = true;
    m->even = number(r, attributes, "even", 0, 1, 0);
    m->inplace = number(r, attributes, "inplace", 0, 1, m->collective != CLAB_ALLTOALL);
    m->outofplace = number(r, attributes, "outofplace", 0, 1, !m->inplace);
    m->slots = slots(r, find(attributes, "proto"));
    if (!r->err && !(m->gpus = calloc((size_t)m->ngpus, sizeof *m->gpus)))
        stop(r, CLAB_ENOMEM);
}

static void begin_gpu(struct reader *r, const char **attributes)
{
    struct clab_msccl *m = &r->msccl;
    int id = number(r, attributes, "id", 0, m->ngpus - 1, NOT_GIVEN);
    if (r->err)
        return;
    if (m->gpus[id].line) {
        FAIL(r, "%s:%d: there is a gpu %d in line %d already", m->path, line_of(r), id, m->gpus[id].line);
        return;
    }
    r->gpu = id;
    m->gpus[id] = (struct clab_msccl_gpu){
        .inputs = number(r, attributes, "i_chunks", 0, MOST_CHUNKS, NOT_GIVEN),
        .outputs = number(r, attributes, "o_chunks", 0, MOST_CHUNKS, NOT_GIVEN),
        .scratch = number(r, attributes, "s_chunks", 0, MOST_CHUNKS, NOT_GIVEN),
        .first = m->nblocks,
        .line = line_of(r),
    };
}

static int peer(struct reader *r, const char **attributes, const char *name)
{
    int found = number(r, attributes, name, -1, r->msccl.ngpus - 1, NOT_GIVEN);
    if (found == r->gpu && !r->err)
        FAIL(r, "%s:%d: %s=\"%d\" is the GPU itself", r->msccl.path, line_of(r), name, found);
    return found;
}

// Thread blocks are numbered as they come.
static void begin_block(struct reader *r, const char **attributes)
{
    struct clab_msccl *m = &r->msccl;
    struct clab_msccl_gpu *gpu = &m->gpus[r->gpu];
    if (m->nblocks == MOST_BLOCKS || CLAB_RESERVE(m->blocks, m->block_room, m->nblocks + 1)) {
        stop(r, CLAB_ENOMEM);
        return;
    }
    m->blocks[m->nblocks++] = (struct clab_msccl_block){
        .id = number(r, attributes, "id", gpu->nblocks, gpu->nblocks, NOT_GIVEN),
        .send = peer(r, attributes, "send"),
        .recv = peer(r, attributes, "recv"),
        .channel = number(r, attributes, "chan", 0, MOST_BLOCKS, NOT_GIVEN),
        .first = m->nsteps,
        .line = line_of(r),
    };
    gpu->nblocks++;
    r->next_number = 0;
}

static void begin_step(struct reader *r, const char **attributes)
{
    struct clab_msccl *m = &r->msccl;
    if (m->nsteps == MOST_STEPS || CLAB_RESERVE(m->steps, m->step_room, m->nsteps + 1)) {
        stop(r, CLAB_ENOMEM);
        return;
    }
    struct clab_msccl_step *step = &m->steps[m->nsteps++];
    number(r, attributes, "s", r->next_number, r->next_number, NOT_GIVEN);
    if (r->next_number == CLAB_MSCCL_STEPS)
        FAIL(r, "%s:%d: a thread block has at most %d steps", m->path, line_of(r), CLAB_MSCCL_STEPS);
    *step = (struct clab_msccl_step){.type = type(r, attributes), .line = line_of(r)};
    step->depid = number(r, attributes, "depid", -1, MOST_BLOCKS, -1);
    step->hasdep = number(r, attributes, "hasdep", 0, 1, 1);
    step->deps = number(r, attributes, "deps", -1, MOST_STEPS, -1);
    step->stage = number(r, attributes, "stage", -1, MOST_STEPS, -1);
    step->at = number(r, attributes, "at", -1, MOST_STEPS, -1);
    r->next_number++;
    m->blocks[m->nblocks - 1].nsteps++;
    if (step->type == CLAB_MSCCL_NOP)
        return;
    step->src = buffer(r, attributes, "srcbuf");
    step->dst = buffer(r, attributes, "dstbuf");
    step->src_off = number(r, attributes, "srcoff", -1, MOST_CHUNKS, NOT_GIVEN);
    step->dst_off = number(r, attributes, "dstoff", -1, MOST_CHUNKS, NOT_GIVEN);
    step->count = number(r, attributes, "cnt", 1, CLAB_MSCCL_COUNT, NOT_GIVEN);
    m->staged &= step->stage >= 0 && step->at >= 0;
}

// TACCL and TE-CCL say by <copy> where a GPU's input is in its output. MSCCL passes over it: in place, both are one.
static bool pass_over(struct reader *r, const char *name)
{
    const bool is_copy = r->depth == 2 && !strcmp(name, "copy");
    if (is_copy || r->passed)
        r->passed++;
    return r->passed > 0;
}

static void XMLCALL begin_element(void *context, const char *name, const char **attributes)
{
    static const char *const names[] = {"algo", "gpu", "tb", "step"};
    static void (*const begin[])(struct reader *, const char **) = {begin_algo, begin_gpu, begin_block, begin_step};
    struct reader *r = context;
    if (r->err || pass_over(r, name))
        return;
    if (r->depth > 3 || strcmp(name, names[r->depth]) != 0) {
        FAIL(r, "%s:%d: <%.30s> where there should be <%s>", r->msccl.path, line_of(r), name,
             r->depth > 3 ? "/step" : names[r->depth]);
        return;
    }
    begin[r->depth++](r, attributes);
}

static void XMLCALL end_element(void *context, const char *name)
{
    struct reader *r = context;
    (void)name;
    --*(r->passed ? &r->passed : &r->depth);
}

// Nothing here needs one, and entities could make a small file a large one.
static void XMLCALL begin_doctype(void *context, const char *name, const char *system, const char *public, int internal)
{
    struct reader *r = context;
    (void)name, (void)system, (void)public, (void)internal;
    FAIL(r, "%s:%d: a document type: MSCCL's files have none; leave it out", r->msccl.path, line_of(r));
}

// ---- the whole -----------------------------------------------------------------------------------------------

// In pieces that grow: expat looks at a tag from its beginning each time, so that a long one by equal pieces would take
// as long as the square of its length.
static int parse(struct reader *r, FILE *file)
{
    bool is_last = false;
    for (size_t room = PIECE; !is_last && !r->err; room = room < MOST_PIECE ? 2 * room : room) {
        void *piece = XML_GetBuffer(r->parser, (int)room);
        size_t n = piece ? fread(piece, 1, room, file) : 0;
        if (!piece)
            return CLAB_ENOMEM;
        is_last = n < room;
        if (XML_ParseBuffer(r->parser, (int)n, is_last) != XML_STATUS_OK && !r->err) {
            clab_error("%s:%d: %s", r->msccl.path, line_of(r), XML_ErrorString(XML_GetErrorCode(r->parser)));
            return CLAB_EPARSE;
        }
    }
    return r->err;
}

static int check_gpus(const struct clab_msccl *m)
{
    for (int i = 0; i < m->ngpus; i++)
        if (!m->gpus[i].line) {
            clab_error("%s:%d: there is no gpu %d, of ngpus=\"%d\"", m->path, m->line, i, m->ngpus);
            return CLAB_EPARSE;
        }
    return CLAB_OK;
}

// What can be said only when all is there.
static int complete(struct clab_msccl *m)
{
    CLAB_TRY(check_gpus(m));
    if (m->collective == CLAB_ALLTOALL && m->inplace && !m->outofplace) {
        clab_error("%s:%d: an alltoall in place: schedules have none; it needs outofplace=\"1\"", m->path, m->line);
        return CLAB_EPARSE;
    }
    if (m->collective == CLAB_ALLTOALL)
        m->inplace = false;
    if (!m->staged) {
        m->lanes = 1;
        m->even = true;
    }
    if (m->custom && m->lanes > 1) {
        clab_error("%s:%d: a custom collective of %d lanes: it has one", m->path, m->line, m->lanes);
        return CLAB_EPARSE;
    }
    return msccl_bound_chunks(m);
}

int clab_msccl_read(FILE *file, const char *path, struct clab_listing **listing_p)
{
    struct reader r = {.msccl = {.path = path}, .parser = XML_ParserCreate(NULL)};
    if (!r.parser)
        return CLAB_ENOMEM;
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, begin_element, end_element);
    XML_SetStartDoctypeDeclHandler(r.parser, begin_doctype);
    int err = parse(&r, file);
    if (!err)
        err = complete(&r.msccl);
    if (!err)
        err = clab_msccl_lower(&r.msccl, listing_p);
    if (err == CLAB_ENOMEM)
        clab_error("%s:%d: it needs more memory than there is", path, line_of(&r));
    XML_ParserFree(r.parser);
    free(r.msccl.gpus);
    free(r.msccl.blocks);
    free(r.msccl.steps);
    return err;
}

#else

int clab_msccl_read(FILE *file, const char *path, struct clab_listing **listing_p)
{
    (void)file, (void)listing_p;
    clab_error("%s: this commlab was built without expat, and reads no XML; %s installs it, then %s", path,
               clab_setup(), clab_rebuild());
    return CLAB_EUNSUPPORTED;
}

#endif

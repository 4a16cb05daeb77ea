// SPDX-License-Identifier: MIT
// Models: read from a text file, or made of the widths of a perceptron's layers.
//
// A file has [model] and blocks, whose operations follow each other in the forward pass (sim/models/README.md):
//
//     [model]                        [block encoder]
//     title = BERT                   times = 24                      ; the block as a whole, so often
//     sample = sequence              positions = 512                 ; that weights are applied to, of a sample
//     batch = 8                      qkv = 1024x3072 + 3072          ; weights and a vector; 2 * 1024 * 3072 flop
//                                    scores = flop 1073741824        ; flop without parameters
//                                    norm = 2048                     ; a vector; its flop do not count
//
// - `ROWSxCOLUMNS [+ VECTOR] [at POSITIONS]`; `lookup` before it: a table, of which rows are copied, no flop; `tied`
//   before it: another layer's weights, flop but no parameters.

#include "sim/train/model.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/files/conf.h"
#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "core/base/vector.h"
#include "sim/net/program_path.h"

enum { MOST_TIMES = 1000, MOST_BATCH = 1 << 20, MOST_LAYERS = 100000 };
#define MOST_WEIGHTS ((size_t)1 << 40) // of a matrix, so that sums can be counted
#define MOST_FLOP    1e21

// ---- layers --------------------------------------------------------------------------------------------------

static int add_layer(struct clab_model *model, const struct clab_model_layer *layer)
{
    return CLAB_PUSH(model->layers, model->nlayers, model->room, *layer);
}

void clab_model_free(struct clab_model *model)
{
    if (model)
        free(model->layers);
    free(model);
}

// ---- one operation -------------------------------------------------------------------------------------------

// A whole number above 0 at *text_p, which goes behind it and the blanks after it.
static bool take_number(const char **text_p, size_t *number_p)
{
    char *end;
    if (!isdigit((unsigned char)**text_p))
        return false;
    const unsigned long long number = strtoull(*text_p, &end, 10);
    if (number == 0 || number > 1ull << 31)
        return false;
    *number_p = (size_t)number;
    *text_p = end + strspn(end, " \t");
    return true;
}

static bool take_word(const char **text_p, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(*text_p, word, length) || isalnum((unsigned char)(*text_p)[length]))
        return false;
    *text_p += length;
    *text_p += strspn(*text_p, " \t");
    return true;
}

// ROWSxCOLUMNS, VECTOR, or ROWSxCOLUMNS + VECTOR
static bool take_parameters(const char **text_p, struct clab_model_layer *layer)
{
    size_t first;
    if (!take_number(text_p, &first))
        return false;
    if (**text_p != 'x') {
        layer->vector = first;
        return true;
    }
    ++*text_p;
    layer->rows = first;
    if (!take_number(text_p, &layer->columns) || layer->rows > MOST_WEIGHTS / layer->columns)
        return false;
    if (**text_p != '+')
        return true;
    ++*text_p;
    *text_p += strspn(*text_p, " \t");
    return take_number(text_p, &layer->vector);
}

static bool take_operation(const char *text, size_t positions, struct clab_model_layer *layer)
{
    if (take_word(&text, "flop"))
        return clab_parse_number(text, &layer->flop) == CLAB_OK && layer->flop <= MOST_FLOP;
    const bool lookup = take_word(&text, "lookup"), tied = !lookup && take_word(&text, "tied");
    if (!take_parameters(&text, layer) || (take_word(&text, "at") && !take_number(&text, &positions)) || *text)
        return false;
    layer->flop = lookup ? 0 : 2.0 * (double)layer->rows * (double)layer->columns * (double)positions;
    if (tied)
        layer->rows = layer->columns = layer->vector = 0;
    return true;
}

// ---- a file --------------------------------------------------------------------------------------------------

struct reading {
    const char *path;
    struct clab_model *model;
    char block[CLAB_MODEL_NAME]; // the section at hand
    int times, first;            // of the block, and its first layer
    size_t positions;
};

// "encoder.up" is "encoder.7.up" of the seventh.
static void number_layer(const struct reading *r, int time, struct clab_model_layer *layer)
{
    char name[2 * CLAB_MODEL_NAME];
    snprintf(name, sizeof name, "%s.%d.%s", r->block, time, layer->name + strlen(r->block) + 1);
    snprintf(layer->name, sizeof layer->name, "%.*s", CLAB_MODEL_NAME - 1, name);
}

// The block that ends has been read once: so often more.
static int end_block(struct reading *r)
{
    struct clab_model *model = r->model;
    const int layers = model->nlayers - r->first;
    if (r->times > 1 && layers * (r->times - 1) > MOST_LAYERS - model->nlayers) {
        clab_error("%s: [block %s] makes the model larger than %d layers", r->path, r->block, MOST_LAYERS);
        return CLAB_EPARSE;
    }
    for (int time = 2; time <= r->times; time++)
        for (int i = 0; i < layers; i++) {
            struct clab_model_layer layer = model->layers[r->first + i];
            number_layer(r, time, &layer);
            CLAB_TRY(add_layer(model, &layer));
        }
    for (int i = 0; i < layers && r->times > 1; i++)
        number_layer(r, 1, &model->layers[r->first + i]);
    return CLAB_OK;
}

static int refuse(const struct clab_setting *s, const char *expected)
{
    clab_error("%s:%d: [%s] %s = '%s': expected %s", s->path, s->line, s->section, s->name, s->value, expected);
    return CLAB_EPARSE;
}

static int use_model(struct reading *r, const struct clab_setting *s)
{
    struct clab_model *m = r->model;
    if (!strcmp(s->name, "title"))
        snprintf(m->title, sizeof m->title, "%s", s->value);
    else if (!strcmp(s->name, "sample"))
        snprintf(m->sample, sizeof m->sample, "%s", s->value);
    else if (strcmp(s->name, "batch"))
        return refuse(s, "title, sample or batch on the left");
    else if (clab_parse_int(s->value, 1, MOST_BATCH, &m->batch))
        return refuse(s, "samples per rank, at least 1");
    return CLAB_OK;
}

static int use_operation(struct reading *r, const struct clab_setting *s)
{
    struct clab_model_layer layer = {0};
    if (snprintf(layer.name, sizeof layer.name, "%s.%s", r->block, s->name) >= (int)sizeof layer.name)
        return refuse(s, "a shorter name");
    if (!take_operation(s->value, r->positions, &layer))
        return refuse(
            s, "an operation, such as `1024x4096 + 4096 at 512`, `lookup 30522x768`, `tied 768x30522`, `2048` or "
               "`flop 1000000`");
    if (r->model->nlayers >= MOST_LAYERS)
        return refuse(s, "fewer layers in all");
    return add_layer(r->model, &layer);
}

static int use_block(struct reading *r, const struct clab_setting *s, const char *name)
{
    int positions;
    if (strcmp(r->block, name)) {
        CLAB_TRY(end_block(r));
        snprintf(r->block, sizeof r->block, "%s", name);
        r->first = r->model->nlayers;
        r->times = 1;
        r->positions = 1;
    }
    if (!strcmp(s->name, "times"))
        return clab_parse_int(s->value, 1, MOST_TIMES, &r->times) ? refuse(s, "a number from 1 to 1000") : CLAB_OK;
    if (strcmp(s->name, "positions"))
        return use_operation(r, s);
    if (r->model->nlayers > r->first || clab_parse_int(s->value, 1, 1 << 30, &positions))
        return refuse(s, "a number above 0, before the block's first operation");
    r->positions = (size_t)positions;
    return CLAB_OK;
}

static int use(void *context, const struct clab_setting *s)
{
    if (!strcmp(s->section, "model"))
        return use_model(context, s);
    if (!strncmp(s->section, "block ", 6) && s->section[6])
        return use_block(context, s, s->section + 6);
    clab_error("%s:%d: [%s]: there are [model] and [block NAME]", s->path, s->line, s->section);
    return CLAB_EPARSE;
}

// "resnet50" of a path to resnet50.model
static void name_model(struct clab_model *model, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(model->name, sizeof model->name, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(model->name, '.');
    if (dot && dot > model->name)
        *dot = '\0';
}

int clab_model_read(FILE *file, const char *path, struct clab_model **model_p)
{
    struct clab_model *model = calloc(1, sizeof *model);
    struct reading reading = {.path = path, .model = model};
    if (!model)
        return CLAB_ENOMEM;
    name_model(model, path);
    snprintf(model->sample, sizeof model->sample, "sample");
    int err = clab_conf_read(file, path, use, &reading);
    if (!err)
        err = end_block(&reading);
    if (!err && (!model->batch || !*model->title || clab_model_parameters(model) == 0)) {
        clab_error("%s: a model has a [model] with title and batch, and a [block NAME] with parameters", path);
        err = CLAB_EPARSE;
    }
    if (err)
        clab_model_free(model);
    else
        *model_p = model;
    return err;
}

// ---- perceptrons ---------------------------------------------------------------------------------------------

// "784x1024x10": two matrices and their biases.
static int make_perceptron(const char *name, struct clab_model **model_p)
{
    struct clab_model *model = calloc(1, sizeof *model);
    size_t from = 0, to = 0;
    const char *text = name;
    int err = model ? CLAB_OK : CLAB_ENOMEM;
    bool good = !err && take_number(&text, &from);
    for (int i = 1; good && !err && *text; i++) {
        text++; // the x
        good = take_number(&text, &to);
        struct clab_model_layer layer = {
            .rows = from, .columns = to, .vector = to, .flop = 2 * (double)from * (double)to};
        snprintf(layer.name, sizeof layer.name, "layer %d", i);
        err = good ? add_layer(model, &layer) : CLAB_OK;
        from = to;
    }
    if (!err && (!good || model->nlayers < 1)) {
        clab_error("--model '%s': a perceptron is given as the widths of its layers, such as 784x1024x10", name);
        err = CLAB_EINVAL;
    }
    if (err) {
        clab_model_free(model);
        return err;
    }
    snprintf(model->name, sizeof model->name, "%.40s", name);
    snprintf(model->title, sizeof model->title, "a perceptron with layers of these widths");
    snprintf(model->sample, sizeof model->sample, "sample");
    model->batch = 64;
    *model_p = model;
    return CLAB_OK;
}

// ---- by name -------------------------------------------------------------------------------------------------

// The folder of the shipped models. Freed by the caller.  errors: CLAB_ENOENT (logged), CLAB_ENOMEM
static int find_folder(char **path_p)
{
    char path[PROGRAM_PATH_MAX];
    const char *folder = clab_variable_text(CLAB_VARIABLE_MODELS);
    if (!folder && !program_path_find("sim/models", path)) {
        clab_error("no folder sim/models above this program; set CLAB_MODELS to where the descriptions of models are");
        return CLAB_ENOENT;
    }
    char *copy = strdup(folder ? folder : path);
    if (!copy)
        return CLAB_ENOMEM;
    *path_p = copy;
    return CLAB_OK;
}

static int is_model(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return length > 6 && !strcmp(entry->d_name + length - 6, ".model");
}

static void refuse_name(const char *name, const char *folder)
{
    char room[512];
    struct clab_text names = clab_text_begin(room, sizeof room);
    struct clab_nearest nearest = clab_nearest_to(name, strlen(name));
    struct dirent **entries;
    const int n = scandir(folder, &entries, is_model, versionsort);
    for (int i = 0; i < n; i++) {
        entries[i]->d_name[strlen(entries[i]->d_name) - strlen(".model")] = '\0';
        clab_text_add(&names, " %s", entries[i]->d_name);
        clab_nearest_offer(&nearest, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    clab_error("no model '%s'%s; in %s there is:%s; or give a file, or layers as 784x1024x10", name,
               clab_nearest_hint(&nearest), folder, n > 0 ? room : " none");
}

static int find(const char *name, char **path_p)
{
    const size_t length = strlen(name);
    char *folder, *path;
    if (strchr(name, '/') || (length > 6 && !strcmp(name + length - 6, ".model")))
        return (*path_p = strdup(name)) ? CLAB_OK : CLAB_ENOMEM;
    CLAB_TRY(find_folder(&folder));
    int err = asprintf(&path, "%s/%s.model", folder, name) < 0 ? CLAB_ENOMEM : CLAB_OK;
    if (!err && access(path, F_OK) != 0) {
        refuse_name(name, folder);
        free(path);
        err = CLAB_ENOENT;
    }
    free(folder);
    if (!err)
        *path_p = path;
    return err;
}

int clab_model_load(const char *name, struct clab_model **model_p)
{
    char *path;
    struct clab_input input;
    if (isdigit((unsigned char)*name) && strspn(name, "0123456789x") == strlen(name))
        return make_perceptron(name, model_p);
    CLAB_TRY(find(name, &path));
    int err = clab_input_open(path, CLAB_INPUT_SETTINGS, &input);
    if (!err) {
        err = clab_model_read(input.file, path, model_p);
        clab_input_close(&input);
    }
    free(path);
    return err;
}

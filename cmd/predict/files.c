// SPDX-License-Identifier: MIT
// The student's files of predictions (files.h).

#include "cmd/predict/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "cmd/kit/kit.h"

int predict_files(const char *root, const char *id, struct predict_files *f)
{
    CLAB_TRY(kit_work_path(root, id, "", f->folder));
    CLAB_TRY(kit_work_path(root, id, "predict.txt", f->given));
    return kit_work_path(root, id, "predict.locked.txt", f->locked);
}

int predict_set_mode(const char *path, unsigned mode)
{
    if (chmod(path, mode) == 0)
        return CLAB_OK;
    clab_error("%s: %s", path, strerror(errno));
    return CLAB_EIO;
}

int predict_copy(const char *from, const char *to, unsigned mode)
{
    struct clab_input input;
    struct clab_output output;
    CLAB_TRY(clab_input_open(from, CLAB_INPUT_SETTINGS, &input));
    int err = clab_output_open(to, &output);
    if (!err) {
        fwrite(input.text, 1, input.bytes, output.file);
        err = clab_output_close(&output);
    }
    clab_input_close(&input);
    return err ? err : predict_set_mode(to, mode);
}

int predict_unlock(const struct predict_files *files, char kept_p[PATH_MAX])
{
    int number = 1;
    do
        if (snprintf(kept_p, PATH_MAX, "%s/predict.locked.%d.txt", files->folder, number) >= PATH_MAX)
            return CLAB_EINVAL;
    while (access(kept_p, F_OK) == 0 && number++ < 10000);
    if (rename(files->locked, kept_p) == 0)
        return CLAB_OK;
    clab_error("%s can not be renamed: %s", files->locked, strerror(errno));
    return CLAB_EIO;
}

// The line up to its "=", the answer, and the comment in its column if there is room.
static void write_line(const char *line, size_t bytes, const char *answer, FILE *out)
{
    const char *equals = memchr(line, '=', bytes), *hash = memchr(line, '#', bytes);
    const int head = equals ? (int)(equals - line) + 1 : 0;
    const int used = fprintf(out, "%.*s %s", head, line, answer);
    if (!hash || hash < equals)
        return;
    const int column = (int)(hash - line);
    fprintf(out, "%*s%.*s", used < column ? column - used : 1, "", (int)(bytes - (size_t)column), hash);
}

int predict_write_answer(const char *path, int line, const char *answer)
{
    struct clab_input input;
    struct clab_output output;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_SETTINGS, &input));
    const int err = clab_output_open(path, &output);
    const char *text = input.text, *end = input.text + input.bytes;
    for (int i = 1; !err && text < end; i++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const size_t bytes = (size_t)((stop ? stop : end) - text);
        if (i == line)
            write_line(text, bytes, answer, output.file);
        else
            fwrite(text, 1, bytes, output.file);
        if (stop)
            fputc('\n', output.file);
        text += bytes + 1;
    }
    clab_input_close(&input);
    return err ? err : clab_output_close(&output);
}

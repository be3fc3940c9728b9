/* Predicts rows in JSON from standard input: a line each with its class, the probability of that, and its prediction set.
 *
 *     predict RUN < rows.json
 */
#include "cmrm.h"
#include <stdio.h>
#include <stdlib.h>

static int failed(void) {
    fprintf(stderr, "%s\n", cmrm_last_error());
    return 2;
}

/* All of a file, with a zero byte at its end. */
static char *read_all(FILE *file) {
    size_t length = 0, room = 1 << 16;
    char *text = malloc(room);
    while (text) {
        length += fread(text + length, 1, room - length - 1, file);
        if (length < room - 1) {
            text[length] = 0;
            return text;
        }
        text = realloc(text, room *= 2);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: predict RUN < rows.json\n");
        return 2;
    }
    cmrm_model *model = cmrm_open(arguments[1]);
    if (!model) return failed();
    char *text = read_all(stdin);
    cmrm_rows *rows = cmrm_rows_from_json(model, text);
    if (!rows) return failed();
    size_t row_count = cmrm_row_count(rows), classes = cmrm_class_count(model);
    float *probabilities = calloc(row_count * classes, sizeof *probabilities);
    uint32_t *labels = calloc(row_count, sizeof *labels);
    uint8_t *sets = calloc(row_count, classes);
    if (!probabilities || !labels || !sets) return 2;
    if (cmrm_predict(model, rows, probabilities, labels) != CMRM_OK) return failed();
    if (cmrm_predict_sets(model, rows, 0.9, sets) != CMRM_OK) return failed();
    for (size_t row = 0; row < row_count; row++) {
        printf("%s,%.17g,", cmrm_class_name(model, labels[row]), probabilities[row * classes + labels[row]]);
        const char *bar = "";
        for (size_t at = 0; at < classes; at++)
            if (sets[row * classes + at]) printf("%s%s", bar, cmrm_class_name(model, at)), bar = "|";
        printf("\n");
    }
    free(sets), free(labels), free(probabilities), free(text);
    cmrm_rows_free(rows);
    cmrm_model_free(model);
    return 0;
}

/* A run on an array, from several threads, and everything that has to be refused: arrays RUN. Prints what it predicts of the rows (3, 2)
 * and (8, 2). */
#include "cmrm.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(holds) \
    if (!(holds)) fprintf(stderr, "%s:%d: %s; %s\n", __FILE__, __LINE__, #holds, cmrm_last_error()), exit(1)

static const float VALUES[4] = {3, 2, 8, 2};
static cmrm_model *model;
static cmrm_rows *rows;
static float expected[4];

static void *predict_often(void *nothing) {
    CHECK(strcmp(cmrm_last_error(), "") == 0);
    for (int times = 0; times < 50; times++) {
        float found[4];
        uint8_t sets[4];
        uint32_t labels[2];
        CHECK(cmrm_predict(model, rows, found, labels) == CMRM_OK);
        CHECK(memcmp(found, expected, sizeof found) == 0);
        CHECK(cmrm_predict_sets(model, rows, times % 2 ? 0.9 : 0.8, sets) == CMRM_OK);
        CHECK(sets[labels[0]] == 1 && sets[2 + labels[1]] == 1);
    }
    return nothing;
}

int main(int count, char **arguments) {
    CHECK(count == 2 && strchr(cmrm_version(), '.'));
    CHECK(!cmrm_open(NULL) && strstr(cmrm_last_error(), "NULL"));
    CHECK(!cmrm_open("no such run") && strstr(cmrm_last_error(), "no such run"));
    CHECK(!cmrm_open("\xff") && strstr(cmrm_last_error(), "UTF-8"));
    model = cmrm_open(arguments[1]);
    CHECK(model && cmrm_feature_count(model) == 2 && cmrm_class_count(model) == 2);
    CHECK(!cmrm_class_name(model, 2) && strstr(cmrm_last_error(), "2 classes"));
    CHECK(!cmrm_rows_from_floats(model, VALUES, 1, 3) && strstr(cmrm_last_error(), "takes 2"));
    CHECK(!cmrm_rows_from_floats(model, NULL, 2, 2) && strstr(cmrm_last_error(), "NULL"));
    CHECK(!cmrm_rows_from_floats(model, VALUES, (size_t)-1, 2) && strstr(cmrm_last_error(), "memory"));
    CHECK(!cmrm_rows_from_floats(NULL, VALUES, 2, 2) && !cmrm_rows_from_json(model, "[{") && !cmrm_rows_from_json(model, NULL));
    rows = cmrm_rows_from_floats(model, VALUES, 2, 2);
    CHECK(rows && cmrm_row_count(rows) == 2);
    CHECK(cmrm_predict(NULL, rows, NULL, NULL) == CMRM_BAD_INPUT && cmrm_predict(model, NULL, NULL, NULL) == CMRM_BAD_INPUT);
    CHECK(cmrm_predict_sets(model, rows, 2.0, NULL) == CMRM_BAD_INPUT && strstr(cmrm_last_error(), "coverage"));
    CHECK(cmrm_predict(model, rows, NULL, NULL) == CMRM_OK);
    uint32_t labels[2];
    CHECK(cmrm_predict(model, rows, expected, labels) == CMRM_OK);
    pthread_t threads[4];
    for (int at = 0; at < 4; at++) CHECK(pthread_create(&threads[at], NULL, predict_often, NULL) == 0);
    for (int at = 0; at < 4; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    for (int row = 0; row < 2; row++)
        printf("%s,%.17g\n", cmrm_class_name(model, labels[row]), expected[2 * row + labels[row]]);
    cmrm_rows_free(rows), cmrm_rows_free(NULL);
    cmrm_model_free(model), cmrm_model_free(NULL);
    CHECK(cmrm_feature_count(NULL) + cmrm_class_count(NULL) + cmrm_row_count(NULL) == 0);
    return 0;
}

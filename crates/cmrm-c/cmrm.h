/* cmrm.h: predict from C with a run that `cmrm fit --out` wrote.
 *
 * Link with -lcmrm_c; the library is built by `cargo build --release -p cmrm-c`. examples/predict.c is a whole program.
 *
 * Threads: a model and rows never change after they are made, so any number of threads may use them at once; free
 * them when none does any more. The number of threads that predict is RAYON_NUM_THREADS, or that of the cores; a row's
 * prediction is the same bits whatever it is.
 *
 * Failures: functions that return a pointer return NULL, the others a code other than CMRM_OK, and cmrm_last_error says
 * in a sentence what was wrong. Nothing that is passed makes the library end the program, except pointers that are not
 * what this page says.
 *
 * Text is UTF-8 and ends in a zero byte.
 */
#ifndef CMRM_H
#define CMRM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CMRM_OK 0
/* Input that cannot be used; the codes are those that the command exits with. */
#define CMRM_BAD_INPUT 2
/* A bug in cmrm. */
#define CMRM_BUG 101

/* A run that was opened. */
typedef struct cmrm_model cmrm_model;

/* Rows as a model takes them. */
typedef struct cmrm_rows cmrm_rows;

/* Version of the library, such as "0.1.0". Never freed. */
const char *cmrm_version(void);

/* What went wrong in the last call of this thread that failed; "" if none has. Valid until another call of this thread
 * fails; never freed by the caller. */
const char *cmrm_last_error(void);

/* Opens the folder of a run and verifies its checksums. Free the model with cmrm_model_free. */
cmrm_model *cmrm_open(const char *run);

/* NULL is allowed and does nothing. */
void cmrm_model_free(cmrm_model *model);

/* Numbers of a row of the array that the model learned from, or columns of its table. 0 for NULL. */
size_t cmrm_feature_count(const cmrm_model *model);

/* Number of classes. 0 for NULL. */
size_t cmrm_class_count(const cmrm_model *model);

/* Name of a class, from 0; NULL if there is no such class. Valid as long as the model. */
const char *cmrm_class_name(const cmrm_model *model, size_t class_index);

/* Rows of numbers, row after row, for a model that learned from an array; `width` must be cmrm_feature_count. The
 * numbers are copied. Free the rows with cmrm_rows_free. */
cmrm_rows *cmrm_rows_from_floats(const cmrm_model *model, const float *values, size_t row_count, size_t width);

/* Rows in JSON, for a model that learned from a table: an object, an array of objects, or an object a line. Keys are
 * columns; a missing key or null is a missing cell, other columns are ignored. */
cmrm_rows *cmrm_rows_from_json(const cmrm_model *model, const char *text);

/* Number of rows. 0 for NULL. */
size_t cmrm_row_count(const cmrm_rows *rows);

/* NULL is allowed and does nothing. */
void cmrm_rows_free(cmrm_rows *rows);

/* Predicts rows. `probabilities` gets cmrm_row_count x cmrm_class_count numbers, row after row: of the true classes where
 * the run estimated the noise in its labels. `labels` gets the index of each row's likeliest class. Either may be NULL. The
 * rows must have been made with this model. */
int cmrm_predict(const cmrm_model *model, const cmrm_rows *rows, float *probabilities, uint32_t *labels);

/* Prediction sets: `mask` gets cmrm_row_count x cmrm_class_count bytes, 1 where the class is in the row's set. A set holds
 * the true class with the probability `coverage`, such as 0.9; as `cmrm predict --coverage` does. */
int cmrm_predict_sets(const cmrm_model *model, const cmrm_rows *rows, double coverage, uint8_t *mask);

#ifdef __cplusplus
}
#endif

#endif

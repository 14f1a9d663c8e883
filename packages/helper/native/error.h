/* Errors of the helper: a code of docs/helper-protocol.md and words for a person. Functions fill one and return -1. */
#ifndef DROVER_ERROR_H
#define DROVER_ERROR_H

struct error {
	char code[32];
	char text[512];
};

/* Fills `err` and returns -1, so that a caller can `return fail(...)`. */
int fail(struct error *err, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As fail(), and appends the words of the present errno. */
int fail_errno(struct error *err, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the words of an error that is already filled. Returns -1. */
int fail_context(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

/* Descriptors, small files read and written beneath a directory, and the clock. */
#ifndef DROVER_FILES_H
#define DROVER_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/* `fd_auto int fd = -1;` closes it wherever the scope is left. */
#define fd_auto __attribute__((cleanup(close_fd)))

/* Closes *fd unless it is negative, keeps errno, and sets it to -1. */
void close_fd(int *fd);

/* Hands the descriptor to the caller: returns it and leaves -1 behind, so that a cleanup does nothing. */
int take_fd(int *fd);

/* openat2: below `dir` only, no symbolic and no magic link anywhere. For trees that root owns. */
int open_beneath(int dir, const char *path, int flags);

/* Reads the whole of a small file below `dir` as text. Returns its length, or -1 (EFBIG when it does not fit). */
ssize_t read_beneath(int dir, const char *path, char *buf, size_t cap);

/* Writes `text` with one write(2) to an existing file below `dir`. Returns 0 or -1. */
int write_beneath(int dir, const char *path, const char *text);

/* True when `path` exists below `dir`. */
bool exists_beneath(int dir, const char *path);

/* Makes each missing directory of `path` below `dir`, mode 0755. Returns 0 or -1. */
int mkdirs_beneath(int dir, const char *path);

/* The number after the word `key` at the start of a line ("oom_kill 3"); false when there is none. */
bool text_field(const char *text, const char *key, uint64_t *out);

/* The first number of the text ("12345\n"); false when it does not start with a digit ("max"). */
bool text_number(const char *text, uint64_t *out);

/* Milliseconds of the monotonic clock. */
int64_t now_ms(void);

/* Milliseconds of the wall clock since the epoch. */
int64_t wall_ms(void);

#endif

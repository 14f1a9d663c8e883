/*
 * Record lists: the one message form of helper, keeper and init (docs/helper-protocol.md).
 * A list is a run of NUL-terminated "key=value" records. Parsing copies nothing and allocates nothing:
 * a record points into the caller's buffer, and the number of records is bounded by RECORDS_MAX.
 */
#ifndef DROVER_RECORDS_H
#define DROVER_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX 65536u
#define RECORDS_MAX 4096u
#define RECORD_KEY_MAX 32u

struct record {
	const char *key;   /* points at the first byte of the record; ends at key_len */
	const char *value; /* NUL-terminated */
	uint8_t key_len;
};

struct records {
	size_t count;
	struct record at[RECORDS_MAX];
};

/* A record list under construction, in a buffer the owner sized. A write that does not fit sets `full` and nothing else. */
struct record_writer {
	char *buf;
	size_t cap;
	size_t len;
	bool full;
};

/* Splits `len` bytes at `buf` into records. Returns 0, or -1 when the bytes are not a record list (the list is then empty). */
int records_parse(const char *buf, size_t len, struct records *out);

/* True when record `i` has the key `key`. */
bool record_is(const struct record *r, const char *key);

/* The value of the first record with `key`, or NULL. */
const char *records_get(const struct records *list, const char *key);

/* How many records have `key`. */
size_t records_count(const struct records *list, const char *key);

/* Reads a decimal number without sign, blanks or leading zeros. Returns 0, or -1 when it is none or lies outside [min, max]. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* Appends key=value. */
void put_str(struct record_writer *w, const char *key, const char *value);
void put_u64(struct record_writer *w, const char *key, uint64_t value);

#endif

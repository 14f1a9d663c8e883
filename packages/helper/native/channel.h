/*
 * One message with descriptors over a socket: the ctl channel between keeper and init (SOCK_SEQPACKET).
 */
#ifndef DROVER_CHANNEL_H
#define DROVER_CHANNEL_H

#include <stddef.h>
#include <sys/types.h>

#define CHANNEL_FDS_MAX 3

/* Sends one message with `nfds` descriptors. Returns 0, or -1 with errno. */
int channel_send(int sock, const char *buf, size_t len, const int *fds, size_t nfds);

/* The same without waiting: EAGAIN when the other side has not read what it was sent before. */
int channel_try_send(int sock, const char *buf, size_t len, const int *fds, size_t nfds);

/*
 * Receives one message of at most `cap` bytes. Descriptors arrive close-on-exec in `fds` (room for CHANNEL_FDS_MAX), their number in `nfds`.
 * Returns the length, 0 at the end of the channel, or -1 with errno: EMSGSIZE for a message or a set of descriptors that was cut
 * (whatever arrived of it is closed), EAGAIN when there is none.
 */
ssize_t channel_receive(int sock, char *buf, size_t cap, int *fds, size_t *nfds);

/* Writes all of `len` bytes to a blocking descriptor. Returns 0, or -1 with errno. */
int write_all(int fd, const void *buf, size_t len);

#endif

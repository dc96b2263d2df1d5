/* A file layer that fails on demand, preloaded into a process of the service.
 *
 * FAULTY_UNDER names the folder whose files are affected, FAULTY_RULE a file with one line
 *     operation needle effect first last
 * read anew at every operation under the folder: the first to last time (counted over all processes, in the file
 * FAULTY_RULE.hits) that `operation` (open, read, write, sync, rename, or change: any of the last three) meets a path
 * that contains `needle` ("-": any), `effect` happens: eio, eof, short, slowN (milliseconds) or kill.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum effect { NONE, EIO_, EOF_, SHORT };

static const char *under, *rule;

__attribute__((constructor)) static void load(void) {
    under = getenv("FAULTY_UNDER");
    rule = getenv("FAULTY_RULE");
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* How often the rule has been met, this time included: one byte is appended for each. */
static long met(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s.hits", rule);
    int fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return 0;
    syscall(SYS_write, fd, ".", 1);
    long count = syscall(SYS_lseek, fd, 0, SEEK_CUR);
    syscall(SYS_close, fd);
    return count;
}

static enum effect strike(const char *operation, const char *path) {
    char line[256] = {0}, wanted[32], needle[128], effect[32];
    long first, last;
    if (!under || !rule || strncmp(path, under, strlen(under)) != 0) return NONE;
    int fd = syscall(SYS_openat, AT_FDCWD, rule, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return NONE;
    long size = syscall(SYS_read, fd, line, sizeof line - 1);
    syscall(SYS_close, fd);
    if (size <= 0 || sscanf(line, "%31s %127s %31s %ld %ld", wanted, needle, effect, &first, &last) != 5) return NONE;
    int changes = strcmp(operation, "open") != 0 && strcmp(operation, "read") != 0;
    if (strcmp(wanted, operation) != 0 && !(changes && strcmp(wanted, "change") == 0)) return NONE;
    if (strcmp(needle, "-") != 0 && !strstr(path, needle)) return NONE;
    long now = met();
    if (now < first || now > last) return NONE;
    if (strcmp(effect, "kill") == 0) syscall(SYS_kill, getpid(), SIGKILL);
    if (strncmp(effect, "slow", 4) == 0) {
        long pause = atol(effect + 4);
        struct timespec left = {pause / 1000, pause % 1000 * 1000000};
        while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
        return NONE;
    }
    return strcmp(effect, "eio") == 0 ? EIO_ : strcmp(effect, "eof") == 0 ? EOF_ : SHORT;
}

static enum effect strike_file(const char *operation, int fd) {
    char link[64], path[PATH_MAX];
    if (!under || fd < 0) return NONE;
    int kept = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    errno = kept;
    if (size <= 0) return NONE;
    path[size] = 0;
    return strike(operation, path);
}

static int failed(void) { errno = EIO; return -1; }

#define SOME(effect, size) ((effect) == SHORT && (size) > 1 ? 1 + (size) / 7 : (size))

#define READER(name, ...)                                                              \
    enum effect effect = strike_file("read", fd);                                      \
    if (effect == EIO_) return failed();                                               \
    if (effect == EOF_) return 0;                                                      \
    return REAL(name)(fd, to, SOME(effect, size), ##__VA_ARGS__);

ssize_t read(int fd, void *to, size_t size) { READER(read) }
ssize_t pread(int fd, void *to, size_t size, off_t at) { READER(pread, at) }
ssize_t pread64(int fd, void *to, size_t size, off64_t at) { READER(pread64, at) }

#define WRITER(name, ...)                                                              \
    enum effect effect = strike_file("write", fd);                                     \
    if (effect == EIO_) return failed();                                               \
    return REAL(name)(fd, from, SOME(effect, size), ##__VA_ARGS__);

ssize_t write(int fd, const void *from, size_t size) { WRITER(write) }
ssize_t pwrite(int fd, const void *from, size_t size, off_t at) { WRITER(pwrite, at) }
ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at) { WRITER(pwrite64, at) }

int fsync(int fd) { return strike_file("sync", fd) == EIO_ ? failed() : REAL(fsync)(fd); }
int fdatasync(int fd) { return strike_file("sync", fd) == EIO_ ? failed() : REAL(fdatasync)(fd); }

int rename(const char *from, const char *to) {
    return strike("rename", to) == EIO_ ? failed() : REAL(rename)(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
    return strike("rename", to) == EIO_ ? failed() : REAL(renameat)(a, from, b, to);
}

#define OPENER(name, ...)                                                              \
    mode_t mode = 0;                                                                   \
    if (flags & (O_CREAT | O_TMPFILE)) {                                               \
        va_list more;                                                                  \
        va_start(more, flags);                                                         \
        mode = va_arg(more, mode_t);                                                   \
        va_end(more);                                                                  \
    }                                                                                  \
    if (strike("open", path) == EIO_) return failed();                                 \
    return REAL(name)(__VA_ARGS__, flags, mode);

int open(const char *path, int flags, ...) { OPENER(open, path) }
int open64(const char *path, int flags, ...) { OPENER(open64, path) }
int openat(int at, const char *path, int flags, ...) { OPENER(openat, at, path) }
int openat64(int at, const char *path, int flags, ...) { OPENER(openat64, at, path) }

/* Stands between a process and the C library (LD_PRELOAD): counts the operations on files below a
 * folder, writes down those that change something, and lets one of them fail. Whatever language the
 * caller is written in, this is what the operating system is asked for.
 *
 * Until faults_arm is called, and for files elsewhere, everything passes through.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { NONE, INPUT_OUTPUT, FULL_DISK, NO_MEMORY, KILLED }; /* the order of Fault in shim.py */
enum demand { LOOKS, CHANGES, NEEDS_SPACE };

/* Shared with the processes that a command forks. */
struct state {
    long counted;
    int is_met, is_full;
    volatile int is_starved;
};
static struct state none, *state = &none;

static char root[PATH_MAX];
static size_t root_length;
static int log_file = -1;
static long fault_at;
static enum kind fault_kind;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

void faults_arm(const char *folder, int log, long at, int kind) {
    snprintf(root, sizeof root, "%s", folder);
    state = (struct state *)syscall(SYS_mmap, NULL, sizeof none, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    log_file = log;
    fault_at = at;
    fault_kind = (enum kind)kind;
    root_length = strlen(root);
}

void faults_disarm(void) { root_length = 0, state->is_starved = 0; }
long faults_counted(void) { return state->counted; }
int faults_met(void) { return state->is_met; }

static int is_watched(const char *path) {
    return strncmp(path, root, root_length) == 0 && strchr("/", path[root_length]);
}

static int of_file(int file, char *path) {
    if (!root_length) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    return length > 0 && is_watched(path);
}

static int of_name(int folder, const char *name, char *path) {
    if (!root_length || !name || !*name) return 0;
    char start[PATH_MAX] = "";
    if (*name != '/' && folder == AT_FDCWD && !getcwd(start, sizeof start)) return 0;
    if (*name != '/' && folder != AT_FDCWD) of_file(folder, start);
    if (snprintf(path, PATH_MAX, "%s%s%s", start, *start ? "/" : "", name) >= PATH_MAX) return 0;
    return is_watched(path);
}

/* Count an operation; the error that it has to fail with, or 0. */
static int fault(enum demand demand) {
    long number = state->counted++;
    if (state->is_full && demand == NEEDS_SPACE) return ENOSPC;
    if (number != fault_at || fault_kind == NONE) return 0;
    if (fault_kind == FULL_DISK && demand != NEEDS_SPACE) return 0;
    state->is_met = 1;
    if (fault_kind == KILLED) syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    state->is_full = fault_kind == FULL_DISK;
    state->is_starved = fault_kind == NO_MEMORY;
    return state->is_full ? ENOSPC : fault_kind == INPUT_OUTPUT ? EIO : 0;
}

/* A record of the log: how long everything is, then everything. */
static void note(char what, const char *path, const char *other, int64_t offset, const void *data,
                 size_t length) {
    if (log_file < 0) return;
    struct { uint32_t what, path, other, length; int64_t offset; } head = {
        (uint32_t)what, (uint32_t)strlen(path), (uint32_t)strlen(other), (uint32_t)length, offset};
    struct iovec pieces[4] = {{&head, sizeof head}, {(void *)path, head.path},
                              {(void *)other, head.other}, {(void *)data, length}};
    syscall(SYS_writev, log_file, pieces, 4);
}

/* One operation, or its failure; what changes files is done and noted in one order. */
#define DO(type, failure, demand, call, noted) \
    pthread_mutex_lock(&order); \
    int error = fault(demand); \
    type result = error ? failure : (type)(call); \
    if (!error && result == failure) error = errno; \
    if (!error) { noted; } \
    pthread_mutex_unlock(&order); \
    if (error) errno = error; \
    return result

#define ON_NAME(folder, name, demand, call, noted) \
    char path[PATH_MAX]; \
    if (!of_name(folder, name, path)) return call; \
    DO(int, -1, demand, call, noted)

#define ON_FILE(type, file, demand, call, noted) \
    char path[PATH_MAX]; \
    if (!of_file(file, path)) return call; \
    DO(type, -1, demand, call, noted)

static int opened(int folder, const char *name, int flags, mode_t mode) {
    struct stat known;
    int is_there = syscall(SYS_newfstatat, folder, name, &known, AT_SYMLINK_NOFOLLOW) == 0;
    int creates = (flags & O_CREAT) && !is_there;
    int empties = (flags & O_TRUNC) && is_there;
    ON_NAME(folder, name, creates ? NEEDS_SPACE : empties ? CHANGES : LOOKS,
            syscall(SYS_openat, folder, name, flags, mode),
            if (creates) note('c', path, "", 0, "", 0); if (empties) note('t', path, "", 0, "", 0));
}

#define OPENING(folder) \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    return opened(folder, name, flags, mode)

int open(const char *name, int flags, ...) { OPENING(AT_FDCWD); }
int open64(const char *name, int flags, ...) { OPENING(AT_FDCWD); }
int openat(int folder, const char *name, int flags, ...) { OPENING(folder); }
int openat64(int folder, const char *name, int flags, ...) { OPENING(folder); }

int close(int file) {
    char path[PATH_MAX];
    if (!of_file(file, path)) return syscall(SYS_close, file);
    int error = fault(LOOKS), result = syscall(SYS_close, file);
    if (!error) return result;
    errno = error;
    return -1;
}

ssize_t read(int file, void *data, size_t length) {
    ON_FILE(ssize_t, file, LOOKS, syscall(SYS_read, file, data, length), );
}

ssize_t pread64(int file, void *data, size_t length, off64_t at) {
    ON_FILE(ssize_t, file, LOOKS, syscall(SYS_pread64, file, data, length, at), );
}
ssize_t pread(int file, void *data, size_t length, off_t at) {
    return pread64(file, data, length, at);
}

static long place_of(int file) {
    int appends = syscall(SYS_fcntl, file, F_GETFL) & O_APPEND;
    return syscall(SYS_lseek, file, 0, appends ? SEEK_END : SEEK_CUR);
}

ssize_t pwrite64(int file, const void *data, size_t length, off64_t at) {
    ON_FILE(ssize_t, file, NEEDS_SPACE, syscall(SYS_pwrite64, file, data, length, at),
            note('w', path, "", at, data, (size_t)result));
}
ssize_t pwrite(int file, const void *data, size_t length, off_t at) {
    return pwrite64(file, data, length, at);
}

ssize_t write(int file, const void *data, size_t length) {
    char path[PATH_MAX];
    if (!of_file(file, path)) return syscall(SYS_write, file, data, length);
    int was_full = state->is_full;
    long at = place_of(file);
    pthread_mutex_lock(&order);
    int error = fault(NEEDS_SPACE);
    /* A disk that has just become full still takes the first half. */
    if (state->is_full && !was_full && length > 1) length /= 2, error = 0;
    ssize_t result = error ? -1 : syscall(SYS_write, file, data, length);
    if (result >= 0) note('w', path, "", at, data, (size_t)result);
    pthread_mutex_unlock(&order);
    if (error) errno = error;
    return result;
}

ssize_t writev(int file, const struct iovec *pieces, int number) {
    ssize_t total = 0;
    for (int i = 0; i < number; i++) {
        ssize_t done = write(file, pieces[i].iov_base, pieces[i].iov_len);
        if (done < 0) return total ? total : done;
        total += done;
        if ((size_t)done < pieces[i].iov_len) break;
    }
    return total;
}

int ftruncate64(int file, off64_t length) {
    ON_FILE(int, file, CHANGES, syscall(SYS_ftruncate, file, length),
            note('t', path, "", length, "", 0));
}
int ftruncate(int file, off_t length) { return ftruncate64(file, length); }

/* A disk may find out that it is full, or broken, when it is asked to keep its promises. */
int fsync(int file) {
    ON_FILE(int, file, NEEDS_SPACE, syscall(SYS_fsync, file), note('s', path, "", 0, "", 0));
}
int fdatasync(int file) {
    ON_FILE(int, file, NEEDS_SPACE, syscall(SYS_fdatasync, file), note('s', path, "", 0, "", 0));
}

int mkdirat(int folder, const char *name, mode_t mode) {
    ON_NAME(folder, name, NEEDS_SPACE, syscall(SYS_mkdirat, folder, name, mode),
            note('d', path, "", 0, "", 0));
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

int unlinkat(int folder, const char *name, int flags) {
    ON_NAME(folder, name, CHANGES, syscall(SYS_unlinkat, folder, name, flags),
            note('u', path, "", 0, "", 0));
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }
int remove(const char *name) {
    int result = unlink(name);
    return result == 0 || errno != EISDIR ? result : rmdir(name);
}

int renameat(int folder, const char *name, int target, const char *other) {
    char to[PATH_MAX] = "";
    of_name(target, other, to);
    ON_NAME(folder, name, NEEDS_SPACE, syscall(SYS_renameat2, folder, name, target, other, 0),
            note('r', path, to, 0, "", 0));
}
int rename(const char *name, const char *other) {
    return renameat(AT_FDCWD, name, AT_FDCWD, other);
}

int fchmod(int file, mode_t mode) {
    ON_FILE(int, file, CHANGES, syscall(SYS_fchmod, file, mode), );
}
int chmod(const char *name, mode_t mode) {
    ON_NAME(AT_FDCWD, name, CHANGES, syscall(SYS_fchmodat, AT_FDCWD, name, mode), );
}

int fstatat(int folder, const char *name, struct stat *known, int flags) {
    ON_NAME(folder, name, LOOKS, syscall(SYS_newfstatat, folder, name, known, flags), );
}
int fstatat64(int folder, const char *name, struct stat64 *known, int flags) {
    return fstatat(folder, name, (struct stat *)known, flags);
}
int stat(const char *name, struct stat *known) { return fstatat(AT_FDCWD, name, known, 0); }
int stat64(const char *name, struct stat64 *known) { return fstatat64(AT_FDCWD, name, known, 0); }
int lstat(const char *name, struct stat *known) {
    return fstatat(AT_FDCWD, name, known, AT_SYMLINK_NOFOLLOW);
}
int lstat64(const char *name, struct stat64 *known) { return lstat(name, (struct stat *)known); }
int fstat(int file, struct stat *known) {
    ON_FILE(int, file, LOOKS, syscall(SYS_fstat, file, known), );
}
int fstat64(int file, struct stat64 *known) { return fstat(file, (struct stat *)known); }
int statx(int folder, const char *restrict name, int flags, unsigned mask,
          struct statx *restrict known) {
    ON_NAME(folder, name, LOOKS, syscall(SYS_statx, folder, name, flags, mask, known), );
}

void *mmap64(void *at, size_t length, int protection, int flags, int file, off64_t offset) {
    char path[PATH_MAX];
    if (file < 0 || !of_file(file, path))
        return (void *)syscall(SYS_mmap, at, length, protection, flags, file, offset);
    DO(void *, MAP_FAILED, LOOKS, syscall(SYS_mmap, at, length, protection, flags, file, offset), );
}
void *mmap(void *at, size_t length, int protection, int flags, int file, off_t offset) {
    return mmap64(at, length, protection, flags, file, offset);
}

DIR *opendir(const char *name) {
    DIR *(*real)(const char *) = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
    char path[PATH_MAX];
    if (!of_name(AT_FDCWD, name, path)) return real(name);
    DO(DIR *, NULL, LOOKS, real(name), );
}
DIR *fdopendir(int file) {
    DIR *(*real)(int) = (DIR * (*)(int)) dlsym(RTLD_NEXT, "fdopendir");
    char path[PATH_MAX];
    if (!of_file(file, path)) return real(file);
    DO(DIR *, NULL, LOOKS, real(file), );
}

/* After the operation that it is set at, the next allocation fails. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static int starves(void) {
    if (!state->is_starved) return 0;
    state->is_starved = 0;
    errno = ENOMEM;
    return 1;
}
void *malloc(size_t size) { return starves() ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return starves() ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return starves() ? NULL : __libc_realloc(old, size); }

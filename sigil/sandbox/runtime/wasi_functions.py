"""The functions of WASI preview 1 and their types. An upload may import all of them, though only
some are served.

Source: `wasi_snapshot_preview1.witx` of the WASI repository, `legacy/preview1`.
"""

from __future__ import annotations

MODULE = b"wasi_snapshot_preview1"
START = b"_start"

FUNCTIONS: dict[bytes, str] = {
    b"args_get": "ii i",
    b"args_sizes_get": "ii i",
    b"environ_get": "ii i",
    b"environ_sizes_get": "ii i",
    b"clock_res_get": "ii i",
    b"clock_time_get": "iIi i",
    b"fd_advise": "iIIi i",
    b"fd_allocate": "iII i",
    b"fd_close": "i i",
    b"fd_datasync": "i i",
    b"fd_fdstat_get": "ii i",
    b"fd_fdstat_set_flags": "ii i",
    b"fd_fdstat_set_rights": "iII i",
    b"fd_filestat_get": "ii i",
    b"fd_filestat_set_size": "iI i",
    b"fd_filestat_set_times": "iIIi i",
    b"fd_pread": "iiiIi i",
    b"fd_prestat_get": "ii i",
    b"fd_prestat_dir_name": "iii i",
    b"fd_pwrite": "iiiIi i",
    b"fd_read": "iiii i",
    b"fd_readdir": "iiiIi i",
    b"fd_renumber": "ii i",
    b"fd_seek": "iIii i",
    b"fd_sync": "i i",
    b"fd_tell": "ii i",
    b"fd_write": "iiii i",
    b"path_create_directory": "iii i",
    b"path_filestat_get": "iiiii i",
    b"path_filestat_set_times": "iiiiIIi i",
    b"path_link": "iiiiiii i",
    b"path_open": "iiiiiIIii i",
    b"path_readlink": "iiiiii i",
    b"path_remove_directory": "iii i",
    b"path_rename": "iiiiii i",
    b"path_symlink": "iiiii i",
    b"path_unlink_file": "iii i",
    b"poll_oneoff": "iiii i",
    b"proc_exit": "i ",
    b"proc_raise": "i i",
    b"random_get": "ii i",
    b"sched_yield": " i",
    b"sock_accept": "iii i",
    b"sock_recv": "iiiiii i",
    b"sock_send": "iiiii i",
    b"sock_shutdown": "ii i",
}
"""The parameters and results of each function, one letter a value: `i` has 32 bits, `I` 64."""

;; A command of WASI preview 1: the input is on stdin, the answer goes to stdout. This one answers what it is given.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)

  ;; at 0: where a piece lies and how long it is; at 8: how much of it was read or written; from 1024: the piece
  (func $piece (param $size i32)
    (i32.store (i32.const 0) (i32.const 1024))
    (i32.store (i32.const 4) (local.get $size)))

  (func (export "_start")
    (loop $more
      (call $piece (i32.const 65536))
      (if (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)) (then (unreachable)))
      (if (i32.load (i32.const 8))
        (then
          (call $piece (i32.load (i32.const 8)))
          (if (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)) (then (unreachable)))
          (br $more))))))

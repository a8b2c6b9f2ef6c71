// SPDX-License-Identifier: MIT

// The buffer of Go's own CPU profiler, of the same size as ours, with the same record: one header word, 32 stack words, time and tag, written and read N
// times. Prints nanoseconds per record. The runtime does not export it; the names are taken by the linker, which is why an empty assembly
// file stands beside this one when it is built (see bench/run).
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
	"unsafe"
)

type profBuf struct{}

//go:linkname newProfBuf runtime.newProfBuf
func newProfBuf(hdrsize, bufwords, tags int) *profBuf

//go:linkname profBufWrite runtime.(*profBuf).write
func profBufWrite(b *profBuf, tagPtr *unsafe.Pointer, now int64, hdr []uint64, stk []uintptr)

//go:linkname profBufRead runtime.(*profBuf).read
func profBufRead(b *profBuf, mode int) (data []uint64, tags []unsafe.Pointer, eof bool)

const nonBlocking = 1

var sum uint64

func batch(b *profBuf, n int) float64 {
	var hdr [1]uint64
	var stk [32]uintptr
	tag := unsafe.Pointer(&sum)
	for i := range stk {
		stk[i] = uintptr(i)
	}
	hdr[0] = 1
	start := time.Now()
	for i := 0; i < n; i++ {
		profBufWrite(b, &tag, int64(i), hdr[:], stk[:])
		data, _, _ := profBufRead(b, nonBlocking)
		if len(data) != 35 {
			fmt.Fprintln(os.Stderr, "not one record of 35 words:", len(data))
			os.Exit(1)
		}
		sum += data[34]
	}
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	b := newProfBuf(1, 1<<17, 1<<14)
	batch(b, n)
	fmt.Printf("%.2f\n", batch(b, n))
}

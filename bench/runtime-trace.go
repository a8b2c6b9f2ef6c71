// SPDX-License-Identifier: MIT

// What an event of runtime/trace costs: nanoseconds for each of COUNT.
//
//	program region|log COUNT
//
// A region is two events. What is written is thrown away.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/trace"
	"strconv"
	"time"
)

func regions(ctx context.Context, count int) {
	for i := 0; i < count; i += 2 {
		trace.StartRegion(ctx, "work").End()
	}
}

func logs(ctx context.Context, count int) {
	for i := 0; i < count; i++ {
		trace.Log(ctx, "note", "12345678")
	}
}

func main() {
	count, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	emit := regions
	if os.Args[1] == "log" {
		emit = logs
	}
	runtime.LockOSThread()
	if err := trace.Start(io.Discard); err != nil {
		panic(err)
	}
	emit(context.Background(), count/10)
	start := time.Now()
	emit(context.Background(), count)
	passed := time.Since(start)
	trace.Stop()
	fmt.Printf("%.2f\n", float64(passed.Nanoseconds())/float64(count))
}

// SPDX-License-Identifier: MIT

// The scenario of tests/unit/test-live-go.c, written with runtime/trace. How its events were made text (Go 1.19 of Debian 12):
//
//	go run scenario.go >trace && go tool trace -d trace 2>&1 | grep User >events.txt
package main

import (
	"context"
	"os"
	"runtime/trace"
	"sync"
)

func query(ctx context.Context, wg *sync.WaitGroup) {
	ctx, task := trace.NewTask(ctx, "query")
	trace.WithRegion(ctx, "db", func() {
		trace.Log(ctx, "db", "select 1")
	})
	task.End()
	wg.Done()
}

func request(path string) {
	ctx, task := trace.NewTask(context.Background(), "request")
	trace.Log(ctx, "http", path)
	trace.WithRegion(ctx, "parse", func() {
		trace.WithRegion(ctx, "headers", func() {})
		trace.WithRegion(ctx, "body", func() {
			trace.Log(ctx, "http", "12 bytes")
		})
	})
	for i := 0; i < 2; i++ {
		var wg sync.WaitGroup
		wg.Add(1)
		go query(ctx, &wg)
		wg.Wait()
	}
	trace.WithRegion(ctx, "reply", func() {})
	task.End()
	task.End()
}

func main() {
	trace.Start(os.Stdout)
	request("GET /")
	request("GET /again")
	ctx, _ := trace.NewTask(context.Background(), "left")
	trace.StartRegion(ctx, "forever")
	trace.Log(ctx, "end", "not yet")
	trace.Stop()
}

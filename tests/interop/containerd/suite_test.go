// containerd's own tests of snapshotters, through its client of proxies.
// SPDX-License-Identifier: BSD-2-Clause
//
// LAYERMOUNT is the program to be tested.  Each case has its own service.
package suite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	api "github.com/containerd/containerd/api/services/snapshots/v1"
	_ "github.com/containerd/containerd/pkg/testutil"
	"github.com/containerd/containerd/snapshots"
	"github.com/containerd/containerd/snapshots/proxy"
	"github.com/containerd/containerd/snapshots/testsuite"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// start starts a service with its files below root, and connects to it.
func start(ctx context.Context, root string) (snapshots.Snapshotter, func() error, error) {
	socket := filepath.Join(root, "socket")
	service := exec.Command(os.Getenv("LAYERMOUNT"), "--foreground",
		"--containerd", socket, filepath.Join(root, "service"))
	service.Stdout, service.Stderr = os.Stderr, os.Stderr
	if err := service.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() error {
		service.Process.Signal(syscall.SIGINT)
		return service.Wait()
	}
	for i := 0; ; i++ {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		if i == 600 {
			stop()
			return nil, nil, fmt.Errorf("no socket within a minute")
		}
		time.Sleep(100 * time.Millisecond)
	}
	conn, err := grpc.Dial("unix://"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		stop()
		return nil, nil, err
	}
	s := proxy.NewSnapshotter(api.NewSnapshotsClient(conn), "coldpress")
	return s, func() error {
		conn.Close()
		return stop()
	}, nil
}

func TestSuite(t *testing.T) {
	testsuite.SnapshotterSuite(t, "coldpress", start)
}

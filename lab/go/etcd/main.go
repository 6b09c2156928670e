// Etcd as the lab's machines run it. It does by itself what the etcd operator and bootkube do on OKD: a node joins, gets
// its vote, and removes the bootstrap's member at the end. One process with open connections costs an emulated machine
// a tenth of what scripts with curl did.
//
// USAGE: etcd bootstrap|node|arbiter      reads the environment of lab-etcd.service; exit 0: this machine is no member any more
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, words []string) error {
	roles := map[string]func(context.Context, *machine) error{"bootstrap": runBootstrap, "node": runNode, "arbiter": runArbiter}
	if len(words) != 1 || roles[words[0]] == nil {
		return fmt.Errorf("usage: etcd bootstrap|node|arbiter")
	}
	this, err := fromEnvironment()
	if err != nil {
		return err
	}
	return roles[words[0]](ctx, this)
}

// The bootstrap starts a cluster of one. If its payload names a key for that, it leaves once etcd has the key.
func runBootstrap(ctx context.Context, this *machine) error {
	started, err := this.start(this.name+"="+this.peerURL(), "new")
	if err != nil {
		return err
	}
	defer started.Close()
	this.ready()
	if this.completeKey != "" {
		go this.leave(ctx, started)
	}
	return this.serve(ctx, started)
}

// An arbiter has etcd and no API, whatever stands in for that.
func runArbiter(ctx context.Context, this *machine) error {
	this.clientPort = "2379"
	return runNode(ctx, this)
}

// A node with data is a member already, and only starts.
func runNode(ctx context.Context, this *machine) error {
	cluster, state := this.name+"="+this.peerURL(), "new"
	if !this.hasData() {
		var err error
		if cluster, err = this.join(ctx); err != nil {
			return err
		}
		state = "existing"
	}
	started, err := this.start(cluster, state)
	if err != nil {
		return err
	}
	defer started.Close()
	go func() {
		this.vote(ctx, started)
		this.ready()
		this.removeBootstrap(ctx, started)
	}()
	return this.serve(ctx, started)
}

package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

const (
	running    = "EtcdRunningInCluster"
	handedOver = "ExternalEtcdHasCompletedTransition"
	taken      = "LabTakenOver" // and the node's name
	pacemaker  = "/var/lib/lab-etcd.handed-over"
)

// handOver is what the etcd operator's jobs and Pacemaker do to etcd on two nodes (openshift/cluster-etcd-operator b4786ae33,
// pkg/tnf): once it runs on both beside the bootstrap's, it is reported as running; on each node it leaves its static pod, and
// is started again with its data; and when both run again, the hand-over is complete. Fencing itself has no stand-in here: no
// node switches the other one off or on.
func (m *machine) handOver(ctx context.Context, started *embed.Etcd, api *api) {
	for m.bootstrap(started.Server.Cluster().Members()) != nil && voters(started.Server.Cluster().Members()) <= m.members {
		if !pause(ctx, time.Second) {
			return
		}
	}
	if !api.report(ctx, running) {
		return
	}
	if _, err := os.Stat(pacemaker); err != nil {
		say("etcd leaves its static pod: Pacemaker starts it again")
		if os.WriteFile(pacemaker, nil, 0o600) == nil {
			_ = exec.Command("systemctl", "--no-block", "restart", "lab-etcd.service").Run()
		}
		return
	}
	if !api.report(ctx, taken+m.name) {
		return
	}
	for !m.allTaken(ctx, api) {
		if !pause(ctx, time.Second) {
			return
		}
	}
	if api.report(ctx, handedOver) {
		say("Pacemaker runs etcd on both nodes")
	}
}

func (m *machine) allTaken(ctx context.Context, api *api) bool {
	listed, _, err := api.conditions(ctx)
	count := 0
	for _, each := range listed {
		if strings.HasPrefix(each.Type, taken) {
			count++
		}
	}
	return err == nil && count == m.members
}

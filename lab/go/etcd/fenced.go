package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
)

const (
	running    = "EtcdRunningInCluster"
	handedOver = "ExternalEtcdHasCompletedTransition"
	taken      = "LabTakenOver" // and the node's name
	pacemaker  = "/var/lib/lab-etcd.handed-over"
)

// handOver is what the etcd operator's jobs and Pacemaker do to etcd on two nodes (openshift/cluster-etcd-operator b4786ae33,
// pkg/tnf). Once it runs on both beside the bootstrap's, it is reported as running. Then it leaves its static pod, on one node
// after the other, as a new revision does, and Pacemaker starts it again with its data (podman-etcd of resource-agents
// 00f7081a: "static pod was running: start normally"). When it runs again on both, the hand-over is complete. Fencing itself
// has no stand-in here: no node switches the other one off or on.
func (m *machine) handOver(ctx context.Context, started *embed.Etcd, api *api) {
	members := func() []*membership.Member { return started.Server.Cluster().Members() }
	if !wait(ctx, func() bool { return m.bootstrap(members()) == nil || voters(members()) > m.members }) {
		return
	}
	if !api.report(ctx, running) {
		return
	}
	if _, err := os.Stat(pacemaker); err != nil {
		earlier := m.earlier(members())
		if !wait(ctx, func() bool { return api.tookOver(ctx) >= earlier }) {
			return
		}
		say("etcd leaves its static pod: Pacemaker starts it again")
		if os.WriteFile(pacemaker, nil, 0o600) == nil {
			_ = exec.Command("systemctl", "--no-block", "restart", "lab-etcd.service").Run()
		}
		return
	}
	if !api.report(ctx, taken+m.name) || !wait(ctx, func() bool { return api.tookOver(ctx) == m.members }) {
		return
	}
	if api.report(ctx, handedOver) {
		say("Pacemaker runs etcd on both nodes")
	}
}

// earlier counts the nodes that a new revision reaches before this one.
func (m *machine) earlier(members []*membership.Member) int {
	count := 0
	for _, each := range members {
		if each.Name != m.bootstrapName && each.Name < m.name {
			count++
		}
	}
	return count
}

// tookOver counts the nodes on which Pacemaker runs etcd.
func (a *api) tookOver(ctx context.Context) int {
	listed, _, _ := a.conditions(ctx)
	count := 0
	for _, each := range listed {
		if strings.HasPrefix(each.Type, taken) {
			count++
		}
	}
	return count
}

// wait returns false when the machine is told to stop.
func wait(ctx context.Context, isSo func() bool) bool {
	for !isSo() {
		if !pause(ctx, time.Second) {
			return false
		}
	}
	return true
}

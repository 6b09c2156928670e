package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	certificates "k8s.io/api/certificates/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	credentials  = "/opt/openshift/tls/"
	manifests    = "/opt/openshift/manifests"
	requestLimit = 8 * time.Second
	lastSteps    = 5 * time.Second
)

var objects = []struct{ file, path string }{
	{"node-bootstrapper.yaml", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system-bootstrap-node-bootstrapper"},
	{"etcds-crd.yaml", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/etcds.operator.openshift.io"},
	{"etcd.yaml", "/apis/operator.openshift.io/v1/etcds/cluster"},
}

var complete = struct{ file, path string }{"bootstrap.yaml", "/api/v1/namespaces/kube-system/configmaps/bootstrap"}

// What bootkube.sh and approve-csr.sh do on OKD's bootstrap: let nodes join, end this machine's own API once two of them
// serve, and say that the bootstrap is complete. Its environment is that of the payload's scripts.
func newBootkubeCommand() *cobra.Command {
	return &cobra.Command{
		Use:  "bootkube",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			nodes, err := strconv.Atoi(os.Getenv("ETCD_MEMBERS"))
			if err != nil {
				return fmt.Errorf("ETCD_MEMBERS: %w", err)
			}
			servers, err := strconv.Atoi(os.Getenv("API_SERVERS"))
			if err != nil {
				return fmt.Errorf("API_SERVERS: %w", err)
			}
			// A connection that went with the VIP is found dead in 5 s, not in 45.
			os.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "3")
			os.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "2")
			client, err := kubernetes.NewForConfig(&rest.Config{
				Host:    "https://api-int." + os.Getenv("DOMAIN") + ":6443",
				Timeout: requestLimit,
				TLSClientConfig: rest.TLSClientConfig{
					CAFile:   credentials + "kube-apiserver-complete-server-ca-bundle.crt",
					CertFile: credentials + "kube-control-plane-kube-controller-manager-client.crt",
					KeyFile:  credentials + "kube-control-plane-kube-controller-manager-client.key",
				},
			})
			if err != nil {
				return err
			}
			return bootkube(command.Context(), client, nodes, servers)
		},
	}
}

// cluster-bootstrap waits for two nodes that serve only if there are three or more (isHAControlPlane, e6be0fdfb).
func bootkube(ctx context.Context, client *kubernetes.Clientset, nodes, servers int) error {
	wanted := 1
	if servers > 2 {
		wanted = 2
	}
	for _, object := range objects {
		apply(ctx, client, object.file, object.path)
	}
	say("the API serves")
	go approveAll(ctx, client)
	until(ctx, func() bool { return apiServers(ctx, client) > wanted })
	say("%d of %d nodes serve: ending this machine's own API", wanted, servers)
	units := []string{"stop", "--no-block", "lab-kube-apiserver.service", "lab-kube-controller-manager.service"}
	if err := exec.CommandContext(ctx, "systemctl", units...).Run(); err != nil {
		return err
	}
	// bootkube.sh patches the ClusterVersion and runs wait-for-ceo in a container; report-progress.sh then finds its file,
	// which it looks for every 5 s, and asks whether two APIs serve.
	time.Sleep(lastSteps)
	until(ctx, func() bool { return readyNodes(ctx, client) >= nodes })
	apply(ctx, client, complete.file, complete.path)
	say("complete")
	return ctx.Err()
}

func say(format string, values ...any) {
	fmt.Printf("okd-lab: kubernetes: "+format+"\n", values...)
}

func until(ctx context.Context, isSo func() bool) {
	for !isSo() && ctx.Err() == nil {
		time.Sleep(2 * time.Second)
	}
}

// apply writes an object, whether it exists or not, until the API takes it.
func apply(ctx context.Context, client *kubernetes.Clientset, file, path string) {
	until(ctx, func() bool {
		content, err := os.ReadFile(filepath.Join(manifests, file))
		if err != nil {
			say("%v", err)
			return false
		}
		request := client.RESTClient().Patch(types.ApplyYAMLPatchType).AbsPath(path).Body(content)
		return request.Param("fieldManager", "lab").Param("force", "true").Do(ctx).Error() == nil
	})
}

// Every request, whoever made it, as approve-csr.sh does every 20 s.
func approveAll(ctx context.Context, client *kubernetes.Clientset) {
	approved := certificates.CertificateSigningRequestCondition{
		Type: certificates.CertificateApproved, Status: core.ConditionTrue, Reason: "Bootkube",
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	for ctx.Err() == nil {
		time.Sleep(20 * time.Second)
		found, err := requests.List(ctx, meta.ListOptions{})
		if err != nil {
			continue
		}
		for _, request := range found.Items {
			if len(request.Status.Conditions) > 0 {
				continue
			}
			request.Status.Conditions = append(request.Status.Conditions, approved)
			if _, err = requests.UpdateApproval(ctx, request.Name, &request, meta.UpdateOptions{}); err == nil {
				say("approved %s", request.Name)
			}
		}
	}
}

// An API server lists its address here while it is ready.
func apiServers(ctx context.Context, client *kubernetes.Clientset) int {
	count := 0
	found, err := client.DiscoveryV1().EndpointSlices("default").Get(ctx, "kubernetes", meta.GetOptions{})
	if err != nil {
		return 0
	}
	for _, endpoint := range found.Endpoints {
		count += len(endpoint.Addresses)
	}
	return count
}

func readyNodes(ctx context.Context, client *kubernetes.Clientset) int {
	count := 0
	found, err := client.CoreV1().Nodes().List(ctx, meta.ListOptions{})
	if err != nil {
		return 0
	}
	for _, node := range found.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == core.NodeReady && condition.Status == core.ConditionTrue {
				count++
			}
		}
	}
	return count
}

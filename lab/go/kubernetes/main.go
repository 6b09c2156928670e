// Kubernetes as one program: `kubernetes kube-apiserver|kube-controller-manager|kubelet|bootkube OPTION...`
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

var commands = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kubelet":                 newKubeletCommand,
	"bootkube":                newBootkubeCommand,
}

func main() {
	os.Args = os.Args[1:]
	if len(os.Args) == 0 || commands[os.Args[0]] == nil {
		fmt.Fprintln(os.Stderr, "usage: kubernetes kube-apiserver|kube-controller-manager|kubelet|bootkube OPTION...")
		os.Exit(2)
	}
	os.Exit(cli.Run(commands[os.Args[0]]()))
}

package main

import (
	"context"

	"github.com/spf13/cobra"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/cri-client/pkg/fake"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	cadvisor "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
)

const runtimeEndpoint = "unix:///run/lab-container-runtime.sock"

// The real kubelet, as OKD configures it, over a pretended container runtime. It makes no cgroups and sets no parameters
// of the kernel, which a test shares with its machine.
func newKubeletCommand() *cobra.Command {
	flags := options.NewKubeletFlags()
	command := &cobra.Command{
		Use:  "kubelet",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runKubelet(command.Context(), flags, utilfeature.DefaultFeatureGate)
		},
	}
	flags.AddFlags(command.Flags())
	return command
}

func runKubelet(ctx context.Context, flags *options.KubeletFlags, gate featuregate.FeatureGate) error {
	if err := fake.NewFakeRemoteRuntime().Start(runtimeEndpoint); err != nil {
		return err
	}
	config, err := options.NewKubeletConfiguration()
	if err != nil {
		return err
	}
	config.ContainerRuntimeEndpoint = runtimeEndpoint
	config.RotateCertificates, config.ServerTLSBootstrap = true, true
	config.Authentication.X509.ClientCAFile = "/etc/kubernetes/kubelet-ca.crt"
	config.LocalStorageCapacityIsolation, config.MakeIPTablesUtilChains = false, false
	config.FailSwapOn, config.FailCgroupV1 = false, false
	config.CgroupsPerQOS, config.EnforceNodeAllocatable = false, nil
	server := &options.KubeletServer{KubeletFlags: *flags, KubeletConfiguration: *config}
	needs, err := app.UnsecuredDependencies(ctx, server, gate)
	if err != nil {
		return err
	}
	needs.ContainerManager, needs.CAdvisorInterface = cm.NewStubContainerManager(), &cadvisor.Fake{}
	return app.Run(ctx, server, needs, gate)
}

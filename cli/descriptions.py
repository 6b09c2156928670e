"""What `okd-baremetal COMMAND --help` says of each command, in the order of the commands."""

NEW_SITE = """Make a git repository for the clusters of a site: stacks/, this program as the submodule okd-baremetal/
at its present commit, links by which Pulumi finds it, workflows for pull requests, and a README. Commit nothing."""
INIT = """Write stacks/STACK/install-config.yaml and stacks/Pulumi.STACK.yaml: the file as it is, and the options with
all that DNS, this machine's routes, libvirt and openshift-install on PATH tell. Change nothing else, and overwrite no
file. Print what is left to do, each with its command."""
PAYLOAD = """Have openshift-install generate the payload of a stack into stacks/STACK/payload, which stays its own
directory, and pin the payload in stacks/Pulumi.STACK.yaml. A payload that the stack has pinned is never replaced."""
PLAN = """Print the plan as JSON. With --stack, print it only if the stack can be installed; else print all that a
preview would refuse, in one run: missing and wrong options, networkConfigs, and the payload's faults if it is there.
Pulumi is not needed: an encrypted option counts as present and right."""
RENDER = """Write the files that the machines read, as folders: bootstrap/, control-plane/, compute/, and hosts/NAME/
for the files of one host. With --payload, also write the machines' Ignition configs, which are secret: bootstrap.ign,
and hosts/NAME/master.ign or worker.ign. If any input is wrong, write nothing."""
BMC_CHECK = """Read the BMC of every host that is installed, and change nothing. Print a row for each host, and what
would stop `pulumi up`; then the exit code is 2. With --stack, the options of the stack count: logins, certificates,
consents. Encrypted ones are read with the pulumi command."""
BMC_CONSENT = """Print the consent to each host's machine, for stacks/Pulumi.STACK.yaml: its UUID, or its serial if
other machines may have the same UUID. A consent allows that machine's disk to be wiped: compare it with the server
first."""
BMC_CAPTURE = """Write DIR/capture.json: a copy of what the program reads of one host's BMC, for a report about it.
Change nothing. Only what the program uses is kept, without passwords, tokens, licence keys and paths of ISOs. Instead
of serials, UUIDs, addresses and names it has pseudonyms, the same one for the same value."""
ISOS = """Write DIGEST/HOST.iso for every server of a stack, to upload to the web server that media.url names.
The ISOs are secret. An ISO that exists already is left unchanged."""
NETWORK_BOOT = """Print the configuration of the site's DHCP server for a stack with provisioningNetwork Unmanaged,
ready to paste: the files that firmware and iPXE boot, and the cards that need an address. With Managed, the cluster's
own machines serve them."""
REHEARSE = """Build the virtual twin of a stack on this machine, as root: as many servers as the install-config names,
with their names, MACs, addresses and BMCs. Install it, take it to production, destroy it. No secret of the stack is
needed. It begins with what the twin cannot stand in for, and ends with report/STACK/index.html."""
REVIEW = """Print what the next `pulumi up` does to machines, and the changed lines of the files that they read, as
Markdown for a comment on a pull request: at most 65,536 characters, without secrets. Run `pulumi preview --json`, or
read what it printed. The exit code is 0 whether anything changes or not, 2 if the preview fails, and 4 if the update
breaks a policy: consent (a disk is wiped only with a consent of the last 30 days, by git), certificates (those of
BMCs are verified), destroyable (not in production), backend (shared, no folder)."""
LOG = """Print the log of the newest `up`, `refresh` or `destroy` of a stack: seconds since its start, event,
resource, machine, text. The file itself has the same as JSON, and ends where the run was killed."""
REPORT = """Write report/STACK.html of the newest `up`, `refresh` or `destroy` of a stack: what each machine did when,
the seconds of each step beside those of the time before, the last handoff of the API VIP, and the errors. The page
loads nothing."""
GATHER = """Write one archive without secrets, for a report or a colleague: logs, inputs, plan, rendered files,
outputs, versions, a capture of each BMC, console and journals of the bootstrap VM (by ssh, as user core). Change
nothing. Its index.md says what is there, and why the rest is not."""
FLEET_CHECK = """Judge fleet.yaml, print what `check` prints of the install-config of each cluster, and each clash
with an earlier one: at its own site what `clashes` finds, by the VRIDs of the stacks' options; at another site only a
domain or MAC that both have. If all is well, end with the numbers of sites, clusters and waves. The exit codes are
those of `check`; a clash counts as an invalid file."""
FLEET_START = """Judge as `fleet check` does, then hand the waves to the workflows. A cluster that is under way
already is refused. What each site runs is the commit, which must be pushed."""
FLEET_STATUS = """Print a table: site, cluster, step, since when, and for whom it waits. With CLUSTER, print its step,
the latest row of progress, who approved what, and the preview or the problem that waits for a person."""
FLEET_APPROVE = """Let a cluster's phase begin. The approval is of this preview alone, by its digest: if the update
would do something else by then, it does not begin, and the new preview waits for an approval of its own."""
FLEET_WORKER = """Run until SIGTERM; then take nothing new, and wait for the updates under way. With --site, updates
run in checkouts below .fleet/, with this process's environment: passphrase, backend, logins. These never leave the
site. FLEET_KEY_FILE names the fleet's key, TEMPORAL_ADDRESS the server."""
FLEET_SERVER = """Run PostgreSQL, Temporal's server and UI on loopback, with the worker of the workflows, until
SIGTERM. DIR keeps their data, the fleet's key, and the environment of workers and of the command line, with the login
of the database in which Pulumi may keep its state. For one machine: docs/how-to/many-sites.md tells of production."""

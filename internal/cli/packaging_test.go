package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// checkParses checks that the command line has commands and flags that exist.
func checkParses(t *testing.T, where string, args []string) {
	t.Helper()
	if _, err := newParser(&Environment{Stdout: io.Discard, Stderr: io.Discard}, commandOf(args)).Parse(args); err != nil {
		t.Errorf("%s: kasoku %s: %v", where, strings.Join(args, " "), err)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestPackagedConfiguration checks that the configuration of the packages is valid, is for this
// machine only, and writes to the directories that the unit allows only.
func TestPackagedConfiguration(t *testing.T) {
	const file = "../../packaging/linux/kasoku.yaml"
	cfg, err := load(file, &Environment{Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	d := cfg.Services[0].DynamoDB
	for _, address := range []config.Address{cfg.Admin.Listen, cfg.Services[0].Listen, d.DAX.Listen} {
		if !strings.HasPrefix(string(address), "127.0.0.1:") {
			t.Errorf("it listens on %s", address)
		}
	}
	for _, path := range []string{d.Origin.Dir(), d.DAX.Lists} {
		if !strings.HasPrefix(path, "/var/lib/kasoku/") {
			t.Errorf("it writes to %s", path)
		}
	}
}

// TestUnit checks the command of the unit of the packages.
func TestUnit(t *testing.T) {
	unit := string(readFile(t, "../../packaging/linux/kasoku.service"))
	m := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/kasoku (.*)$`).FindStringSubmatch(unit)
	if m == nil {
		t.Fatal("the unit does not start /usr/bin/kasoku")
	}
	checkParses(t, "kasoku.service", strings.Fields(m[1]))
	if !strings.HasSuffix(m[1], " -c /etc/kasoku/kasoku.yaml") {
		t.Errorf("the unit runs %q without the configuration of the packages", m[1])
	}
}

// manifest is the part of a Kubernetes object that the tests read. Other keys are ignored.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Template struct{ Spec pod }
		Ports    []struct {
			TargetPort string `yaml:"targetPort"`
		}
	}
}

type pod struct {
	SecurityContext struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
		RunAsUser    int  `yaml:"runAsUser"`
	} `yaml:"securityContext"`
	TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
	Containers                    []container
	Volumes                       []struct {
		Name      string
		ConfigMap struct{ Name string } `yaml:"configMap"`
	}
}

type container struct {
	Args            []string
	Ports           []struct{ Name string }
	StartupProbe    podProbe `yaml:"startupProbe"`
	ReadinessProbe  podProbe `yaml:"readinessProbe"`
	LivenessProbe   podProbe `yaml:"livenessProbe"`
	SecurityContext struct {
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
	} `yaml:"securityContext"`
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type podProbe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// TestKubernetes checks the manifests: their configurations are valid, and their commands, ports,
// probes and mounts fit each other.
func TestKubernetes(t *testing.T) {
	files, err := filepath.Glob("../../packaging/kubernetes/*.yaml")
	if err != nil || len(files) != 2 {
		t.Fatalf("found the manifests %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			configs, pods, ports := map[string]bool{}, []pod{}, []string{}
			for d := yaml.NewDecoder(bytes.NewReader(readFile(t, file))); ; {
				var m manifest
				if err := d.Decode(&m); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				switch m.Kind {
				case "ConfigMap":
					configs[m.Metadata.Name] = true
					if _, err := config.Parse("kasoku.yaml", []byte(m.Data["kasoku.yaml"]), func(string) (string, bool) { return "s3cret", true }); err != nil {
						t.Error(err)
					}
				case "Deployment", "StatefulSet":
					pods = append(pods, m.Spec.Template.Spec)
				case "Service":
					for _, p := range m.Spec.Ports {
						ports = append(ports, p.TargetPort)
					}
				}
			}
			if len(pods) != 1 || len(configs) != 1 || len(ports) == 0 {
				t.Fatalf("there are %d pods, %d configurations and %d ports", len(pods), len(configs), len(ports))
			}
			checkPod(t, &pods[0], configs, ports)
		})
	}
}

// checkPod checks a pod with the names of the configurations, and of the ports of its service.
func checkPod(t *testing.T, p *pod, configs map[string]bool, ports []string) {
	t.Helper()
	c := &p.Containers[0]
	checkParses(t, "args", c.Args)
	if !p.SecurityContext.RunAsNonRoot || p.SecurityContext.RunAsUser != 65532 || !c.SecurityContext.ReadOnlyRootFilesystem ||
		c.SecurityContext.AllowPrivilegeEscalation == nil || *c.SecurityContext.AllowPrivilegeEscalation {
		t.Errorf("the security contexts are %+v and %+v", p.SecurityContext, c.SecurityContext)
	}
	if p.TerminationGracePeriodSeconds <= int(stopTimeout.Seconds()) {
		t.Errorf("it has %d s to stop, want more than %s", p.TerminationGracePeriodSeconds, stopTimeout)
	}
	named := map[string]bool{}
	for _, port := range c.Ports {
		named[port.Name] = true
	}
	for _, port := range ports {
		if !named[port] {
			t.Errorf("the service has the port %s, and the container has none of that name", port)
		}
	}
	for want, probes := range map[string][]podProbe{"/readyz": {c.StartupProbe, c.ReadinessProbe}, "/healthz": {c.LivenessProbe}} {
		for _, pr := range probes {
			if pr.HTTPGet.Path != want || pr.HTTPGet.Port != "admin" || !named["admin"] {
				t.Errorf("a probe requests %s at the port %s, want %s at admin", pr.HTTPGet.Path, pr.HTTPGet.Port, want)
			}
		}
	}
	mounted := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounted[m.Name] = m.MountPath
	}
	for _, v := range p.Volumes {
		if !configs[v.ConfigMap.Name] || mounted[v.Name] != filepath.Dir(c.Args[len(c.Args)-1]) {
			t.Errorf("the volume %s of %s is mounted at %s", v.Name, v.ConfigMap.Name, mounted[v.Name])
		}
	}
}

// TestCompose checks the commands of the Compose file.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Command     []string
			Healthcheck struct{ Test []string }
		}
	}
	if err := yaml.Unmarshal(readFile(t, "../../examples/compose/compose.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	s := file.Services["kasoku"]
	checkParses(t, "command", s.Command)
	if test := s.Healthcheck.Test; len(test) < 3 || test[0] != "CMD" || test[1] != "/usr/bin/kasoku" {
		t.Errorf("the health check is %q", test)
	} else {
		checkParses(t, "healthcheck", test[2:])
	}
}

// TestTestcontainers checks the commands of the recipes, which are the same in each language.
func TestTestcontainers(t *testing.T) {
	text := string(readFile(t, "../../packaging/testcontainers/README.md"))
	lists := regexp.MustCompile(`"serve"(?:, "[^"]*")*`).FindAllString(text, -1)
	if len(lists) != 3 {
		t.Fatalf("found %d commands", len(lists))
	}
	for _, list := range lists {
		checkParses(t, "README.md", strings.Split(strings.Trim(list, `"`), `", "`))
	}
}

// TestAction runs the step of the GitHub action that starts a store, and checks the syntax of the
// others.
func TestAction(t *testing.T) {
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct{ Steps []struct{ Name, Run string } }
	}
	if err := yaml.Unmarshal(readFile(t, "../../packaging/action/action.yml"), &action); err != nil {
		t.Fatal(err)
	}
	scripts := map[string]string{}
	for _, s := range action.Runs.Steps {
		scripts[s.Name] = s.Run
		if out, err := exec.CommandContext(t.Context(), "bash", "-n", "-c", s.Run).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", s.Name, err, out)
		}
	}
	dir, bin := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "kasoku")); err != nil { // the test binary is kasoku under that name
		t.Fatal(err)
	}
	output := filepath.Join(dir, "output")
	start := func(flags string) ([]byte, error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-c", scripts["Start"])
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "RUNNER_TEMP="+dir, "GITHUB_OUTPUT="+output, "FLAGS="+flags, "GORACE="+brief)
		return cmd.CombinedOutput()
	}
	if out, err := start("--colour"); err == nil || !strings.Contains(string(out), "unknown flag --colour") {
		t.Errorf("a wrong flag: %v\n%s", err, out)
	}
	if out, err := start(action.Inputs["flags"].Default); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(dir, "kasoku", "ready.json")
	var r ready
	if err := json.Unmarshal(readFile(t, file), &r); err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(r.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		await.Until(t, func() bool { _, err := os.Stat(file); return errors.Is(err, fs.ErrNotExist) })
	}()
	want := "endpoint=http://" + r.Services["dynamodb"].Address + "\ndax=dax://" + r.Services["dynamodb"].DAX + "\n"
	if got := string(readFile(t, output)); got != want {
		t.Errorf("the outputs are %q, want %q", got, want)
	}
}

// TestInstallPage checks the commands of docs/install.md, also those that run in containers.
func TestInstallPage(t *testing.T) {
	page := string(readFile(t, "../../docs/install.md"))
	lines := regexp.MustCompile(`(?m)^    (?:kasoku|bin/kasoku|docker run .*kasoku:[0-9.]+|.* bin/kasoku) ([a-z].*)$`).FindAllStringSubmatch(page, -1)
	if len(lines) < 5 {
		t.Errorf("found only %d commands", len(lines))
	}
	for _, m := range lines {
		checkParses(t, "docs/install.md", strings.Fields(m[1]))
	}
}

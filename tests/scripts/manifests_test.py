"""What scripts/check_manifests.py refuses: one fault at a time in the manifests of packaging/."""

import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from check_manifests import need_packages, problems

DEPLOYMENT, SERVICE = "kubernetes/deployment.yaml", "kubernetes/service.yaml"
BUDGET, MONITOR = "kubernetes/disruption-budget.yaml", "kubernetes/service-monitor.yaml"
LIST, RUNTIME = "kubernetes/kustomization.yaml", "kserve-runtime.yaml"

# A file, a text in it, the text instead, and a part of the message. An empty message: no error.
CASES = [
    (DEPLOYMENT, "replicas: 2", "replicas: 3", ""),
    (DEPLOYMENT, "replicas: 2", "replicas: two", "V1Deployment.spec.replicas: expected int, got 'two'"),
    (DEPLOYMENT, "replicas: 2", "replica: 2", "V1Deployment.spec: unknown field replica"),
    (DEPLOYMENT, "        - name: frazil\n", "        -\n", "containers[0]: the field name is missing"),
    (DEPLOYMENT, "apps/v1", "apps/v2", "apiVersion apps/v2 and kind Deployment are not expected here"),
    (DEPLOYMENT, "failureThreshold: 150", "failures: 150", "startupProbe: unknown field failures"),
    (DEPLOYMENT, "drop: [ALL]", "drop: ALL", "capabilities.drop: expected a list"),
    (DEPLOYMENT, "port: metrics", "port: 8003", "readinessProbe: port 8003, but the server listens at [8002, 8080, 9000]"),
    (DEPLOYMENT, "/v2/health/live", "/healthz", "livenessProbe: path /healthz"),
    (DEPLOYMENT, "containerPort: 9000", "containerPort: 9001", "ports: grpc is 9001, but the server listens at 9000"),
    (DEPLOYMENT, "            - --grpc-port=9000\n", "", "args: ports of ['http', 'metrics']"),
    (DEPLOYMENT, "{name: copies, mountPath", "{name: copy, mountPath", "volumeMounts: there is no volume copy"),
    (DEPLOYMENT, "runAsUser: 10001", "runAsUser: 10002", "runAsUser is not 10001, the Containerfile's USER"),
    (DEPLOYMENT, "limits: {memory: 2Gi}", "limits: {memory: 2GB}", "are not quantities"),
    (DEPLOYMENT, "      labels: {app.kubernetes.io/name: frazil}", "      labels: {app: frazil}", "Service: its selector"),
    (SERVICE, "targetPort: grpc", "targetPort: rpc", "Service: the pods have no port rpc"),
    (SERVICE, "selector: {app.kubernetes.io/name: frazil}", "selector: {app: frazil}", "Service: its selector"),
    (BUDGET, "matchLabels: {app.kubernetes.io/name: frazil}", "matchLabels: {app: frazil}", "PodDisruptionBudget: its selector"),
    (BUDGET, "maxUnavailable", "maxUnavailble", "V1PodDisruptionBudget.spec: unknown field maxUnavailble"),
    (MONITOR, "port: metrics", "port: web", "ServiceMonitor: the Service has no port web"),
    (MONITOR, "interval: 15s", "interval: 15", "endpoints[0].interval: expected str, got 15"),
    (LIST, "- service.yaml", "- services.yaml", "kustomization.yaml: there is no file services.yaml"),
    (RUNTIME, "name: kserve-container", "name: frazil", "containers: expected one kserve-container"),
    (RUNTIME, "- grpc-v2", "- grpc", "protocolVersions"),
    (RUNTIME, 'version: "1"', "version: 1", "supportedModelFormats[0].version: expected str, got 1"),
    (RUNTIME, "name: code, mountPath", "name: tmp, mountPath", "volumeMounts: there is no volume tmp"),
]


def check(file, old, new):
    with tempfile.TemporaryDirectory() as folder:
        packaging = pathlib.Path(folder) / "packaging"
        shutil.copytree(ROOT / "packaging", packaging)
        text = (packaging / file).read_text()
        assert old in text, f"{file} has no {old!r}"
        (packaging / file).write_text(text.replace(old, new))
        return problems(packaging)


def main():
    need_packages()
    wrong = 0
    for file, old, new, message in CASES:
        found = check(file, old, new)
        if bool(found) != bool(message) or not any(message in problem for problem in found or [""]):
            print(f"{file}, {new!r}: expected {message!r}, got {found}")
            wrong += 1
    sys.exit(1 if wrong else 0)


main()

#!/usr/bin/env python3
"""Checks packaging/kserve-runtime.yaml against the container: check_manifests.py

A structural check, without the schema of KServe: the fields that a ClusterServingRuntime and its container need and no
unknown ones, ports of probes that the server listens at, volumes that exist, and the user of the Containerfile.
Needs python3-yaml; without it nothing is checked, and the exit status is 77.
"""

import pathlib
import re
import sys

PACKAGING = pathlib.Path(__file__).resolve().parent.parent / "packaging"
# Required and optional fields of each object.
FIELDS = {
    "runtime": ({"apiVersion", "kind", "metadata", "spec"}, set()),
    "spec": ({"supportedModelFormats", "containers"}, {"annotations", "labels", "protocolVersions", "volumes", "nodeSelector"}),
    "format": ({"name"}, {"version", "autoSelect", "priority"}),
    "container": (
        {"name", "image"},
        {"args", "command", "env", "ports", "readinessProbe", "livenessProbe", "startupProbe", "lifecycle", "securityContext",
         "volumeMounts", "resources"},
    ),
    "probe": (set(), {"httpGet", "exec", "periodSeconds", "timeoutSeconds", "failureThreshold", "initialDelaySeconds"}),
    "mount": ({"name", "mountPath"}, {"readOnly"}),
}


def fields(kind, where, value):
    required, optional = FIELDS[kind]
    yield from (f"{where}: the field {name} is missing" for name in sorted(required - value.keys()))
    yield from (f"{where}: unknown field {name}" for name in sorted(value.keys() - required - optional))


def container_problems(container, volumes, user):
    yield from fields("container", "container", container)
    listens = {int(port) for port in re.findall(r"--\w+-port=(\d+)", " ".join(container.get("args", [])))}
    for name in ("readinessProbe", "livenessProbe", "startupProbe"):
        probe = container.get(name, {})
        yield from fields("probe", name, probe)
        port = probe.get("httpGet", {}).get("port")
        if port is not None and port not in listens:
            yield f"{name}: port {port}, but the server listens at {sorted(listens)}"
    for mount in container.get("volumeMounts", []):
        yield from fields("mount", "volumeMounts", mount)
        if mount.get("name") not in volumes:
            yield f"volumeMounts: there is no volume {mount.get('name')}"
    if container.get("securityContext", {}).get("runAsUser") != user:
        yield f"securityContext: runAsUser is not {user}, the Containerfile's USER"
    for name, amounts in container.get("resources", {}).items():
        if name not in ("requests", "limits") or not all(re.fullmatch(r"\d+(\.\d+)?(m|[KMGT]i?)?", str(a)) for a in amounts.values()):
            yield f"resources: {name}: {amounts} are not quantities"


def problems(runtime, user):
    yield from fields("runtime", "runtime", runtime)
    if (runtime.get("apiVersion"), runtime.get("kind")) != ("serving.kserve.io/v1alpha1", "ClusterServingRuntime"):
        yield "apiVersion and kind are not serving.kserve.io/v1alpha1, ClusterServingRuntime"
    spec = runtime.get("spec", {})
    yield from fields("spec", "spec", spec)
    for form in spec.get("supportedModelFormats", []):
        yield from fields("format", "supportedModelFormats", form)
        if not isinstance(form.get("version", ""), str):
            yield f"supportedModelFormats: version {form['version']} is not a text"
    yield from (f"annotations: {n} is not a text" for n, v in spec.get("annotations", {}).items() if not isinstance(v, str))
    if not set(spec.get("protocolVersions", [])) <= {"v1", "v2", "grpc-v1", "grpc-v2"}:
        yield f"protocolVersions: {spec['protocolVersions']}"
    if [c.get("name") for c in spec.get("containers", [])].count("kserve-container") != 1:
        yield "containers: expected one kserve-container"
    volumes = {volume.get("name") for volume in spec.get("volumes", [])}
    for container in spec.get("containers", []):
        yield from container_problems(container, volumes, user)


def main():
    try:
        import yaml
    except ImportError:
        print("check_manifests.py: nothing was checked: python3-yaml is not installed")
        sys.exit(77)
    user = int(re.findall(r"^USER (\d+)$", (PACKAGING / "Containerfile").read_text(), re.M)[-1])
    found = list(problems(yaml.safe_load((PACKAGING / "kserve-runtime.yaml").read_text()), user))
    for problem in found:
        print(f"kserve-runtime.yaml: {problem}")
    print("kserve-runtime.yaml: checked by its structure, not by KServe's schema")
    sys.exit(1 if found else 0)


main()

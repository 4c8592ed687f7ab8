#!/usr/bin/env python3
"""Checks the manifests of packaging/ for Kubernetes and KServe: check_manifests.py [PACKAGING]

Objects and parts of Kubernetes are checked by the models of its Python client, which are generated from its schema:
unknown fields, missing ones and wrong types are errors. KServe's runtime and Prometheus's ServiceMonitor have a table
of fields here. Also checked: ports, volumes, labels and the user agree among the manifests and with the Containerfile.
Needs python3-yaml and python3-kubernetes; without them nothing is checked, and the exit status is 77.
"""

import os
import pathlib
import re
import sys

PACKAGING = pathlib.Path(__file__).resolve().parent.parent / "packaging"
# Objects of other projects than Kubernetes: required and optional fields, with their types as the client writes them.
CUSTOM = {
    "ClusterServingRuntime": ("serving.kserve.io/v1alpha1", {"apiVersion": "str", "kind": "str", "metadata": "V1ObjectMeta", "spec": "RuntimeSpec"}, {}),
    "RuntimeSpec": (
        None,
        {"supportedModelFormats": "list[ModelFormat]", "containers": "list[V1Container]"},
        {"annotations": "dict(str, str)", "labels": "dict(str, str)", "protocolVersions": "list[str]", "volumes": "list[V1Volume]",
         "nodeSelector": "dict(str, str)"},
    ),
    "ModelFormat": (None, {"name": "str"}, {"version": "str", "autoSelect": "bool", "priority": "int"}),
    "ServiceMonitor": (
        "monitoring.coreos.com/v1", {"apiVersion": "str", "kind": "str", "metadata": "V1ObjectMeta", "spec": "MonitorSpec"}, {}),
    "MonitorSpec": (None, {"selector": "V1LabelSelector", "endpoints": "list[Endpoint]"}, {"namespaceSelector": "object"}),
    "Endpoint": (None, {}, {"port": "str", "path": "str", "interval": "str", "scrapeTimeout": "str", "scheme": "str"}),
}
KINDS = {
    ("apps/v1", "Deployment"): "V1Deployment",
    ("v1", "Service"): "V1Service",
    ("policy/v1", "PodDisruptionBudget"): "V1PodDisruptionBudget",
    **{(version, kind): kind for kind, (version, _, _) in CUSTOM.items() if version},
}
PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object}
QUANTITY = re.compile(r"\d+(\.\d+)?(m|[KMGT]i?)?")
PORTS = {"http", "grpc", "metrics"}


def fields_of(kind):
    """Returns the required and the optional fields of a kind of object, with their types; None if it is unknown."""
    from kubernetes import client

    if kind in CUSTOM:
        return CUSTOM[kind][1:]
    model = getattr(client, kind, None)
    if model is None:
        return None
    required, optional = {}, {}
    probe = model.__new__(model)  # its setters refuse None for required fields
    probe.local_vars_configuration = client.Configuration()
    for attribute, name in model.attribute_map.items():
        try:
            setattr(probe, attribute, None)
            optional[name] = model.openapi_types[attribute]
        except ValueError:
            required[name] = model.openapi_types[attribute]
    return required, optional


def field_problems(where, value, kind):
    """Yields what is wrong with the fields of a value and of everything in it."""
    if item := re.fullmatch(r"list\[(.*)\]", kind):
        if not isinstance(value, list):
            yield f"{where}: expected a list"
            return
        for i, one in enumerate(value):
            yield from field_problems(f"{where}[{i}]", one, item[1])
    elif item := re.fullmatch(r"dict\(str, (.*)\)", kind):
        if not isinstance(value, dict):
            yield f"{where}: expected a map"
            return
        for name, one in value.items():
            yield from field_problems(f"{where}.{name}", one, item[1])
    elif kind in PLAIN:
        if not isinstance(value, PLAIN[kind]) or (kind == "int" and isinstance(value, bool)):
            yield f"{where}: expected {kind}, got {value!r}"
    else:
        yield from object_problems(where, value, kind)


def object_problems(where, value, kind):
    fields = fields_of(kind)
    if fields is None or not isinstance(value, dict):
        yield f"{where}: expected an object of the kind {kind}"
        return
    required, optional = fields
    yield from (f"{where}: the field {name} is missing" for name in sorted(required.keys() - value.keys()))
    for name, one in value.items():
        known = {**required, **optional}.get(name)
        if known is None:
            yield f"{where}: unknown field {name}"
        else:
            yield from field_problems(f"{where}.{name}", one, known)


def container_problems(container, volumes, user):
    """Checks a container's ports, volumes and user; `user` is the Containerfile's."""
    listens = {name: int(port) for name, port in re.findall(r"--(\w+)-port=(\d+)", " ".join(container.get("args", [])))}
    if listens.keys() != PORTS:
        yield f"args: ports of {sorted(listens)}, expected {sorted(PORTS)}"
    named = {port.get("name"): port["containerPort"] for port in container.get("ports", [])}
    for name, port in named.items():
        if listens.get(name) != port:
            yield f"ports: {name} is {port}, but the server listens at {listens.get(name)}"
    for name in ("readinessProbe", "livenessProbe", "startupProbe"):
        http = container.get(name, {}).get("httpGet", {})
        if named.get(http.get("port"), http.get("port")) not in listens.values():
            yield f"{name}: port {http.get('port')}, but the server listens at {sorted(listens.values())}"
        if not re.fullmatch(r"/v2/health/(live|ready)", http.get("path", "")):
            yield f"{name}: path {http.get('path')}"
    for mount in container.get("volumeMounts", []):
        if mount["name"] not in volumes:
            yield f"volumeMounts: there is no volume {mount['name']}"
    if container.get("securityContext", {}).get("runAsUser", user) != user:
        yield f"securityContext: runAsUser is not {user}, the Containerfile's USER"
    for name, amounts in container.get("resources", {}).items():
        if not all(QUANTITY.fullmatch(amount) for amount in amounts.values()):
            yield f"resources: {name}: {amounts} are not quantities"


def pod_problems(spec, user):
    volumes = {volume.get("name") for volume in spec.get("volumes", [])}
    if spec.get("securityContext", {}).get("runAsUser", user) != user:
        yield f"securityContext: runAsUser is not {user}, the Containerfile's USER"
    for container in spec["containers"]:
        yield from container_problems(container, volumes, user)


def runtime_problems(spec):
    if not set(spec.get("protocolVersions", [])) <= {"v1", "v2", "grpc-v1", "grpc-v2"}:
        yield f"protocolVersions: {spec['protocolVersions']}"
    if [container["name"] for container in spec["containers"]].count("kserve-container") != 1:
        yield "containers: expected one kserve-container"


def selected(selector, labels):
    return bool(selector) and selector.items() <= labels.items()


def cluster_problems(objects):
    """Checks that the objects of one installation refer to each other."""
    deployment = objects["Deployment"]["spec"]
    labels = deployment["template"]["metadata"].get("labels", {})
    ports = {port["name"] for port in deployment["template"]["spec"]["containers"][0].get("ports", [])}
    service = objects["Service"]
    selectors = {
        "Deployment": deployment["selector"].get("matchLabels"),
        "Service": service["spec"].get("selector"),
        "PodDisruptionBudget": objects["PodDisruptionBudget"]["spec"]["selector"].get("matchLabels"),
    }
    for kind, selector in selectors.items():
        if not selected(selector, labels):
            yield f"{kind}: its selector {selector} does not match the labels {labels} of the pods"
    for port in service["spec"]["ports"]:
        if port.get("targetPort") not in ports:
            yield f"Service: the pods have no port {port.get('targetPort')}"
    monitor = objects["ServiceMonitor"]["spec"]
    if not selected(monitor["selector"].get("matchLabels"), service["metadata"].get("labels", {})):
        yield "ServiceMonitor: its selector does not match the labels of the Service"
    names = {port["name"] for port in service["spec"]["ports"]}
    yield from (f"ServiceMonitor: the Service has no port {e.get('port')}" for e in monitor["endpoints"] if e.get("port") not in names)


def manifest_problems(manifest, user):
    kind = KINDS.get((manifest.get("apiVersion"), manifest.get("kind")))
    if kind is None:
        yield f"apiVersion {manifest.get('apiVersion')} and kind {manifest.get('kind')} are not expected here"
        return
    found = list(object_problems(kind, manifest, kind))
    yield from found
    if found:
        return  # what follows relies on the fields
    if kind == "V1Deployment":
        yield from pod_problems(manifest["spec"]["template"]["spec"], user)
    elif kind == "ClusterServingRuntime":
        yield from runtime_problems(manifest["spec"])
        yield from pod_problems(manifest["spec"], user)


def problems(packaging):
    import yaml

    user = int(re.findall(r"^USER (\d+)$", (packaging / "Containerfile").read_text(), re.M)[-1])
    folder = packaging / "kubernetes"
    files = sorted(path for path in folder.glob("*.yaml") if path.name != "kustomization.yaml")
    objects, found = {}, []
    for path in [packaging / "kserve-runtime.yaml", *files]:
        manifest = yaml.safe_load(path.read_text())
        objects[manifest.get("kind")] = manifest
        found += [f"{path.name}: {problem}" for problem in manifest_problems(manifest, user)]
    for name in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
        if not (folder / name).is_file():
            found.append(f"kustomization.yaml: there is no file {name}")
    return found or list(cluster_problems(objects))


def need_packages():
    """Returns if yaml and kubernetes can be imported. Else restarts the program in Debian's Python, or ends it with 77."""
    try:
        import kubernetes.client
        import yaml  # noqa: F401
    except ImportError as error:
        debian = pathlib.Path("/usr/bin/python3")
        if debian.is_file() and pathlib.Path(sys.executable) != debian:
            os.execv(debian, [debian, *sys.argv])
        print(f"{pathlib.Path(sys.argv[0]).name}: nothing was checked: python3-{error.name} is not installed")
        sys.exit(77)
    return kubernetes.__version__


def main():
    version = need_packages()
    found = problems(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGING)
    print("\n".join(found) or f"the manifests agree with Kubernetes' schema ({version}) and with each other")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

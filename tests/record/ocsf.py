#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every line of an OCSF export against what version 1.3 of the schema says about its classes: numbers that must agree with
each other, attributes that must be there, and names that exist.   ocsf.py REIN RECORD_FILL"""
import json, os, shutil, subprocess, sys, tempfile

BASE = set("activity_id activity_name category_uid category_name class_uid class_name type_uid type_name severity_id severity time "
           "status_id status status_detail status_code message duration count metadata unmapped observables raw_data timezone_offset "
           "start_time end_time enrichments".split())
HOST = set("actor device".split())                                         # the profile "host"
CONTROL = set("action_id action disposition_id disposition attacks firewall_rule malware policy authorizations "
              "is_alert confidence confidence_id risk_level risk_level_id risk_score".split())   # "security_control"
CLASSES = {  # uid: name, attributes of its own, those required, activities besides 0 and 99
    1001: ("File System Activity", "file file_result file_diff access_mask component connection_uid create_mask", "actor device file", range(1, 15)),
    1007: ("Process Activity", "process exit_code module requested_permissions actual_permissions", "actor device process", range(1, 6)),
    2004: ("Detection Finding", "finding_info evidences resources remediation vulnerabilities comment impact", "finding_info", range(1, 4)),
    3004: ("Entity Management", "entity entity_result comment http_request src_endpoint", "entity", range(1, 5)),
    4001: ("Network Activity", "dst_endpoint src_endpoint connection_info traffic url proxy", "dst_endpoint", range(1, 8)),
    6002: ("Application Lifecycle", "app", "app", range(1, 5)),
    6003: ("API Activity", "api src_endpoint dst_endpoint http_request http_response resources", "actor api src_endpoint", range(1, 5)),
}
OBJECTS = {  # attribute: names it may have, names it must have
    "metadata": ("version uid correlation_uid sequence profiles product log_name original_time event_code", "version product"),
    "product": ("name vendor_name version uid feature lang path url_string", "vendor_name"),
    "actor": ("user process session app_name app_uid authorizations idp invoked_by", "user"),
    "user": ("name uid uid_alt type_id type groups domain email_addr", "name"),
    "session": ("uid uuid created_time issuer", "uid"),
    "device": ("hostname type_id type ip name uid os region", "type_id"),
    "process": ("cmd_line pid name uid file user created_time parent_process", "pid"),
    "file": ("name path type_id type parent_folder size uid hashes", "name type_id"),
    "finding_info": ("uid title desc types analytic created_time first_seen_time related_events", "uid"),
    "entity": ("name uid type version data", "name"),
    "app": ("name vendor_name version uid", "name"),
    "api": ("operation request response service version", "operation"),
    "dst_endpoint": ("hostname ip port name uid", ""), "src_endpoint": ("hostname ip port name uid", ""),
}
DISPOSITIONS = {1: "Allowed", 2: "Blocked", 3: "Quarantined", 8: "Approved", 14: "Delayed"}
SEVERITIES = {1: "Informational", 2: "Low", 3: "Medium", 4: "High", 5: "Critical"}

def check_object(name, value):
    may, must = (set(x.split()) for x in OBJECTS[name])
    assert set(value) <= may, f"{name}: {set(value) - may} is not in the schema"
    assert must <= set(value), f"{name}: {must - set(value)} is missing"
    for k, v in value.items():
        if isinstance(v, dict): check_object(k, v)

def check(e):
    name, own, must, activities = CLASSES[e["class_uid"]]
    own, must = set(own.split()), set(must.split())
    assert e["class_name"] == name and e["category_uid"] == e["class_uid"] // 1000
    assert e["activity_id"] in activities or e["activity_id"] == 99
    assert e["type_uid"] == e["class_uid"] * 100 + e["activity_id"]
    assert SEVERITIES[e["severity_id"]] == e["severity"] and isinstance(e["time"], int) and e["time"] > 10**12
    assert {0: "Unknown", 1: "Success", 2: "Failure"}[e["status_id"]] == e["status"]
    assert set(e["metadata"]["profiles"]) == {"host", "security_control"} and e["metadata"]["version"] == "1.3.0"
    names = BASE | HOST | CONTROL | own
    assert set(e) <= names, f"{set(e) - names} is not in {name}"
    assert must | {"metadata", "activity_id", "severity_id", "time", "type_uid"} <= set(e), f"{must - set(e)} is missing in {name}"
    if "disposition_id" in e:
        assert DISPOSITIONS[e["disposition_id"]] == e["disposition"] and e["action_id"] in (0, 1, 2)
    for k, v in e.items():
        if isinstance(v, dict) and k != "unmapped": check_object(k, v)

if __name__ == "__main__":
    rein, fill = map(os.path.abspath, sys.argv[1:3])
    top = tempfile.mkdtemp(prefix="rein-ocsf-")
    try:
        env = {**os.environ, "REIN_STATE": top + "/s", "HOME": top, "XDG_CONFIG_HOME": top}
        run = lambda *a: subprocess.run([rein, "audit", *a], env=env, check=True, text=True, stdout=subprocess.PIPE).stdout
        subprocess.run([fill, top + "/s", "2000", "3"], check=True, stdout=subprocess.DEVNULL)
        run("hold", "--reason", "x"); run("export", "--format", "csv"); run("alerts")
        seen = set()
        for line in run("export", "--format", "ocsf").splitlines():
            e = json.loads(line)
            try: check(e)
            except (AssertionError, KeyError) as why: sys.exit(f"{why!r}\n{line}")
            seen.add((e["class_uid"], e["activity_name"]))
        assert len(seen) >= 12 and len({c for c, _ in seen}) >= 5, seen
        print(len(seen), "kinds of event fit their class:", ", ".join(sorted(n for _, n in seen)))
    finally:
        shutil.rmtree(top)

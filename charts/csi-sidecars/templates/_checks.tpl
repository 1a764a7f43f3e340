{{/* A Go duration in milliseconds. */}}
{{- define "csi-sidecars.milliseconds" -}}
{{- $start := toDate "2006-01-02" "2000-01-01" -}}
{{ ((mustDateModify . $start).Sub $start).Milliseconds }}
{{- end }}

{{/* Everything that would only show as a pod that does not work. */}}
{{- define "csi-sidecars.check" -}}
{{- include "csi-sidecars.checkShape" . -}}
{{- include "csi-sidecars.checkProcess" . -}}
{{- include "csi-sidecars.checkLivenessprobe" . -}}
{{- include "csi-sidecars.checkNodeDeployment" . -}}
{{- include "csi-sidecars.checkReplicas" . -}}
{{- include "csi-sidecars.checkPodSpec" . -}}
{{- range $app := include "csi-sidecars.enabled" . | fromJsonArray -}}
{{- include "csi-sidecars.checkLease" (dict "values" $.values "app" $app) -}}
{{- end -}}
{{- include "csi-sidecars.checkSecurity" . -}}
{{- range $app := include "csi-sidecars.apps" . | fromJsonArray -}}
{{- include "csi-sidecars.checkDrain" (dict "values" $.values "app" $app) -}}
{{- end -}}
{{- include "csi-sidecars.checkTimeouts" . -}}
{{- include "csi-sidecars.checkLengths" . -}}
{{- include "csi-sidecars.checkGates" . -}}
{{- range $app := include "csi-sidecars.apps" . | fromJsonArray -}}
{{- include "csi-sidecars.checkMemory" (dict "values" $.values "app" $app) -}}
{{- end -}}
{{- end }}

{{- define "csi-sidecars.checkShape" -}}
{{- with .values -}}
{{- if empty (include "csi-sidecars.enabled" $ | fromJsonArray) -}}
{{- fail "Nothing to install: no sidecar is enabled." -}}
{{- end -}}
{{- if and (eq .mode "shared") (not .driver.containers) -}}
{{- fail "driver.containers is empty: in mode shared the pod needs your CSI driver's container (mode separate is for a driver that runs elsewhere on the node)." -}}
{{- end -}}
{{- if and (eq .mode "separate") (not .socketDir.volume.hostPath) -}}
{{- fail "socketDir.volume needs a hostPath in mode separate: it is how the sidecars find the driver's socket." -}}
{{- end -}}
{{- if and (eq .mode "separate") (or .driver.containers .driver.initContainers) -}}
{{- fail "driver.containers and driver.initContainers are for mode shared: in mode separate your driver runs in pods of its own." -}}
{{- end -}}
{{- range $part := list "serviceMonitor" "podMonitor" "prometheusRule" "dashboard" -}}
{{- if and (get $.values.metrics $part).enabled (not $.values.metrics.enabled) -}}
{{- fail (printf "metrics.%s.enabled needs metrics.enabled." $part) -}}
{{- end -}}
{{- end -}}
{{- range $part := list "serviceMonitor" "podMonitor" -}}
{{- $monitor := get $.values.metrics $part -}}
{{- if gt (include "csi-sidecars.milliseconds" ($monitor.scrapeTimeout | default "0s") | int64) (include "csi-sidecars.milliseconds" ($monitor.interval | default "0s") | int64) -}}
{{- fail (printf "metrics.%[1]s.scrapeTimeout is longer than metrics.%[1]s.interval: the operator refuses that." $part) -}}
{{- end -}}
{{- end -}}
{{- if and .csiDriver.create (not .driver.name) -}}
{{- fail "csiDriver.create needs driver.name." -}}
{{- end -}}
{{- if and (eq .process "each") (or (eq .mode "shared") (include "csi-sidecars.hostNetwork" $)) -}}
{{- $ports := dict -}}
{{- range $app := include "csi-sidecars.enabled" $ | fromJsonArray -}}
{{- $port := (get $.values $app).metricsPort | int | toString -}}
{{- with get $ports $port }}{{ fail (printf "%s.metricsPort and %s.metricsPort are the same, and so is the network of the two." . $app) }}{{ end -}}
{{- $_ := set $ports $port $app -}}
{{- end -}}
{{- end -}}
{{- if and .logging.vmodule (eq .logging.format "json") -}}
{{- fail "logging.vmodule is for the text format only, but logging.format is json." -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "csi-sidecars.checkLivenessprobe" -}}
{{- with .values -}}
{{- if .livenessprobe.enabled -}}
{{- if eq .process "each" -}}
{{- fail "livenessprobe.enabled needs process one: it runs in the container of the sidecars, and has no image of its own." -}}
{{- end -}}
{{- if eq .mode "separate" -}}
{{- fail "livenessprobe.enabled needs mode shared: the kubelet asks the pod of the driver's container." -}}
{{- end -}}
{{- if eq (int .livenessprobe.port) (int .sidecars.metricsPort) -}}
{{- fail "livenessprobe.port and sidecars.metricsPort are the same." -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "csi-sidecars.checkNodeDeployment" -}}
{{- with .values -}}
{{- range $app := list "resizer" "provisioner" "snapshotter" -}}
{{- if and (include "csi-sidecars.nodeDeployment" (dict "values" $.values "app" $app)) (not (get $.values $app).enabled) -}}
{{- fail (printf "%[1]s.nodeDeployment needs %[1]s.enabled." $app) -}}
{{- end -}}
{{- end -}}
{{- $onNodes := include "csi-sidecars.onNodes" $ | fromJsonArray -}}
{{- range $app := $onNodes -}}
{{- if ne $.values.controller.kind "DaemonSet" -}}
{{- fail (printf "%[1]s.nodeDeployment needs controller.kind DaemonSet: it is a %[1]s on each node." $app) -}}
{{- end -}}
{{- range $other := include "csi-sidecars.enabled" $ | fromJsonArray -}}
{{- if not (has $other $onNodes) -}}
{{- fail (printf "%[1]s.nodeDeployment needs %[2]s.enabled false: the %[2]s needs a leader. %[3]s" $app $other (eq $other "attacher" | ternary "A driver that attaches has it in another release." (printf "Or set its own nodeDeployment." ))) -}}
{{- end -}}
{{- end -}}
{{- if (include "csi-sidecars.election" (dict "values" $.values "app" $app) | fromJson).enabled -}}
{{- fail (printf "%s.nodeDeployment excludes leader election: set leaderElection.enabled to false." $app) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "csi-sidecars.checkProcess" -}}
{{- if eq .values.process "one" -}}
{{- range $app := list "attacher" "resizer" "provisioner" "snapshotter" -}}
{{- range $path, $default := include (printf "csi-sidecars.ofProcess.%s" $app) $ | fromJson -}}
{{- $value := get $.values $app -}}
{{- range $key := splitList "." $path }}{{ $value = kindIs "map" $value | ternary (get (default dict $value) $key) "" }}{{ end -}}
{{- $unset := and (kindIs "invalid" $value) (empty $default) -}}
{{- if not (or $unset (eq (toJson $value) (toJson $default))) -}}
{{- fail (printf "%s.%s is for a process of its own: with process one, sidecars.%s says it for all." $app $path $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- else if .values.sidecars.singleLease -}}
{{- fail "sidecars.singleLease needs process one." -}}
{{- end -}}
{{- if and .values.sidecars.singleLease (not .values.leaderElection.enabled) -}}
{{- fail "sidecars.singleLease needs leaderElection.enabled." -}}
{{- end -}}
{{- range $app := include "csi-sidecars.enabled" . | fromJsonArray -}}
{{- if and $.values.sidecars.singleLease (include "csi-sidecars.ownElection" (dict "values" $.values "app" $app) | fromJson) -}}
{{- fail (printf "sidecars.singleLease is one Lease for all: %s.leaderElection must be empty." $app) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "csi-sidecars.checkLease" -}}
{{- $election := include "csi-sidecars.election" . | fromJson -}}
{{- $of := include "csi-sidecars.ownElection" . | fromJson | empty | ternary "leaderElection" (printf "%s.leaderElection" .app) -}}
{{- $controller := .values.controller -}}
{{- if and (eq $controller.kind "DaemonSet") (not $election.enabled) (not (has .app (include "csi-sidecars.onNodes" . | fromJsonArray))) -}}
{{- fail (printf "controller.kind is DaemonSet without %s.enabled: the pods of two nodes would work on the same volumes. (nodeDeployment of a sidecar is for drivers with volumes of their own node only.)" $of) -}}
{{- end -}}
{{- if and (ne $controller.kind "DaemonSet") (gt (int $controller.replicaCount) 1) (not $election.enabled) -}}
{{- fail (printf "controller.replicaCount is more than 1 without %s.enabled: two replicas would work on the same volumes." $of) -}}
{{- end -}}
{{- if $election.enabled -}}
{{- $lease := include "csi-sidecars.milliseconds" ($election.leaseDuration | default "15s") | int64 -}}
{{- $renew := include "csi-sidecars.milliseconds" ($election.renewDeadline | default "10s") | int64 -}}
{{- $retry := include "csi-sidecars.milliseconds" ($election.retryPeriod | default "5s") | int64 -}}
{{- if le $lease $renew -}}
{{- fail (printf "%[1]s.leaseDuration (default 15s) must be longer than %[1]s.renewDeadline (default 10s)." $of) -}}
{{- end -}}
{{- if le (mul 10 $renew) (mul 12 $retry) -}}
{{- fail (printf "%[1]s.renewDeadline (default 10s) must be longer than 1.2 times %[1]s.retryPeriod (default 5s)." $of) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* What the pod's fields may not replace, with the value that is for it. */}}
{{- define "csi-sidecars.checkPodSpec" -}}
{{- range $field, $key := dict "containers" "driver.containers" "initContainers" "driver.initContainers" "volumes" "driver.volumes" "serviceAccountName" "serviceAccount.name" -}}
{{- if hasKey ($.values.controller.podSpec | default dict) $field -}}
{{- fail (printf "controller.podSpec.%s would replace what the sidecars need: use %s." $field $key) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Of the pods: what controller.podSpec says comes last. */}}
{{- define "csi-sidecars.hostNetwork" -}}
{{- $pod := .values.controller.podSpec | default dict -}}
{{- if hasKey $pod "hostNetwork" | ternary $pod.hostNetwork .values.controller.hostNetwork }}true{{ end -}}
{{- end }}

{{- define "csi-sidecars.checkReplicas" -}}
{{- if and (include "csi-sidecars.ownsHostSocket" .) (ne .values.controller.kind "DaemonSet") (gt (int .values.controller.replicaCount) 1) (not (include "csi-sidecars.onOwnNodes" .)) -}}
{{- fail (printf "controller.replicaCount is %d, but socketDir.volume is a hostPath: two pods on one node would start two drivers on one socket. Set controller.replicaCount to 1, controller.kind to DaemonSet, or in controller.affinity a podAntiAffinity that is required for kubernetes.io/hostname." (int .values.controller.replicaCount)) -}}
{{- end -}}
{{- end }}

{{/* Whether a driver of ours makes its socket in a directory of the node, which all pods of the node share. */}}
{{- define "csi-sidecars.ownsHostSocket" -}}
{{- if and (eq .values.mode "shared") .values.socketDir.volume.hostPath }}true{{ end -}}
{{- end }}

{{/* Whether the scheduler keeps the pods of a controller on different nodes. */}}
{{- define "csi-sidecars.onOwnNodes" -}}
{{- $pod := .values.controller.podSpec | default dict -}}
{{- $affinity := hasKey $pod "affinity" | ternary $pod.affinity .values.controller.affinity | default dict -}}
{{- $own := false -}}
{{- range ($affinity.podAntiAffinity | default dict).requiredDuringSchedulingIgnoredDuringExecution -}}
{{- if eq .topologyKey "kubernetes.io/hostname" }}{{ $own = true }}{{ end -}}
{{- end -}}
{{- if $own }}true{{ end -}}
{{- end }}

{{- define "csi-sidecars.checkDrain" -}}
{{- $field := "terminationGracePeriodSeconds" -}}
{{- $pod := .values.controller.podSpec | default dict -}}
{{- $inSpec := hasKey $pod $field -}}
{{- $seconds := get ($inSpec | ternary $pod .values.controller) $field -}}
{{- $app := get .values .app -}}
{{- $drain := include "csi-sidecars.milliseconds" ($app.drainTimeout | default "25s") | int64 -}}
{{- $limits := dict (printf "controller.%s%s" ($inSpec | ternary "podSpec." "") $field) $seconds -}}
{{- if and $app.livenessProbe.enabled (hasKey $app.livenessProbe $field) -}}
{{- $_ := set $limits (printf "%s.livenessProbe.%s" .app $field) (get $app.livenessProbe $field) -}}
{{- end -}}
{{- range $key, $limit := $limits -}}
{{- if ge $drain (mul 1000 (int64 $limit)) -}}
{{- fail (printf "%s.drainTimeout (default 25s) must be shorter than %s: the kubelet would kill the sidecar before its calls are saved." $.app $key) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "csi-sidecars.checkTimeouts" -}}
{{- with .values.resizer -}}
{{- if and .enabled .timeout (or .resizeTimeout .modifyTimeout) -}}
{{- fail "resizer.timeout is given together with resizer.resizeTimeout or resizer.modifyTimeout: the first would silence the other two." -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* A sidecar with more than 32 does not start; with 0 all volumes or snapshots would have the same name. */}}
{{- define "csi-sidecars.checkLengths" -}}
{{- range $app, $keys := dict "provisioner" (list "volumeNameUUIDLength") "snapshotter" (list "snapshotNameUuidLength" "groupSnapshotNameUuidLength") -}}
{{- range $key := $keys -}}
{{- $length := get (get $.values $app) $key -}}
{{- if and (has (kindOf $length) (list "float64" "int64")) (or (eq (int $length) 0) (gt (int $length) 32)) -}}
{{- fail (printf "%s.%s is %v: it must be -1 or between 1 and 32." $app $key $length) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* A sidecar with an unknown gate does not start. */}}
{{- define "csi-sidecars.checkGates" -}}
{{- range $app := include "csi-sidecars.enabled" . | fromJsonArray -}}
{{- $gates := include (printf "csi-sidecars.gates.%s" $app) $ | fromJson -}}
{{- range $gate, $_ := (get $.values $app).featureGates -}}
{{- if not (has $gate (concat $gates.own $gates.others)) -}}
{{- fail (printf "%s.featureGates has %q, which the %s does not know and would not start with. It has %s." $app $gate $app (join ", " $gates.own)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Below it the kernel takes the pages of the program away and reads them again: alive, and too slow for its lease. */}}
{{- define "csi-sidecars.checkMemory" -}}
{{- with (get .values .app).resources }}{{ with .limits }}{{ with .memory -}}
{{- if lt (include "csi-sidecars.mebibytes" (toString .) | float64) 80.0 -}}
{{- fail (printf "%s.resources.limits.memory is %v: with less than 80Mi the sidecar is too slow to keep its lease." $.app .) -}}
{{- end -}}
{{- end }}{{ end }}{{ end -}}
{{- end }}

{{/* A quantity of bytes in Mi. */}}
{{- define "csi-sidecars.mebibytes" -}}
{{- $suffix := regexFind "[A-Za-z]+$" . -}}
{{- $unit := get (dict "" 1.0 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0) $suffix -}}
{{ divf (mulf (trimSuffix $suffix . | float64) $unit) 1048576 }}
{{- end }}

{{/* `containers` are the driver's, templated already. */}}
{{- define "csi-sidecars.checkSocket" -}}
{{- $mounted := false -}}
{{- range .containers }}{{ range .volumeMounts }}{{ if eq .name $.values.socketDir.volumeName }}{{ $mounted = true }}{{ end }}{{ end }}{{ end -}}
{{- if not $mounted -}}
{{- fail (printf "No container of driver.containers mounts the volume %q (socketDir.volumeName): the sidecars would wait for a socket that never comes." .values.socketDir.volumeName) -}}
{{- end -}}
{{- end }}

{{/*
One argument as an item of a YAML list, its name behind a prefix if there is one; nothing when `value` is empty text or null, so that the program's own default
stays. Numbers come as floats, which would print as 1e+06.
*/}}
{{- define "csi-sidecars.flag" -}}
{{- $value := .value -}}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) -}}
{{- if kindIs "float64" $value }}{{ if eq (floor $value) $value }}{{ $value = int64 $value }}{{ end }}{{ end -}}
{{- printf "--%s%s=%v" (.prefix | default "") .name $value | toJson | printf "- %s\n" -}}
{{- end -}}
{{- end }}

{{/* `key<between>value` of a map, with commas, in the order of the keys. */}}
{{- define "csi-sidecars.pairs" -}}
{{- $between := .between -}}
{{- $pairs := list -}}
{{- range $key, $value := .map }}{{ $pairs = append $pairs (printf "%s%s%v" $key $between $value) }}{{ end -}}
{{ join "," $pairs }}
{{- end }}

{{/* Whether a sidecar serves HTTP; empty when not. */}}
{{- define "csi-sidecars.serves" -}}
{{- $app := get .values .app -}}
{{- if or .values.metrics.enabled $app.livenessProbe.enabled $app.readinessProbe.enabled }}true{{ end -}}
{{- end }}

{{/* All arguments of a sidecar: flags first, what the user adds last, since the last one wins. */}}
{{- define "csi-sidecars.args" -}}
{{- $app := get .values .app -}}
{{- include "csi-sidecars.sharedFlags" . -}}
{{- if eq .app "sidecars" -}}
{{- $enabled := include "csi-sidecars.enabled" . | fromJsonArray -}}
{{- include "csi-sidecars.flag" (dict "name" "controllers" "value" (join "," $enabled)) -}}
{{- include "csi-sidecars.flag" (dict "name" "single-lease" "value" $app.singleLease) -}}
{{- range $enabled -}}
{{- include "csi-sidecars.ownFlags" (dict "values" $.values "app" . "prefix" (printf "%s-" .)) -}}
{{- end -}}
{{- else -}}
{{- include "csi-sidecars.ownFlags" (dict "values" .values "app" .app "prefix" "") -}}
{{- end -}}
{{- range $app.additionalArgs }}{{ . | toJson | printf "- %s\n" }}{{ end -}}
{{- end }}

{{- define "csi-sidecars.sharedFlags" -}}
{{- $app := get .values .app -}}
{{- $logging := .values.logging -}}
{{- $election := .values.leaderElection -}}
{{- include "csi-sidecars.flag" (dict "name" "csi-address" "value" (printf "%s/%s" (trimSuffix "/" .values.socketDir.mountPath) .values.socketDir.fileName)) -}}
{{- if .values.kubeconfigSecret.name -}}
{{- include "csi-sidecars.flag" (dict "name" "kubeconfig" "value" (printf "/etc/csi-sidecars/%s" .values.kubeconfigSecret.key)) -}}
{{- end -}}
{{- include "csi-sidecars.flag" (dict "name" "v" "value" (ternary $logging.verbosity $app.logLevel (kindIs "invalid" $app.logLevel))) -}}
{{- include "csi-sidecars.flag" (dict "name" "vmodule" "value" $logging.vmodule) -}}
{{- include "csi-sidecars.flag" (dict "name" "logging-format" "value" $logging.format) -}}
{{- include "csi-sidecars.flag" (dict "name" "log-backlog-interval" "value" $logging.backlogInterval) -}}
{{- if .values.tracing.enabled -}}
{{- include "csi-sidecars.flag" (dict "name" "enable-otel-tracing" "value" true) -}}
{{- end -}}
{{- if $election.enabled -}}
{{- include "csi-sidecars.flag" (dict "name" "leader-election" "value" true) -}}
{{- include "csi-sidecars.flag" (dict "name" "leader-election-namespace" "value" $election.namespace) -}}
{{- include "csi-sidecars.flag" (dict "name" "leader-election-lease-duration" "value" $election.leaseDuration) -}}
{{- include "csi-sidecars.flag" (dict "name" "leader-election-renew-deadline" "value" $election.renewDeadline) -}}
{{- include "csi-sidecars.flag" (dict "name" "leader-election-retry-period" "value" $election.retryPeriod) -}}
{{- include "csi-sidecars.flag" (dict "name" "leader-election-labels" "value" (include "csi-sidecars.pairs" (dict "map" $election.labels "between" ":"))) -}}
{{- end -}}
{{- include "csi-sidecars.flag" (dict "name" "on-lease-loss" "value" $app.onLeaseLoss) -}}
{{- include "csi-sidecars.flag" (dict "name" "on-driver-loss" "value" $app.onDriverLoss) -}}
{{- include "csi-sidecars.flag" (dict "name" "driver-grace-period" "value" $app.driverGracePeriod) -}}
{{- include "csi-sidecars.flag" (dict "name" "drain-timeout" "value" $app.drainTimeout) -}}
{{- if include "csi-sidecars.serves" . -}}
{{- include "csi-sidecars.flag" (dict "name" "http-endpoint" "value" (printf ":%d" (int $app.metricsPort))) -}}
{{- include "csi-sidecars.flag" (dict "name" "metrics-path" "value" .values.metrics.path) -}}
{{- include "csi-sidecars.secureFlags" . -}}
{{- end -}}
{{- include "csi-sidecars.profilingFlags" . -}}
{{- include "csi-sidecars.flag" (dict "name" "kube-api-qps" "value" $app.kubeAPIQPS) -}}
{{- include "csi-sidecars.flag" (dict "name" "kube-api-burst" "value" $app.kubeAPIBurst) -}}
{{- end }}

{{/* What each sidecar may have otherwise, also in one process: there with a prefix. */}}
{{- define "csi-sidecars.ownFlags" -}}
{{- with get .values .app -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "retry-interval-start" "value" .retryIntervalStart) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "retry-interval-max" "value" .retryIntervalMax) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "feature-gates" "value" (include "csi-sidecars.pairs" (dict "map" .featureGates "between" "="))) -}}
{{- end -}}
{{- include (printf "csi-sidecars.%sFlags" .app) . -}}
{{- end }}

{{- define "csi-sidecars.attacherFlags" -}}
{{- with .values.attacher -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "timeout" "value" .timeout) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "worker-threads" "value" .workerThreads) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "max-inflight-per-node" "value" .maxInflightPerNode) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "default-fstype" "value" .defaultFsType) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "reconcile-sync" "value" .reconcileSync) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "reconcile-confirmations" "value" .reconcileConfirmations) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "max-entries" "value" .maxEntries) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "recover-lost-volumes" "value" .recoverLostVolumes) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "resync" "value" .resync) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "max-grpc-log-length" "value" .maxGrpcLogLength) -}}
{{- end -}}
{{- end }}

{{- define "csi-sidecars.resizerFlags" -}}
{{- with .values.resizer -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "timeout" "value" .timeout) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "resize-timeout" "value" .resizeTimeout) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "modify-timeout" "value" .modifyTimeout) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "workers" "value" .workers) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "handle-volume-inuse-error" "value" .handleVolumeInUseError) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "extra-modify-metadata" "value" .extraModifyMetadata) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "resync-period" "value" .resyncPeriod) -}}
{{- include "csi-sidecars.flag" (dict "prefix" $.prefix "name" "master" "value" .master) -}}
{{- end -}}
{{- end }}

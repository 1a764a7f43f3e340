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
{{- if or .values.metrics.enabled $app.startupProbe.enabled $app.livenessProbe.enabled $app.readinessProbe.enabled }}true{{ end -}}
{{- end }}

{{/* All arguments of a sidecar: flags first, what the user adds last, since the last one wins. */}}
{{- define "csi-sidecars.args" -}}
{{- $app := get .values .app -}}
{{- include "csi-sidecars.sharedFlags" . -}}
{{- if eq .app "sidecars" -}}
{{- $enabled := include "csi-sidecars.enabled" . | fromJsonArray -}}
{{- $controllers := .values.livenessprobe.enabled | default false | ternary (append $enabled "livenessprobe") $enabled -}}
{{- include "csi-sidecars.flag" (dict "name" "controllers" "value" (join "," $controllers)) -}}
{{- include "csi-sidecars.flag" (dict "name" "single-lease" "value" $app.singleLease) -}}
{{- range $enabled -}}
{{- include "csi-sidecars.ownFlags" (dict "values" $.values "app" . "prefix" (printf "%s-" .)) -}}
{{- end -}}
{{- include "csi-sidecars.livenessprobeFlags" . -}}
{{- else -}}
{{- include "csi-sidecars.ownFlags" (dict "values" .values "app" .app "prefix" "") -}}
{{- end -}}
{{- range $app.additionalArgs }}{{ . | toJson | printf "- %s\n" }}{{ end -}}
{{- end }}

{{/* The arguments of templates/_flags.tpl in a section of the values. */}}
{{- define "csi-sidecars.flagsOf" -}}
{{- include (printf "csi-sidecars.flags.%s" .name) (dict "section" (get .values .name) "prefix" "") -}}
{{- end }}

{{/* The flags of a process. Flags whose values are converted are here, all others in templates/_flags.tpl. */}}
{{- define "csi-sidecars.sharedFlags" -}}
{{- $app := get .values .app -}}
{{- include "csi-sidecars.flag" (dict "name" "csi-address" "value" (printf "%s/%s" (trimSuffix "/" .values.socketDir.mountPath) .values.socketDir.fileName)) -}}
{{- if .values.kubeconfigSecret.name -}}
{{- include "csi-sidecars.flag" (dict "name" "kubeconfig" "value" (printf "/etc/csi-sidecars/%s" .values.kubeconfigSecret.key)) -}}
{{- end -}}
{{- include "csi-sidecars.flag" (dict "name" "v" "value" (ternary .values.logging.verbosity $app.logLevel (kindIs "invalid" $app.logLevel))) -}}
{{- include "csi-sidecars.flagsOf" (dict "values" .values "name" "logging") -}}
{{- if .values.tracing.enabled -}}
{{- include "csi-sidecars.flag" (dict "name" "enable-otel-tracing" "value" true) -}}
{{- end -}}
{{- $election := include "csi-sidecars.election" . | fromJson -}}
{{- /* In one process they count for each sidecar that elects a leader, even if the common value is off. */}}
{{- $elects := $election.enabled -}}
{{- range $one := eq .app "sidecars" | ternary (include "csi-sidecars.enabled" . | fromJsonArray) list -}}
{{- $elects = or $elects (include "csi-sidecars.election" (dict "values" $.values "app" $one) | fromJson).enabled -}}
{{- end -}}
{{- if $elects -}}
{{- include "csi-sidecars.flags.leaderElection" (dict "section" $election "prefix" "") -}}
{{- end -}}
{{- include "csi-sidecars.flags.process" (dict "section" $app "prefix" "") -}}
{{- if include "csi-sidecars.serves" . -}}
{{- include "csi-sidecars.flag" (dict "name" "http-endpoint" "value" (printf ":%d" (int $app.metricsPort))) -}}
{{- include "csi-sidecars.flagsOf" (dict "values" .values "name" "metrics") -}}
{{- include "csi-sidecars.secureFlags" . -}}
{{- end -}}
{{- end }}

{{/* What each sidecar may have otherwise, also in one process: there with a prefix. */}}
{{- define "csi-sidecars.ownFlags" -}}
{{- $own := dict "section" (get .values .app) "prefix" .prefix -}}
{{- include "csi-sidecars.flags.each" $own -}}
{{- if .prefix -}}
{{- include "csi-sidecars.flags.leaderElection" (dict "section" (include "csi-sidecars.ownElection" . | fromJson) "prefix" .prefix) -}}
{{- end -}}
{{- include (printf "csi-sidecars.flags.%s" .app) $own -}}
{{- if and (eq .app "provisioner") (include "csi-sidecars.publishesCapacity" .) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "capacity-ownerref-level" "value" (include "csi-sidecars.ownerLevel" . | int)) -}}
{{- end -}}
{{- end }}

{{- define "csi-sidecars.publishesCapacity" -}}
{{- if and .values.provisioner.enabled .values.provisioner.capacity.enabled }}true{{ end -}}
{{- end }}

{{/*
How many controllers are above the pod that owns the CSIStorageCapacity objects: a Deployment is above a ReplicaSet. In
another cluster there is no such pod, so no owner.
*/}}
{{- define "csi-sidecars.ownerLevel" -}}
{{- $level := .values.provisioner.capacity.ownerLevel -}}
{{- $usual := eq .values.controller.kind "Deployment" | ternary 2 1 -}}
{{- if .values.kubeconfigSecret.name }}{{ $usual = -1 }}{{ end -}}
{{- kindIs "invalid" $level | ternary $usual $level -}}
{{- end }}

{{/* It has no process of its own. */}}
{{- define "csi-sidecars.livenessprobeFlags" -}}
{{- with .values.livenessprobe -}}
{{- if .enabled -}}
{{- include "csi-sidecars.flag" (dict "prefix" "livenessprobe-" "name" "health-port" "value" .port) -}}
{{- include "csi-sidecars.flag" (dict "prefix" "livenessprobe-" "name" "probe-timeout" "value" .probeTimeout) -}}
{{- end -}}
{{- end -}}
{{- end }}

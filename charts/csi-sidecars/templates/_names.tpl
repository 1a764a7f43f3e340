{{/*
Every template of this chart takes one dict, so that another chart can include it:

  values   the values of this chart, never those of a parent
  release  .Release
  chart    the .Chart of this chart
  app      "attacher", "resizer", "provisioner" or "snapshotter", where the template is about one sidecar; "sidecars" for
           all in one process
  workload what "csi-sidecars.workloads" lists, where it is about the pods of one controller

A chart that has this one as a dependency finds its values and chart under .Subcharts (docs/drivers.md):

  {{- $sidecars := index .Subcharts "csi-sidecars" }}
  {{- include "csi-sidecars.container" (dict "values" $sidecars.Values "release" .Release "chart" $sidecars.Chart "app" "attacher") }}
*/}}

{{- define "csi-sidecars.name" -}}
{{ .values.nameOverride | default .chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* Short enough for the longest name made from it. */}}
{{- define "csi-sidecars.fullname" -}}
{{- $name := include "csi-sidecars.name" . -}}
{{- $full := ternary .release.Name (printf "%s-%s" .release.Name $name) (contains $name .release.Name) -}}
{{ .values.fullnameOverride | default $full | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* The enabled sidecars, as JSON. */}}
{{- define "csi-sidecars.enabled" -}}
{{- $apps := list -}}
{{- range $app := list "attacher" "resizer" "provisioner" "snapshotter" -}}
{{- if (get $.values $app).enabled }}{{ $apps = append $apps $app }}{{ end -}}
{{- end -}}
{{ $apps | toJson }}
{{- end }}

{{/* The enabled sidecars that run on each node without a leader, as JSON. */}}
{{- define "csi-sidecars.onNodes" -}}
{{- $apps := list -}}
{{- range $app := include "csi-sidecars.enabled" . | fromJsonArray -}}
{{- if include "csi-sidecars.nodeDeployment" (dict "values" $.values "app" $app) }}{{ $apps = append $apps $app }}{{ end -}}
{{- end -}}
{{ $apps | toJson }}
{{- end }}

{{/* Whether the values of a sidecar ask for one on each node; empty when not. */}}
{{- define "csi-sidecars.nodeDeployment" -}}
{{- $value := (get .values .app).nodeDeployment -}}
{{- if kindIs "map" $value }}{{ $value = $value.enabled }}{{ end -}}
{{- if $value }}true{{ end -}}
{{- end }}

{{/* The start of the name of a sidecar's Lease, before the name of the driver. */}}
{{- define "csi-sidecars.leasePrefix" -}}
{{ get (dict "attacher" "external-attacher-leader-" "resizer" "external-resizer-" "provisioner" "" "snapshotter" "external-snapshotter-leader-") .app }}
{{- end }}

{{/* The containers of the enabled sidecars, as JSON: each its own, or "sidecars" for all. */}}
{{- define "csi-sidecars.apps" -}}
{{- $enabled := include "csi-sidecars.enabled" . | fromJsonArray -}}
{{- ternary (list "sidecars") $enabled (and (eq .values.process "one") (not (empty $enabled))) | toJson -}}
{{- end }}

{{/* Which pods there are, with their containers and the sidecars in those, as JSON: [{name, component, apps, sidecars}]. */}}
{{- define "csi-sidecars.workloads" -}}
{{- $fullname := include "csi-sidecars.fullname" . -}}
{{- $apps := include "csi-sidecars.apps" . | fromJsonArray -}}
{{- $enabled := include "csi-sidecars.enabled" . | fromJsonArray -}}
{{- $workloads := list -}}
{{- if and (eq .values.mode "shared") $apps -}}
{{- $workloads = list (dict "name" (printf "%s-controller" $fullname) "component" "controller" "apps" $apps "sidecars" $enabled) -}}
{{- else if eq .values.mode "separate" -}}
{{- range $app := $apps -}}
{{- $workloads = append $workloads (dict "name" (printf "%s-%s" $fullname $app) "component" $app "apps" (list $app) "sidecars" (ternary $enabled (list $app) (eq $app "sidecars"))) -}}
{{- end -}}
{{- end -}}
{{ $workloads | toJson }}
{{- end }}

{{/* Selects the pods of one controller; never changes in an upgrade. */}}
{{- define "csi-sidecars.selectorLabels" -}}
app.kubernetes.io/name: {{ include "csi-sidecars.name" . | quote }}
app.kubernetes.io/instance: {{ .release.Name | quote }}
app.kubernetes.io/component: {{ .workload.component }}
{{- end }}

{{/* What selectors ask for comes first, then what the user says, then the rest: each key once. */}}
{{- define "csi-sidecars.labels" -}}
{{- $fixed := dict "app.kubernetes.io/name" (include "csi-sidecars.name" .) "app.kubernetes.io/instance" .release.Name -}}
{{- with .component }}{{ $_ := set $fixed "app.kubernetes.io/component" . }}{{ end -}}
{{- $usual := dict "app.kubernetes.io/version" .chart.AppVersion "app.kubernetes.io/managed-by" .release.Service -}}
{{- $_ := set $usual "helm.sh/chart" (printf "%s-%s" .chart.Name .chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- with .values.driver.name }}{{ $_ := set $usual "app.kubernetes.io/part-of" . }}{{ end -}}
{{ toYaml (merge $fixed (.labels | default dict) (.values.commonLabels | default dict) $usual) }}
{{- end }}

{{/* The metadata of an object; `name` and `namespace` (empty: none) in the dict, `component` and `labels` may be. */}}
{{- define "csi-sidecars.metadata" -}}
name: {{ .name | quote }}
{{- with .namespace }}
namespace: {{ . | quote }}
{{- end }}
labels:
  {{- include "csi-sidecars.labels" . | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) (.values.commonAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* In mode separate each controller has its own account, so that neither gets the other's rights. */}}
{{- define "csi-sidecars.serviceAccountName" -}}
{{- $name := .values.serviceAccount.name -}}
{{- if not .values.serviceAccount.create -}}
{{ $name | default "default" }}
{{- else if eq .values.mode "separate" -}}
{{ $name | default (include "csi-sidecars.fullname" .) }}-{{ .workload.component }}
{{- else -}}
{{ $name | default (include "csi-sidecars.fullname" .) }}
{{- end -}}
{{- end }}

{{/* The leader election of a sidecar as JSON: what is said of it alone, over what is said of all. */}}
{{- define "csi-sidecars.election" -}}
{{- $election := deepCopy .values.leaderElection -}}
{{- range $key, $value := include "csi-sidecars.ownElection" . | fromJson }}{{ $_ := set $election $key $value }}{{ end -}}
{{ $election | toJson }}
{{- end }}

{{/* What is said of the leader election of one sidecar alone, as JSON. */}}
{{- define "csi-sidecars.ownElection" -}}
{{- $own := dict -}}
{{- range $key, $value := (get .values .app).leaderElection | default dict -}}
{{- if or (kindIs "bool" $value) (not (empty $value)) }}{{ $_ := set $own $key $value }}{{ end -}}
{{- end -}}
{{ $own | toJson }}
{{- end }}

{{/* Of the Lease of a sidecar. */}}
{{- define "csi-sidecars.leaseNamespace" -}}
{{ (include "csi-sidecars.election" . | fromJson).namespace | default .release.Namespace }}
{{- end }}

{{/*
Each name that a Lease of these sidecars can have, as JSON; empty where the driver's name is not known. Whatever is
enabled: a sidecar that is enabled or disabled has replicas of the other kind beside it for a while, and a process with
one Lease for all looks who holds those of single sidecars.
*/}}
{{- define "csi-sidecars.leaseNames" -}}
{{- $names := list -}}
{{- with .values.driver.name -}}
{{- range $app := list "attacher" "resizer" "provisioner" "snapshotter" -}}
{{- $names = append $names (printf "%s%s" (include "csi-sidecars.leasePrefix" (dict "app" $app)) (regexReplaceAll "[^a-zA-Z0-9-]" $.values.driver.name "-")) -}}
{{- end -}}
{{- with $.values.sidecars.singleLease }}{{ $names = append $names . }}{{ end -}}
{{- end -}}
{{ $names | toJson }}
{{- end }}

{{/* The namespaces of the Leases with the accounts that hold them, as JSON: {namespace: [account]}. */}}
{{- define "csi-sidecars.leaseHolders" -}}
{{- $holders := dict -}}
{{- range $workload := include "csi-sidecars.workloads" . | fromJsonArray -}}
{{- range $app := $workload.sidecars -}}
{{- $this := merge (dict "workload" $workload "app" $app) $ -}}
{{- if (include "csi-sidecars.election" $this | fromJson).enabled -}}
{{- $namespace := include "csi-sidecars.leaseNamespace" $this -}}
{{- $_ := set $holders $namespace (append (get $holders $namespace | default list) (include "csi-sidecars.serviceAccountName" $this) | uniq) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{ $holders | toJson }}
{{- end }}

{{/* Secrets for the registry, those of a parent chart first; a parent may give names alone. */}}
{{- define "csi-sidecars.imagePullSecrets" -}}
{{- $secrets := list -}}
{{- range concat ((.values.global | default dict).imagePullSecrets | default list) (.values.imagePullSecrets | default list) -}}
{{- $secrets = append $secrets (kindIs "string" . | ternary (dict "name" .) .) -}}
{{- end -}}
{{ with $secrets }}{{ uniq . | toYaml }}{{ end }}
{{- end }}

{{- define "csi-sidecars.image" -}}
{{- $image := (get .values .app).image -}}
{{- $repository := $image.repository -}}
{{- $registry := (.values.global | default dict).imageRegistry | default .values.image.registry -}}
{{- if not (or $registry (contains "/" $repository)) -}}
{{- fail (printf "image.registry is empty and %s.image.repository is %q: the nodes would look for it in their own default registry. Set image.registry to where the images of the sidecars are." .app $repository) -}}
{{- end -}}
{{- with $registry }}{{ $repository = printf "%s/%s" (trimSuffix "/" .) $repository }}{{ end -}}
{{- /* As the nodes read it: host and port, then a path. */}}
{{- if not (regexMatch "^(([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:]+\\])(:[0-9]+)?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$" $repository) -}}
{{- fail (printf "%q cannot be fetched: image.registry and %s.image.repository are a host without https:// and a path in lower case." $repository .app) -}}
{{- end -}}
{{- if $image.digest -}}
{{ $repository }}@{{ $image.digest }}
{{- else -}}
{{ $repository }}:{{ $image.tag | default .chart.AppVersion }}
{{- end -}}
{{- end }}
